"""The pages of the catalogue: symbols, their pictures, and which of them use each operation."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from inkcap.drawing import Drawing
from inkcap.engine import source_of
from inkcap.network import check
from inkcap.network.inference import trace_capsule, trace_connection
from inkcap.operations import VOCABULARY
from inkcap.program import lower_to_steps
from inkcap.structures import AXES, named, rank_of, to_reading_order
from inkcap.symbols import (
    CAPSULES,
    CONNECTIONS,
    MAIN_PORT,
    PARTS,
    Attribute,
    CapsuleSymbol,
    ConnectionSymbol,
    Glyph,
    PartSymbol,
    Sample,
    Symbol,
)
from inkcap.symbols.describe import general_shape

HEAD = "Written by `make docs` from the code; a change belongs there.\n"
RANKS = ("neuron", "vector", "matrix array", "volume array")


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table in Markdown."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)]) + "\n"


def _sizes(shape: Sequence[Any], *, reading: bool = True) -> str:
    ordered = to_reading_order(tuple(shape)) if reading else tuple(shape)
    texts = [str(size) for size in ordered]
    return " × ".join(f"({t})" if len(texts) > 1 and ("+" in t or "−" in t) else t for t in texts) or "a scalar"


UNLETTERED = {"padding": "p", "dilation": "δ", "stride": "s"}
"""Letters for sizes to which the paper gives none."""


def _letters(attribute: Attribute) -> Any:
    """Give a size attribute its letters in place of numbers: k, m×n, s."""
    letter = attribute.letter or UNLETTERED.get(attribute.name, "")
    if attribute.kind == "axes" and letter:
        parts = letter.split("×")
        if len(parts) == 1:
            return (named(letter),) * attribute.axes
        # A volume has one axis more than the paper's letters name: its depth.
        return tuple(named(part) for part in (f"{parts[0]}′", *parts)[-attribute.axes :])
    return named(letter) if attribute.kind == "size" and letter else attribute.default


def _named_attributes(declared: tuple[Attribute, ...], *, everything: bool) -> dict[str, Any]:
    # Rounds of a routing are counted, not sizes: no structure depends on them.
    named = {a.name for a in declared if a.required or (everything and a.name != "iterations")}
    return {a.name: _letters(a) if a.name in named else a.default for a in declared}


def _attribute_rows(declared: tuple[Attribute, ...]) -> Iterator[tuple[str, ...]]:
    for a in declared:
        kind = " · ".join(f"`{choice}`" for choice in a.choices) if a.choices else a.kind
        default = a.default if not isinstance(a.default, tuple) else "×".join(map(str, a.default)) or "none"
        default = str(default).lower() if isinstance(default, bool) else default
        state = "inferred" if a.inferred else "**required**" if a.required else f"`{default}`"
        yield f"`{a.name}`", a.letter, kind, state, a.help


def _attributes(declared: tuple[Attribute, ...]) -> str:
    heads = ("attribute", "letter", "kind", "default", "meaning")
    return table(heads, _attribute_rows(declared)) if declared else "It has no attributes of its own.\n"


def _shared_attributes() -> tuple[Attribute, ...]:
    """Collect what every capsule states of itself, over all ranks: sizes, data type, bias."""
    found: dict[str, Attribute] = {}
    for symbol in CAPSULES.values():
        for attribute in (a for rank in sorted(symbol.ranks, reverse=True) for a in symbol.attributes(rank)):
            if attribute.name not in {own.name for own in symbol.own_attributes}:
                found.setdefault(attribute.name, attribute)
    return tuple(found.values())


def _stated(shape: tuple[int, ...]) -> dict[str, Any]:
    return dict(zip(AXES[rank_of(shape)], to_reading_order(shape), strict=True))


def _face(symbol: str, rank: int) -> str:
    return f"{symbol} neuron" if rank == 0 else f"{rank}D-{symbol}"


def _sample_drawing(symbol: Symbol, case: Sample) -> Drawing:
    """Draw a symbol's sample: a data capsule x, then the capsule y, or y behind the connection."""
    drawing, rank = Drawing("sample"), rank_of(case.shape)
    drawing.add("x", _face("data", rank), **_stated(case.shape))
    if isinstance(symbol, PartSymbol):
        drawing.then("y", _face("relu", rank), "transfer")
        drawing.wear("y", symbol.id, **case.attributes)
        return drawing
    if isinstance(symbol, CapsuleSymbol):
        drawing.add("y", _face("identical" if symbol.is_data else symbol.id, rank), **case.attributes)
        drawing.connect("x", "y", "transfer")
        for port, shape in case.ports.items():
            drawing.add(port, _face("data", rank_of(shape)), **_stated(shape))
            drawing.connect(port, "y", "transfer", port=port)
        return drawing
    front = case.front or case.attributes.get("shape")
    joined = [b for a, b in symbol.ranks if a == rank]
    alike = rank in joined and not any(a.kind == "shape" for a in symbol.attributes)
    front_rank = rank_of(front) if front else rank if alike else joined[0]
    drawing.add("y", _face("identical", front_rank), **(_stated(case.front) if case.front else {}), bias="none")
    drawing.connect("x", "y", symbol.id, **case.attributes)
    return drawing


def _printed(symbol: Symbol) -> str:
    """Print the PyTorch of the first sample that is not a neuron."""
    cases = [case for case in symbol.samples if case.dtype == "float64"]
    case = next((case for case in cases if case.shape), cases[0])
    source = source_of(check(_sample_drawing(symbol, case)).network)
    _, body = source.split("\n\n\n", 1)  # without the imports, which are always the same
    return f"```text\n{body.rstrip()}\n```\n"


def _general_ports(symbol: CapsuleSymbol, rank: int) -> dict[str, Any]:
    """Give every port a structure of letters; what the main port tells of another is written in its letters."""
    shapes: dict[str, Any] = {port.name: general_shape(port.rank(rank)) for port in symbol.ports}
    told = symbol.meet(shapes, {}) if symbol.meet else {}
    return {name: told[name] if name in told and name != MAIN_PORT else shape for name, shape in shapes.items()}


def _ports_text(symbol: CapsuleSymbol, rank: int) -> str:
    shapes = _general_ports(symbol, rank)
    rows = [(f"`{port.name}`", port.kind, _sizes(shapes[port.name]), port.help) for port in symbol.ports]
    return table(("port", "", f"total input at rank {rank}", "meaning"), rows)


def _capsule_section(symbol: CapsuleSymbol) -> str:
    faces = ", ".join(f"![]({glyph_name(symbol, rank)}) {symbol.title_of(rank)}" for rank in symbol.ranks)
    parts = [f"### `{symbol.id}`\n", f"{faces}\n", f"{symbol.tooltip}\n", f"`{symbol.formula}`\n"]
    top = max(rank for rank in symbol.ranks if rank < 3)
    rows = []
    for rank in symbol.ranks:
        attributes = _named_attributes(symbol.attributes(rank), everything=False)
        _, y = trace_capsule(symbol, attributes, _general_ports(symbol, rank), "float32")
        rows.append((rank, RANKS[rank], _sizes(general_shape(rank)), _sizes(y.shape)))
    parts.append(table(("rank", "", "total input", "output"), rows))
    if len(symbol.ports) > 1:
        parts.append(_ports_text(symbol, top))
    everything = _named_attributes(symbol.attributes(top), everything=True)
    _, general = trace_capsule(symbol, everything, _general_ports(symbol, top), "float32")
    if _sizes(general.shape) != next(row[3] for row in rows if row[0] == top):
        parts.append(f"With every attribute stated: {_sizes(general.shape)}.\n")
    parts += [_attributes(symbol.own_attributes), "In PyTorch:\n", _printed(symbol)]
    return "\n".join(parts)


def _traced_ends(symbol: ConnectionSymbol, pair: tuple[int, int], *, everything: bool) -> tuple[str, str, str]:
    back = general_shape(pair[0])
    attributes = _named_attributes(symbol.declared(pair[0]), everything=everything)
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
    _, front = trace_connection(symbol, attributes, back, "float32")
    weights = symbol.weights(back, attributes) if symbol.weights else {}
    stored = ", ".join(_sizes(w.shape, reading=False) for w in weights.values())
    return _sizes(back), stored or "none", _sizes(front.shape)


def _connection_section(symbol: ConnectionSymbol) -> str:
    title = f"{symbol.mark} {symbol.title} connection"
    parts = [f"### `{symbol.id}`\n", f"{title}\n", f"{symbol.tooltip}\n", f"`{symbol.formula}`\n"]
    # Between equal ranks above 1 reshaping with nothing stated would change the rank, so only changes are shown.
    shown = [p for p in symbol.ranks if not (any(a.kind == "shape" for a in symbol.attributes) and p[0] == p[1] > 1)]
    rows = [(f"{a} → {b}", *_traced_ends(symbol, (a, b), everything=False)) for a, b in shown]
    parts.append(table(("ranks", "back end", "weight", "front end"), rows))
    back, weight, front = _traced_ends(symbol, shown[0], everything=True)
    if (back, weight, front) != rows[0][1:]:
        parts.append(f"With every attribute stated: {back} gives {front}, with a weight of {weight}.\n")
    parts += [_attributes(symbol.attributes), "In PyTorch:\n", _printed(symbol)]
    return "\n".join(parts)


def _part_section(part: PartSymbol) -> str:
    top = 2 if 2 in part.ranks else max(part.ranks)
    attributes = {a.name: a.default for a in part.attributes}
    weights = part.weights(general_shape(top), attributes) if part.weights else {}
    stored = [(f"`{n}`", _sizes(w.shape), "state" if w.state else "parameter") for n, w in weights.items()]
    ranks = ", ".join(RANKS[rank] for rank in part.ranks)
    where = "before the capsule's function" if part.place == "before" else "after the capsule's function"
    parts = [f"### `{part.id}`\n", f"![]({glyph_name(part, top)}) {part.title}, {where}; worn by: {ranks}.\n"]
    parts += [f"{part.tooltip}\n", f"`{part.formula}`\n", _attributes(part.attributes)]
    if stored:
        parts += [f"Stored, for {_sizes(general_shape(top))}:\n", table(("name", "sizes", "kind"), stored)]
    return "\n".join([*parts, "In PyTorch:\n", _printed(part)])


def symbols_page() -> str:
    """Write the page of all symbols."""
    intro = (
        f"# Symbols\n\n{HEAD}\nSizes are read as people read them: height M, width N, channels d; a volume has the "
        "depth D before them. A weight stands in PyTorch's order. Every capsule but a data capsule adds its bias B to "
        "the sum of what enters, and its function takes that total input U. An attribute that is *inferred* may be "
        "left empty: the structures around it tell it. A *required* one may be empty too where they do.\n"
    )
    shared = f"### Attributes of every capsule\n\n{_attributes(_shared_attributes())}"
    capsules = "\n".join([shared, *map(_capsule_section, CAPSULES.values())])
    connections = "\n".join(map(_connection_section, CONNECTIONS.values()))
    parts = "\n".join(map(_part_section, PARTS.values()))
    return f"{intro}\n## Capsules\n\n{capsules}\n## Connections\n\n{connections}\n## Worn parts\n\n{parts}"


def glyph_name(symbol: CapsuleSymbol | PartSymbol, rank: int) -> str:
    """Give the path of a glyph's picture below the reference folder."""
    return f"glyphs/{symbol.id}-{rank}.svg"


def _outline(rank: int) -> str:
    """Draw a capsule by its rank: a circle, a pill, or three rounded squares."""
    if rank == 0:
        return '<circle cx="24" cy="24" r="16"/>'
    if rank == 1:
        return '<rect x="13" y="3" width="22" height="42" rx="11"/>'
    return "".join(f'<rect x="{x}" y="{x}" width="34" height="34" rx="6"/>' for x in (11, 7, 3))


def glyph_svg(glyph: Glyph, rank: int) -> str:
    """Draw a glyph as a small picture: the outline of the rank, and the mark scaled into it."""
    middle, scale = {0: (24, 26), 1: (24, 22)}.get(rank, (20, 32))
    paint = f'fill="{glyph.ink}"' if glyph.filled else f'fill="none" stroke="{glyph.ink}"'
    mark = (
        f'<path d="{glyph.path}" transform="translate({middle} {middle}) scale({scale})" {paint} '
        f'stroke-width="{2 / scale:.4f}" stroke-linecap="round" stroke-linejoin="round"/>'
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="48" height="48" viewBox="0 0 48 48">'
        f'<g fill="{glyph.wash}" stroke="{glyph.ink}" stroke-width="1.5">{_outline(rank)}</g>{mark}</svg>\n'
    )


def users_of_operations() -> dict[str, list[str]]:
    """Find the symbols whose samples use each operation, by lowering them to steps."""
    found: dict[str, list[str]] = {name: [] for name in VOCABULARY}
    for symbol in (*CAPSULES.values(), *CONNECTIONS.values(), *PARTS.values()):
        for case in symbol.samples:
            for step in lower_to_steps(check(_sample_drawing(symbol, case)).network).trace.steps:
                if symbol.id not in found[step.operation.name]:
                    found[step.operation.name].append(symbol.id)
    found["add"].append("every capsule that several connections enter")
    found["bias"].append("every capsule with a bias")
    found["multiply"].append("every connection with dropconnect")
    return found
