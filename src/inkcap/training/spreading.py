"""A table spread over several capsules: each column feeds a capsule of one value, by name or by order."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data import Dataset
from inkcap.training.facts import CapsuleFacts, NetworkFacts


def columns_of(manifest: Mapping[str, Any], part: str) -> tuple[str, ...]:
    """Give the names of the columns ("features" or "targets") of a CSV file; none where a column became several."""
    table = manifest.get("table")
    if not isinstance(table, Mapping):
        return ()
    layout = cast("Mapping[str, Any]", table)
    return () if layout.get("categories") and part == "features" else tuple(map(str, layout.get(part) or ()))


def capsule_order(names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Give the capsule of each column: the one of its name when all names agree, else the one in its place."""
    return list(columns if sorted(columns) == sorted(names) else names)


def element_order(capsules: Sequence[CapsuleFacts], columns: Sequence[str]) -> list[int]:
    """Give for every neuron of a vector the column of its name; nothing where they stand in order, or are others."""
    names = capsules[0].elements if len(capsules) == 1 else ()
    if tuple(columns) == names or sorted(columns) != sorted(names):
        return []
    return [list(columns).index(name) for name in names]


def spread(dataset: Dataset, facts: NetworkFacts) -> tuple[Dataset, list[str]]:
    """Spread one input over inputs of one value each, and one measured target over such outputs, with notes."""
    inputs, said = _spread(dataset.inputs, facts.inputs, columns_of(dataset.manifest, "features"), "inputs")
    # Classes are one answer; only numbers can be told apart by columns.
    measured = not any(dataset.classes_of(name) for name in dataset.targets)
    outputs = facts.outputs if measured else ()
    targets, more = _spread(dataset.targets, outputs, columns_of(dataset.manifest, "targets"), "outputs")
    if not said and not more:
        return _by_names(dataset, facts)
    test = None if dataset.test is None else spread(dataset.test, facts)[0]
    ranges = {} if said else dataset.ranges
    if said and len(dataset.ranges) == 1:
        ranges = dict.fromkeys(inputs, next(iter(dataset.ranges.values())))
    return replace(dataset, inputs=inputs, targets=targets, ranges=ranges, test=test), [*said, *more]


def _by_names(dataset: Dataset, facts: NetworkFacts) -> tuple[Dataset, list[str]]:
    """Put the columns of a table into the order of the neurons that have their names."""
    parts: dict[str, dict[str, NDArray[Any]]] = {}
    notes: list[str] = []
    for word, kind, arrays, capsules in (
        ("inputs", "features", dataset.inputs, facts.inputs),
        ("outputs", "targets", dataset.targets, facts.outputs),
    ):
        columns = columns_of(dataset.manifest, kind)
        parts[word] = arrays
        names = capsules[0].elements if len(capsules) == 1 else ()
        if len(arrays) > 1 and set(arrays) == set(names) and all(values[0].size == 1 for values in arrays.values()):
            parts[word] = {capsules[0].name: np.stack([arrays[name].reshape(-1) for name in names], axis=1)}
            notes.append(f"The {len(names)} {word} of the data go to the neurons of their names.")
            continue
        order = element_order(capsules, columns)
        if order and len(arrays) == 1:
            parts[word] = {name: np.ascontiguousarray(values[:, order]) for name, values in arrays.items()}
            notes.append(f"The {len(order)} columns go to the {word} by their names.")
    if not notes:
        return dataset, []
    test = None if dataset.test is None else _by_names(dataset.test, facts)[0]
    return replace(dataset, inputs=parts["inputs"], targets=parts["outputs"], test=test), notes


def _spread(
    parts: dict[str, NDArray[Any]], capsules: Sequence[CapsuleFacts], columns: Sequence[str], word: str
) -> tuple[dict[str, NDArray[Any]], list[str]]:
    if len(parts) != 1 or len(capsules) < 2 or any(capsule.size != 1 for capsule in capsules):
        return parts, []
    (values,) = parts.values()
    if values.ndim != 2 or values.shape[1] != len(capsules):
        return parts, []
    names = [capsule.name for capsule in capsules]
    order = capsule_order(names, columns)
    by_name = sorted(columns) == sorted(names)
    spread_out = {name: np.ascontiguousarray(values[:, place : place + 1]) for place, name in enumerate(order)}
    how = "by their names" if by_name else f"in their order ({', '.join(order)})"
    return {name: spread_out[name] for name in names}, [f"The {len(names)} columns go to the {word} {how}."]
