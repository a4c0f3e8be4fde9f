"""Small changes of a module, each of which a test should notice: what a slip of the hand would make of it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.Break: ast.Continue, ast.Continue: ast.Break,
}  # fmt: skip
NAMES = {"any": "all", "all": "any", "min": "max", "max": "min", "startswith": "endswith", "endswith": "startswith"}
ANNOTATIONS = frozenset({"annotation", "returns", "type_params", "decorator_list"})
Place = tuple[tuple[str, int | None], ...]
"""The way from the module to a node: fields, and places in their lists."""


@dataclass(frozen=True)
class Mutation:
    """One change: where it stands, and what becomes of it."""

    function: str
    """The outermost function that it is in, by its qualified name; empty if it is outside of all."""
    line: int
    text: str
    """The line as it stands."""
    change: str
    tree: ast.Module


def mutations(source: str) -> Iterator[Mutation]:
    """Give every change of a module; two alike in one line are told apart by a number."""
    tree, lines = ast.parse(source), source.splitlines()
    seen: dict[tuple[int, str], int] = {}
    for node, place, function in _walk(tree, (), "", False):
        for change, replacement in _changes(node):
            key = (node.lineno, change)
            seen[key] = seen.get(key, 0) + 1
            told = change if seen[key] == 1 else f"{change} #{seen[key]}"
            changed = _replaced(tree, place, replacement)
            yield Mutation(function, node.lineno, lines[node.lineno - 1].strip(), told, changed)


def _walk(node: ast.AST, place: Place, function: str, inside: bool) -> Iterator[tuple[ast.AST, Place, str]]:
    """Go through what is computed: not through annotations, docstrings and what only a type checker reads."""
    for field, value in ast.iter_fields(node):
        if field in ANNOTATIONS:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(child, ast.AST) or _is_silent(node, field, index, child):
                continue
            name, deeper = function, inside
            # What a signature states by default is computed outside of its function.
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not inside:
                name = f"{function}.{child.name}".lstrip(".")
                deeper = not isinstance(child, ast.ClassDef)
            if field == "args" and isinstance(child, ast.arguments):
                name, deeper = "", False
            way = (*place, (field, index))
            if hasattr(child, "lineno"):
                yield child, way, name if deeper else ""
            yield from _walk(child, way, name, deeper)


def _is_silent(node: ast.AST, field: str, index: int | None, child: ast.AST) -> bool:
    docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
    cast = isinstance(node, ast.Call) and ast.unparse(node.func) == "cast" and (field, index) == ("args", 0)
    return docstring or cast or isinstance(child, ast.Import | ast.ImportFrom)


def _replaced(tree: ast.Module, place: Place, replacement: ast.AST) -> ast.Module:
    changed = copy.deepcopy(tree)
    node: ast.AST = changed
    for field, index in place[:-1]:
        found = getattr(node, field)
        node = found if index is None else found[index]
    field, index = place[-1]
    if index is None:
        setattr(node, field, replacement)
    else:
        getattr(node, field)[index] = replacement
    return ast.fix_missing_locations(changed)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    here = {name: getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")}
    nothing = ast.Constant(None, **here)
    if isinstance(node, ast.stmt):
        yield from _of_statements(node, ast.Pass(**here), nothing)
    if isinstance(node, ast.Constant):
        yield from _of_constants(node)
    elif isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            other = SWAPPED[type(operator)]
            ops = [*node.ops[:i], other(), *node.ops[i + 1 :]]
            yield f"{type(operator).__name__} becomes {other.__name__}", _with(node, ops=ops)
    elif isinstance(node, ast.BoolOp | ast.BinOp | ast.AugAssign) and type(node.op) in SWAPPED:
        other = SWAPPED[type(node.op)]
        yield f"{type(node.op).__name__} becomes {other.__name__}", _with(node, op=other())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not goes", node.operand
    elif isinstance(node, ast.IfExp):
        yield "the condition is turned round", _with(node, body=node.orelse, orelse=node.body)
    elif isinstance(node, ast.Tuple | ast.List | ast.Set) and isinstance(getattr(node, "ctx", None), ast.Load | None):
        for i, element in enumerate(node.elts):
            yield f"{ast.unparse(element)} goes", _with(node, elts=[*node.elts[:i], *node.elts[i + 1 :]])
    elif isinstance(node, ast.Slice):
        for name in ("lower", "upper", "step"):
            if (end := getattr(node, name)) is not None:
                yield f"the end {ast.unparse(end)} goes", _with(node, **{name: None})
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        for i, part in enumerate(node.generators):
            if part.ifs:
                parts = [*node.generators[:i], _with(part, ifs=[]), *node.generators[i + 1 :]]
                yield f"the filter {ast.unparse(part.ifs[0])} goes", _with(node, generators=parts)
    elif isinstance(node, ast.Call):
        yield from _of_calls(node)
    elif isinstance(node, ast.ExceptHandler):
        yield "what is caught goes on", _with(node, body=[ast.Raise()])


def _of_statements(node: ast.stmt, idle: ast.stmt, nothing: ast.expr) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.If):
        yield "the condition is turned round", _with(node, test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.While):
        yield "the loop is left out", _with(node, test=ast.Constant(False))
    elif isinstance(node, ast.Return | ast.Assign | ast.AnnAssign) and node.value is not None:
        if not isinstance(node.value, ast.Constant) or node.value.value is not None:
            yield "the value becomes None", _with(node, value=nothing)
    elif isinstance(node, ast.Raise | ast.Expr | ast.AugAssign | ast.Return):
        yield "the statement goes", idle
    elif isinstance(node, ast.Break | ast.Continue):
        yield "the loop goes otherwise", SWAPPED[type(node)]()
    elif isinstance(node, ast.With):
        yield "the with goes", ast.If(test=ast.Constant(True), body=node.body, orelse=[])
    elif isinstance(node, ast.Try) and node.finalbody:
        yield "the finally goes", _with(node, finalbody=[idle])


def _of_constants(node: ast.Constant) -> Iterator[tuple[str, ast.AST]]:
    value = node.value
    if isinstance(value, bool):
        other: object = not value
    elif isinstance(value, int | float):
        other = value + 1
    elif isinstance(value, str):
        other = f"XX{value}XX"
    elif isinstance(value, bytes):
        other = b"XX" + value + b"XX"
    else:
        return
    yield f"{value!r} becomes {other!r}", _with(node, value=other)


def _of_calls(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    named = node.func
    name = named.id if isinstance(named, ast.Name) else named.attr if isinstance(named, ast.Attribute) else ""
    if other := NAMES.get(name):
        yield f"{name} becomes {other}", _with(node, func=_with(named, **{type(named)._fields[-2]: other}))
    for i, keyword in enumerate(node.keywords):
        yield f"{ast.unparse(keyword)} goes", _with(node, keywords=[*node.keywords[:i], *node.keywords[i + 1 :]])
