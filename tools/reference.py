"""The reference pages, written from the code: symbols, networks, operations, diagnostics, command line, schemas.

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
from catalogue_pages import HEAD, glyph_name, glyph_svg, symbols_page, table, users_of_operations
from inkcap.cli import app, commands
from inkcap.drawing import Drawing, drawing_schema
from inkcap.network import RULES, check
from inkcap.operations import VOCABULARY, takes_dtype
from inkcap.recipes import recipe_schema
from inkcap.symbols import CAPSULES, PARTS
from inkcap.zoo import draw
from network_pages import network_pages
from symbol_pages import symbol_pages

ROOT = Path(__file__).resolve().parent.parent


def _first_line(value: object) -> str:
    return (inspect.getdoc(value) or "").split("\n")[0]


def operations_page() -> str:
    """Write the page of the closed vocabulary."""
    users = users_of_operations()
    rows = []
    for name, operation in VOCABULARY.items():
        kinds = "any" if takes_dtype(operation, "int64") else "floating"
        used = ", ".join(f"`{u}`" if " " not in u else u for u in users[name])
        rows.append((f"`{name}`", operation.meaning, kinds, "yes" if operation.multiply_adds else "", used))
    return (
        f"# Operations\n\n{HEAD}\nThe closed vocabulary: every symbol's forward function is written in these names and "
        "no others. Each has a shape rule, a torch call, a vector-Jacobian product, a NumPy reference and a printed "
        "form.\n\n" + table(("operation", "meaning", "data types", "multiply-adds", "used by"), rows)
    )


BROKEN = {
    "empty": "",
    "cycle": "draw mlp; connect c b full",
    "direction-ambiguous": "add x 0D-data; then a 0D-relu; add b 0D-relu; connect x b; connect a b arrow=False",
    "disconnected": "draw mlp; add p 1D-data dimension=3",
    "data-has-input": "draw mlp; add z 1D-data dimension=2; connect d z transfer",
    "no-input": "draw mlp; add z 1D-relu dimension=2; connect z d full",
    "unknown-port": "draw mlp; connect a c full port=by",
    "port-taken": "add a 2D-data height=4 width=3 channels=1; add b 1D-data dimension=4; add m 2D-mask; "
    "connect a m transfer; connect b m transfer port=label; connect b m transfer port=label",
    "rank-mismatch": "add a 2D-data height=4 width=4 channels=1; then b 1D-relu full dimension=3",
    "structure-mismatch": "draw lenet; change b height=20 width=20",
    "structure-unknown": "add a 1D-data; then b 1D-relu transfer",
    "dtype-mismatch": "draw mlp; change c dtype=float64",
    "not-floating": "draw mlp; change a dtype=int64",
    "not-whole": "add a 1D-data dimension=4; add b 2D-identical; connect a b embedding height=5 width=3",
    "missing-attribute": "draw lenet; change a-b kernel=None",
    "window-does-not-divide": "draw lenet; change a-b kernel=4",
    "window-too-large": "draw lenet; change c-d kernel=13",
    "padding-too-large": "draw lenet; change c padding=2",
    "groups-do-not-divide": "draw lenet; change c-d groups=3",
    "too-large": "draw mlp; change b dimension=2147483647; change c dimension=2147483647",
    "tie-mismatch": "draw mlp; change a dimension=6; connect a d full tie=t; connect a c full tie=t",
    "unused-border": "draw lenet; change a-b kernel=4 stride=5",
    "bounds-in-disorder": "draw mlp; then h 1D-hard-tanh transfer low=4",
    "nothing-to-normalise": "draw mlp; wear b group-norm groups=6",
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
    for p in (one for one in parameters if not getattr(one, "hidden", False)):
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
        shown = table(heads, _parameter_rows(command.params)) if command.params else "It takes no options.\n"
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
        parts.append(table(("name", "meaning"), rows))
        if module is inkcap:
            for name in ("Drawing", "Report", "Network", "Structure"):
                parts.append(f"\n### `{name}`\n\n" + table(("member", "meaning"), _member_rows(getattr(inkcap, name))))
    return "".join(parts)


def pages() -> dict[str, str]:
    """Write every page and picture, by its path below the reference folder."""
    written = {
        "symbols.md": symbols_page(),
        **symbol_pages(),
        "operations.md": operations_page(),
        "diagnostics.md": diagnostics_page(),
        "command-line.md": command_line_page(),
        "python.md": python_page(),
    }
    written |= network_pages()
    for name, schema in (("drawing", drawing_schema()), ("recipe", recipe_schema())):
        written[f"{name}.schema.json"] = json.dumps(schema, ensure_ascii=False, indent=1) + "\n"
    for symbol in (*CAPSULES.values(), *PARTS.values()):
        written |= {glyph_name(symbol, rank): glyph_svg(symbol.glyph, rank) for rank in symbol.ranks}
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
