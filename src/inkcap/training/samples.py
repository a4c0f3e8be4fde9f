"""Samples to ask a run about, read from a file or typed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from inkcap.recipes import RunFolder
from inkcap.training.data import load_one_input
from inkcap.training.data.scaling import Scaling
from inkcap.training.errors import TrainingError
from inkcap.training.feeding import parse_feed
from inkcap.training.opened import OpenedRun, open_run
from inkcap.training.spreading import capsule_order, columns_of, element_order


def read_samples(
    run: RunFolder, source: str, *, resize: bool = False, folder: Path | None = None
) -> dict[str, NDArray[Any]]:
    """Read what was given for a prediction: for every input of the run, by its name in the data.

    A run with several inputs takes an ``.npz`` file that has an array for each. When each of them is a single value,
    numbers and tables do as well: a column an input.
    """
    opened = open_run(run)
    fed = parse_feed(opened.recipe.data.feed)
    names = [data for capsule, data in opened.fit.inputs.items() if capsule not in fed]
    table = opened.manifest.get("table")
    if len(names) > 1 and Path(source).suffix.lower() != ".npz":
        return _columns(opened, names, source, folder)
    keys = names if len(names) > 1 else [""]
    read = {
        name: load_one_input(source, opened.preparation, folder=folder, name=name, resize=resize, table=table, key=key)
        for name, key in zip(names, keys, strict=True)
    }
    order = element_order(opened.facts.inputs, columns_of(opened.manifest, "features"))
    return {name: values[:, order] for name, values in read.items()} if order else read


def _columns(opened: OpenedRun, names: list[str], source: str, folder: Path | None) -> dict[str, NDArray[Any]]:
    """Read one row of numbers a sample and hand its columns out, in the order in which the run's data had them."""
    scalings = [opened.preparation.inputs[name] for name in names]
    if any(scaling.shape != (1,) for scaling in scalings):
        raise TrainingError(
            f"{opened.run.id} has the inputs {', '.join(names)}; give an .npz file with an array for each."
        )
    fill = (0.0,) * len(names) if any(scaling.fill for scaling in scalings) else ()
    joined = Scaling("none", (len(names),), (0.0,), (1.0,), None, fill)
    preparation = replace(opened.preparation, inputs={"x": joined})
    table = opened.manifest.get("table")
    values = load_one_input(source, preparation, folder=folder, name="x", table=table)
    order = capsule_order(names, columns_of(opened.manifest, "features"))
    return {name: values[:, place : place + 1] for place, name in enumerate(order)}
