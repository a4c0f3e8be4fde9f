"""A model that was read becomes a drawing: patterns are found, operators translated, capsules written down."""

from __future__ import annotations

from dataclasses import dataclass

from inkcap.drawing import Drawing
from inkcap.exchange.importing import arithmetic, elementwise, layout, linear, windows
from inkcap.exchange.importing.drawn import Drawn, draw, drawing_of
from inkcap.exchange.importing.errors import ImportRefused
from inkcap.exchange.importing.graph import Constant, Graph
from inkcap.exchange.importing.grouping import group_modules
from inkcap.exchange.importing.patterns import find_patterns
from inkcap.exchange.importing.translator import Missing, Translator
from inkcap.network import Report, check

HANDLERS = {**windows.HANDLERS, **linear.HANDLERS, **elementwise.HANDLERS, **arithmetic.HANDLERS, **layout.HANDLERS}


@dataclass(frozen=True)
class Translated:
    """A drawing with its weights, what stands for the model's inputs and outputs, and what has no symbol."""

    drawing: Drawing
    report: Report
    weights: dict[str, Constant]
    inputs: dict[str, str]
    """The data capsule of each input of the model."""
    outputs: dict[str, str]
    """The capsule of each output of the model."""
    missing: tuple[Missing, ...]


def translate(graph: Graph) -> Translated:
    """Turn a graph into a drawing with weights."""
    find_patterns(graph)
    graph.without_idle_nodes()
    translator = Translator(graph, HANDLERS)
    sealed, ends = translator.run()
    drawn = draw(graph.name, sealed, ends)
    group_modules(drawn)
    drawing = drawing_of(drawn.records)
    report = check(drawing)
    missing = tuple(
        Missing(entry.node, entry.operator, entry.reason, drawn.ids[id(grown)])
        for entry, grown in translator.missing
        if id(grown) in drawn.ids
    )
    _check(graph, report, drawn, bool(missing))
    outputs = dict(zip(graph.outputs, drawn.outputs, strict=True))
    return Translated(drawing, report, drawn.weights, drawn.inputs, outputs, missing)


def _check(graph: Graph, report: Report, drawn: Drawn, opaque: bool) -> None:
    """Refuse a drawing that is not well formed, or whose weights do not fit it: this would be a fault of ours."""
    wrong = [entry for entry in report.errors if entry.rule != "opaque-operator"]
    if apart := next((entry for entry in wrong if entry.rule == "disconnected"), None):
        raise ImportRefused(
            f"{graph.name}: the model falls into parts that share nothing ({', '.join(apart.where)}), and a network is "
            "connected; import each part by itself"
        )
    if whole := next((entry for entry in wrong if entry.rule == "not-floating"), None):
        kinds = sorted({kind for _, kind in graph.inputs.values()} - {"float32"})
        raise ImportRefused(
            f"{graph.name}: {whole.message}; the model takes {', '.join(kinds)} at its input, and this operator is "
            "known here for floating numbers alone. Export it with an input of float32"
        )
    if wrong:
        where = ", ".join(wrong[0].where)
        raise ImportRefused(
            f"{graph.name}: the drawing that it became is not well formed at {where}: {wrong[0].message}. "
            "This is a fault of Inkcap; please report it with the model"
        )
    if opaque:
        return
    records = {**report.network.weights, **report.network.states}
    for name, record in records.items():
        found = drawn.weights.get(name)
        if found is None or found.shape != record.structure.sizes:
            have = "nothing" if found is None else "×".join(map(str, found.shape)) or "one number"
            raise ImportRefused(
                f"{graph.name}: the weight {name} has the shape {record.structure.sizes}, the model gives {have}. "
                "This is a fault of Inkcap; please report it with the model"
            )
