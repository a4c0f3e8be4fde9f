"""The places of a recipe: its own fields, and those of its data, losses, optimiser and schedule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from inkcap.recipes import (
    LOSSES,
    OPTIMISERS,
    SCHEDULES,
    DataSpec,
    Field,
    Kind,
    LossSpec,
    OptimiserSpec,
    Recipe,
    ScheduleSpec,
    declared_fields,
    recipe_from_json,
    recipe_to_json,
)
from inkcap.sweeps.errors import SweepError
from inkcap.sweeps.places import Place, PlaceKind

_KINDS: Mapping[str, PlaceKind] = {
    "whole": "whole",
    "number": "number",
    "flag": "flag",
    "text": "text",
    "choice": "text",
}
NEVER = {
    "recipe.monitor": "what decides is the same for every trial, or they could not be compared",
    "recipe.threads": "the sweep itself divides the machine's cores; give --at-once",
}
_TABLES: Mapping[str, Mapping[str, Kind]] = {"optimiser": OPTIMISERS, "schedule": SCHEDULES}


def recipe_places(recipe: Recipe) -> dict[str, Place]:
    """Give everything of a recipe that can be varied."""
    told = recipe_to_json(recipe)
    found = list(_of_fields("recipe", (), told, declared_fields(Recipe)))
    found += _of_fields("recipe.data", ("data",), told["data"], declared_fields(DataSpec))
    for name, value in told["data"]["options"].items():
        field = Field(name, _kind_of(value), value, "option of the data")
        found.append(_place("recipe.data", ("data", "options"), value, field))
    for part, record in (("optimiser", OptimiserSpec), ("schedule", ScheduleSpec)):
        found += _of_fields(f"recipe.{part}", (part,), told[part], declared_fields(record))
        found += _of_options(f"recipe.{part}", (part, "options"), told[part]["options"], _TABLES[part])
    for i, loss in enumerate(told["losses"]):
        path = f"recipe.losses.{loss['output'] or i}"
        found += _of_fields(path, ("losses", i), loss, declared_fields(LossSpec))
        found += _of_options(path, ("losses", i, "options"), loss["options"], LOSSES)
    return {place.path: place for place in found if place.path not in NEVER}


def _kind_of(value: object) -> Any:
    return "flag" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "text"


def _of_fields(
    path: str, keys: tuple[str | int, ...], told: Mapping[str, Any], fields: Iterable[Field]
) -> Iterable[Place]:
    for field in fields:
        if field.kind != "options" and field.name != "output":
            yield _place(path, keys, told[field.name], field)


def _of_options(
    path: str, keys: tuple[str | int, ...], now: Mapping[str, Any], table: Mapping[str, Kind]
) -> Iterable[Place]:
    """Give the options of every kind: another kind may be among what is tried."""
    options: dict[str, Field] = {}
    for kind in table.values():
        for field in kind.options:
            options.setdefault(field.name, field)
    for name, field in options.items():
        yield _place(path, keys, now.get(name), field)


def _place(path: str, keys: tuple[str | int, ...], now: Any, field: Field) -> Place:
    full = f"{path}.{field.name}"
    least = field.least if field.above is None else field.above
    most = field.most if field.below is None else field.below
    kind = _KINDS.get(field.kind, "value")

    def check(value: Any) -> Any:
        return field.check(value, full)

    return Place(full, kind, field.help, now, (*keys, field.name), check, None, field.choices, least, most)


def recipe_with(recipe: Recipe, given: Iterable[tuple[Place, Any]]) -> Recipe:
    """Give the recipe with the values at their places; options of another kind are not carried over."""
    told = recipe_to_json(recipe)
    # Kinds come first: they decide which options there are.
    for place, value in sorted(given, key=lambda one: one[0].keys[-1] != "kind"):
        if place.record is not None:
            continue
        at: Any = told
        for key in place.keys[:-1]:
            at = at[key]
        if place.keys[-1] == "kind" and value != at["kind"]:
            at["options"] = {}
            if "rate" in at:
                at["rate"] = 0.0
        at[place.keys[-1]] = value
    return recipe_from_json(told, "recipe")


def check_comparable(paths: Iterable[str], recipe: Recipe) -> None:
    """Refuse what would make the values that decide incomparable."""
    for path in paths:
        if path in NEVER:
            raise SweepError(f"{path}: this cannot be varied: {NEVER[path]}.")
        changes_loss = path.startswith("recipe.losses.") or path == "recipe.data.normalise_targets"
        if changes_loss and recipe.monitor in ("auto", "loss"):
            raise SweepError(
                f"{path}: losses of different kinds cannot be compared; let a measure such as accuracy decide: "
                "--monitor accuracy."
            )
