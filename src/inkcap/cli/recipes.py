"""Recipes on the command line: a file, and the options that win over it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from inkcap.recipes import (
    LOSSES,
    OPTIMISERS,
    SCHEDULES,
    DataSpec,
    LossSpec,
    OptimiserSpec,
    Recipe,
    RecipeError,
    ScheduleSpec,
    declared_fields,
    recipe_from_text,
)

# Every help text comes from the recipe's own declaration.
HELP = {f.name: f.help_text() for record in (DataSpec, Recipe) for f in declared_fields(record)}
FIELDS = {f.name: f for record in (DataSpec, OptimiserSpec, Recipe) for f in declared_fields(record)}

_TYPES: dict[str, Any] = {"whole": int, "number": float, "flag": bool, "texts": list[str]}
_METAVARS = {
    "feed": "CAPSULE=NAME",
    "freeze": "PATTERN",
    "init_from": "RUN",
    "init_renamed": "OLD=NEW",
    "switch_engine": "ENGINE@STEP",
    "recompute": "GROUP",
    "pretrain": "EPOCHS",
    "checkpoint": "SECONDS",
}
_SAID_OTHERWISE = ("name", "options")
"""What has an option of another name: --data and --option."""


def with_recipe_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each entry of a recipe, in the place of its ``**given``."""
    parameters = list(inspect.signature(command, eval_str=True).parameters.values())
    made: list[inspect.Parameter] = []
    for record in (DataSpec, Recipe):
        for field in declared_fields(record):
            if field.name not in _SAID_OTHERWISE:
                option = typer.Option(help=field.help_text(), metavar=_METAVARS.get(field.name))
                taken = Annotated[_TYPES.get(field.kind, str) | None, option]
                made.append(
                    inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=taken)
                )
    own = [
        p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters if p.kind != inspect.Parameter.VAR_KEYWORD
    ]
    together = [*own[:3], *made, *own[3:]]
    command.__signature__ = inspect.Signature(together)  # pyright: ignore[reportFunctionMemberAccess]
    command.__annotations__ = {p.name: p.annotation for p in together}
    return command


def read_recipe(
    path: Path | None, data: str | None, options: list[str] | None, given: dict[str, Any], losses: list[str] | None
) -> Recipe:
    """Make the recipe of a command: that of the file, else the usual one, with what was given."""
    spec = {k: v for k, v in given.items() if k in {f.name for f in declared_fields(DataSpec)}}
    top = {k: v for k, v in given.items() if k in {f.name for f in declared_fields(Recipe)}}
    if path is not None:
        try:
            base = recipe_from_text(path.read_bytes(), str(path))
        except OSError as error:
            raise RecipeError(f"{path}: cannot be read: {error.strerror}") from None
        if data is not None:
            spec = {"name": data, "options": pairs(options, "--option"), **spec}
        elif options:
            spec["options"] = {**base.data.options, **pairs(options, "--option")}
        base = replace(base, data=replace(base.data, **spec), **top)
    else:
        if data is None:
            raise RecipeError("train needs data: give --data NAME (see 'inkcap data') or --recipe FILE")
        base = Recipe(DataSpec(data, pairs(options, "--option"), **spec), **top)
    return replace(base, losses=tuple(map(_loss, losses))) if losses else base


def pairs(texts: Iterable[str] | None, option: str) -> dict[str, str]:
    """Read NAME=VALUE texts."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise RecipeError(f"{option} {text!r}: write it as NAME=VALUE")
        if found.setdefault(name.strip(), value.strip()) != value.strip():
            raise RecipeError(
                f"{option} {name.strip()}: given twice, as {found[name.strip()]!r} and {value.strip()!r}; give one"
            )
    return found


PlaceT = TypeVar("PlaceT", str, Path)


def existing(workspace: PlaceT) -> PlaceT:
    """Refuse a folder that is not there: it is more likely misspelt than meant. In storage folders need not be."""
    from inkcap.remote import is_url

    if is_url(str(workspace)) or Path(workspace).is_dir():
        return workspace
    if Path(workspace).exists():
        raise RecipeError(f"--workspace {workspace}: this is no folder; give the folder of your drawings and runs")
    raise RecipeError(f"--workspace {workspace}: there is no such folder; correct it, or make it: mkdir {workspace}")


def with_kind(recipe: Recipe, part: str, kind: str | None, options: list[str] | None, rate: float | None) -> Recipe:
    """Set the optimiser or the schedule; options of another kind are not carried over."""
    if kind is None and not options and rate is None:
        return recipe
    current: OptimiserSpec | ScheduleSpec = getattr(recipe, part)
    table = OPTIMISERS if part == "optimiser" else SCHEDULES
    name = kind or current.kind
    if name not in table:
        raise RecipeError(f"--{part}: there is no {name!r}; there are {', '.join(table)}")
    declared = {field.name: field for field in table[name].options}
    values: dict[str, Any] = dict(current.options) if name == current.kind else {}
    for key, text in pairs(options, f"--{part}-option").items():
        if key not in declared:
            raise RecipeError(f"--{part}-option: {name} has no {key!r}; it has {', '.join(declared) or 'none'}")
        values[key] = declared[key].from_text(text, f"--{part}-option {key}")
    if part == "schedule":
        return replace(recipe, schedule=ScheduleSpec(name, values))
    kept = recipe.optimiser.rate if name == current.kind else 0.0
    return replace(recipe, optimiser=OptimiserSpec(name, kept if rate is None else rate, values))


def with_loss_options(recipe: Recipe, texts: list[str] | None) -> Recipe:
    """Set options of the recipe's losses: of each that has them, so that one name serves several outputs."""
    if not texts:
        return recipe
    if not recipe.losses:
        raise RecipeError("--loss-option goes with --loss or with a recipe that states its losses")
    losses = list(recipe.losses)
    for name, text in pairs(texts, "--loss-option").items():
        fields = [{f.name: f for f in LOSSES[loss.kind].options}.get(name) for loss in losses if loss.kind in LOSSES]
        if not any(fields):
            kinds = ", ".join(loss.kind for loss in losses)
            raise RecipeError(f"--loss-option: {kinds} has no {name!r}; see 'inkcap train --help'")
        for i, field in enumerate(fields):
            if field is not None:
                value = field.from_text(text, f"--loss-option {name}")
                losses[i] = replace(losses[i], options={**losses[i].options, name: value})
    return replace(recipe, losses=tuple(losses))


def _loss(text: str) -> LossSpec:
    output, equals, rest = text.rpartition("=")
    kind, star, weight = rest.partition("*")
    try:
        number_of = float(weight) if star else 1.0
    except ValueError:
        raise RecipeError(
            f"--loss {text!r}: the weight {weight!r} is not a number; write e.g. h=cross-entropy*0.5"
        ) from None
    return LossSpec(output if equals else "", kind, number_of)
