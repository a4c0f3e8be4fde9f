"""Layout: lines of Python no longer than formatters want them."""

from __future__ import annotations

import ast

WIDTH = 88


def assigned(indent: str, name: str, expression: str, comment: str = "") -> list[str]:
    """Lay out an assignment with a comment behind it, or above it where there is no room."""
    start = "return " if not name else f"{name} = "
    line = f"{indent}{start}{expression}"
    if comment and len(line) + len(comment) + 4 <= WIDTH:
        return [f"{line}  # {comment}"]
    above = [f"{indent}# {comment}"] if comment else []
    if len(line) <= WIDTH:
        return [*above, line]
    return [*above, *_parted(indent, name, expression)]


def called(indent: str, expression: str) -> list[str]:
    """Lay out a call that stands alone."""
    if len(indent) + len(expression) <= WIDTH:
        return [f"{indent}{expression}"]
    return _opened(indent, "", ast.parse(expression, mode="eval").body, "")


def signature(indent: str, name: str, parameters: list[str], result: str) -> list[str]:
    """Lay out the first line of a method."""
    line = f"{indent}def {name}({', '.join(parameters)}) -> {result}:"
    if len(line) <= WIDTH:
        return [line]
    inner = f"{indent}    {', '.join(parameters)}"
    if len(inner) <= WIDTH:
        return [f"{indent}def {name}(", inner, f"{indent}) -> {result}:"]
    return [f"{indent}def {name}(", *(f"{indent}    {p}," for p in parameters), f"{indent}) -> {result}:"]


def _parted(indent: str, name: str, expression: str) -> list[str]:
    """Part a long expression into several lines."""
    tree = ast.parse(expression, mode="eval").body
    target = name or "y"
    end = [] if name else [f"{indent}return y"]
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add):
        # A sum is added up term by term.
        left, right = _text(tree.left), _text(tree.right)
        return [*assigned(indent, target, left), *assigned(indent, target, f"{target} + {right}"), *end]
    if isinstance(tree, ast.Call):
        inner = tree.func.value if isinstance(tree.func, ast.Attribute) else None
        if isinstance(inner, ast.Call | ast.BinOp | ast.Subscript):
            assert isinstance(tree.func, ast.Attribute)
            rest = f"{target}.{tree.func.attr}({', '.join(_arguments(tree))})"
            return [*assigned(indent, target, _text(inner)), *assigned(indent, target, rest), *end]
        return _opened(indent, "return " if not name else f"{name} = ", tree, "")
    if isinstance(tree, ast.Subscript) and isinstance(tree.value, ast.Call):
        cut = _text(tree)[len(_text(tree.value)) :]
        return [*assigned(indent, target, _text(tree.value)), *assigned(indent, target, f"{target}{cut}"), *end]
    start = "return " if not name else f"{name} = "
    if isinstance(tree, ast.BinOp) and isinstance(tree.right, ast.Call):
        # Only the call at the end is opened.
        before = expression[: len(expression) - len(_text(tree.right))]
        call = f"{_text(tree.right.func)}("
        return [f"{indent}{start}{before}{call}", f"{indent}    {', '.join(_arguments(tree.right))}", f"{indent})"]
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult) and len(_terms(tree.right)) > 1:
        first, *rest = _terms(tree.right)
        inner = [f"{indent}    {first}", *(f"{indent}    + {term}" for term in rest)]
        return [f"{indent}{start}{_text(tree.left)} * (", *inner, f"{indent})"]
    return [f"{indent}{start}{expression}"]


def _opened(indent: str, start: str, tree: ast.expr, end: str) -> list[str]:
    """Write a call, tuple or list with a line for each part."""
    line = f"{indent}{start}{_text(tree)}{end}"
    if isinstance(tree, ast.Call) and (tree.args or tree.keywords):
        parts: list[tuple[str, ast.expr]] = [("", argument) for argument in tree.args]
        parts += [(f"{keyword.arg}=", keyword.value) for keyword in tree.keywords]
        opening, closing = f"{_text(tree.func)}(", ")"
    elif isinstance(tree, ast.Tuple | ast.List) and len(tree.elts) > 1:
        parts = [("", element) for element in tree.elts]
        opening, closing = ("(", ")") if isinstance(tree, ast.Tuple) else ("[", "]")
    else:
        return [line]
    lines = [f"{indent}{start}{opening}"]
    inner = f"{indent}    "
    for before, part in parts:
        short = f"{inner}{before}{_text(part)},"
        if len(short) <= WIDTH:
            lines.append(short)
        elif not before and isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            first, *rest = _terms(part)
            lines += [f"{inner}{first}", *(f"{inner}+ {term}" for term in rest)]
            lines[-1] += ","
        else:
            lines += _opened(inner, before, part, ",")
    return [*lines, f"{indent}{closing}{end}"]


def _terms(tree: ast.expr) -> list[str]:
    """Give the terms of a sum."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add):
        return [*_terms(tree.left), _text(tree.right)]
    return [_text(tree)]


def _arguments(call: ast.Call) -> list[str]:
    return [*map(_text, call.args), *(f"{keyword.arg}={_text(keyword.value)}" for keyword in call.keywords)]


def _text(tree: ast.expr) -> str:
    """Write an expression with double quotes, as formatters do."""
    text = ast.unparse(tree)
    return text if '"' in text else text.replace("'", '"')
