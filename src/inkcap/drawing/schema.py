"""The published JSON Schema of drawing files, generated from the catalogue."""

from __future__ import annotations

from typing import Any

from inkcap.drawing import limits
from inkcap.drawing.fields import ID
from inkcap.drawing.groups import COPY, REPEAT_LIMIT
from inkcap.drawing.migrations import FORMAT
from inkcap.drawing.plain import FIXED
from inkcap.structures import DTYPES
from inkcap.symbols import CAPSULES, CONNECTIONS, PARTS, Attribute

IDENTIFIER = {"type": "string", "pattern": f"^{ID.pattern}$"}
NAME = {"type": "string", "maxLength": limits.NAME_LENGTH}
NUMBER = {"type": "number"}
OPTIONAL = {"anyOf": [IDENTIFIER, {"const": ""}, {"type": "null"}]}
EXPRESSION = {"type": "string", "pattern": "^=", "maxLength": limits.NAME_LENGTH}
SCALARS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": {"type": ["number", "string", "boolean"]},
    "propertyNames": {**IDENTIFIER, "not": {"const": COPY}},
}
PORTS: dict[str, Any] = {"type": "object", "additionalProperties": IDENTIFIER}
COORDINATE = {**NUMBER, "minimum": -limits.SHEET, "maximum": limits.SHEET}
PLACE = {"type": "array", "items": COORDINATE, "minItems": 2, "maxItems": 2}
POSITIONS: dict[str, Any] = {"type": "object", "additionalProperties": PLACE}


def _object(properties: dict[str, Any], required: tuple[str, ...]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": properties}


class _Shared:
    """What many symbols state alike is written once and named."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}

    def __call__(self, name: str, schema: dict[str, Any]) -> dict[str, Any]:
        """Give a reference to a schema; another schema of the same name gets a number behind it."""
        number = 1
        while self.definitions.setdefault(key := name if number == 1 else f"{name}-{number}", schema) != schema:
            number += 1
        return {"$ref": f"#/$defs/{key}"}


def _attributes(declared: tuple[Attribute, ...], shared: _Shared, *, expressions: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for attribute in declared:
        options = [attribute.schema(), {"type": "null"}, *([EXPRESSION] if expressions else [])]
        fields[attribute.name] = shared(attribute.name, {"anyOf": options})
    return _object(fields, ())


def _parts(rank: int, shared: _Shared, *, expressions: bool) -> dict[str, Any]:
    parts = [
        _object(
            {"part": {"const": part.id}, "attributes": _attributes(part.attributes, shared, expressions=expressions)},
            ("part",),
        )
        | {"title": part.title, "description": part.tooltip}
        for part in PARTS.values()
        if rank in part.ranks
    ]
    return shared("wears", {"type": "array", "items": {"oneOf": parts}, "maxItems": 8})


def _capsule(shared: _Shared, *, expressions: bool) -> dict[str, Any]:
    faces = [
        _object(
            {
                "id": IDENTIFIER,
                "symbol": {"const": symbol.id},
                "rank": {"const": rank},
                "attributes": _attributes(symbol.attributes(rank), shared, expressions=expressions),
                "wears": _parts(rank, shared, expressions=expressions),
                "tie": OPTIONAL,
                "label": NAME,
            },
            ("id", "symbol", "rank"),
        )
        | {"title": symbol.title_of(rank), "description": symbol.tooltip}
        for symbol in CAPSULES.values()
        for rank in symbol.ranks
    ]
    return {"oneOf": faces}


def _connection(shared: _Shared, *, expressions: bool) -> dict[str, Any]:
    kinds = [
        _object(
            {
                "id": IDENTIFIER,
                "symbol": {"const": symbol.id},
                "back": IDENTIFIER,
                "front": IDENTIFIER,
                "attributes": _attributes(symbol.attributes, shared, expressions=expressions),
                "port": IDENTIFIER,
                "output": OPTIONAL,
                "tie": OPTIONAL,
                "label": NAME,
            },
            ("id", "symbol", "back", "front"),
        )
        | {"title": f"{symbol.title} connection", "description": symbol.tooltip}
        for symbol in CONNECTIONS.values()
    ]
    return {"oneOf": kinds}


def _list(items: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": most}


def drawing_schema() -> dict[str, Any]:
    """Describe drawing files as JSON Schema (draft 2020-12)."""
    shared = _Shared()
    use = _object(
        {
            "id": IDENTIFIER,
            "group": IDENTIFIER,
            "arguments": SCALARS,
            "repeat": {"type": "integer", "minimum": 1, "maximum": REPEAT_LIMIT},
            "tie": OPTIONAL,
            "label": NAME,
        },
        ("id", "group"),
    )
    group = _object(
        {
            "id": IDENTIFIER,
            "arguments": SCALARS,
            "capsules": _list(_capsule(shared, expressions=True), limits.CAPSULES),
            "connections": _list(_connection(shared, expressions=True), limits.CONNECTIONS),
            "uses": _list(use, limits.CAPSULES),
            "inputs": PORTS,
            "outputs": PORTS,
            "label": NAME,
            "positions": POSITIONS,
        },
        ("id",),
    )
    neuron, tie = ({"type": "integer", "minimum": least} for least in (0, FIXED))
    columns = {"symbol": NAME, "bias": NUMBER, "back": neuron, "front": neuron, "weight": NUMBER}
    listed = {k: _list(v, limits.PLAIN_CONNECTIONS) for k, v in (columns | {"tie": tie, "bias_tie": tie}).items()}
    span = {"type": "array", "items": neuron, "minItems": 2, "maxItems": 2}
    spans: dict[str, Any] = {"type": "object", "additionalProperties": span, "propertyNames": IDENTIFIER}
    plain = _object(listed | {"reads": spans, "writes": spans}, tuple(columns))
    note = _object({"id": IDENTIFIER, "text": {"type": "string", "maxLength": limits.TEXT_LENGTH}}, ("id", "text"))
    body = _object(
        {
            "format": {"const": FORMAT},
            "name": NAME,
            "dtype": {"enum": list(DTYPES)},
            "capsules": _list(_capsule(shared, expressions=False), limits.CAPSULES),
            "connections": _list(_connection(shared, expressions=False), limits.CONNECTIONS),
            "groups": _list(group, 1000),
            "uses": _list(use, limits.CAPSULES),
            "notes": _list(note, limits.CAPSULES),
            "plain": {"anyOf": [plain, {"type": "null"}]},
            "positions": POSITIONS,
        },
        ("format", "name", "capsules", "connections"),
    )
    header = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Inkcap drawing, format 1"}
    return {**header, **body, "$defs": dict(sorted(shared.definitions.items()))}
