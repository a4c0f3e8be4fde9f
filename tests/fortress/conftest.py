"""What a campaign has counted goes to a file, if one is named: the scoreboard of the docs is made from it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

TALLY = "INKCAP_TALLY"
"""The environment variable that names the file; `make soak` sets it."""


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Give a function that notes the figures of a campaign by its name in the threat model, such as R1 or S4."""

    def note(campaign: str, **figures: float | str) -> None:
        full = request.node.get_closest_marker("soak") is not None
        line = json.dumps({"campaign": campaign, "full": full, "test": request.node.nodeid, **figures})
        print(line)
        if path := os.environ.get(TALLY):
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    return note
