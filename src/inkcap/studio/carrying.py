"""Going on with a drawing that was changed since a run: whether it was, what was renamed, and by which recipe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from inkcap.drawing import Drawing, from_text
from inkcap.recipes import Recipe, RunFolder, layout, recipe_to_json
from inkcap.structures.errors import InkcapError

TRAINED = ("capsule", "connection", "use", "group", "plain")
"""The kinds of records that a training depends on; places, notes and the name are none."""
RENAMED = re.compile(r"rename (\S+) to (\S+)")
MOST = 64


class Changes:
    """Tells whether a drawing has changed since a run, looked at again only when it has been edited."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[Path, tuple[tuple[object, ...], bool]] = {}

    def since(self, run: RunFolder, drawing: Drawing, state: tuple[object, ...]) -> bool:
        """Compare the drawing, in some state of its log, with the one that was trained."""
        try:
            stamp = (run.path / layout.DRAWING).stat().st_mtime_ns
        except OSError:
            return False
        key = (stamp, *state)
        known = self._known.get(run.path)
        if known is None or known[0] != key:
            while len(self._known) >= MOST:
                del self._known[next(iter(self._known))]
            self._known[run.path] = known = (key, _differ(run, drawing))
        return known[1]


def _differ(run: RunFolder, drawing: Drawing) -> bool:
    try:
        trained = from_text(run.drawing_text())
    except InkcapError:
        return False
    return trained.dtype != drawing.dtype or any(
        list(trained.records(kind)) != list(drawing.records(kind)) for kind in TRAINED
    )


def renamings(labels: Iterable[str], trained: Drawing, drawing: Drawing) -> dict[str, str]:
    """Find which things have another id now, by the labels of the edits since; what fits no longer is left out."""
    now: dict[str, str] = {}
    for label in labels:
        if found := RENAMED.fullmatch(label):
            old, new = found.groups()
            first = next((first for first, last in now.items() if last == old), old)
            now[first] = new
    before, after = (_ids(one) for one in (trained, drawing))
    return {old: new for old, new in now.items() if old in before - after and new in after - before}


def _ids(drawing: Drawing) -> set[str]:
    return {record.id for kind in TRAINED[:3] for record in drawing.records(kind)}


def recipe_to_go_on(run: RunFolder, names: Mapping[str, str], outputs: Sequence[str]) -> dict[str, Any]:
    """Give the run's recipe, to start from its weights and from what its optimiser remembers."""
    recipe = run.recipe()
    losses = tuple(replace(loss, output=names.get(loss.output, loss.output)) for loss in recipe.losses)
    if any(loss.output not in outputs for loss in losses):
        losses = ()
    renamed = ",".join(f"{old}={new}" for old, new in names.items())
    went_on: Recipe = replace(
        recipe, init_from=run.id, init_memory=True, init_renamed=renamed, losses=losses, pretrain=0
    )
    return recipe_to_json(went_on)
