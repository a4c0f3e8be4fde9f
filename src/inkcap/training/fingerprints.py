"""What a run's bits depend on, and in what two of them differ: a run that goes on elsewhere must say so."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, cast

from inkcap.drawing import to_text
from inkcap.recipes import recipe_to_json
from inkcap.recipes.engines import AS_DRAWN
from inkcap.recipes.strict import dump
from inkcap.training.jobs import Plan

_NO_MATTER = ("platform", "safetensors")
"""What the environment tells for a person: neither the kernel's version nor the file format's changes a bit."""
_OVERRULED = ("OMP_WAIT_POLICY", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables of waiting threads, and of their number, which a run pins itself."""

_AROUND_THE_STEPS = (
    *("epochs", "checkpoint", "threads", "loaders", "workers", "engine", "switch_engine"),
    *("init_memory", "init_renamed"),
)
"""What a recipe says of the first weights, of how many steps there are and who computes them, not of a step."""
_SINCE: Mapping[str, object] = {"precision": AS_DRAWN, "recompute": (), "sharded": False, "joint_norm": False}
"""What recipes have come to say, with what was so before: runs that began without a word on it go on."""


def fingerprint(plan: Plan, environment: Mapping[str, object]) -> dict[str, Any]:
    """Give what the bits of a run depend on, as plain values."""
    left_out = {*_AROUND_THE_STEPS, *(name for name, before in _SINCE.items() if getattr(plan.recipe, name) == before)}
    recipe = {name: value for name, value in recipe_to_json(plan.recipe).items() if name not in left_out}
    # The version is that of the file, and the first one stands in what older runs were marked with.
    recipe["version"] = 1
    return {
        "environment": dict(environment),
        "drawing": _digest(to_text(plan.drawing)),
        "recipe": _digest(dump(recipe)),
        **data_digests(plan.material.to_json()),
    }


def data_digests(data: Mapping[str, Any]) -> dict[str, str]:
    """Give check sums of what data.json says of the samples, and of how they are prepared."""
    manifest = {name: value for name, value in data["manifest"].items() if name != "source"}
    samples = _digest(dump({"manifest": manifest, "split": data["split"]}))
    return {"data": samples, "preparation": _digest(dump(data["preparation"]))}


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say in what the environment and the prepared data differ; nothing when the same bits can be promised."""
    old, new = ({"workers": 1, **part["environment"]} for part in (before, now))
    found = list(_differing(old, new))
    if before["preparation"] != now["preparation"]:
        found.append("the preparation of the data")
    return found


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if name in _NO_MATTER or before == after:
            continue
        if name == "variables":
            chosen = (cast("dict[str, Any]", before or {}), cast("dict[str, Any]", after or {}))
            left, right = ({k: v for k, v in part.items() if k not in _OVERRULED} for part in chosen)
            yield from _differing(left, right)
        else:
            yield f"{name} {_shown(before)} → {_shown(after)}"


def _shown(value: object) -> str:
    return "unset" if value is None else str(value)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
