"""Bills of materials and the audit: everything that is locked is listed, and no finding is passed over."""

from __future__ import annotations

import datetime
import functools
import json
import re

import pytest

import audit
import lock
import sbom

DAY = datetime.date(2026, 6, 1)


@functools.cache
def bills() -> dict[str, str]:
    return sbom.bills()


def test_the_bill_for_python_has_every_pin_with_its_version_hashes_and_licence() -> None:
    document = json.loads(bills()["inkcap-python.cdx.json"])
    listed = {f"{part['name']}=={part['version']}": part for part in document["components"]}
    pins = {pin.key: pin for name in (*lock.LOCKS, *lock.PARTS) for pin in lock.read(name)}
    assert set(listed) == set(pins)
    for key, part in listed.items():
        assert {f"sha256:{one['content']}" for one in part["hashes"]} == set(pins[key].hashes)
    runs = {pin.key for pin in lock.read("studio")}
    assert {key for key, part in listed.items() if part["scope"] == "required"} == runs


def test_the_bill_for_npm_has_every_package_with_its_version_hash_and_licence() -> None:
    document = json.loads(bills()["inkcap-npm.cdx.json"])
    listed = {
        "/".join(filter(None, (part.get("group"), part["name"]))) + "@" + part["version"]
        for part in document["components"]
    }
    packages = json.loads(sbom.NPM_LOCK.read_text(encoding="utf-8"))["packages"]
    assert listed == {
        f"{path.rpartition('node_modules/')[2]}@{told['version']}" for path, told in packages.items() if path
    }
    assert any(part["purl"].startswith("pkg:npm/%40xyflow/react@") for part in document["components"])


@pytest.mark.parametrize("name", ["inkcap-python.cdx.json", "inkcap-npm.cdx.json"])
def test_a_bill_is_cyclonedx_and_the_same_every_time(name: str) -> None:
    text = bills()[name]
    assert text == sbom.bills()[name]
    document = json.loads(text)
    assert (document["bomFormat"], document["specVersion"], document["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", document["serialNumber"])
    references = [part["bom-ref"] for part in document["components"]]
    assert len(references) == len(set(references))
    lengths = {"SHA-256": 64, "SHA-512": 128}
    for part in document["components"]:
        assert part["purl"] == part["bom-ref"]
        assert part["type"] == "library"
        assert part["hashes"]
        assert all(re.fullmatch(rf"[0-9a-f]{{{lengths[one['alg']]}}}", one["content"]) for one in part["hashes"])
        (licence,) = part["licenses"]
        assert licence.get("expression") or licence["license"]["name"]
    fault = sbom.faults(text)
    assert fault is None or fault.startswith("not checked")


def test_a_finding_without_an_answer_an_old_answer_and_an_idle_one_are_told() -> None:
    findings = [
        audit.Finding(("PYSEC-1", "CVE-1"), "a 1.0"),
        audit.Finding(("CVE-2",), "b 2.0"),
        audit.Finding(("CVE-3",), "c"),
    ]
    answers = audit.read_answers(
        '[{"id": "CVE-1", "reason": "not reached", "until": "2026-12-31"}, '
        '{"id": "CVE-2", "reason": "not reached", "until": "2026-01-01"}, '
        '{"id": "CVE-9", "reason": "gone", "until": "2026-12-31"}]'
    )
    lines = audit.judged(findings, answers, DAY)
    assert [line.split(":")[0] for line in lines] == ["b 2.0", "c", "CVE-9"]
    assert "held until 2026-01-01" in lines[0]
    assert "without an answer" in lines[1]
    assert "found no longer" in lines[2]
    with pytest.raises(SystemExit, match="needs id, reason and until"):
        audit.read_answers('[{"id": "CVE-1", "reason": "", "until": "2026-12-31"}]')


def test_silence_of_a_service_is_no_good_news() -> None:
    report = {
        "dependencies": [
            {"name": "a", "version": "1", "vulns": [{"id": "X-1", "aliases": ["CVE-1", "X-1"]}]},
            {"name": "b", "skip_reason": "not found"},
        ]
    }
    assert audit.python_findings(report) == ([audit.Finding(("X-1", "CVE-1"), "a 1")], {"a==1"})
    assert audit.python_findings({}) == ([], set())
    assert audit.npm_findings({"error": {"code": "x"}}) == ([], ["all npm packages"])
    told = {"vulnerabilities": {"p": {"via": ["q", {"source": 7, "url": "somewhere/GHSA-1"}]}, "q": {"via": []}}}
    assert audit.npm_findings(told) == ([audit.Finding(("GHSA-1",), "p")], [])


def test_a_page_of_the_index_speaks_of_its_newest_version_alone() -> None:
    pin = lock.Pin("a", "2", "", ())
    fault = {"id": "X-1", "aliases": ["CVE-1"], "withdrawn": None}
    page = {"info": {"version": "2"}, "vulnerabilities": [fault, {**fault, "id": "X-2", "withdrawn": "2026-01-01"}]}
    assert audit.page_findings(pin, page) == [audit.Finding(("X-1", "CVE-1"), "a 2")]
    assert audit.page_findings(pin, {**page, "vulnerabilities": []}) == []
    for silent in ({**page, "info": {"version": "3"}}, {"info": {"version": "2"}}, {}):
        assert audit.page_findings(pin, silent) is None


def test_the_answers_that_are_kept_can_be_read() -> None:
    audit.read_answers(audit.ANSWERS.read_text(encoding="utf-8"))
