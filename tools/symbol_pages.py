"""A page for every symbol: its faces, structures, attributes and parameters, its picture, its PyTorch and its ONNX.

The ONNX operators are those that torch's own exporter makes of a sample. It is stopped before it writes a file, because
only that needs the onnx package; the names are torch-internal, and the reference test tells when they move.
"""

import inspect
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import torch
from torch.onnx._internal.torchscript_exporter import utils as exporter
from torch.onnx._internal.torchscript_exporter._globals import GLOBALS

from catalogue_pages import (
    HEAD,
    RANKS,
    attributes_table,
    glyph_name,
    named_attributes,
    sample_drawing,
    sizes_text,
    table,
)
from inkcap.engine import build, source_of
from inkcap.network import check
from inkcap.network.inference import trace_capsule, trace_connection
from inkcap.network.picture import picture_of
from inkcap.structures import named
from inkcap.symbols import (
    CAPSULES,
    CONNECTIONS,
    MAIN_PORT,
    PARTS,
    CapsuleSymbol,
    ConnectionSymbol,
    PartSymbol,
    Sample,
    Symbol,
    Weight,
)
from inkcap.symbols.describe import general_shape

OPSET = 20
for version in range(7, OPSET + 1):
    # Each registers how the operators that came with its version are exported.
    import_module(f"torch.onnx._internal.torchscript_exporter.symbolic_opset{version}")


def shown_sample(symbol: Symbol) -> Sample:
    """Choose the sample that a page shows: the first that is not a neuron, or the refusal of what has no sample."""
    wanted = "int64" if isinstance(symbol, ConnectionSymbol) and symbol.picks else "float64"
    cases = [case for case in symbol.samples or symbol.refusals if case.dtype == wanted]
    return next((case for case in cases if case.shape), cases[0])


@contextmanager
def _silence() -> Iterator[None]:
    """Keep what torch's compiled exporter prints about a graph that it cannot take from the terminal."""
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def onnx_operators(symbol: Symbol) -> list[str] | None:
    """Name the ONNX operators of a symbol's sample, each once; None where the exporter knows none for it."""
    network = check(sample_drawing(symbol, shown_sample(symbol))).network
    module = build(network).eval()
    shapes = [network.capsules[id].output for id in network.inputs]
    inputs = tuple(
        torch.ones(1, *shape.sizes, dtype=getattr(torch, shape.dtype)) for shape in shapes if shape is not None
    )
    with warnings.catch_warnings(), _silence():
        warnings.simplefilter("ignore")
        with exporter.exporter_context(module, torch.onnx.TrainingMode.EVAL, False):
            GLOBALS.export_onnx_opset_version = OPSET
            try:
                graph, _, _ = exporter._model_to_graph(module, inputs)
            except (torch.onnx.OnnxExporterError, ValueError):
                return None
    # A sample of a worn part is a ReLU that wears it.
    left_out = {"Constant", "Identity", "Relu" if isinstance(symbol, PartSymbol) else ""}
    kinds = (node.kind() for node in graph.nodes() if node.kind().startswith("onnx::"))
    return [kind for kind in dict.fromkeys(k.removeprefix("onnx::") for k in kinds) if kind not in left_out]


def _onnx(symbol: Symbol) -> str:
    operators = onnx_operators(symbol)
    if operators is None:
        return "torch's exporter of graphs knows no operators for it.\n"
    if not operators:
        return "It needs no operator.\n"
    return f"Operators, at opset {OPSET}: {', '.join(f'`{name}`' for name in operators)}.\n"


def _printed(symbol: Symbol) -> str:
    source = source_of(check(sample_drawing(symbol, shown_sample(symbol))).network)
    _, body = source.split("\n\n\n", 1)  # without the imports, which are always the same
    return f"```text\n{body.rstrip()}\n```\n"


def _picture(symbol: Symbol) -> str:
    """Draw the sample of a symbol, with its structures and weights."""
    return picture_of(check(sample_drawing(symbol, shown_sample(symbol))))


def _frame(symbol: Symbol, title: str, faces: str, middle: list[str]) -> str:
    """Write what every page has: head, faces, meaning and formula first; attributes, picture and programs last."""
    own = symbol.own_attributes if isinstance(symbol, CapsuleSymbol) else symbol.attributes
    more = inspect.cleandoc(symbol.forward.__doc__ or "").split("\n", 1)[1:]
    parts = [
        f"# {title[0].upper()}{title[1:]}\n",
        HEAD,
        f"Symbol `{symbol.id}`, one of [all symbols](../symbols.md).\n",
        f"{faces}\n",
    ]
    parts += [f"{symbol.tooltip}\n", *(f"{text.strip()}\n" for text in more), f"`{symbol.formula}`\n"]
    if isinstance(symbol, CapsuleSymbol) and symbol.derivative:
        parts += [f"Backwards, δ is multiplied by `{symbol.derivative}`.\n"]
    parts += middle
    shared = "Beside [those of every capsule](../symbols.md#attributes-of-every-capsule).\n"
    parts += ["## Attributes\n", *([shared] if isinstance(symbol, CapsuleSymbol) else []), attributes_table(own)]
    parts += ["## In a drawing\n", f"![]({symbol.id}.svg)\n"]
    if symbol.samples:
        parts += ["## In PyTorch\n", _printed(symbol), "## In ONNX\n", _onnx(symbol)]
    return "\n".join(parts)


def _starts(weight: Weight) -> str:
    if weight.start is not None:
        return f"{weight.start}"
    return weight.initialiser or "by its attributes"


def _stored(weights: Mapping[str, Weight], where: str) -> list[str]:
    rows = [
        (f"`{name}`", sizes_text(w.shape, reading=False), "state" if w.state else "parameter", _starts(w))
        for name, w in weights.items()
    ]
    return [f"## Parameters\n\nStored, {where}:\n", table(("name", "sizes", "kind", "start"), rows)] if rows else []


def _parameters(symbol: CapsuleSymbol, rank: int) -> list[str]:
    """Tell the parameters, with the attributes of the first sample that has some."""
    declared = symbol.attributes(rank)
    defaults = named_attributes(declared, everything=False)
    if symbol.parameters is None:
        return []
    cases = [case.attributes for case in symbol.samples if len(case.shape) == len(general_shape(rank))]
    for stated in ({}, *cases):
        read = {a.name: a.parse(stated[a.name]) for a in declared if a.name in stated}
        found = symbol.parameters(_general_ports(symbol, rank), {**defaults, **read})
        if found:
            given = ", ".join(f"`{name}` {value}" for name, value in stated.items())
            return _stored(found, f"at rank {rank}" + (f", with {given}" if given else ""))
    return []


def _general_ports(symbol: CapsuleSymbol, rank: int) -> dict[str, Any]:
    """Give every port a structure of letters; what the main port tells of another is written in its letters."""
    shapes: dict[str, Any] = {port.name: general_shape(port.rank(rank)) for port in symbol.ports}
    told = symbol.meet(shapes, {}) if symbol.meet else {}
    for name in told.keys() - {MAIN_PORT}:
        pairs = zip(told[name], shapes[name], strict=True)
        shapes[name] = tuple(named(f"{letter}′") if size is None else size for size, letter in pairs)
    return shapes


def _ports_text(symbol: CapsuleSymbol, rank: int) -> str:
    shapes = _general_ports(symbol, rank)
    rows = [(f"`{port.name}`", port.kind, sizes_text(shapes[port.name]), port.help) for port in symbol.ports]
    return table(("port", "", f"total input at rank {rank}", "meaning"), rows)


def _named(symbol: CapsuleSymbol, rank: int, *, everything: bool) -> dict[str, Any]:
    """Give attributes letters; lists of numbers, which have none, are those of the first sample."""
    stated = symbol.samples[0].attributes if symbol.samples else {}
    listed = {a.name: stated.get(a.name, a.default) for a in symbol.own_attributes if a.reads}
    return named_attributes(symbol.attributes(rank), everything=everything) | listed


def _capsule_page(symbol: CapsuleSymbol) -> str:
    faces = ", ".join(f"![](../{glyph_name(symbol, rank)}) {symbol.title_of(rank)}" for rank in symbol.ranks)
    top = max(rank for rank in symbol.ranks if rank < 3)
    rows = []
    for rank in symbol.ranks:
        attributes = _named(symbol, rank, everything=False)
        _, y = trace_capsule(symbol, attributes, _general_ports(symbol, rank), "float32")
        rows.append((rank, RANKS[rank], sizes_text(general_shape(rank)), sizes_text(y.shape)))
    middle = ["## Structures\n", table(("rank", "", "total input", "output"), rows)]
    everything = _named(symbol, top, everything=True)
    _, general = trace_capsule(symbol, everything, _general_ports(symbol, top), "float32")
    if sizes_text(general.shape) != next(row[3] for row in rows if row[0] == top):
        middle.append(f"With every attribute stated: {sizes_text(general.shape)}.\n")
    if len(symbol.ports) > 1:
        middle += ["## Ports\n", _ports_text(symbol, top)]
    middle += _parameters(symbol, top)
    return _frame(symbol, symbol.title, faces, middle)


def _traced_ends(symbol: ConnectionSymbol, pair: tuple[int, int], *, everything: bool) -> tuple[str, str, str]:
    back = general_shape(pair[0])
    attributes = named_attributes(symbol.declared(pair[0]), everything=everything)
    if pair[1] > 1 and pair[0] != pair[1]:
        primed = tuple(named(f"{size}′") for size in general_shape(pair[1]))
        attributes |= {a.name: primed for a in symbol.attributes if a.kind == "shape"}
    attributes |= {a.name: symbol.samples[0].attributes.get(a.name, ()) for a in symbol.attributes if a.kind == "list"}
    if symbol.solve:
        # Whether it gives a vector or works item by item is told by the ranks.
        ends = ((None,) * len(general_shape(rank)) for rank in pair)
        attributes |= {name: v for name, v in symbol.solve(attributes, *ends).items() if isinstance(v, bool)}
    # A symbol that knows its back end from its weight names it so: the full connection takes N numbers.
    told = symbol.back((None,) * len(general_shape(pair[1])), attributes) if symbol.back else ()
    if len(told) == len(back):
        back = tuple(old if size is None else size for size, old in zip(told, back, strict=True))
    _, front = trace_connection(symbol, attributes, back, "float32", "float32")
    weights = symbol.weights(back, attributes) if symbol.weights else {}
    stored = ", ".join(sizes_text(w.shape, reading=False) for w in weights.values())
    return sizes_text(back), stored or "none", sizes_text(front.shape)


def _connection_page(symbol: ConnectionSymbol) -> str:
    # Between equal ranks above 1 reshaping with nothing stated would change the rank, so only changes are shown.
    shown = [p for p in symbol.ranks if not (any(a.kind == "shape" for a in symbol.attributes) and p[0] == p[1] > 1)]
    rows = [(f"{a} → {b}", *_traced_ends(symbol, (a, b), everything=False)) for a, b in shown]
    middle = ["## Structures\n", table(("ranks", "back end", "weight", "front end"), rows)]
    back, weight, front = _traced_ends(symbol, shown[0], everything=True)
    if (back, weight, front) != rows[0][1:]:
        middle.append(f"With every attribute stated: {back} gives {front}, with a weight of {weight}.\n")
    return _frame(symbol, f"{symbol.title} connection", f"Its sign on a line is {symbol.mark}", middle)


def _part_page(part: PartSymbol) -> str:
    top = 2 if 2 in part.ranks else max(part.ranks)
    attributes = {a.name: a.default for a in part.attributes}
    weights = part.weights(general_shape(top), attributes) if part.weights else {}
    ranks = ", ".join(RANKS[rank] for rank in part.ranks)
    where = "before the capsule's function" if part.place == "before" else "after the capsule's function"
    faces = f"![](../{glyph_name(part, top)}) A worn part, {where}; worn by: {ranks}."
    return _frame(part, part.title, faces, _stored(weights, f"for {sizes_text(general_shape(top))}"))


def symbol_pages() -> dict[str, str]:
    """Write the page and the picture of every symbol, by their paths below the reference folder."""
    written = {symbol.id: _capsule_page(symbol) for symbol in CAPSULES.values()}
    written |= {symbol.id: _connection_page(symbol) for symbol in CONNECTIONS.values()}
    written |= {part.id: _part_page(part) for part in PARTS.values()}
    symbols: tuple[Symbol, ...] = (*CAPSULES.values(), *CONNECTIONS.values(), *PARTS.values())
    pictures = {f"symbols/{symbol.id}.svg": _picture(symbol) for symbol in symbols}
    return {f"symbols/{id}.md": text for id, text in written.items()} | pictures
