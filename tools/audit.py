"""Known faults in what is locked, asked of the services that pip-audit and npm speak to.

Usage: python tools/audit.py

`locks/answers.json` has a record for each finding that was looked at: its id, why it does not matter here, and the
day until which that holds. A finding without an answer fails; so do an answer that is out of date, an answer to
nothing, and a package that no service could tell anything about, because silence is no good news.

Where the index has no word on a version, as a mirror may not, its page of the project is read: it tells the faults of
the newest version, and so of whatever is locked at it.
"""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import front_end
import lock

ROOT = Path(__file__).resolve().parent.parent
ANSWERS = ROOT / "locks" / "answers.json"
LOCKS = ("studio", "dev", "supply", "cuda", "node")
PATIENCE = 60.0
"""Seconds that a page of the index may take."""


@dataclass(frozen=True)
class Finding:
    """A known fault: its names, and the package that has it."""

    ids: tuple[str, ...]
    package: str


@dataclass(frozen=True)
class Answer:
    """Why a finding does not matter here, and until when that holds."""

    id: str
    reason: str
    until: datetime.date


def read_answers(text: str) -> list[Answer]:
    """Read the answers; one without a reason or a day is none."""
    found: list[Answer] = []
    for told in json.loads(text):
        if set(told) != {"id", "reason", "until"} or not all(str(value).strip() for value in told.values()):
            raise SystemExit(f"locks/answers.json: {told} needs id, reason and until, and nothing else")
        found.append(Answer(told["id"], told["reason"], datetime.date.fromisoformat(told["until"])))
    return found


def judged(findings: Iterable[Finding], answers: Iterable[Answer], today: datetime.date) -> list[str]:
    """Say what is left to be done: one line for each finding without an answer that holds, and each odd answer."""
    by_id = {answer.id: answer for answer in answers}
    lines: list[str] = []
    used: set[str] = set()
    for finding in findings:
        matching = [by_id[id] for id in finding.ids if id in by_id]
        used |= {answer.id for answer in matching}
        name = f"{finding.package}: {', '.join(finding.ids)}"
        if not matching:
            lines.append(f"{name}: a known fault without an answer; take a version without it, or answer it")
        elif all(answer.until < today for answer in matching):
            lines.append(f"{name}: the answer held until {matching[0].until}; look at it again")
    lines += [f"{id}: answered, but found no longer; take the answer out" for id in sorted(set(by_id) - used)]
    return lines


def python_findings(report: Mapping[str, Any]) -> tuple[list[Finding], set[str]]:
    """Read what pip-audit says: the faults, and the pins that it could tell something about."""
    findings: list[Finding] = []
    told: set[str] = set()
    for package in report.get("dependencies", ()):
        if "skip_reason" not in package:
            told.add(f"{lock.normal(package['name'])}=={package['version']}")
            name = f"{package['name']} {package['version']}"
            findings += [_finding(fault, name) for fault in package.get("vulns", ())]
    return findings, told


def page_findings(pin: lock.Pin, page: Mapping[str, Any]) -> list[Finding] | None:
    """Read what a project's page says of a pin; None where it speaks of another version, or of no faults at all."""
    faults = page.get("vulnerabilities")
    if page.get("info", {}).get("version") != pin.version or faults is None:
        return None
    return [_finding(fault, f"{pin.name} {pin.version}") for fault in faults if not fault.get("withdrawn")]


def _finding(fault: Mapping[str, Any], name: str) -> Finding:
    return Finding(tuple(dict.fromkeys((fault["id"], *fault.get("aliases", ())))), name)


def _page(pin: lock.Pin) -> dict[str, Any]:
    """Ask the index for the page of a project; one that cannot be had tells nothing."""
    # pip has no public name for where the index keeps these pages.
    from pip._internal.models.index import PyPI

    try:
        with urllib.request.urlopen(f"{PyPI.pypi_url}/{pin.name}/json", timeout=PATIENCE) as answer:  # noqa: S310
            return json.load(answer)
    except (OSError, ValueError):
        return {}


def npm_findings(report: Mapping[str, Any]) -> tuple[list[Finding], list[str]]:
    """Read what npm audit says: the faults by the names of their advisories."""
    if "vulnerabilities" not in report:
        return [], ["all npm packages"]
    findings: dict[Finding, None] = {}
    for name, told in report["vulnerabilities"].items():
        for via in told["via"]:
            if isinstance(via, dict):  # a text is only the name of a package that is in the list itself
                advisory = re.sub(r".*/", "", str(via.get("url") or via.get("source")))
                findings[Finding((advisory,), name)] = None
    return list(findings), []


def _report(command: Sequence[str], folder: Path) -> dict[str, Any]:
    """Run a tool that answers in JSON; one that answers nothing has found nothing out."""
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        print(done.stderr.strip()[-2000:], file=sys.stderr)
        return {}


def asked_of_python() -> tuple[list[Finding], list[lock.Pin], int]:
    """Ask about all that is locked for Python: the faults, the pins that nobody knows, and how many pins there are."""
    pins = {pin.key: pin for name in LOCKS for pin in lock.read(name)}
    findings: list[Finding] = []
    told: set[str] = set()
    for name in LOCKS:
        command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
        command += ["--disable-pip", "--require-hashes", "-r", str(ROOT / "locks" / f"{name}.txt")]
        found, known = python_findings(_report(command, ROOT))
        findings, told = [*findings, *found], told | known
    silent = [pin for key, pin in pins.items() if key not in told]
    with ThreadPoolExecutor(4) as pool:
        answers = [(pin, page_findings(pin, page)) for pin, page in zip(silent, pool.map(_page, silent), strict=True)]
    findings += [finding for _, found in answers for finding in found or ()]
    return list(dict.fromkeys(findings)), [pin for pin, found in answers if found is None], len(pins)


def main() -> int:
    """Ask both services, and say what is left to be done."""
    findings, unknown, count = asked_of_python()
    npm = str(front_end.node_folder() / "npm")
    found, silent = npm_findings(_report([npm, "audit", "--json"], ROOT / "web"))
    print(f"audit: {count - len(unknown)} of {count} Python packages are known: {len(findings)} faults")
    lines = judged([*findings, *found], read_answers(ANSWERS.read_text(encoding="utf-8")), datetime.date.today())
    if unaudited := [*sorted(pin.key for pin in unknown), *silent]:
        lines.append(f"not audited: no service told anything about {', '.join(unaudited)}")
    print("\n".join(lines) or "audit: no known fault without an answer")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
