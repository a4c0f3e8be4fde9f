"""What can be measured beside the loss: one table, from which everything that shows or compares values reads."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure: its name in recipes and logs, what a person reads, and whether more of it is better."""

    name: str
    title: str
    help: str
    more_is_better: bool = True
    share: bool = True
    """It lies between 0 and 1 and is shown in per cent."""


MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("accuracy", "accuracy", "share of right classes, or of right bits"),
        Measure("mean_iou", "mean IoU", "of the classes of pixels: what is shared, by all that is said or true"),
        Measure("map", "mAP", "mean over the classes of the average precision of boxes, at IoU 0.5"),
        Measure("recall", "recall", "share of the boxes that a proposal finds, at IoU 0.5"),
        Measure("retrieval", "retrieval", "share of samples whose nearest other sample is of their class"),
        Measure("solved", "solved", "share of positions from which the greedy moves reach the goal, in play"),
        Measure("reward", "reward", "mean reward of a game, in play", share=False),
        Measure("mae", "mae", "mean absolute error of numbers", more_is_better=False, share=False),
    )
}


PLAYED = ("solved", "reward")
"""What is measured of data that are played."""


def measure_of(name: str) -> Measure | None:
    """Give the measure of a logged value such as val_accuracy or map.boxes; None for a loss or a rate."""
    return MEASURES.get(name.removeprefix("val_").partition(".")[0])


def more_is_better(name: str) -> bool:
    """Tell whether more is better of a value, with or without val_ before its name."""
    measure = measure_of(name)
    return measure is not None and measure.more_is_better


def value_title(name: str) -> str:
    """Write the name of a logged value for a person."""
    part = "validation " if name.startswith("val_") else ""
    what, dot, output = name.removeprefix("val_").partition(".")
    return f"{part}{MEASURES[what].title if what in MEASURES else what}{dot}{output}"


def value_text(name: str, value: float, digits: str = ".4f") -> str:
    """Write a logged value with its name; shares in per cent."""
    measure = measure_of(name)
    shown = f"{100 * value:.2f} %" if measure and measure.share else f"{value:{digits}}"
    return f"{value_title(name)} {shown}"


def said_once(values: Mapping[str, float]) -> dict[str, float]:
    """Leave out the measures of an output that is the only one of which they are measured: the whole says the same."""
    whole = {name.partition(".")[0] for name in values if "." in name}
    alone = {what for what in whole if sum(name.startswith(f"{what}.") for name in values) == 1}
    return {name: value for name, value in values.items() if "." not in name or name.partition(".")[0] not in alone}


def best_of(measured: Collection[str]) -> str:
    """Give the first measure of a table's order of which more is better; an empty text where there is none."""
    return next((name for name, measure in MEASURES.items() if measure.more_is_better and name in measured), "")
