"""Layout: lines of Python no longer than formatters want them; only where they break depends on names."""

from __future__ import annotations

import ast

WIDTH = 120
FLUENT = 3
"""A chain of as many calls has a line for each."""


def assigned(indent: str, name: str, expression: str, comment: str = "") -> list[str]:
    """Lay out an assignment with a comment behind it, or above it where there is no room."""
    start = "return " if not name else f"{name} = "
    line = f"{indent}{start}{expression}"
    if comment and len(line) + len(comment) + 4 <= WIDTH:
        return [f"{line}  # {comment}"]
    above = [f"{indent}# {comment}"] if comment else []
    if len(line) <= WIDTH:
        return [*above, line]
    return [*above, *_parted(indent, start, ast.parse(expression, mode="eval").body)]


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


def _parted(indent: str, start: str, tree: ast.expr) -> list[str]:
    """Part a long expression into several lines, at the place where formatters do."""
    inner = f"{indent}    "
    if isinstance(tree, ast.BinOp):
        terms = _terms(tree)
        if len(terms) > 2 or not isinstance(tree.right, ast.Call):
            if isinstance(tree.op, ast.Mult) and len(_terms(tree.right)) > 1:
                return [f"{indent}{start}{_text(tree.left)} * (", *_added(inner, tree.right), f"{indent})"]
            return [f"{indent}{start}(", *_added(inner, tree), f"{indent})"]
        # Only the call at the end is opened.
        before = _text(tree)[: -len(_text(tree.right))]
        return _opened(indent, f"{start}{before}", tree.right, "")
    links = _links(tree)
    if len(links) >= FLUENT:
        whole = f"{inner}{_text(tree)}"
        lines = [whole] if len(whole) <= WIDTH else [f"{inner}{link}" for link in links]
        return [f"{indent}{start}(", *lines, f"{indent})"]
    if isinstance(tree, ast.Call) and len(indent) + len(start) + len(_text(tree.func)) < WIDTH:
        return _opened(indent, start, tree, "")
    first = _first_call(tree)
    return _opened(indent, start, first, _text(tree)[len(_text(first)) :])


def _first_call(tree: ast.expr) -> ast.expr:
    """Give the first call of a chain of calls, attributes and parts."""
    found, inside = tree, tree
    while isinstance(inside, ast.Call | ast.Attribute | ast.Subscript):
        found = inside if isinstance(inside, ast.Call) else found
        inside = inside.func if isinstance(inside, ast.Call) else inside.value
    return found


def _links(tree: ast.expr) -> list[str]:
    """Give the calls of a chain, each but the first with its dot in front."""
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and isinstance(tree.func.value, ast.Call):
        before = _links(tree.func.value)
        return [*before, _text(tree)[len(_text(tree.func.value)) :]]
    return [_text(tree)]


def _added(indent: str, tree: ast.expr, end: str = "") -> list[str]:
    """Write a sum in one line, or with a line for each term, and those that are too long parted in turn."""
    if len(indent) + len(_text(tree)) + len(end) <= WIDTH:
        return [f"{indent}{_text(tree)}{end}"]
    lines: list[str] = []
    terms = _terms(tree)
    for number, term in enumerate(terms):
        sign, last = "+ " if number else "", end if number == len(terms) - 1 else ""
        if len(indent) + len(sign) + len(_text(term)) + len(last) <= WIDTH:
            lines.append(f"{indent}{sign}{_text(term)}{last}")
        else:
            first = _first_call(term)
            lines += _opened(indent, sign, first, _text(term)[len(_text(first)) :] + last)
    return lines


def _opened(indent: str, start: str, tree: ast.expr, end: str) -> list[str]:
    """Write a call, tuple or list with its parts in one line, or with a line for each."""
    if isinstance(tree, ast.Call) and (tree.args or tree.keywords):
        parts: list[tuple[str, ast.expr]] = [("", argument) for argument in tree.args]
        parts += [(f"{keyword.arg}=", keyword.value) for keyword in tree.keywords]
        opening, closing = f"{_text(tree.func)}(", ")"
    elif isinstance(tree, ast.Tuple | ast.List) and len(tree.elts) > 1:
        parts = [("", element) for element in tree.elts]
        opening, closing = ("(", ")") if isinstance(tree, ast.Tuple) else ("[", "]")
    else:
        return [f"{indent}{start}{_text(tree)}{end}"]
    inner = f"{indent}    "
    whole = inner + ", ".join(f"{before}{_text(part)}" for before, part in parts)
    lines = [whole] if len(whole) <= WIDTH else []
    for before, part in () if lines else parts:
        short = f"{inner}{before}{_text(part)},"
        if len(short) <= WIDTH:
            lines.append(short)
        elif not before and isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            lines += _added(inner, part, ",")
        else:
            lines += _opened(inner, before, part, ",")
    return [f"{indent}{start}{opening}", *lines, f"{indent}{closing}{end}"]


def _terms(tree: ast.expr) -> list[ast.expr]:
    """Give the terms of a sum."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add):
        return [*_terms(tree.left), tree.right]
    return [tree]


def _text(tree: ast.expr) -> str:
    """Write an expression with double quotes, as formatters do."""
    text = ast.unparse(tree)
    return text if '"' in text else text.replace("'", '"')
