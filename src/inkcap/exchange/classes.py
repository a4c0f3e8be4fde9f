"""Classes: blocks that differ only in numbers are one class, made with those numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inkcap.drawing.groups import COPY
from inkcap.engine.window_forms import CONVOLUTION_DEFAULTS, TRANSPOSED_DEFAULTS
from inkcap.exchange.bodies import Body, Declaration, Line
from inkcap.program import Identifiers, identifier

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")
SLICE = re.compile(r"((?<=\[)|(?<=, )|[\w.*]+(?: \* [\w.]+)?):([\w.]+(?: \* [\w.]+)?)(?=[,\]])")
MOST_ARGUMENTS = 6
"""Blocks that differ in more numbers, not counting those that a person named, are written out one by one."""
SHAPES_SHOWN = 3

Numbers = tuple[str, ...]


@dataclass(frozen=True)
class Argument:
    """An argument of a class: its name and type, and how its value is kept where ``forward`` needs it."""

    name: str
    kind: str
    kept: str = ""


@dataclass(frozen=True)
class PrintedClass:
    """A class that stands for some instances: its body over its arguments."""

    name: str
    arguments: tuple[Argument, ...]
    body: Body


def unify(
    name: str, bodies: Sequence[Body], values: Sequence[Mapping[str, object]], taken: tuple[str, ...]
) -> tuple[PrintedClass, list[str]]:
    """Make one class of bodies with equal skeletons; give how each instance is made."""
    rows = [numbers_of(body) for body in bodies]
    columns = list(zip(*rows, strict=True))
    varying = [place for place, column in enumerate(columns) if len(set(column)) > 1]
    roles = _roles(bodies[0])
    identifiers = Identifiers()
    for word in taken:
        identifiers.take(word)
    known = known_arguments(values)
    names: dict[tuple[str, ...], str] = {}
    texts: dict[int, str] = {}
    for place in varying:
        column = tuple(columns[place])
        drawn = drawn_as(column, known)
        if drawn is not None:
            factor, argument = drawn
            column = known[argument]
        else:
            factor, argument = 1, roles[place]
        if column not in names:
            names[column] = identifiers.fresh(argument)
        texts[place] = names[column] if factor == 1 else f"{factor} * {names[column]}"
    in_forward = {texts[p].rpartition(" ")[2] for p in varying if p >= _declared_count(bodies[0])}
    attributes = Identifiers()
    for declaration in bodies[0].declarations:
        attributes.fresh(declaration.attribute or "self")
    arguments = tuple(
        Argument(a, "int" if all(map(str.isdigit, c)) else "float", attributes.fresh(a) if a in in_forward else "")
        for c, a in names.items()
    )
    body = _filled(bodies, texts, {a.name: a.kept for a in arguments if a.kept})
    made = [f"{name}({', '.join(column[i] for column in names)})" for i in range(len(bodies))]
    return PrintedClass(name, arguments, body), made


def skeleton_of(body: Body) -> object:
    """Give what two blocks must have in common to be one class."""
    declared = tuple((d.attribute, _skeleton(_stated(d.made))) for d in body.declarations)
    lines = tuple((line.name, _skeleton(line.expression)) for line in body.lines)
    return (tuple(body.arguments), declared, lines, _skeleton(body.result), body.outputs)


def sort_alike(
    skeletons: Mapping[str, object], numbers: Mapping[str, Numbers], values: Mapping[str, Mapping[str, object]]
) -> list[list[str]]:
    """Sort uses of groups, by their paths, into those that are one block: alike but for a few numbers."""
    kinds: dict[object, list[str]] = {}
    for path, skeleton in skeletons.items():
        kinds.setdefault(skeleton, []).append(path)
    found: list[list[str]] = []
    for paths in kinds.values():
        if _count_differences([numbers[path] for path in paths], [values[path] for path in paths]) <= MOST_ARGUMENTS:
            found.append(paths)
            continue
        apart: dict[object, list[str]] = {}
        for path in paths:
            apart.setdefault(numbers[path], []).append(path)
        found += apart.values()
    return found


def _count_differences(rows: Sequence[Numbers], values: Sequence[Mapping[str, object]]) -> int:
    """Tell in how many ways the numbers of blocks with equal skeletons differ, apart from the group's arguments."""
    known = known_arguments(values)
    columns = zip(*rows, strict=True)
    return len({column for column in columns if len(set(column)) > 1 and drawn_as(column, known) is None})


def numbers_of(body: Body) -> Numbers:
    """Give all numbers of a body, in order."""
    declared = [number for d in body.declarations for number in _numbers(_stated(d.made))]
    return (*declared, *(n for line in body.lines for n in _numbers(line.expression)))


def _declared_count(body: Body) -> int:
    return sum(len(_numbers(_stated(d.made))) for d in body.declarations)


def _numbers(text: str) -> list[str]:
    return [] if _is_list(text) else NUMBER.findall(text)


def _skeleton(text: str) -> str:
    return text if _is_list(text) else NUMBER.sub("0", text)


def _is_list(text: str) -> bool:
    """Tell whether a text lists places or starts, which are no arguments of anything."""
    return "torch.tensor(" in text


def _stated(made: str) -> str:
    """State what a layer is made with, also where it is what torch takes it for."""
    for prefix, defaults in (("nn.ConvTranspose", TRANSPOSED_DEFAULTS), ("nn.Conv", CONVOLUTION_DEFAULTS)):
        if made.startswith(prefix):
            call = ast.parse(made, mode="eval").body
            assert isinstance(call, ast.Call)
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
            rest = [f"{k}={v}" for k, v in given.items() if k not in defaults]
            stated = [f"{name}={given.get(name, default)}" for name, default in defaults.items()]
            return f"{ast.unparse(call.func)}({', '.join([*map(ast.unparse, call.args), *stated, *rest])})"
    return made


def _unstated(made: str) -> str:
    """Leave out what torch takes for granted."""
    for prefix, defaults in (("nn.ConvTranspose", TRANSPOSED_DEFAULTS), ("nn.Conv", CONVOLUTION_DEFAULTS)):
        if made.startswith(prefix):
            for name, default in defaults.items():
                made = re.sub(rf", {name}={default}(?=[,)])", "", made)
            return made
    return made


def known_arguments(values: Sequence[Mapping[str, object]]) -> dict[str, tuple[str, ...]]:
    """Give the arguments of the group that are numbers and differ, as texts by their instances."""
    found: dict[str, tuple[str, ...]] = {}
    for name in values[0] if values else ():
        column = [row[name] for row in values]
        if name != COPY and all(isinstance(v, int | float) and not isinstance(v, bool) for v in column):
            found[name] = tuple(map(str, column))
    return found


def drawn_as(column: tuple[str, ...], known: Mapping[str, tuple[str, ...]]) -> tuple[int, str] | None:
    """Find the argument of the group that some numbers are, or a whole multiple of it."""
    for name, given in known.items():
        if column == given:
            return 1, name
    if not all(number.isdigit() for number in column):
        return None
    for name, given in known.items():
        if not all(number.isdigit() and number != "0" for number in given):
            continue
        factors = {divmod(int(a), int(b)) for a, b in zip(column, given, strict=True)}
        if len(factors) == 1 and next(iter(factors))[1] == 0:
            return next(iter(factors))[0], name
    return None


def _roles(body: Body) -> list[str]:
    """Name every number by what it is: ``inputs`` of the first layer, its ``stride``, and so on."""
    roles: list[str] = []
    for declaration in body.declarations:
        made = _stated(declaration.made)
        if _is_list(made):
            continue
        for count, found in enumerate(NUMBER.finditer(made)):
            option = re.search(r"(\w+)=\(?[\d, ]*$", made[: found.start()])
            sizes = ("inputs", "outputs") if made.startswith(("nn.Conv", "nn.Linear")) else ("channels",)
            role = option[1] if option else sizes[count] if count < len(sizes) else "size"
            roles.append(identifier(role))
    return [*roles, *("size" for line in body.lines for _ in _numbers(line.expression))]


def _apart(found: re.Match[str]) -> str:
    """Part the ends of a slice from its colon where they are more than a name or a number, as formatters do."""
    return f"{found[1]} : {found[2]}".lstrip() if "." in found[0] or " " in found[0] else found[0]


def _filled(bodies: Sequence[Body], texts: Mapping[int, str], kept: Mapping[str, str]) -> Body:
    """Write arguments in the places of numbers that differ."""
    first = bodies[0]
    place = -1

    def fill(text: str, forward: bool) -> str:
        def number(found: re.Match[str]) -> str:
            nonlocal place
            place += 1
            written = texts.get(place)
            if written is None:
                return found[0]
            factor, _, name = written.rpartition(" ")
            if not forward:
                return written
            return f"{factor} self.{kept[name]}".strip()

        return text if _is_list(text) else SLICE.sub(_apart, NUMBER.sub(number, text))

    declarations = [Declaration(d.attribute, _unstated(fill(_stated(d.made), False))) for d in first.declarations]
    lines: list[Line] = []
    for number, line in enumerate(first.lines):
        shapes = list(dict.fromkeys(body.lines[number].comment for body in bodies))
        comment = " or ".join(shapes[:SHAPES_SHOWN]) + (" …" if len(shapes) > SHAPES_SHOWN else "")
        lines.append(Line(line.name, fill(line.expression, True), comment))
    result = lines[-1].expression if lines and not lines[-1].name else first.result
    return replace(first, declarations=declarations, lines=lines, result=result)
