"""The torch file: a drawing as one Python file with a class for each group, to be read and run without Inkcap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inkcap.drawing import Drawing
from inkcap.engine.build import lower
from inkcap.engine.printing import called_functions, print_functions
from inkcap.exchange.bodies import Body, BodyPrinter, Made
from inkcap.exchange.classes import PrintedClass, numbers_of, skeleton_of, sort_alike, unify
from inkcap.exchange.instances import ROOT, find_instances
from inkcap.exchange.layout import WIDTH, assigned, called, signature
from inkcap.exchange.scopes import NoBlock, Scopes
from inkcap.exchange.training_script import training_lines
from inkcap.network import Report, check, structure_of
from inkcap.program import Identifiers, class_name

INDENT = "        "
USES_SHOWN = 4


@dataclass(frozen=True)
class TorchFile:
    """A printed file: its source, its class, where each weight of the drawing is, and which groups are no blocks."""

    source: str
    name: str
    names: dict[str, str]
    """The path in the module of every weight and state, by its name in the drawing."""
    flat: dict[str, str]
    """Why a use of a group is written out instead of being a block."""
    report: Report


def print_torch(drawing: Drawing, *, train: bool = False) -> TorchFile:
    """Print a drawing as a file; ``train`` adds a plain loop that trains it."""
    return print_checked(check(drawing), train=train)


def print_checked(report: Report, *, train: bool = False) -> TorchFile:
    """Print a drawing that was checked already."""
    drawing = report.drawn or report.drawing
    lowered = lower(report.network)
    instances = find_instances(drawing)
    functions = called_functions(lowered)
    taken = tuple(function.__name__ for function in functions)
    flat: dict[str, str] = {}
    while True:
        try:
            printer = _Classes(Scopes(lowered, instances, flat), class_name(drawing.name), taken)
            root = printer.print()
            break
        except NoBlock as no:
            flat |= dict.fromkeys(no.paths or instances.by_path, no.reason)
    lines = [line for one in printer.classes for line in (*_class_lines(one, printer.told[one.name]), "", "")]
    top = PrintedClass(printer.root_name, (), root)
    lines += _class_lines(top, _about(report, root))
    lines += training_lines(report.network, top.name) if train else []
    body = "\n".join([*print_functions(functions), *lines])
    source = "\n".join([*_imports(body), "", "", body, ""])
    return TorchFile(source, top.name, root.names, _told(flat), report)


class _Classes:
    """Prints all blocks from the inside outwards."""

    def __init__(self, scopes: Scopes, name: str, taken: tuple[str, ...]) -> None:
        self.scopes, self.taken = scopes, taken
        self.identifiers = Identifiers()
        for word in ("Tensor", "F", "DataLoader", "TensorDataset", "train", *taken):
            self.identifiers.fresh(word)
        self.root_name = self.identifiers.fresh(name)
        self.classes: list[PrintedClass] = []
        self.told: dict[str, list[str]] = {}

    def print(self) -> Body:
        made: dict[str, Made] = {}
        for level in self.scopes.levels():
            bodies = {path: BodyPrinter(self.scopes, path, made, self.taken).print() for path in level}
            for paths in self._alike(bodies):
                made |= self._class(paths, [bodies[path] for path in paths])
        root = BodyPrinter(self.scopes, ROOT, made, self.taken).print()
        if root.drawn != sorted(root.drawn):
            raise NoBlock((), "random numbers would be drawn in another order")
        return root

    def _alike(self, bodies: dict[str, Body]) -> list[list[str]]:
        instances = {path: self.scopes.instances.by_path[path] for path in bodies}
        return sort_alike(
            {path: (instances[path].group.id, skeleton_of(body)) for path, body in bodies.items()},
            {path: numbers_of(body) for path, body in bodies.items()},
            {path: instance.values for path, instance in instances.items()},
        )

    def _class(self, paths: list[str], bodies: list[Body]) -> dict[str, Made]:
        instances = [self.scopes.instances.by_path[path] for path in paths]
        group = instances[0].group.id
        name = self.identifiers.fresh(class_name(group))
        printed, constructors = unify(
            name, bodies, [instance.values for instance in instances], (*self.taken, "self", *self.told, name)
        )
        self.classes.append(printed)
        self.told[name] = [told_uses(group, [instance.row for instance in instances])]
        return {path: Made(c, body) for path, c, body in zip(paths, constructors, bodies, strict=True)}


def _class_lines(printed: PrintedClass, about: Sequence[str]) -> list[str]:
    body = printed.body
    parameters = ["self", *(f"{argument.name}: {argument.kind}" for argument in printed.arguments)]
    lines = [f"class {printed.name}(nn.Module):", *_docstring(about), ""]
    lines += [*signature("    ", "__init__", parameters, "None"), f"{INDENT}super().__init__()"]
    for argument in printed.arguments:
        if argument.kept:
            lines.append(f"{INDENT}self.{argument.kept} = {argument.name}")
    for declaration in body.declarations:
        if declaration.attribute:
            lines += assigned(INDENT, f"self.{declaration.attribute}", declaration.made)
        else:
            lines += called(INDENT, declaration.made)
    result = "Tensor" if body.outputs == 1 else "tuple[Tensor, ...]"
    lines += ["", *signature("    ", "forward", ["self", *(f"{a}: Tensor" for a in body.arguments)], result)]
    for line in body.lines:
        lines += assigned(INDENT, line.name, line.expression, line.comment)
    if not body.lines or body.lines[-1].name:
        lines += assigned(INDENT, "", body.result)
    return lines


def _docstring(about: Sequence[str]) -> list[str]:
    first, *rest = (plain(line) for line in about)
    if not rest:
        return [f'    """{first}"""']
    return [f'    """{first}', "", *(f"    {line}".rstrip() for line in rest), '    """']


def told_uses(group: str, uses: Sequence[str]) -> str:
    """Say where a group is used, for the docstring of its block."""
    rows = list(dict.fromkeys(uses))
    times = "" if len(uses) == 1 else f", {len(uses)} times"
    for count in range(USES_SHOWN, 0, -1):
        shown = ", ".join(rows[:count]) + (" …" if len(rows) > count else "")
        told = f"The group {group}: used as {shown}{times}."
        if len(f'    """{told}"""') <= WIDTH:
            return told
    return f"The group {group}{times}."


def plain(text: str) -> str:
    """Give a text without anything that could end a docstring or hide in it."""
    return "".join(letter if letter.isalnum() or letter in " _-.,;:()×→=…" else "_" for letter in text)


def _about(report: Report, root: Body) -> list[str]:
    network = report.network
    costs = f"Parameters: {report.parameters + report.frozen_parameters:_}, multiply-adds for one sample:"
    lines = [f"{report.drawing.name}.", f"{costs} {report.multiply_adds:_}."]
    for word, ids, names in (("Takes", network.inputs, root.arguments), ("Gives", network.outputs, network.outputs)):
        for id, name in zip(ids, names, strict=True):
            sizes = ", ".join(("batch", *map(str, structure_of(network.capsules[id]).sizes)))
            lines.append(f"{word} {name}: ({sizes}).")
    return [*lines, "Structures behind lines are height×width×channels of one sample."]


def _imports(body: str) -> list[str]:
    lines: list[str] = []
    if "torch." in body:
        lines.append("import torch")
    names = "Tensor, nn" if "Tensor" in body else "nn"
    lines.append(f"from torch import {names}")
    if "F." in body:
        lines.append("from torch.nn import functional as F")
    if "DataLoader(" in body:
        lines.append("from torch.utils.data import DataLoader, TensorDataset")
    return lines


def _told(flat: dict[str, str]) -> dict[str, str]:
    return {path[:-1]: reason for path, reason in flat.items()}
