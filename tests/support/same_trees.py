"""Trees that are the same but for names: syntax trees of Python, element trees of SVG, statements of TikZ."""

from __future__ import annotations

import ast
import re
from typing import Any
from xml.etree import ElementTree as Xml

from hostile import PLACE

NAMED = re.compile(PLACE.pattern, re.IGNORECASE)
NUMBERED = re.compile(r"_?\d*$")
IDENTIFIERS = {"id", "arg", "attr", "name"}


class Differs(AssertionError):
    """Two trees that differ in more than names."""


class SameTree:
    """Compares the syntax tree of a source with that of one whose names are known by their look."""

    def __init__(self, expected: str) -> None:
        """Read the source whose names are those of ``hostile.PLAIN``."""
        self.expected = ast.parse(expected)
        self.defined = {node.name for node in self.expected.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
        self.told = _told(self.expected)

    def check(self, source: str) -> None:
        """Refuse a source whose tree differs; names in it stand for each other one to one."""
        self.there: dict[tuple[str, str], str] = {}
        self.back: dict[tuple[str, str], str] = {}
        self._same(self.expected, ast.parse(source), "", "")
        if not all(line.isprintable() for line in source.split("\n")):
            raise Differs("a letter that no one can see stands in the source")

    def _same(self, mine: Any, other: Any, scope: str, field: str) -> None:
        if mine is other and not isinstance(mine, str):
            return
        if type(mine) is not type(other):
            raise Differs(f"{field}: {mine!r} became {other!r}")
        if isinstance(mine, list):
            if len(mine) != len(other):
                raise Differs(f"{field}: {len(mine)} became {len(other)}")
            for a, b in zip(mine, other, strict=True):
                self._same(a, b, scope, field)
        elif isinstance(mine, ast.AST):
            if isinstance(mine, ast.ClassDef | ast.FunctionDef):
                scope = f"{scope}.{mine.name}"
            elif isinstance(mine, ast.Constant) and id(mine) in self.told:
                if mine.value.count("\n") != other.value.count("\n"):
                    raise Differs(f"a text has another number of lines: {other.value!r}")
                return
            elif isinstance(mine, ast.Attribute) and isinstance(mine.value, ast.Name) and mine.value.id == "self":
                self._renamed(mine.attr, other.attr, f"{scope.rpartition('.')[0]} self")
                return
            elif isinstance(mine, ast.Call) and isinstance(mine.func, ast.Name) and mine.func.id in self.defined:
                self._same_call(mine.func.id, mine, other, scope)
                return
            for name in mine._fields:
                self._same(getattr(mine, name), getattr(other, name), scope, name)
        elif field in IDENTIFIERS and isinstance(mine, str):
            self._renamed(mine, other, "" if mine in self.defined else scope)
        elif mine != other:
            raise Differs(f"{field}: {mine!r} became {other!r}")

    def _same_call(self, function: str, mine: ast.Call, other: ast.Call, scope: str) -> None:
        """Compare calls of what the source defines: the names of arguments are those of what is called."""
        self._same(mine.func, other.func, scope, "func")
        self._same(mine.args, other.args, scope, "args")
        self._same([word.value for word in mine.keywords], [word.value for word in other.keywords], scope, "keywords")
        for word, another in zip(mine.keywords, other.keywords, strict=True):
            self._renamed(word.arg or "", another.arg or "", f".{function}")

    def _renamed(self, mine: str, other: str, scope: str) -> None:
        if not NAMED.search(mine):
            # A name of Python, torch or the printer; the printer's own give way to one that is taken.
            if mine != other and NUMBERED.sub("", mine) != NUMBERED.sub("", other):
                raise Differs(f"{mine} became {other}")
        elif not other.isascii():
            raise Differs(f"{other} is not of ASCII letters")
        if self.there.setdefault((scope, mine), other) != other or self.back.setdefault((scope, other), mine) != mine:
            raise Differs(f"{other} stands for {mine} and for something else in {scope}")


def _told(tree: ast.AST) -> set[int]:
    """Find the texts that are a name or hold one: docstrings, names of layers and of buffers."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and isinstance(node.body[0], ast.Expr):
            found.add(id(node.body[0].value))
        if isinstance(node, ast.Call):
            named = [word.value for word in node.keywords if word.arg == "name"]
            found |= {id(value) for value in named}
            found |= {id(part) for value in named if isinstance(value, ast.JoinedStr) for part in value.values}
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("register_buffer", "get_layer"):
                found.add(id(node.args[0]))
    return found


def elements(svg: str) -> list[tuple[int, str, tuple[str, ...]]]:
    """Give the element tree: how deep each element lies, its tag, and the names of its attributes."""
    found: list[tuple[int, str, tuple[str, ...]]] = []

    def walk(element: Xml.Element, depth: int) -> None:
        found.append((depth, element.tag, tuple(element.attrib)))
        for inner in element:
            walk(inner, depth + 1)

    walk(Xml.fromstring(svg), 0)  # noqa: S314
    return found


def without_texts(svg: str) -> str:
    """Give an SVG without what is written in it: all tags, and all attributes with their values."""
    root = Xml.fromstring(svg)  # noqa: S314
    for element in root.iter():
        element.text = element.tail = None
    return Xml.tostring(root, encoding="unicode")
