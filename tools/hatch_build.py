"""What building a wheel does first: it refuses to ship a front end that is missing or older than its source."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))

import front_end


class FrontEndHook(BuildHookInterface[Any]):
    """Builds the front end into the package when its source lies beside it; an sdist carries it built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build before the files are gathered; an editable install serves whatever is built later."""
        if version != "editable" and front_end.SOURCE.is_dir():
            front_end.build()
