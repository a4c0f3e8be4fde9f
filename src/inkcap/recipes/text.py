"""Recipes as JSON, both ways, and the JSON schema; everything is read from the declarations of the records."""

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

from inkcap.recipes.errors import RecipeError
from inkcap.recipes.fields import declared_fields, show
from inkcap.recipes.kinds import LOSSES, OPTIMISERS, SCHEDULES, Kind
from inkcap.recipes.record import DataSpec, LossSpec, OptimiserSpec, Recipe, ScheduleSpec
from inkcap.recipes.strict import dump, expect_names, expect_object, parse

FORMAT = "inkcap-recipe"
VERSION = 2
_READ = (1, VERSION)

_PARTS: Mapping[str, type] = {"data": DataSpec, "optimiser": OptimiserSpec, "schedule": ScheduleSpec}
_KINDS: Mapping[str, Mapping[str, Kind]] = {"losses": LOSSES, "optimiser": OPTIMISERS, "schedule": SCHEDULES}


def recipe_to_json(recipe: Recipe) -> dict[str, Any]:
    """Give the recipe as plain values, with every option written out."""
    return {"format": FORMAT, "version": VERSION, **_plain(recipe)}


def recipe_to_text(recipe: Recipe) -> str:
    """Give the recipe as a JSON text."""
    return dump(recipe_to_json(recipe))


def recipe_from_text(text: str | bytes, name: str = "recipe") -> Recipe:
    """Give the recipe of a JSON text; anything unknown, doubled, of a wrong type or out of range is refused."""
    value = parse(text, name, RecipeError)
    try:
        return recipe_from_json(value, name)
    except RecipeError as problem:
        # A value that cannot be is found by the record itself, which knows no file.
        raise problem if name in str(problem) else RecipeError(f"{name}: {problem}") from None


def recipe_from_json(value: object, name: str = "recipe") -> Recipe:
    """Give the recipe of plain values."""
    given = _renamed(expect_object(value, name, RecipeError))
    names = [item.name for item in dataclasses.fields(Recipe)]
    expect_names(given, ["format", "version", *names], ["format", "version", "data"], name, RecipeError)
    if given["format"] != FORMAT:
        raise RecipeError(f"{name}: the format {show(given['format'])} is not {FORMAT!r}.")
    version = given["version"]
    if isinstance(version, bool) or version not in _READ:
        raise RecipeError(
            f"{name}: version {show(version)} cannot be read here; this Inkcap reads up to version {VERSION}."
        )
    parts: dict[str, Any] = {key: item for key, item in given.items() if key in names}
    for key, record in _PARTS.items():
        if key in parts:
            parts[key] = _record(record, parts[key], f"{name}: {key}")
    if "losses" in parts:
        if not isinstance(parts["losses"], list):
            raise RecipeError(f"{name}: losses: {show(parts['losses'])} is not a list.")
        losses = cast("list[object]", parts["losses"])
        parts["losses"] = tuple(_record(LossSpec, item, f"{name}: losses[{i}]") for i, item in enumerate(losses))
    return Recipe(**parts)


_ALGORITHMS = {"autograd": "eager", "universal": "explicit"}


def _renamed(given: Mapping[str, object]) -> Mapping[str, object]:
    """Read what earlier versions wrote: engines were chosen as algorithms, and loaders were called workers."""
    if given.get("version") == 1 and "workers" in given and "loaders" not in given:
        given = {"loaders" if key == "workers" else key: item for key, item in given.items()}
    algorithm = given.get("algorithm")
    if not isinstance(algorithm, str) or algorithm not in _ALGORITHMS or "engine" in given:
        return given
    kept = {key: item for key, item in given.items() if key != "algorithm"}
    return {**kept, "engine": _ALGORITHMS[algorithm]}


def recipe_schema() -> dict[str, Any]:
    """Give the JSON schema of a recipe (draft 2020-12)."""
    properties: dict[str, Any] = {
        "format": {"const": FORMAT},
        "version": {"enum": list(_READ)},
        "data": _record_schema(DataSpec, ["name"]),
        "losses": {"type": "array", "items": _kind_schema(LossSpec, LOSSES, [], "auto")},
        "optimiser": _kind_schema(OptimiserSpec, OPTIMISERS, [], "adam"),
        "schedule": _kind_schema(ScheduleSpec, SCHEDULES, [], "constant"),
    }
    properties.update({field.name: field.schema() for field in declared_fields(Recipe)})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Inkcap recipe",
        "type": "object",
        "properties": properties,
        "required": ["format", "version", "data"],
        "additionalProperties": False,
    }


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    return value


def _record(record: type, value: object, place: str) -> Any:
    given = expect_object(value, place, RecipeError)
    expect_names(given, [item.name for item in dataclasses.fields(record)], [], place, RecipeError)
    return record(**given)


def _record_schema(record: type, required: list[str]) -> dict[str, Any]:
    properties: dict[str, Any] = {field.name: field.schema() for field in declared_fields(record)}
    if required == ["name"]:
        properties["name"]["minLength"] = 1
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _kind_schema(record: type, kinds: Mapping[str, Kind], required: list[str], default: str) -> dict[str, Any]:
    schema = _record_schema(record, required)
    schema["properties"]["options"] = {"type": "object"}
    choices: list[dict[str, Any]] = []
    for name in dict.fromkeys((*kinds, default)):
        fields = kinds[name].options if name in kinds else ()
        options = {
            "type": "object",
            "properties": {field.name: field.schema() for field in fields},
            "additionalProperties": False,
        }
        needed = [] if name == default else ["kind"]
        choices.append({"properties": {"kind": {"const": name}, "options": options}, "required": needed})
    schema["oneOf"] = choices
    return schema
