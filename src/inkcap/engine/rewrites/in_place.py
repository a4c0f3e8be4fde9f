"""In place: what nobody reads again is overwritten, so that a step needs no new memory.

The source is straight-line, so it is known line by line which names may see a tensor's numbers. A line overwrites an
operand if that operand's memory is the source's own, and no name that may see it is read later.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

_MAKES_NEW = frozenset(
    {"conv2d", "conv3d", "conv_transpose2d", "conv_transpose3d", "linear", "relu", "sigmoid", "tanh", "softmax"}
    | {"max_pool2d", "max_pool3d", "threshold_backward", "sigmoid_backward", "tanh_backward", "softmax_backward"}
    | {"convolution_backward", "max_pool2d_backward", "max_pool3d_backward", "normalised", "normalised_backward"}
    | {"small_convolved", "small_convolved_backward", "pointwise", "pointwise_backward"}
)
"""Functions whose results lie in memory of their own, each of several in its own."""
_NEW_BY_METHOD = frozenset({"mm", "matmul", "sum"})
_SEES = frozenset({"narrow", "reshape", "flatten", "t", "split"})
"""Methods whose result is the very tensor in another form, or a copy of it: nothing else is seen through it."""
_INTO = {"relu": "relu_", "sigmoid": "sigmoid_", "tanh": "tanh_", "threshold_backward": "threshold_backward_"}

Place = tuple[int, int]
"""Memory: the line that made it, and which of its results it is; −1 for what is not the source's own."""
_FOREIGN = -1


def overwrite(lines: Sequence[str]) -> list[str]:
    """Write every line in place where it is safe."""
    source = _Source([_parsed(line) for line in lines])
    return [source.line(i) or line for i, line in enumerate(lines)]


def _parsed(line: str) -> ast.Assign:
    # What is returned is read, too.
    (found,) = ast.parse(line.replace("return", "_ =", 1) if line.startswith("return ") else line).body
    assert isinstance(found, ast.Assign)
    return found


@dataclass
class _Source:
    """The lines with what each name may see when the next line runs."""

    lines: Sequence[ast.Assign]
    seen: dict[str, frozenset[Place]] = field(default_factory=dict[str, frozenset[Place]])
    """The memory that each name may see; the parts of a call of several results are names as ``p[0]``."""
    read: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    bound: dict[str, list[int]] = field(default_factory=dict[str, list[int]])

    def __post_init__(self) -> None:
        """Find the lines in which each name is read and bound."""
        for i, line in enumerate(self.lines):
            for name in _names(line.value):
                self.read.setdefault(name, []).append(i)
            for target in _targets(line):
                self.bound.setdefault(target, []).append(i)
        self.parted = {name.partition("[")[0] for name in self.read if "[" in name}

    def line(self, i: int) -> str | None:
        """Take the next line: give it in place, or nothing where it stays."""
        line = self.lines[i]
        changed = self._in_place(i, line)
        value = changed[1] if changed else None
        self._bind(i, line, value)
        return f"{ast.unparse(line.targets[0])} = {changed[0]}" if changed else None

    def _in_place(self, i: int, line: ast.Assign) -> tuple[str, ast.expr] | None:
        """Give the line's value in place, and what it overwrites."""
        value = line.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _INTO:
            over, *others = value.args
            if self._free(over, others, i):
                arguments = ", ".join(map(ast.unparse, value.args))
                return f"{_INTO[value.func.id]}({arguments})", over
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            (target,) = _targets(line)
            accumulating = isinstance(value.left, ast.Name) and value.left.id == target
            # Only where a gradient collects its parts both have the shape of the sum for certain.
            for over, other in [(value.left, value.right), (value.right, value.left)][: 1 + accumulating]:
                if self._free(over, [other], i):
                    return f"{ast.unparse(over)}.add_({ast.unparse(other)})", over
        return None

    def _free(self, over: ast.expr, others: Sequence[ast.expr], i: int) -> bool:
        """Tell whether a line may overwrite an operand: its memory is our own, and nothing else needs it."""
        if not isinstance(over, ast.Name | ast.Subscript) or _key(over) not in self.seen:
            return False
        places = self.seen[_key(over)]
        if len(places) != 1 or next(iter(places))[1] == _FOREIGN:
            return False
        if any(places & self._sees(other, i) for other in others):
            return False
        (rebound,) = _targets(self.lines[i])
        return not any(
            name != rebound and self._needed(name, i) for name, theirs in self.seen.items() if places & theirs
        )

    def _needed(self, name: str, i: int) -> bool:
        """Tell whether a name, as it is bound now, is read after a line."""
        read = next((line for line in self.read.get(name, ()) if line > i), None)
        bound = next((line for line in self.bound.get(name, ()) if line > i), None)
        return read is not None and (bound is None or read <= bound)

    def _bind(self, i: int, line: ast.Assign, over: ast.expr | None) -> None:
        """Note what the names of a line see from now on."""
        names, value = _targets(line), line.value
        several = isinstance(line.targets[0], ast.Tuple)
        if several and isinstance(value, ast.Tuple):
            found = [self._sees(part, i, place) for place, part in enumerate(value.elts)]
            self.seen.update(zip(names, found, strict=True))
        elif several:
            new = _makes_new(value)
            self.seen.update({n: frozenset({(i, k)}) if new else self._sees(value, i) for k, n in enumerate(names)})
        elif over is not None:
            self.seen[names[0]] = self.seen[_key(over)]
        else:
            self.seen[names[0]] = self._sees(value, i)
            if _makes_new(value) and names[0] in self.parted:
                # Each of several results lies in memory of its own, so that one may go while another stays.
                self.seen.update({f"{names[0]}[{k}]": frozenset({(i, k)}) for k in range(3)})
                del self.seen[names[0]]

    def _sees(self, value: ast.expr, i: int, place: int = 0) -> frozenset[Place]:
        """Tell what memory a value may see."""
        if isinstance(value, ast.BinOp) or _makes_new(value):
            return frozenset({(i, place)})
        if isinstance(value, ast.Name | ast.Subscript) and _key(value) in self.seen:
            return self.seen[_key(value)]
        if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and value.value.id in self.seen:
            return self.seen[value.value.id]
        inside = [self.seen[name] for name in _names(value) if name in self.seen]
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _SEES:
            return self._sees(value.func.value, i, place)
        return frozenset({(i, _FOREIGN)}).union(*inside)


def _makes_new(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Name):
        return value.func.id in _MAKES_NEW
    if not isinstance(value.func, ast.Attribute):
        return False
    on_torch = isinstance(value.func.value, ast.Name) and value.func.value.id == "torch"
    return value.func.attr in (("cat", "zeros_like") if on_torch else _NEW_BY_METHOD)


def _key(value: ast.expr) -> str:
    return ast.unparse(value)


def _targets(line: ast.Assign) -> list[str]:
    (target,) = line.targets
    return [ast.unparse(part) for part in (target.elts if isinstance(target, ast.Tuple) else [target])]


def _names(value: ast.expr) -> set[str]:
    """Give the names whose numbers a value reads; ``p[0]`` is read under that name and as ``p``."""
    nodes = list(ast.walk(value))
    # A shape tells nothing of the numbers.
    shapes = {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and node.attr == "shape"}
    parts = {_key(node) for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)}
    return parts | {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in shapes}
