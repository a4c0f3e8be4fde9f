"""The description of the interface: what FastAPI cannot know of it, so that OpenAPI says all that a client may meet.

The gate answers before any route does, every refusal has the same shape, and some routes take or give bytes.
"""

from __future__ import annotations

from typing import Any, cast

from inkcap.studio.access import Access

BYTES = "application/octet-stream"
SVG, PNG = "image/svg+xml", "image/png"
BYTES_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {BYTES: {"schema": {"type": "string", "format": "binary"}}}}
}
"""What a route that takes a stream of bytes says of its body."""
REFUSALS = {
    400: "The request cannot be read: its path, its length or its body.",
    401: "The token is missing.",
    403: "Another page asks for this.",
    404: "What is asked for is not there.",
    405: "The path takes other methods.",
    409: "What is asked for cannot be done with what is there.",
    413: "The request has more bytes than are allowed here.",
    415: "The body is of another kind than is taken here.",
    421: "The Host is not the studio's.",
    422: "A value is not as the description says.",
    431: "The headers have more bytes than are allowed.",
}
OF_BODIES = (413, 415)
LONGEST_PART = 1000
PART: dict[str, Any] = {"minLength": 1, "maxLength": LONGEST_PART, "pattern": r"^[^\x00-\x1f\x7f/]+$"}
"""What the gate lets through as one part of a path; what is longer is the name of nothing."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "Refused",
    "description": "Why a request was refused, in one sentence.",
    "properties": {"detail": {"type": "string"}},
    "required": ["detail"],
}


def giving(kind: str) -> dict[int | str, dict[str, Any]]:
    """Say of a route that it gives something else than JSON."""
    text = {"type": "string"} if kind == SVG else {"type": "string", "format": "binary"}
    return {200: {"description": "The file.", "content": {kind: {"schema": text}}}}


def complete(told: dict[str, Any], access: Access) -> dict[str, Any]:
    """Add to an OpenAPI description what the gate demands and what every refusal looks like."""
    components: dict[str, Any] = told["components"]
    schemas: dict[str, Any] = components["schemas"]
    for theirs in ("HTTPValidationError", "ValidationError"):
        # FastAPI's own shape, which this studio never sends.
        schemas.pop(theirs, None)
    schemas["Refused"] = SCHEMA
    components["responses"] = {f"Refused{status}": _response(status) for status in REFUSALS}
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "The workspace's token."},
        "page": {"type": "apiKey", "in": "cookie", "name": access.cookie, "description": "The token of a browser."},
    }
    told["security"] = [{"token": []}, {"page": []}]
    for methods in cast("dict[str, dict[str, Any]]", told["paths"]).values():
        for operation in methods.values():
            takes = "requestBody" in operation
            for parameter in operation.get("parameters", ()):
                schema: dict[str, Any] = parameter["schema"]
                if parameter["in"] == "path" and schema["type"] == "string":
                    schema |= PART
            for status in REFUSALS:
                if takes or status not in OF_BODIES:
                    operation["responses"][str(status)] = {"$ref": f"#/components/responses/Refused{status}"}
    return told


def _response(status: int) -> dict[str, Any]:
    refused: dict[str, Any] = {
        "description": REFUSALS[status],
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Refused"}}},
    }
    if status == 405:
        refused["headers"] = {"Allow": {"required": True, "schema": {"type": "string"}}}
    return refused
