"""Samples to ask a run about, read from a file or typed."""

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from inkcap.recipes import RunFolder
from inkcap.training.data import load_one_input
from inkcap.training.errors import TrainingError
from inkcap.training.opened import open_run


def read_samples(
    run: RunFolder, source: str, *, resize: bool = False, folder: Path | None = None
) -> dict[str, NDArray[Any]]:
    """Read what was given for a prediction: for every input of the run, by its name in the data.

    A run with several inputs takes an ``.npz`` file that has an array for each.
    """
    opened = open_run(run)
    names = list(opened.fit.inputs.values())
    if len(names) > 1 and Path(source).suffix.lower() != ".npz":
        raise TrainingError(f"{run.id} has the inputs {', '.join(names)}; give an .npz file with an array for each.")
    table = opened.manifest.get("table")
    keys = names if len(names) > 1 else [""]
    return {
        name: load_one_input(source, opened.preparation, folder=folder, name=name, resize=resize, table=table, key=key)
        for name, key in zip(names, keys, strict=True)
    }
