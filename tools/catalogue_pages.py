"""The pages of the catalogue: symbols, their pictures, and which of them use each operation."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from inkcap.drawing import Drawing
from inkcap.network import check
from inkcap.operations import VOCABULARY
from inkcap.program import lower_to_steps
from inkcap.structures import AXES, named, rank_of, to_reading_order
from inkcap.symbols import (
    CAPSULES,
    CONNECTIONS,
    PARTS,
    Attribute,
    CapsuleSymbol,
    ConnectionSymbol,
    Glyph,
    PartSymbol,
    Sample,
    Symbol,
)

HEAD = "Written by `make docs` from the code; a change belongs there.\n"
NOTATION = (
    "Sizes are read as people read them: height M, width N, channels d; a volume has the depth D before them. A weight "
    "stands in PyTorch's order. Every capsule but a data capsule adds its bias B to the sum of what enters, and its "
    "function takes that total input U. An attribute that is *inferred* may be left empty: the structures around it "
    "tell it, or there is none. A *required* one may be empty too where they do."
)
RANKS = ("neuron", "vector", "matrix array", "volume array")


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table in Markdown."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)]) + "\n"


def sizes_text(shape: Sequence[Any], *, reading: bool = True) -> str:
    """Write sizes as people read them, or in their own order."""
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


def named_attributes(declared: tuple[Attribute, ...], *, everything: bool) -> dict[str, Any]:
    """Give attributes letters in place of numbers where they must be stated, or all of them, and defaults else."""
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


def attributes_table(declared: tuple[Attribute, ...]) -> str:
    """Write attributes as a table."""
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


def sample_drawing(symbol: Symbol, case: Sample) -> Drawing:
    """Draw a symbol's sample: a data capsule x, then the capsule y, or y behind the connection."""
    drawing, rank = Drawing("sample"), rank_of(case.shape)
    picking = {"dtype": case.dtype} if isinstance(symbol, ConnectionSymbol) and symbol.picks else {}
    drawing.add("x", _face("data", rank), **_stated(case.shape), **picking)
    if isinstance(symbol, PartSymbol):
        drawing.then("y", _face("relu", rank), "transfer")
        drawing.wear("y", symbol.id, **case.attributes)
        return drawing
    if isinstance(symbol, CapsuleSymbol):
        drawing.add("y", _face("identical" if symbol.is_data else symbol.id, rank), **case.attributes)
        drawing.connect("x", "y", "transfer")
        for port, shape in case.ports.items():
            # What a further connection brings to a port that keeps them apart is called ``scores.1``.
            name = port.replace(".", "-")
            drawing.add(name, _face("data", rank_of(shape)), **_stated(shape))
            drawing.connect(name, "y", "transfer", port=port.partition(".")[0])
        return drawing
    front = case.front or case.attributes.get("shape")
    joined = [b for a, b in symbol.ranks if a == rank]
    alike = rank in joined and not any(a.kind == "shape" for a in symbol.attributes)
    front_rank = rank_of(front) if front else rank if alike else joined[0]
    drawing.add("y", _face("identical", front_rank), **(_stated(case.front) if case.front else {}), bias="none")
    drawing.connect("x", "y", symbol.id, **case.attributes)
    return drawing


def symbol_page_name(symbol: Symbol) -> str:
    """Give the path of a symbol's page below the reference folder."""
    return f"symbols/{symbol.id}.md"


def _capsule_row(symbol: CapsuleSymbol) -> tuple[str, ...]:
    top = 2 if 2 in symbol.ranks else max(symbol.ranks)
    faces = ", ".join(symbol.title_of(rank) for rank in symbol.ranks)
    return f"![]({glyph_name(symbol, top)})", _link(symbol), faces, symbol.tooltip, f"`{symbol.formula}`"


def _link(symbol: Symbol) -> str:
    return f"[`{symbol.id}`]({symbol_page_name(symbol)})"


def _connection_row(symbol: ConnectionSymbol) -> tuple[str, ...]:
    return symbol.mark, _link(symbol), f"{symbol.title} connection", symbol.tooltip, f"`{symbol.formula}`"


def _part_row(part: PartSymbol) -> tuple[str, ...]:
    top = 2 if 2 in part.ranks else max(part.ranks)
    return f"![]({glyph_name(part, top)})", _link(part), part.title, part.tooltip, f"`{part.formula}`"


def symbols_page() -> str:
    """Write the page of all symbols: each with what it means, and the way to its own page."""
    intro = (
        f"# Symbols\n\n{HEAD}\nEvery symbol has a page of its own, with its structures, attributes and parameters, "
        f"its picture, and the PyTorch and ONNX that it becomes. {NOTATION}\n"
    )
    heads = ("", "symbol", "title", "meaning", "formula")
    shared = f"### Attributes of every capsule\n\n{attributes_table(_shared_attributes())}"
    capsules = table(heads, map(_capsule_row, CAPSULES.values()))
    connections = table(heads, map(_connection_row, CONNECTIONS.values()))
    parts = table(heads, map(_part_row, PARTS.values()))
    return f"{intro}\n## Capsules\n\n{capsules}\n{shared}\n## Connections\n\n{connections}\n## Worn parts\n\n{parts}"


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
    broken = ' stroke-dasharray="4 3"' if glyph.broken else ""
    mark = (
        f'<path d="{glyph.path}" transform="translate({middle} {middle}) scale({scale})" {paint} '
        f'stroke-width="{2 / scale:.4f}" stroke-linecap="round" stroke-linejoin="round"/>'
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="48" height="48" viewBox="0 0 48 48">'
        f'<g fill="{glyph.wash}" stroke="{glyph.ink}" stroke-width="1.5"{broken}>{_outline(rank)}</g>{mark}</svg>\n'
    )


def users_of_operations() -> dict[str, list[str]]:
    """Find the symbols whose samples use each operation, by lowering them to steps."""
    found: dict[str, list[str]] = {name: [] for name in VOCABULARY}
    for symbol in (*CAPSULES.values(), *CONNECTIONS.values(), *PARTS.values()):
        for case in symbol.samples:
            for step in lower_to_steps(check(sample_drawing(symbol, case)).network).trace.steps:
                if symbol.id not in found[step.operation.name]:
                    found[step.operation.name].append(symbol.id)
    found["add"].append("every capsule that several connections enter")
    found["bias"].append("every capsule with a bias")
    found["multiply"].append("every connection with dropconnect")
    return found
