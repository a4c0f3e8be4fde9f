"""Commands about gradients: step, which walks through Algorithm 1, and the table of ``check --gradients``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inkcap.cli.app import app
from inkcap.cli.output import complain, print_json, say
from inkcap.structures import InkcapError

if TYPE_CHECKING:
    from inkcap.engine import Backpropagation
    from inkcap.engine.gradient_check import SymbolCheck
    from inkcap.network import CheckedCapsule, Network

FEW = 24
"""How many numbers are shown in full; of more, the shape, the norm and the first few."""

_FIRST = 4
_LINE = 100


class StepError(InkcapError):
    """Numbers that cannot be read, or that do not fit the drawing."""


def print_gradients(found: list[SymbolCheck]) -> None:
    """Print the worst relative error of each symbol."""
    from inkcap.engine.gradient_check import AUTOGRAD_TOLERANCE, DIFFERENCE_TOLERANCE

    say("  gradients      universal backpropagation in float64, worst relative errors")
    width = max(len("symbol"), *(len(one.symbol) for one in found)) + 2
    say(f"    {'symbol':<{width}}{'numbers':>8}{'at kinks':>10}{'autograd':>12}{'differences':>13}")
    for one in found:
        line = (
            f"    {one.symbol:<{width}}{one.compared:>8}{one.left_out:>10}{one.autograd:>12.1e}{one.differences:>13.1e}"
        )
        if one.passed:
            say(line)
        else:
            complain(f"{line}  too large (allowed: {AUTOGRAD_TOLERANCE:.0e} and {DIFFERENCE_TOLERANCE:.0e})")


@app.command()
def step(
    file: Annotated[Path, typer.Argument(metavar="DRAWING", help="A drawing, NAME.inkcap.json.")],
    rate: Annotated[float, typer.Option(help="Learning rate η.")] = 0.01,
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is not given.")] = 0,
    inputs: Annotated[str | None, typer.Option(metavar="JSON", help="Inputs by name, as text or as a file.")] = None,
    targets: Annotated[str | None, typer.Option(metavar="JSON", help="Targets by name, as text or as a file.")] = None,
    weights: Annotated[str | None, typer.Option(metavar="JSON", help="Some weights by name, likewise.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Walk through one step of Algorithm 1, a capsule at a time: U and Y forwards, δ backwards, then the weights."""
    from inkcap.drawing import load_drawing
    from inkcap.network import check

    if not math.isfinite(rate):
        raise StepError(f"--rate: {rate} is no learning rate; give a number such as 0.01")
    network = check(load_drawing(file)).network
    chosen = [_numbers(text, name) for text, name in ((inputs, "inputs"), (targets, "targets"), (weights, "weights"))]
    found = walk(network, rate, seed, chosen)
    if as_json:
        print_json(found.to_json())
    else:
        found.print()


def walk(network: Network, rate: float, seed: int, given: list[dict[str, Any]]) -> Walk:
    """Take one step of Algorithm 1 with the inputs, targets and weights that are given, and others by the seed."""
    from inkcap.engine import Backpropagator

    planned = Backpropagator(network)
    fed, wanted, stored = _complete(network, seed, given)
    stored = planned.weights(stored)
    before = planned(stored, fed, wanted)
    after = {n: value - rate * before.updates[n] if n in before.updates else value for n, value in stored.items()}
    return Walk(network, rate, stored, after, before, float(planned(after, fed, wanted).loss), wanted)


@app.command()
def signals(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run that was trained with --signals.")],
    workspace: Annotated[Path, typer.Option("--workspace", help="Folder of drawings, data and runs.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show where the signals of a run vanish, explode or die: ‖Y‖, ‖δ‖ and dead units at its start and its end."""
    from dataclasses import asdict

    from inkcap.recipes import find_run

    folder = find_run(workspace, run)
    log = folder.signal_log()
    found = log.epochs
    if log.note:
        complain(f"note: {log.note}")
    if as_json:
        epochs = [{"epoch": e.epoch, "capsules": {i: asdict(s) for i, s in e.capsules.items()}} for e in found]
        print_json({"run": folder.id, "epochs": epochs})
        return
    if not found:
        raise StepError(f"{folder.id}: no signals were recorded; train with --signals")
    first, last = found[0], found[-1]
    say(f"{folder.id}: signals of one batch, epoch {first.epoch} → {last.epoch}")
    width = max(len("capsule"), *(len(id) for id in last.capsules)) + 2
    say(f"  {'capsule':<{width}}{'‖Y‖':>20}{'‖δ‖':>24}{'dead units':>18}")
    for id, now in last.capsules.items():
        then = first.capsules.get(id, now)
        dead = "" if now.dead is None or then.dead is None else f"{100 * then.dead:.0f} % → {100 * now.dead:.0f} %"
        delta = "" if now.delta is None or then.delta is None else f"{then.delta:.3g} → {now.delta:.3g}"
        say(f"  {id:<{width}}{f'{then.output:.3g} → {now.output:.3g}':>20}{delta:>24}{dead:>18}")


def _numbers(text: str | None, name: str) -> dict[str, Any]:
    """Read an option's JSON object: the text itself, or a file that holds it."""
    if text is None:
        return {}
    content, place = text, f"--{name}"
    if not text.lstrip().startswith("{"):
        try:
            content, place = Path(text).read_text(encoding="utf-8"), f"--{name} {text}"
        except (OSError, UnicodeDecodeError):
            raise StepError(f'--{name} {text!r}: no such file, and no JSON object such as {{"x": [1, 2]}}') from None
    try:
        value = json.loads(content)
    except ValueError as problem:
        raise StepError(f'{place}: no JSON ({problem}); write an object such as {{"x": [1, 2]}}') from None
    if not isinstance(value, dict):
        raise StepError(f'{place}: no object of names and numbers; write e.g. {{"x": [1, 2]}}')
    return value  # pyright: ignore[reportUnknownVariableType]


def _complete(network: Network, seed: int, given: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Fill in what is not given: random data with two decimals, easy to follow by hand, and weights as they start."""
    import torch

    from inkcap.engine import build, initialise, weights_of

    inputs, targets, weights = given
    for place, names, found in (
        ("inputs", network.inputs, inputs),
        ("targets", network.outputs, targets),
        ("weights", network.weights, weights),
    ):
        for name in found:
            if name not in names:
                raise StepError(f"--{place}: the drawing has no {name!r}; it has {', '.join(names) or 'none'}")
    generator = torch.Generator().manual_seed(seed)

    def random(id: str) -> Any:
        output = network.capsules[id].output
        assert output is not None
        return torch.round(torch.randn(output.sizes, generator=generator, dtype=torch.float64), decimals=2)

    module = build(network)
    initialise(module, network, seed)
    fed = {id: random(id) for id in network.inputs} | inputs
    # What gives shares of classes has a class as its target; other targets are any numbers.
    shares = {id for id in network.outputs if network.capsules[id].record.loss_from_input == "cross-entropy"}
    wanted = {id: _one_class(random(id)) if id in shares else random(id) for id in network.outputs} | targets
    return fed, wanted, {**weights_of(module), **weights}


def _one_class(numbers: Any) -> Any:
    hot = numbers * 0
    hot.view(hot.shape[0], -1)[numbers.view(hot.shape[0], -1)[:, 0].argmax()] = 1
    return hot


class Walk:
    """One step of Algorithm 1 with everything that it computed, told as text or as JSON."""

    def __init__(
        self,
        network: Network,
        rate: float,
        old: Mapping[str, Any],
        new: Mapping[str, Any],
        found: Backpropagation,
        loss_after: float,
        targets: Mapping[str, Any],
    ) -> None:
        self.network, self.rate, self.old, self.new = network, rate, old, new
        self.found, self.loss_after, self.targets = found, loss_after, targets
        self.name_width = max(len(id) for id in network.capsules) + 2

    def to_json(self, tell: Callable[[Any], Any] | None = None) -> dict[str, Any]:
        """Give all numbers, of each capsule in the order of computing and of each weight; ``tell`` may shorten them."""
        found, tell = self.found, tell or _whole
        forward: list[Any] = [
            {"capsule": i, "U": tell(found.U[i]), "Y": tell(found.Y[i])} for i in self.network.capsules
        ]
        backward: list[Any] = [{"capsule": i, "delta": tell(found.delta[i])} for i in self._back() if i in found.delta]
        updates = [
            {"weight": n, "update": tell(u), "before": tell(self.old[n]), "after": tell(self.new[n])}
            for n, u in self._updates()
        ]
        losses = {id: float(loss) for id, loss in found.losses.items()}
        loss = {"before": float(found.loss), "after": self.loss_after, "outputs": losses}
        return {"rate": self.rate, "forward": forward, "loss": loss, "backward": backward, "updates": updates}

    def _back(self) -> list[str]:
        return list(reversed(list(self.network.capsules)))

    def _updates(self) -> list[tuple[str, Any]]:
        return [(name, self.found.updates[name]) for name in self.old if name in self.found.updates]

    def print(self) -> None:
        """Print the walk."""
        say(f"{self.network.name}: one step of Algorithm 1 with the rate η = {self.rate:g} and the loss ½‖Y − T‖²")
        say("\nForwards, Eq. 4:  U = Σ W⊗Y + B,  Y = cap(U)")
        for capsule in self.network.capsules.values():
            self._forward(capsule)
        say("\nLoss, Eq. 5 and 6:  L = Σ ½‖Y − T‖² over the outputs")
        for id, loss in self.found.losses.items():
            target = self.targets[id]
            self._say(id, f"T = {show(target)}")
            self._say("", f"L = {float(loss):.6g}")
        say(f"  {'':<{self.name_width}}total {float(self.found.loss):.6g}")
        say("\nBackwards, Eq. 7 at outputs:  δ = cap′(U)·(Y − T),  Eq. 8 elsewhere:  δ = cap′(U)·Σ Wᵀ⊗δ")
        for id in self._back():
            if id in self.found.delta:
                self._say(id, self._slope(id))
                self._say("", f"δ = {show(self.found.delta[id])}")
        say("\nUpdates:  ΔW = δ⊗Y,  ΔB = δ,  then W ← W − ηΔW,  B ← B − ηΔB")
        width = max((len(name) for name, _ in self._updates()), default=0) + 2
        for name, update in self._updates():
            sign = "B" if name in self.found.bias_updates else "W"
            _say_matrix(f"  {name:<{width}}Δ{sign} = ", update)
            _say_matrix(f"  {'':<{width}} {sign} = ", self.new[name])
        if not self.found.updates:
            say("  there is no weight to learn")
        say(f"\nThe loss was {float(self.found.loss):.10g} and is now {self.loss_after:.10g}.")

    def _say(self, id: str, text: str) -> None:
        say(f"  {id:<{self.name_width}}{text}")

    def _forward(self, capsule: CheckedCapsule) -> None:
        if not capsule.incoming:
            self._say(capsule.id, f"Y = X = {show(self.found.Y[capsule.id])}")
            return
        self._say(capsule.id, f"U = {self._sum(capsule)} = {show(self.found.U[capsule.id])}")
        if capsule.symbol != "identical":
            self._say("", f"Y = {capsule.symbol}(U) = {show(self.found.Y[capsule.id])}")
        else:
            self._say("", "Y = U")

    def _sum(self, capsule: CheckedCapsule) -> str:
        parts: list[str] = []
        for id in capsule.incoming:
            connection = self.network.connections[id]
            weighed = f"W({id}) {connection.record.mark} " if connection.weights else ""
            parts.append(f"{weighed}Y({connection.back})")
        return " + ".join([*parts, *(["B"] if capsule.bias else [])])

    def _slope(self, id: str) -> str:
        """Name where a capsule's gradient comes from."""
        onward = [c for c in self.network.connections.values() if c.back == id]
        if not onward:
            return "Eq. 7, from its loss"
        fronts = ", ".join(dict.fromkeys(connection.front for connection in onward))
        return f"Eq. 8, from δ of {fronts}" + (" (∂L/∂X)" if not self.network.capsules[id].incoming else "")


def _whole(tensor: Any) -> Any:
    return tensor.tolist()


def show(value: Any) -> str:
    """Write numbers for a person: few of them in full, of many the shape, the norm and the first."""
    import numpy as np

    array = np.asarray(value, dtype=float)
    if array.ndim == 0:
        return _short(float(array))
    if array.size > FEW:
        first = ", ".join(_short(float(number)) for number in array.ravel()[:_FIRST])
        return f"{'×'.join(map(str, array.shape))}, norm {float(np.linalg.norm(array)):.4g}: {first}, …"
    if array.ndim == 1:
        return f"({', '.join(_short(float(number)) for number in array)})"
    return f"[{', '.join(show(part) for part in array)}]"


def _say_matrix(label: str, value: Any) -> None:
    """Print numbers behind a label; a matrix that is long has a line for each row."""
    text = show(value)
    if len(label) + len(text) > _LINE and text.startswith("[("):
        text = text.replace(", (", ",\n" + " " * (len(label) + 1) + "(")
    say(label + text)


def _short(number: float) -> str:
    text = f"{number + 0.0:.4g}"
    return "0" if text == "-0" else text.replace("-", "−")
