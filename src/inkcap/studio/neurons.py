"""Neurons in columns as the canvas paints them: where they lie, which lines are drawn, and what one of them is."""

from __future__ import annotations

import base64
import random
import sys
from array import array
from collections.abc import Iterable, Mapping
from typing import Any

from inkcap.drawing import Drawing, Edit, Plain
from inkcap.network import Report
from inkcap.network.plain import PlainFacts
from inkcap.structures.errors import InkcapError
from inkcap.studio.columns import in_columns
from inkcap.studio.neuron_models import Neuron, NeuronLine, Neurons, NeuronSpan

PITCH = 44.0
MOST_NEURONS = 100_000
MOST_LINES = 120_000
"""More of either is a solid wash on any screen: a sample of them looks the same."""
MOST_NAMED = 40
"""How many lines of one neuron are told."""
ABOVE = 110.0
"""How far above the block of its elements a capsule lies."""


def summary_of(plain: Plain) -> dict[str, Any]:
    """Describe a block in a document by its numbers; its columns are asked for by who paints them."""
    spans = {"reads": plain.reads, "writes": plain.writes}
    return {
        "neurons": len(plain.symbol),
        "connections": len(plain.back),
        **{name: {id: list(span) for id, span in found.items()} for name, found in spans.items() if found},
    }


def told_edit(edit: Edit) -> dict[str, Any]:
    """Give an edit as tabs are told of it: a block of neurons by its numbers."""
    told = edit.to_json()
    for patch in told["patches"]:
        if patch.get("put") == Plain.kind:
            patch["record"] = summary_of(Plain.from_json(patch["record"], "plain"))
    return told


def places_of(facts: PlainFacts) -> list[tuple[float, float]]:
    """Place the neurons, and after them the capsules around them."""
    places = in_columns(facts.levels, PITCH)
    count, reads = facts.neurons, facts.columns.reads
    for i, id in enumerate(facts.capsules):
        if id in reads:
            # Its neurons are its elements: it lies above them.
            first, length = reads[id]
            block = places[first : first + length]
            middle = (min(x for x, _ in block) + max(x for x, _ in block)) / 2
            places[count + i] = (middle, min(y for _, y in block) - ABOVE)
    return places


def capsule_places(drawing: Drawing, facts: PlainFacts) -> dict[str, list[float]]:
    """Place those capsules around a block that state no place."""
    places = places_of(facts)[facts.neurons :]
    named = zip(facts.capsules, places, strict=True)
    return {id: [round(x, 1), round(y, 1)] for id, (x, y) in named if id not in drawing.positions}


def neurons_of(report: Report) -> Neurons:
    """Describe all neurons in columns, or of too many a sample."""
    facts = _facts(report)
    columns = facts.columns
    stride = -(-facts.neurons // MOST_NEURONS)
    shown = range(0, facts.neurons, stride)
    places = places_of(facts)
    symbols = sorted(set(columns.symbol))
    number = {symbol: i for i, symbol in enumerate(symbols)}
    lines = _lines(columns, stride)
    spans = [(False, columns.reads), (True, columns.writes)]
    return Neurons(
        count=facts.neurons,
        stride=stride,
        connections=len(columns.back),
        lines=len(lines),
        symbols=symbols,
        symbol=_bytes("B", (number[columns.symbol[i]] for i in shown)),
        places=_bytes("f", (n for i in shown for n in places[i])),
        back=_bytes("I", (columns.back[i] // stride for i in lines)),
        front=_bytes("I", (columns.front[i] // stride for i in lines)),
        weight=_bytes("f", (columns.weight[i] for i in lines)),
        spans=[
            NeuronSpan(capsule=id, first=first, count=count, writes=writes)
            for writes, found in spans
            for id, (first, count) in found.items()
        ],
    )


def _facts(report: Report) -> PlainFacts:
    if report.plain is None:
        raise InkcapError("this drawing has no neurons in columns: its neurons, if any, are drawn one by one")
    return report.plain


def _lines(columns: Plain, stride: int) -> list[int]:
    found: Iterable[int] = range(len(columns.back))
    if stride > 1:
        back, front = columns.back, columns.front
        found = [i for i in found if back[i] % stride == 0 and front[i] % stride == 0]
    chosen = list(found)
    if len(chosen) > MOST_LINES:
        # The same sample every time, and by chance: every so-manieth line would show a pattern that is not there.
        chosen = sorted(random.Random(0).sample(chosen, MOST_LINES))  # noqa: S311
    return chosen


def _bytes(kind: str, numbers: Iterable[float]) -> str:
    """Write numbers as the browser's typed arrays have them, in base64."""
    column = array(kind, numbers)  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownVariableType]
    if sys.byteorder == "big":
        column.byteswap()
    return base64.b64encode(column.tobytes()).decode()


def neuron_of(report: Report, number: int) -> Neuron:
    """Describe one neuron: its function and bias, its layer, and the lines that enter and leave it."""
    facts = _facts(report)
    if not 0 <= number < facts.neurons:
        raise InkcapError(f"the neurons are numbered from 0 to {facts.neurons - 1}, not {number}")
    columns = facts.columns
    enters = [i for i, front in enumerate(columns.front) if front == number]
    leaves = [i for i, back in enumerate(columns.back) if back == number]
    return Neuron(
        name=facts.name(number),
        symbol=columns.symbol[number],
        bias=columns.bias[number],
        layer=facts.levels[number],
        reads=_owner(columns.reads, number),
        writes=_owner(columns.writes, number),
        enters=len(enters),
        leaves=len(leaves),
        entering=[NeuronLine(neuron=columns.back[i], weight=columns.weight[i]) for i in enters[:MOST_NAMED]],
        leaving=[NeuronLine(neuron=columns.front[i], weight=columns.weight[i]) for i in leaves[:MOST_NAMED]],
    )


def _owner(spans: Mapping[str, tuple[int, int]], number: int) -> str | None:
    return next((id for id, (first, count) in spans.items() if first <= number < first + count), None)
