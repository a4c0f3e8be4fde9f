"""The types of the studio's page: made from the server's own description of its interface.

Usage: python tools/api_types.py           write web/src/api/schema.ts anew
       python tools/api_types.py --check   tell whether it is what the server says
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from front_end import SOURCE, install, node_folder, run_npm

TYPES = SOURCE / "src" / "api" / "schema.ts"


def description() -> str:
    """Give the server's OpenAPI as JSON."""
    from inkcap.studio.app import create_app

    with tempfile.TemporaryDirectory() as folder:
        told = create_app(Path(folder), 1, token="x" * 43).openapi()
    # Which version described it says nothing about the types.
    return json.dumps({**told, "info": {**told["info"], "version": "0"}}, indent=1, sort_keys=True)


def types() -> str:
    """Give the types that are made from the description."""
    node = node_folder()
    install(node)
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "openapi.json"), Path(folder, "schema.ts")
        source.write_text(description(), encoding="utf-8")
        run_npm(node, "run", "api", "--", str(source), "-o", str(made))
        return made.read_text(encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Write the types, or check them."""
    made = types()
    if "--check" not in arguments:
        TYPES.write_text(made, encoding="utf-8")
        print(f"{TYPES.relative_to(SOURCE.parent)}: {len(made.splitlines())} lines")
        return 0
    if not TYPES.is_file() or TYPES.read_text(encoding="utf-8") != made:
        print("web/src/api/schema.ts is not what the server says: run `python tools/api_types.py`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
