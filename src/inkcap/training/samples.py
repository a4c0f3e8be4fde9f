"""Samples to ask a run about, read from a file or typed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from inkcap.recipes import RunFolder
from inkcap.training.data.scaling import Scaling
from inkcap.training.data.single import Raw, read_raw, shaped_input
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
    return samples_from(opened, read_raw(source, folder=folder, table=opened.manifest.get("table")), resize=resize)


def asked_inputs(opened: OpenedRun) -> list[str]:
    """Give the names in the data of the inputs that samples are wanted for; what is fed with labels is not asked."""
    fed = parse_feed(opened.recipe.data.feed)
    return [data for capsule, data in opened.fit.inputs.items() if capsule not in fed]


def samples_from(opened: OpenedRun, raw: Raw, *, resize: bool = False) -> dict[str, NDArray[Any]]:
    """Give samples as their source holds them to the inputs of a run."""
    names = asked_inputs(opened)
    table = opened.manifest.get("table")
    if len(names) > 1 and not _has_arrays_for(raw, names):
        return _columns(opened, names, raw)
    keys = names if len(names) > 1 else [""]
    read = {
        name: shaped_input(raw, opened.preparation, name=name, resize=resize, table=table, key=key)
        for name, key in zip(names, keys, strict=True)
    }
    order = element_order(opened.facts.inputs, columns_of(opened.manifest, "features"))
    return {name: values[:, order] for name, values in read.items()} if order else read


def _has_arrays_for(raw: Raw, names: list[str]) -> bool:
    """Tell whether there are arrays with names; one that is lacking is told by its name then."""
    return isinstance(raw.content, dict) and (len(raw.content) > 1 or set(raw.content) <= set(names))


def _columns(opened: OpenedRun, names: list[str], raw: Raw) -> dict[str, NDArray[Any]]:
    """Hand out the columns of one row of numbers a sample, in the order in which the run's data had them."""
    scalings = [opened.preparation.inputs[name] for name in names]
    if any(scaling.shape != (1,) for scaling in scalings):
        raise TrainingError(
            f"{opened.run.id} has the inputs {', '.join(names)}; give an .npz file with an array for each."
        )
    fill = (0.0,) * len(names) if any(scaling.fill for scaling in scalings) else ()
    joined = Scaling("none", (len(names),), (0.0,), (1.0,), None, fill)
    preparation = replace(opened.preparation, inputs={"x": joined})
    values = shaped_input(raw, preparation, name="x", table=opened.manifest.get("table"))
    order = capsule_order(names, columns_of(opened.manifest, "features"))
    return {name: values[:, place : place + 1] for place, name in enumerate(order)}
