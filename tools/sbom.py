"""Bills of materials of what make installs, from the locks alone: the same locks give the same bytes.

Usage: python tools/sbom.py [folder]      write inkcap-python.cdx.json and inkcap-npm.cdx.json (CycloneDX 1.6)

Where the package that knows CycloneDX's schema is installed (`make sbom` brings it), both are checked by it.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import sys
import tomllib
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import lock

ROOT = Path(__file__).resolve().parent.parent
NPM_LOCK = ROOT / "web" / "package-lock.json"
SPACE = uuid.UUID("5b2f3a52-6f0d-4c8e-9a35-0c6d3a4b7f11")
"""Serial numbers are made from the content, within this space of our own."""
SCOPES = {"studio": "required", "node": "optional", "cuda": "optional", "dev": "excluded", "supply": "excluded"}
"""What a package is for, by the first of these locks that has it: it runs, it may run, or it only makes and tests."""


def _licences(text: str, is_expression: bool) -> list[dict[str, Any]]:
    return [{"expression": text}] if is_expression else [{"license": {"name": text}}]


def _looks_like_spdx(text: str) -> bool:
    """Tell an SPDX expression from a name in plain words."""
    words = text.replace("(", " ").replace(")", " ").split()
    joined = {"AND", "OR", "WITH"}
    return all((word in joined) == bool(i % 2) for i, word in enumerate(words)) and len(words) % 2 == 1


def python_components() -> list[dict[str, Any]]:
    """Give every pin of the Python locks, with the hashes of all its files."""
    licences = json.loads(lock.LICENCES.read_text(encoding="utf-8"))
    found: dict[str, dict[str, Any]] = {}
    for name, scope in SCOPES.items():
        for pin in lock.read(name):
            purl = f"pkg:pypi/{pin.name}@{quote(pin.version)}"
            said = licences[pin.name]
            component = {
                "type": "library",
                "bom-ref": purl,
                "name": pin.name,
                "version": pin.version,
                "scope": scope,
                "hashes": [{"alg": "SHA-256", "content": text.partition(":")[2]} for text in pin.hashes],
                "licenses": _licences(said, _looks_like_spdx(said)),
                "purl": purl,
            }
            if pin.marker:
                component["properties"] = [{"name": "inkcap:where", "value": pin.marker}]
            found.setdefault(purl, component)
    return [found[purl] for purl in sorted(found)]


def npm_components() -> list[dict[str, Any]]:
    """Give every package of the npm lock; one that lies in two places stands once."""
    packages: dict[str, Any] = json.loads(NPM_LOCK.read_text(encoding="utf-8"))["packages"]
    found: dict[str, dict[str, Any]] = {}
    for path, package in packages.items():
        if not path:
            continue
        name = package.get("name") or path.rpartition("node_modules/")[2]
        purl = f"pkg:npm/{quote(name, safe='/')}@{quote(package['version'])}"
        digest = base64.b64decode(package["integrity"].partition("-")[2]).hex()
        group, _, short = name.rpartition("/")
        component = {
            "type": "library",
            "bom-ref": purl,
            **({"group": group} if group else {}),
            "name": short,
            "version": package["version"],
            "scope": "excluded" if package.get("dev") else "required",
            "hashes": [{"alg": "SHA-512", "content": digest}],
            "licenses": _licences(package["license"], _looks_like_spdx(package["license"])),
            "purl": purl,
        }
        if found.setdefault(purl, component)["scope"] != "required":
            found[purl] = component
    return [found[purl] for purl in sorted(found)]


def bill(kind: str, components: list[dict[str, Any]]) -> str:
    """Write a bill of materials."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name = {"python": project["name"], "npm": f"{project['name']}-studio"}[kind]
    subject = {
        "type": "application",
        "bom-ref": f"{name}@{project['version']}",
        "name": name,
        "version": project["version"],
        "licenses": [{"expression": project["license"]}],
    }
    content = json.dumps(components, sort_keys=True)
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(SPACE, f'{kind} {content}')}",
        "version": 1,
        "metadata": {"component": subject},
        "components": components,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def bills() -> dict[str, str]:
    """Give both bills by the names of their files."""
    parts = {"python": python_components(), "npm": npm_components()}
    return {f"inkcap-{kind}.cdx.json": bill(kind, components) for kind, components in parts.items()}


def faults(text: str) -> str | None:
    """Say what CycloneDX's own schema finds wrong; nothing, or that it is not here, is told too."""
    if importlib.util.find_spec("cyclonedx") is None:
        return "not checked: the package that knows the schema is not installed"
    from cyclonedx.schema import SchemaVersion  # pyright: ignore[reportMissingImports]
    from cyclonedx.validation.json import JsonStrictValidator  # pyright: ignore[reportMissingImports]

    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    return None if error is None else str(error)


def main(arguments: Sequence[str]) -> int:
    """Write the bills, and check them where that can be done."""
    folder = Path(arguments[0]) if arguments else ROOT / "dist"
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name, text in bills().items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        fault = faults(text)
        print(
            f"{folder / name}: {text.count('bom-ref') - 1} packages, {fault or 'valid by the schema of CycloneDX 1.6'}"
        )
        failed += fault is not None and not fault.startswith("not checked")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
