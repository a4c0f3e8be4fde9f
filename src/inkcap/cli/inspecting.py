"""The command that looks into a run: its signals, what it holds, and which classes it takes for which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from inkcap.cli.app import app
from inkcap.cli.output import print_json, say, say_confusion
from inkcap.cli.runs import PlaceOption
from inkcap.structures import InkcapError

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 12


class NothingToSee(InkcapError):
    """A run that has nothing of what was asked for."""


@app.command()
def inspect(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id or folder.")],
    item: Annotated[str | None, typer.Option(metavar="ID", help="What a capsule or connection holds.")] = None,
    epoch: Annotated[int | None, typer.Option(min=0, help="After which epoch; the newest when not given.")] = None,
    confusion: Annotated[bool, typer.Option("--confusion", help="Which classes are taken for which.")] = False,
    worst: Annotated[int | None, typer.Option(metavar="N", min=1, max=200, help="The samples of largest loss.")] = None,
    signals: Annotated[bool, typer.Option("--signals", help="The signals; what is shown without options.")] = False,
    part: Annotated[str, typer.Option(metavar="training|validation|test", help="Which samples.")] = "validation",
    workspace: PlaceOption = ".",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Look into a run: signals of its capsules and connections, weights, Y and δ of one, confusion, worst samples."""
    from inkcap.recipes import signal_courses
    from inkcap.remote import at

    with at(workspace) as place:
        folder = place.run(run)
        if place.elsewhere is not None and (confusion or worst is not None):
            place.data(folder.recipe().data.name)
    told: dict[str, Any] = {"run": folder.id}
    if signals or (item is None and not confusion and worst is None):
        told["signals"] = signal_courses(folder)
    if item is not None or confusion or worst is not None:
        from inkcap.training.environment import prepare_environment

        prepare_environment()
        from inkcap.training import Inspection

        inspection = Inspection(folder)
        told["epochs"] = inspection.epochs()
        if item is not None:
            told["values"] = inspection.values(item, epoch)
        if confusion or worst is not None:
            told["confusion"] = inspection.confusion(part, epoch, worst or 0)
    if as_json:
        print_json(told)
        return
    if "signals" in told:
        _say_signals(folder.id, told["signals"], epoch)
    if "values" in told:
        _say_values(folder.id, told["values"])
    if confusion:
        _say_confusion(folder.id, told["confusion"])
    if worst is not None:
        _say_worst(folder.id, told["confusion"])


def _say_signals(run: str, found: Mapping[str, Any], epoch: int | None) -> None:
    if found["why"]:
        raise NothingToSee(f"{run}: {found['why']}")
    epochs: list[int] = found["epochs"]
    if epoch is not None and epoch not in epochs:
        raise NothingToSee(f"{run}: there are no signals of epoch {epoch}; there are those of {_few(epochs)}.")
    at = len(epochs) - 1 if epoch is None else epochs.index(epoch)
    say(f"{run}: signals after epoch {epochs[at]}, of one batch of {found['batch']}")
    say(f"  weights are kept of epochs {_few(found['frames'])}")
    width = 2 + max(len(id) for id in ("connection", *found["capsules"], *found["connections"]))
    own = ("weight", "update", "gradient")
    kinds = ("output", "delta", "dead", "milliseconds", "megabytes", *own)
    heads = ("‖Y‖", "‖δ‖", "dead", "ms", "MB", "own ‖W‖", "|ΔW|/|W|", "‖∂W‖")
    _say_row("capsule", heads, width)
    for id, course in found["capsules"].items():
        _say_row(id, [_number(course[kind][at], kind) for kind in kinds], width)
    if found["connections"]:
        _say_row("connection", ("‖W‖", "|ΔW|/|W|", "‖∂W‖"), width)
        for id, course in found["connections"].items():
            _say_row(id, [_number(course[kind][at], kind) for kind in own], width)
        say(f"next: inkcap inspect {run} --item {next(iter(found['connections']))}")


def _say_row(name: str, cells: Sequence[str], width: int) -> None:
    say(f"  {name:<{width}}{''.join(f'{cell:>{_WIDTH}}' for cell in cells)}".rstrip())


def _number(value: float | None, kind: str = "") -> str:
    if value is None:
        return ""
    return f"{100 * value:.0f} %" if kind == "dead" else f"{value:.3g}"


def _say_values(run: str, found: Mapping[str, Any]) -> None:
    say(f"{run}: {found['kind']} {found['id']} ({found['title']}) after epoch {found['epoch']}")
    for weight in found["weights"]:
        shape = "×".join(map(str, weight["shape"])) or "one number"
        say(f"  {weight['name']} ({shape}): norm {_number(weight['norm'])}, mean {_number(weight['mean'])}, "
            f"deviation {_number(weight['deviation'])}")  # fmt: skip
        _say_histogram(weight["histogram"])
    for name, words in (("output", "Y"), ("delta", "δ"), ("gradient", "∂W")):
        if found[name] is not None:
            dead = found[name].get("dead")
            more = "" if dead is None else f", {_number(dead, 'dead')} of the units dead"
            say(f"  {words} over {found['samples']} samples: norm {_number(found[name]['norm'])}{more}")
            _say_histogram(found[name]["histogram"])


def _say_histogram(found: Mapping[str, Any] | None) -> None:
    if found is None:
        return
    counts, edges = found["counts"], found["edges"]
    most = max(counts)
    # Whatever is there at all is seen.
    bars = "".join(_BARS[-(-count * (len(_BARS) - 1) // most)] for count in counts)
    say(f"    {edges[0]:.3g} {bars} {edges[-1]:.3g}")


def _say_confusion(run: str, found: Mapping[str, Any]) -> None:
    if not found["classes"]:
        raise NothingToSee(f"{run}: the output {found['output']} gives numbers, not classes; --worst N shows samples.")
    say(f"{run} after epoch {found['epoch']} on {found['samples']} samples ({found['part']}): "
        f"accuracy {100 * found['accuracy']:.2f} %")  # fmt: skip
    say(f"  confusion of {found['output']} (rows: true, columns: predicted)")
    say_confusion(found["classes"], found["counts"])


def _say_worst(run: str, found: Mapping[str, Any]) -> None:
    say(f"{run} after epoch {found['epoch']}: samples of {found['part']} with the largest loss")
    _say_row("sample", ("loss", "truth", "answer", "share"), 10)
    for one in found["worst"]:
        # Of numbers the answer says all.
        share = "" if not found["classes"] or one["share"] is None else f"{100 * one['share']:.1f} %"
        _say_row(str(one["number"]), (_number(one["loss"]), one["truth"] or "", one["answer"] or "", share), 10)


def _few(epochs: Sequence[int]) -> str:
    shown = [str(epoch) for epoch in epochs]
    return ", ".join(shown if len(shown) <= 12 else (*shown[:5], "…", *shown[-5:])) or "none"
