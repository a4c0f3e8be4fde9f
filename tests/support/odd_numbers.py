"""Numbers at the edges of what floats are, and every place of an interface that takes a number."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

FLOATS = (math.nan, math.inf, -math.inf, -0.0, 5e-324, -2.2e-308, 1e308, -1.7976931348623157e308, 1e-300, 0.1)
TOKENS = (
    *("NaN", "Infinity", "-Infinity", "1e999", "-1e999"),
    *("-0.0", "-0", "5e-324", "1e-400", "1e308", "-1e308", "9007199254740993", "1" * 400, "0.1", "1e2"),
)
"""How numbers are written in requests: five that are none to JSON or to floats, and those at the edges."""
NO_NUMBERS = TOKENS[:5]
ODD = "@odd@"
FREE = {"rate": ODD, "optimiser": {"kind": "adam", "rate": ODD}, "momentum": ODD, "epochs": ODD, "width": ODD}
"""What is put where anything may stand."""


class NotStrict(AssertionError):
    """A text that only a lenient reader takes for JSON."""


def strict(text: str | bytes) -> Any:
    """Read JSON as its standard has it: no NaN, no infinity, and no number that becomes one."""

    def refuse(word: str) -> None:
        raise NotStrict(f"the bare word {word}")

    def number(digits: str) -> float:
        value = float(digits)
        if not math.isfinite(value):
            raise NotStrict(f"the number {digits}")
        return value

    return json.loads(text, parse_constant=refuse, parse_float=number)


Places = list[tuple[str, dict[str, Any] | None, dict[str, Any] | None]]


def numeric_places(openapi: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, str], str]]:
    """Give every request of an interface that takes a number, once for each such place: method, path, query, body.

    The number itself is written ``ODD``; of the body that is with its quotation marks, of the path with braces.
    """
    schemas = openapi["components"]["schemas"]
    for path, operations in openapi["paths"].items():
        for method, operation in operations.items():
            parameters = operation.get("parameters", [])
            given = {p["name"]: "1" for p in parameters if p["in"] == "query" and p.get("required")}
            for parameter in parameters:
                if _takes_number(parameter["schema"]):
                    if parameter["in"] == "query":
                        yield method, path, {**given, parameter["name"]: ODD}, ""
                    else:
                        yield method, path.replace(f"{{{parameter['name']}}}", ODD), given, ""
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content:
                for body in _bodies(content["schema"], schemas, 0):
                    yield method, path, given, json.dumps(body)


def _takes_number(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") in ("number", "integer") or any(map(_takes_number, schema.get("anyOf", ())))


def _bodies(schema: Mapping[str, Any], schemas: Mapping[str, Any], depth: int) -> Iterator[Any]:
    """Give bodies of a schema, each with one number in it that is odd; everything else is as plain as can be."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    if depth > 4:
        return
    kind = schema.get("type")
    if kind in ("number", "integer"):
        yield ODD
    elif kind == "array":
        yield from ([one] for one in _bodies(schema.get("items", {}), schemas, depth + 1))
    elif "properties" in schema:
        plain = {name: _plain(part, schemas) for name, part in schema["properties"].items()
                 if name in schema.get("required", ())}  # fmt: skip
        for name, part in schema["properties"].items():
            yield from ({**plain, name: one} for one in _bodies(part, schemas, depth + 1))
    elif kind == "object":
        yield FREE
    else:
        for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            yield from _bodies(part, schemas, depth + 1)


def _plain(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Any:
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return _plain(schema["anyOf"][-1], schemas)
    if schema.get("type") == "object":
        return {name: _plain(part, schemas) for name, part in schema.get("properties", {}).items()
                if name in schema.get("required", ())}  # fmt: skip
    return {"array": [], "number": 1, "integer": 1, "boolean": False, "string": "x", "null": None}.get(
        schema.get("type", "null")
    )


def with_token(text: str, token: str) -> str:
    """Put a number where ``ODD`` stands in a body or a path."""
    return re.sub(f'"?{ODD}"?', lambda _: token, text)
