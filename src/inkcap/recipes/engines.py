"""Engines and precision in a recipe: what can compute a step, what may follow it, and in which numbers."""

from inkcap.recipes.errors import RecipeError
from inkcap.recipes.fields import show

ENGINES = ("auto", "eager", "explicit", "compiled", "plain")
SWITCHED_TO = ("eager", "explicit", "compiled")
"""Engines that take single steps and so can go on from any of them."""
AS_DRAWN = "as-drawn"
PRECISIONS = (AS_DRAWN, "bfloat16", "float16")


def read_switch(text: str) -> tuple[str, int] | None:
    """Read ENGINE@STEP: the engine that goes on, and the steps that come before it; None where nothing is given."""
    place = f"recipe.switch_engine: {show(text)}"
    if not text:
        return None
    engine, at, step = (part.strip() for part in text.partition("@"))
    if not at or not (step.isascii() and step.isdigit()) or len(step) > 15:
        raise RecipeError(f"{place} is not possible here; give ENGINE@STEP, such as compiled@500.")
    if engine == "plain":
        raise RecipeError(f"{place}: plain takes many steps in one call, from the first on; give it as engine instead.")
    if engine not in SWITCHED_TO:
        raise RecipeError(f"{place}: there is no engine {engine!r} to switch to; give one of {', '.join(SWITCHED_TO)}.")
    if int(step) == 0:
        raise RecipeError(f"{place}: before step 0 nothing is computed; give {engine} as engine, or a step above 0.")
    return engine, int(step)


def check_engines(engine: str, switch: str, precision: str) -> None:
    """See that the engine, the one that goes on and the precision can be had together."""
    switched = read_switch(switch)
    if switched is not None:
        if engine == "plain":
            raise RecipeError("recipe.switch_engine: the engine plain keeps all steps; give another engine to begin.")
        if switched[0] == ("eager" if engine == "auto" else engine):
            raise RecipeError(f"recipe.switch_engine: the run begins with {switched[0]} already; give another engine.")
    if precision == AS_DRAWN:
        return
    if engine not in ("auto", "eager"):
        raise RecipeError(
            f"recipe.precision: {precision} is computed by the engine eager; the steps of {engine} are written out in "
            "the types that are drawn; give engine eager or auto."
        )
    if switched is not None:
        raise RecipeError(
            f"recipe.precision: {precision} is computed by the engine eager alone; leave out the switch to "
            f"{switched[0]}."
        )
