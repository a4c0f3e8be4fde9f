"""Options of the commands that ask a run: which weights, and what computes the answers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from inkcap.recipes import RecipeError

ENGINES = ("auto", "eager", "frozen", "compiled", "onnxruntime")
"""As in inkcap.engine.inference, which needs torch."""

EngineOption = Annotated[
    str, typer.Option("--engine", metavar="auto|eager|frozen|compiled|onnxruntime", help="What computes the answers.")
]
WeightsOption = Annotated[str, typer.Option("--weights", metavar="best|last", help="Which weights of the run.")]


def engine_of(name: str) -> Any:
    """Give an engine by its name; the one that exports know is theirs."""
    if name != "onnxruntime":
        return name
    from inkcap.exchange import by_onnxruntime

    return by_onnxruntime


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse what is none of a few words."""
    if value not in allowed:
        raise RecipeError(f"{name}: {value!r} is not one of {', '.join(allowed)}")
