"""Commands that torchrun starts several times: all of them train together, and one of them speaks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inkcap.training.group import Group


def surrounding_group() -> Group | None:
    """Give the group that this process was started for, or None."""
    if "WORLD_SIZE" not in os.environ:
        return None
    from inkcap.training.group import Group

    return Group.joined()


def run_of_job(workspace: Path, group: Group) -> str:
    """Find the run that these workers had begun before one of them was lost and all were started again."""
    from inkcap.training.group.membership import RESTARTS

    if os.environ.get(RESTARTS, "0") == "0" or not group.job:
        return ""
    found = ""
    if group.writes:
        from inkcap.recipes import list_runs

        begun = [run for run in list_runs(workspace)[0] if _began(run.record.job, group.job)]
        found = begun[-1].id if begun else ""
    return group.share(found)


def _began(job: str, own: str) -> bool:
    """Tell whether a run was begun by the same launch; where its mark is not known, by one of the same id."""
    launcher, _, mark = own.rpartition("/")
    return job == own if mark else job.rpartition("/")[0] == launcher
