"""The reference pages, written from the code: symbols, operations, diagnostics, command line, Python, file schemas.

Usage: python tools/reference.py [--check] [folder]     (default: docs/reference)
"""

import dataclasses
import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

import inkcap
from inkcap.cli import app, commands
from inkcap.drawing import Drawing, Edit, Put, drawing_schema
from inkcap.engine import source_of
from inkcap.network import RULES, check
from inkcap.network.inference import trace_capsule, trace_connection
from inkcap.operations import VOCABULARY, takes_dtype
from inkcap.program import lower_to_steps
from inkcap.recipes import recipe_schema
from inkcap.structures import AXES, named, rank_of, to_reading_order
from inkcap.symbols import CAPSULES, CONNECTIONS, Attribute, CapsuleSymbol, ConnectionSymbol, Glyph, Sample
from inkcap.symbols.describe import general_shape
from inkcap.zoo import draw

ROOT = Path(__file__).resolve().parent.parent
HEAD = "Written by `make docs` from the code; a change belongs there.\n"
RANKS = ("neuron", "vector", "matrix array", "volume array")


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)]) + "\n"


def _sizes(shape: Sequence[Any], *, reading: bool = True) -> str:
    texts = [str(size) for size in (to_reading_order(tuple(shape)) if reading else shape)]
    return " × ".join(f"({t})" if len(texts) > 1 and ("+" in t or "−" in t) else t for t in texts) or "a scalar"


def _first_line(value: object) -> str:
    return (inspect.getdoc(value) or "").split("\n")[0]


UNLETTERED = {"padding": "p", "dilation": "δ", "stride": "s"}
"""Letters for sizes to which the paper gives none."""


def _letters(attribute: Attribute) -> Any:
    """Give a size attribute its letters in place of numbers: k, m×n, s."""
    letter = attribute.letter or UNLETTERED.get(attribute.name, "")
    if attribute.kind == "axes" and letter:
        parts = letter.split("×")
        return tuple(named(part) for part in (parts if len(parts) == attribute.axes else parts * attribute.axes))
    return named(letter) if attribute.kind == "size" and letter else attribute.default


def _named_attributes(declared: tuple[Attribute, ...], *, everything: bool) -> dict[str, Any]:
    return {a.name: _letters(a) if everything or a.required else a.default for a in declared}


def _attribute_rows(declared: tuple[Attribute, ...]) -> Iterator[tuple[str, ...]]:
    for a in declared:
        kind = " · ".join(f"`{choice}`" for choice in a.choices) if a.choices else a.kind
        default = a.default if not isinstance(a.default, tuple) else "×".join(map(str, a.default)) or "none"
        default = str(default).lower() if isinstance(default, bool) else default
        state = "inferred" if a.inferred else "**required**" if a.required else f"`{default}`"
        yield f"`{a.name}`", a.letter, kind, state, a.help


def _attributes(declared: tuple[Attribute, ...]) -> str:
    heads = ("attribute", "letter", "kind", "default", "meaning")
    return _table(heads, _attribute_rows(declared)) if declared else "It has no attributes of its own.\n"


def _shared_attributes() -> tuple[Attribute, ...]:
    """Collect what every capsule states of itself, over all ranks: sizes, data type, bias."""
    found: dict[str, Attribute] = {}
    for symbol in CAPSULES.values():
        for attribute in (a for rank in sorted(symbol.ranks, reverse=True) for a in symbol.attributes(rank)):
            if attribute not in symbol.own_attributes:
                found.setdefault(attribute.name, attribute)
    return tuple(found.values())


def _stated(shape: tuple[int, ...]) -> dict[str, Any]:
    return dict(zip(AXES[rank_of(shape)], to_reading_order(shape), strict=True))


def _face(symbol: str, rank: int) -> str:
    return f"{symbol} neuron" if rank == 0 else f"{rank}D-{symbol}"


def _sample_drawing(symbol: CapsuleSymbol | ConnectionSymbol, case: Sample) -> Drawing:
    """Draw a symbol's sample: a data capsule x, then the capsule y, or y behind the connection."""
    drawing, rank = Drawing("sample"), rank_of(case.shape)
    drawing.add("x", _face("data", rank), **_stated(case.shape))
    if isinstance(symbol, CapsuleSymbol):
        drawing.add("y", _face("identical" if symbol.is_data else symbol.id, rank), **case.attributes)
        drawing.connect("x", "y", "transfer")
        return drawing
    front = case.front or case.attributes.get("shape")
    joined = [b for a, b in symbol.ranks if a == rank]
    front_rank = rank_of(front) if front else (1 if 1 in joined else joined[0])
    drawing.add("y", _face("identical", front_rank), **(_stated(case.front) if case.front else {}), bias="none")
    drawing.connect("x", "y", symbol.id, **case.attributes)
    return drawing


def _printed(symbol: CapsuleSymbol | ConnectionSymbol) -> str:
    """Print the PyTorch of the first sample that is not a neuron."""
    cases = [case for case in symbol.samples if case.dtype == "float64"]
    case = next((case for case in cases if case.shape), cases[0])
    source = source_of(check(_sample_drawing(symbol, case)).network)
    return f"```text\n{source[source.index('class') :].rstrip()}\n```\n"


def _capsule_section(symbol: CapsuleSymbol) -> str:
    faces = ", ".join(f"![]({_glyph_name(symbol, rank)}) {symbol.title_of(rank)}" for rank in symbol.ranks)
    parts = [f"### `{symbol.id}`\n", f"{faces}\n", f"{symbol.tooltip}\n", f"`{symbol.formula}`\n"]
    top = max(rank for rank in symbol.ranks if rank < 3)
    rows = []
    for rank in symbol.ranks:
        attributes = _named_attributes(symbol.attributes(rank), everything=False)
        _, y = trace_capsule(symbol, attributes, general_shape(rank), "float32")
        rows.append((rank, RANKS[rank], _sizes(general_shape(rank)), _sizes(y.shape)))
    parts.append(_table(("rank", "", "total input", "output"), rows))
    everything = _named_attributes(symbol.attributes(top), everything=True)
    _, general = trace_capsule(symbol, everything, general_shape(top), "float32")
    if _sizes(general.shape) != next(row[3] for row in rows if row[0] == top):
        parts.append(f"With every attribute stated: {_sizes(general.shape)}.\n")
    parts += [_attributes(symbol.own_attributes), "In PyTorch:\n", _printed(symbol)]
    return "\n".join(parts)


def _traced_ends(symbol: ConnectionSymbol, pair: tuple[int, int], *, everything: bool) -> tuple[str, str, str]:
    back = general_shape(pair[0])
    attributes = _named_attributes(symbol.attributes, everything=everything)
    if pair[1] > 1 and pair[0] != pair[1]:
        primed = tuple(named(f"{size}′") for size in general_shape(pair[1]))
        attributes |= {a.name: primed for a in symbol.attributes if a.kind == "shape"}
    attributes |= {a.name: symbol.samples[0].attributes.get(a.name, ()) for a in symbol.attributes if a.kind == "list"}
    # A symbol that knows its back end from its weight names it so: the full connection takes N numbers.
    told = symbol.back((None,) * len(back), attributes) if symbol.back else ()
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
    parts.append(_table(("ranks", "back end", "weight", "front end"), rows))
    back, weight, front = _traced_ends(symbol, shown[0], everything=True)
    if (back, weight, front) != rows[0][1:]:
        parts.append(f"With every attribute stated: {back} gives {front}, with a weight of {weight}.\n")
    parts += [_attributes(symbol.attributes), "In PyTorch:\n", _printed(symbol)]
    return "\n".join(parts)


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
    return f"{intro}\n## Capsules\n\n{capsules}\n## Connections\n\n{connections}"


def _glyph_name(symbol: CapsuleSymbol, rank: int) -> str:
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


def _users() -> dict[str, list[str]]:
    """Find the symbols whose samples use each operation, by lowering them to steps."""
    found: dict[str, list[str]] = {name: [] for name in VOCABULARY}
    for symbol in (*CAPSULES.values(), *CONNECTIONS.values()):
        for case in symbol.samples:
            for step in lower_to_steps(check(_sample_drawing(symbol, case)).network).trace.steps:
                if symbol.id not in found[step.operation.name]:
                    found[step.operation.name].append(symbol.id)
    found["add"].append("every capsule that several connections enter")
    found["bias"].append("every capsule with a bias")
    return found


def operations_page() -> str:
    """Write the page of the closed vocabulary."""
    users = _users()
    rows = []
    for name, operation in VOCABULARY.items():
        kinds = "any" if takes_dtype(operation, "int64") else "floating"
        used = ", ".join(f"`{u}`" if " " not in u else u for u in users[name])
        rows.append((f"`{name}`", operation.meaning, kinds, "yes" if operation.multiply_adds else "", used))
    return (
        f"# Operations\n\n{HEAD}\nThe closed vocabulary: every symbol's forward function is written in these names and "
        "no others. Each has a shape rule, a torch call, a vector-Jacobian product, a NumPy reference and a printed "
        "form.\n\n" + _table(("operation", "meaning", "data types", "multiply-adds", "used by"), rows)
    )


BROKEN = {
    "empty": "",
    "cycle": "draw mlp; connect c b full",
    "direction-ambiguous": "add x 0D-data; then a 0D-relu; add b 0D-relu; connect x b; connect a b arrow=False",
    "disconnected": "draw mlp; add p 1D-data dimension=3",
    "data-has-input": "draw mlp; add z 1D-data dimension=2; connect d z transfer",
    "no-input": "draw mlp; add z 1D-relu dimension=2; connect z d full",
    "rank-mismatch": "add a 2D-data height=4 width=4 channels=1; then b 1D-relu full dimension=3",
    "structure-mismatch": "draw lenet; change b height=20 width=20",
    "structure-unknown": "add a 1D-data; then b 1D-relu transfer",
    "dtype-mismatch": "draw mlp; change c dtype=float64",
    "not-floating": "draw mlp; change a dtype=int64",
    "missing-attribute": "draw lenet; change a-b kernel=None",
    "window-does-not-divide": "draw lenet; change a-b kernel=4",
    "window-too-large": "draw lenet; change c-d kernel=13",
    "padding-too-large": "draw lenet; change c padding=2",
    "groups-do-not-divide": "draw lenet; change c-d groups=3",
    "too-large": "draw mlp; change b dimension=2147483647; change c dimension=2147483647",
    "tie-mismatch": "draw mlp; change a dimension=6; connect a d full tie=t; connect a c full tie=t",
    "unused-border": "draw lenet; change a-b kernel=4 stride=5",
    "unsupported": "draw mlp; wear b dropout",
}
"""Small broken drawings by rule, as calls of a drawing; the message of each is the example on the page."""


def _broken(rule: str) -> Drawing:
    drawing = Drawing("example")
    for call in filter(None, BROKEN[rule].split("; ")):
        name, *words = call.split()
        plain = [word for word in words if "=" not in word]
        pairs = [word.split("=") for word in words if "=" in word]
        attributes = {k: int(v) if v.isdigit() else {"None": None, "False": False}.get(v, v) for k, v in pairs}
        if name == "draw":
            drawing = draw(plain[0])
        elif name == "wear":
            capsule = dataclasses.replace(drawing.capsules[plain[0]], wears=({"part": plain[1]},))
            drawing.apply(Edit("wear", (Put(capsule),)))
        else:
            getattr(drawing, name)(*plain, **attributes)
    return drawing


def diagnostics_page() -> str:
    """Write the page of all rules, each with the message of a drawing that breaks it."""
    parts = [
        f"# Diagnostics\n\n{HEAD}\n`inkcap check` and `inkcap.check` report what is wrong by these rules. An error "
        "must be mended; a note may stay. A diagnostic says where, in words and numbers, and where one is known it "
        "carries the edit that mends it.\n"
    ]
    for rule, meaning in RULES.items():
        parts.append(f"## `{rule}`\n\n{meaning}\n")
        for found in [d for d in check(_broken(rule)).diagnostics if d.rule == rule][:1] if rule in BROKEN else []:
            edit = f" Its edit: *{found.fix.label}*." if found.fix else ""
            parts.append(f"For example, as {found.severity}: {found.message}.{edit}\n")
    return "\n".join(parts)


def _parameter_rows(parameters: Iterable[Any]) -> Iterator[tuple[str, str, str]]:
    for p in parameters:
        argument = not p.opts[0].startswith("-")
        name = p.metavar or p.name.upper() if argument else ", ".join((*p.opts, *p.secondary_opts))
        value = "" if argument or p.is_flag else f" {p.metavar or 'VALUE'}"
        yield f"`{name}{value}`", "" if p.default in (None, False) else f"`{p.default}`", p.help or ""


def command_line_page() -> str:
    """Write the page of every command with its options."""
    commands.register()
    group: Any = typer.main.get_command(app)
    parts = [
        f"# Command line\n\n{HEAD}\n{group.help}\n",
        "Exit codes: 0 when all is well, 2 for a mistake in what was given, 1 for a run that could not go on.\n",
    ]
    for name, command in sorted(group.commands.items()):
        arguments = [p.metavar or p.name.upper() for p in command.params if not p.opts[0].startswith("-")]
        usage = " ".join(["inkcap", name, *arguments, "[OPTIONS]"])
        heads = ("argument or option", "default", "meaning")
        shown = _table(heads, _parameter_rows(command.params)) if command.params else "It takes no options.\n"
        parts.append(f"## `inkcap {name}`\n\n{inspect.cleandoc(command.help)}\n\n`{usage}`\n\n{shown}")
    return "\n".join(parts)


def _call(name: str, value: Any) -> str:
    star = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    given = [p for p in inspect.signature(value).parameters.values() if p.name not in ("self", "cls")]
    texts = (star.get(p.kind, "") + p.name + ("" if p.default is p.empty else "=…") for p in given)
    return f"{name}({', '.join(texts)})"


def _member_rows(owner: type) -> Iterator[tuple[str, str]]:
    for name, value in vars(owner).items():
        is_value = isinstance(value, property | cached_property)
        if not name.startswith("_") and (is_value or inspect.isfunction(value)):
            yield f"`.{name if is_value else _call(name, value)}`", _first_line(value)


def python_page() -> str:
    """Write the page of the public names."""
    parts = [f"# Python\n\n{HEAD}"]
    for module_name in ("inkcap", "inkcap.recipes", "inkcap.training"):
        module = import_module(module_name)
        parts.append(f"\n## `{module_name}`\n\n{_first_line(module)}\n\n")
        rows: list[tuple[str, str]] = []
        for name in sorted(module.__all__, key=str.lower):
            value = getattr(module, name)
            is_call = inspect.isfunction(value) or (dataclasses.is_dataclass(value) and module is not inkcap)
            meaning = _first_line(value) if inspect.isclass(value) or callable(value) else "A table by name."
            rows.append((f"`{_call(name, value) if is_call else name}`", meaning))
        parts.append(_table(("name", "meaning"), rows))
        if module is inkcap:
            for name in ("Drawing", "Report", "Network", "Structure"):
                parts.append(f"\n### `{name}`\n\n" + _table(("member", "meaning"), _member_rows(getattr(inkcap, name))))
    return "".join(parts)


def pages() -> dict[str, str]:
    """Write every page and picture, by its path below the reference folder."""
    written = {
        "symbols.md": symbols_page(),
        "operations.md": operations_page(),
        "diagnostics.md": diagnostics_page(),
        "command-line.md": command_line_page(),
        "python.md": python_page(),
    }
    for name, schema in (("drawing", drawing_schema()), ("recipe", recipe_schema())):
        written[f"{name}.schema.json"] = json.dumps(schema, ensure_ascii=False, indent=1) + "\n"
    for symbol in CAPSULES.values():
        written |= {_glyph_name(symbol, rank): glyph_svg(symbol.glyph, rank) for rank in symbol.ranks}
    return written


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with --check name those that differ and return 1 when there are any."""
    given = [argument for argument in arguments if argument != "--check"]
    folder = Path(given[0]) if given else ROOT / "docs" / "reference"
    wanted = pages()
    present = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()} if folder.is_dir() else {}
    texts = {name: path.read_text(encoding="utf-8") for name, path in present.items() if name in wanted}
    differing = sorted({name for name in wanted if texts.get(name) != wanted[name]} | (present.keys() - wanted.keys()))
    if "--check" in arguments:
        for name in differing:
            print(f"{folder / name}: differs from the code; run 'make docs'")
        return 1 if differing else 0
    for name in differing:
        if name in wanted:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(wanted[name], encoding="utf-8", newline="\n")
        else:
            present[name].unlink()
    print(f"reference: {len(wanted)} files, {len(differing)} written anew")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
