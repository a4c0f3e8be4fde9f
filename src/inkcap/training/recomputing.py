"""Groups that are computed twice: which of a drawing a recipe names, and which capsules lie in each of them.

Nothing here needs the engine: what a training needs is told before anything is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from inkcap.drawing import Drawing, flatten
from inkcap.recipes import Recipe, RecipeError
from inkcap.recipes.engines import AS_DRAWN
from inkcap.structures.errors import nearest

ALL = "all"
"""Stands for every group that the drawing itself uses."""


def with_places(recipe: Recipe, drawing: Drawing) -> Recipe:
    """Give the recipe with the places of the groups that it names: each use by its path, each copy for itself."""
    if not recipe.recompute:
        return recipe
    if recipe.engine in ("eager", "plain"):
        raise RecipeError(
            f"recipe.recompute: the engine {recipe.engine} keeps what it computes; give explicit or auto as engine, or "
            "leave recompute out."
        )
    if recipe.precision != AS_DRAWN or recipe.switch_engine:
        field, why = (
            ("switch_engine", "one engine computes from the first step to the last")
            if recipe.switch_engine
            else ("precision", "planned steps compute in the types that are drawn")
        )
        raise RecipeError(f"recipe.recompute: {why}; leave {field} out, or recompute.")
    return replace(recipe, recompute=places_of(drawing, recipe.recompute))


def places_of(drawing: Drawing, names: Sequence[str]) -> tuple[str, ...]:
    """Find the places of groups by their names, by those of their uses, or by paths into them such as ``B1.l2``."""
    flattened = flatten(drawing)
    capsules = tuple(flattened.drawing.capsules)
    inside: dict[str, list[str]] = {}
    for path, (group, id) in flattened.origins.items():
        if path in flattened.drawing.capsules:
            inside.setdefault(group, []).append(path.removesuffix(id).removesuffix("."))
    for use in drawing.uses.values():
        inside.setdefault(use.group, []).append(use.id)
    found: list[str] = []
    for name in names:
        wanted = list(drawing.uses) if name == ALL else inside.get(name, [name])
        places = [place for path in dict.fromkeys(wanted) for place in _copies(capsules, path)]
        if not places:
            raise RecipeError(_unknown(name, drawing))
        found += places
    # What lies in another one is computed with that.
    return tuple(
        p for p in dict.fromkeys(found) if not any(p != other and p.startswith(f"{other}.") for other in found)
    )


def parts_in(capsules: Iterable[str], places: Sequence[str]) -> list[frozenset[str]]:
    """Give the capsules of each place, as far as there are any."""
    ids = tuple(capsules)
    parts = [frozenset(id for id in ids if id.startswith(f"{place}.")) for place in places]
    return [part for part in parts if part]


def _copies(capsules: Sequence[str], path: str) -> list[str]:
    """Give the path itself, or those of its copies where the use is repeated; none where nothing lies there."""
    inner = [id.removeprefix(f"{path}.").split(".") for id in capsules if id.startswith(f"{path}.")]
    if inner and all(len(parts) > 1 and parts[0].isdecimal() for parts in inner):
        return [f"{path}.{copy}" for copy in dict.fromkeys(parts[0] for parts in inner)]
    return [path] if inner else []


def _unknown(name: str, drawing: Drawing) -> str:
    there = [*drawing.groups, *drawing.uses]
    if not drawing.uses:
        return (
            f"recipe.recompute: there is no group {name!r}, for the drawing uses none; leave recompute out, or make "
            "one of some capsules with 'inkcap group'."
        )
    meant = nearest(name, there)
    closest = f" Did you mean {meant[0]!r}?" if meant else ""
    return (
        f"recipe.recompute: the drawing has no group {name!r}; its groups are {', '.join(drawing.groups)}, used as "
        f"{', '.join(drawing.uses)}; {ALL} stands for all of them.{closest}"
    )
