"""What schemathesis loads beside the description: ids of things that are there, so that routes do more than miss.

`INKCAP_KNOWN` holds, by the beginning of a path, the ids of what the workspace has.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from typing import Any

import schemathesis

KNOWN: dict[str, list[str]] = json.loads(os.environ.get("INKCAP_KNOWN", "{}"))
ENDS = ("/delete", "/rename")
"""What ends a thing, or moves it, is asked of it seldom: the others would find nothing any more."""


@schemathesis.hook
def before_load_schema(context: Any, raw_schema: dict[str, Any]) -> None:
    """Say of pairs that all their parts are alike: schemathesis 4.32 reads `prefixItems` of answers as no schema."""
    waiting: list[Any] = [raw_schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(parts := value.pop("prefixItems", None), list):
                value["items"] = parts[0] if all(part == parts[0] for part in parts) else {"anyOf": parts}
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def pattern_of(operation: Any, name: str) -> str:
    """Give the pattern that the description has for a part of a path."""
    given = operation.definition.raw.get("parameters", [])
    return next((str(one["schema"].get("pattern", "")) for one in given if one.get("name") == name), "")


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Put an id that is there in the place of two made-up ones in three."""
    path = context.operation.path
    for start, ids in KNOWN.items():
        if path.startswith(start + "/{") and path_parameters and not path.endswith(ENDS):
            name = path[len(start) + 2 :].partition("}")[0]
            made_up = str(path_parameters.get(name, ""))
            chance = zlib.crc32(made_up.encode("utf-8", "replace"))
            # One that breaks its pattern on purpose is to be refused for it.
            if chance % 3 and re.search(pattern_of(context.operation, name), made_up):
                return {**path_parameters, name: ids[chance // 3 % len(ids)]}
    return path_parameters
