"""Commands that train by several workers: over a Ray that is started for them, or over a cluster that is there."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inkcap.recipes import RecipeError
from inkcap.recipes.record import check_shares

if TYPE_CHECKING:
    from inkcap.cluster import Cluster
    from inkcap.drawing import Drawing
    from inkcap.recipes import Recipe, RunFolder
    from inkcap.training import Listener, RunResult
    from inkcap.training.group import Group

ClusterOption = Annotated[
    str,
    typer.Option("--cluster", metavar="HOST:PORT", help="The Ray cluster of the workers; on this machine without it."),
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Other workers than the run's own; the last bits will differ.")
]
ExposeOption = Annotated[bool, typer.Option("--expose", help="The cluster is reached over a network that you trust.")]


@dataclass(frozen=True)
class Address:
    """Where workers are looked for, at an address or on this machine, and which workspace they open."""

    address: str = ""
    exposed: bool = False
    workspace: str = "."

    def wanted(self, workers: int) -> bool:
        """Tell whether so many workers need a cluster."""
        if workers == 1 and (self.address or self.exposed):
            raise RecipeError("--cluster: one worker needs no cluster; give --workers 2 or more")
        return workers > 1


def trainer(place: Address, recipe: Recipe, group: Group | None) -> Callable[..., RunResult]:
    """Give what trains: this process, alone or in the group that surrounds it, or workers that are started for it."""
    if _by_workers(place, recipe.workers, group):
        # Before anything is started for it.
        check_shares(recipe.batch, recipe.workers)
        return partial(_train_by_workers, place)
    from inkcap.training import train

    return partial(train, group=group)


def resumer(place: Address, workers: int, group: Group | None) -> Callable[..., RunResult]:
    """Give what goes on with a run, likewise."""
    if _by_workers(place, workers, group):
        return partial(_resume_by_workers, place, workers)
    from inkcap.training import resume

    return partial(resume, group=group)


def _by_workers(place: Address, workers: int, group: Group | None) -> bool:
    """Tell whether workers are to be started, and raise where they cannot be."""
    if group is not None or not place.wanted(workers):
        return False
    from inkcap.cluster import needs_ray

    needs_ray()
    return True


def _train_by_workers(
    place: Address, drawing: Drawing, recipe: Recipe, workspace: Path, listener: Listener, **options: Any
) -> RunResult:
    from inkcap.cluster.training import train_together

    with _joined(place, recipe.workers, workspace, options) as (cluster, opened):
        return train_together(drawing, recipe, opened, listener, cluster=cluster, **options)


def _resume_by_workers(
    place: Address, workers: int, folder: RunFolder, workspace: Path, listener: Listener, **options: Any
) -> RunResult:
    from inkcap.cluster.training import resume_together

    with _joined(place, workers, workspace, options) as (cluster, opened):
        return resume_together(folder, opened, listener, cluster=cluster, workers=workers, **options)


@contextmanager
def _joined(
    place: Address, workers: int, workspace: Path, options: dict[str, Any]
) -> Generator[tuple[Cluster, Path | str]]:
    """Join the cluster of an address; what is in storage each worker opens for itself, on whatever machine it is."""
    from inkcap.cluster import joined

    opened = workspace if options.pop("elsewhere") is None else place.workspace
    with joined(place.address, exposed=place.exposed, workers=workers) as cluster:
        yield cluster, opened
