"""What a run keeps of its data in data.json, read without trusting it: a damaged file gets one clear error."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

from inkcap.recipes import RunFolder, RunFolderError, layout
from inkcap.training.data import DataError, Fit, Preparation
from inkcap.training.data.scaling import Scaling
from inkcap.training.data.tables import TableLayout
from inkcap.training.facts import CapsuleFacts, NetworkFacts
from inkcap.training.targets import TargetKind

_LARGEST = 1e39
"""Inputs and targets are float32, so nothing that was fitted on them lies beyond this."""

_LARGEST_SIDE = 16384


class _Damage(Exception):
    """Something in the file is not as it was written."""


@dataclass(frozen=True)
class Stored:
    """The content of data.json that evaluation and prediction need."""

    preparation: Preparation
    fit: Fit
    targets: dict[str, TargetKind]
    classes: dict[str, tuple[str, ...]]
    manifest: dict[str, Any]
    split_sha256: str


def read_stored(folder: RunFolder, facts: NetworkFacts) -> Stored:
    """Read data.json and compare it with the network's inputs and outputs."""
    data = folder.data()
    try:
        fit = Fit(_names(data, "inputs", facts.inputs), _names(data, "outputs", facts.outputs), (), ())
        preparation = Preparation.from_json(_object(data, "preparation"))
        _check_preparation(preparation, fit, facts)
        targets = _targets(data, facts)
        manifest = _object(data, "manifest")
        if manifest.get("table") is not None:
            TableLayout.from_json(_object(manifest, "table"))
        split = _object(data, "split").get("validation_sha256")
        if not isinstance(split, str):
            raise _Damage("split.validation_sha256 is no text")
        return Stored(preparation, fit, targets, _classes(data, facts, targets), manifest, split)
    except (_Damage, DataError, ArithmeticError, ValueError, TypeError, KeyError) as problem:
        words = str(problem).rstrip(".")
        raise RunFolderError(f"{folder.id}/{layout.DATA}: damaged ({words}); train the run again.") from None


def _object(values: Any, name: str) -> dict[str, Any]:
    found = values.get(name)
    if not isinstance(found, dict):
        raise _Damage(f"{name} is no object")
    return cast("dict[str, Any]", found)


def _names(data: Any, part: str, capsules: Sequence[CapsuleFacts]) -> dict[str, str]:
    """Read which data belong to which capsule: one name for each capsule of the network, and no other."""
    found = _object(data, part)
    expected = [capsule.name for capsule in capsules]
    if sorted(found) != sorted(expected):
        raise _Damage(f"{part} are not those of the drawing, {', '.join(expected)}")
    for name, value in found.items():
        if not isinstance(value, str):
            raise _Damage(f"{part}.{name} is no text")
    return {name: str(found[name]) for name in expected}


def _targets(data: Any, facts: NetworkFacts) -> dict[str, TargetKind]:
    found = _names(data, "targets", facts.outputs)
    for name, kind in found.items():
        if kind not in get_args(TargetKind):
            raise _Damage(f"targets.{name} is {kind[:40]!r}, not one of {', '.join(get_args(TargetKind))}")
    return cast("dict[str, TargetKind]", found)


def _classes(data: Any, facts: NetworkFacts, targets: dict[str, TargetKind]) -> dict[str, tuple[str, ...]]:
    classes: dict[str, tuple[str, ...]] = {}
    for name, items in _object(data, "classes").items():
        if name not in targets:
            raise _Damage(f"classes.{name} belongs to no output")
        texts = cast("list[object]", items) if isinstance(items, list) else []
        if not texts or not all(isinstance(text, str) for text in texts):
            raise _Damage(f"classes.{name} is no list of texts")
        output = facts.output(name)
        known = (output.classes,) if targets[name] == "classes" else (2, output.size)
        if targets[name] in ("classes", "bits") and len(texts) not in known:
            raise _Damage(f"classes.{name} has {len(texts)} entries, not {known[0]}")
        classes[name] = tuple(str(text) for text in texts)
    return classes


def _check_preparation(preparation: Preparation, fit: Fit, facts: NetworkFacts) -> None:
    """See that there are numbers for every input, as many as its channels or columns, of a possible size."""
    sides = preparation.resize or ()
    if not all(1 <= side <= _LARGEST_SIDE for side in sides):
        raise _Damage(f"preparation.resize {sides} is no size")
    for capsule in facts.inputs:
        name = fit.inputs[capsule.name]
        if name not in preparation.inputs:
            raise _Damage(f"preparation.inputs has no {name!r}")
        _check_scaling(preparation.inputs[name], capsule, f"preparation.inputs.{name}")
    for capsule in facts.outputs:
        name = fit.outputs[capsule.name]
        if name in preparation.targets:
            _check_scaling(preparation.targets[name], capsule, f"preparation.targets.{name}")


def _check_scaling(scaling: Scaling, capsule: CapsuleFacts, place: str) -> None:
    if scaling.method not in ("none", "unit", "standard"):
        raise _Damage(f"{place}.method {scaling.method[:40]!r} is not known")
    if min(scaling.shape, default=1) < 1 or math.prod(scaling.shape) != capsule.size:
        raise _Damage(f"{place}.shape {list(scaling.shape)} is not that of {capsule.name}, {capsule.shape_text()}")
    channels = scaling.shape[0] if scaling.shape else 1
    for word, numbers, counts in (
        ("offset", scaling.offset, (1, channels)),
        ("scale", scaling.scale, (1, channels)),
        ("fill", scaling.fill, (0, channels)),
        ("value_range", scaling.value_range or (), (0, 2)),
    ):
        if len(numbers) not in counts:
            raise _Damage(f"{place}.{word} has {len(numbers)} numbers, not {counts[1]}")
        if not all(abs(number) <= _LARGEST for number in numbers):
            raise _Damage(f"{place}.{word} has a number that is too large")
    if not all(number > 0 for number in scaling.scale):
        raise _Damage(f"{place}.scale has a number that is not above 0")
