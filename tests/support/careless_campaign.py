"""The malicious files through a door that is careless on purpose, to prove that the watch sees what happens."""

from __future__ import annotations

import pickle
from pathlib import Path

from malice_campaign import MaliceCampaign


def _careless(content: bytes, name: str, desk: Path) -> None:
    pickle.loads(content)  # noqa: S301 - this is the fault that is planted


def _curious(content: bytes, name: str, desk: Path) -> None:
    canary = content.partition(b"touch ")[2].partition(b"touched")[0].decode()
    (desk / "taken").write_text(Path(canary, "secret").read_text())


class CarelessCampaign(MaliceCampaign):
    """Only doors that fail."""

    doors = {"careless": _careless, "curious": _curious}  # noqa: RUF012


campaign = CarelessCampaign()
