"""The Keras file: a drawing as a function that makes a Keras 3 model, channels last, with one for each group."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from inkcap.drawing import Drawing
from inkcap.engine.build import lower
from inkcap.exchange.bodies import local_identifiers
from inkcap.exchange.classes import sort_alike
from inkcap.exchange.instances import ROOT, find_instances
from inkcap.exchange.keras_blocks import KerasFunction, numbers_of, skeleton_of, unify
from inkcap.exchange.keras_bodies import Facts, KerasBody, KerasBodyPrinter, KerasLine, Made, listed
from inkcap.exchange.keras_forms import Sizes
from inkcap.exchange.layout import WIDTH, assigned, signature
from inkcap.exchange.scopes import NoBlock, Scopes
from inkcap.exchange.torch_file import plain, told_uses
from inkcap.network import Report, check, structure_of
from inkcap.program import Layer, identifier
from inkcap.structures import InkcapError

INDENT = "    "
TENSOR = "keras.KerasTensor"
GRANTED = re.compile(r", (?:strides|dilation_rate|groups)=1(?=[,)])")
"""What Keras takes for granted of a convolution is not written; a pooling takes its window for its strides."""
TOLD = 5
"""How many kinds of capsules without a layer are named, and how many of each kind."""


class NoKeras(InkcapError):
    """A drawing that has something for which Keras has no layer."""


@dataclass(frozen=True)
class KerasFile:
    """A printed file: its source, its function, and the layers of the program by their names in Keras."""

    source: str
    name: str
    layers: Mapping[str, Layer]
    flat: Mapping[str, str]
    """Why a use of a group is written out instead of being a call."""
    report: Report


def print_keras(drawing: Drawing) -> KerasFile:
    """Print a drawing as Keras; what has no layer there is named."""
    return print_checked(check(drawing))


def print_checked(report: Report) -> KerasFile:
    """Print a drawing that was checked already."""
    drawing = report.drawn or report.drawing
    lowered = lower(report.network)
    instances = find_instances(drawing)
    name = identifier(f"make_{report.drawing.name.lower()}")
    flat: dict[str, str] = {}
    while True:
        try:
            printer = _Functions(Facts(lowered), Scopes(lowered, instances, flat), name)
            root = printer.print()
            break
        except NoBlock as no:
            flat |= dict.fromkeys(no.paths or instances.by_path, no.reason)
    missing = printer.missing()
    if missing:
        told = "; ".join(_missing(missing)[:TOLD])
        raise NoKeras(
            f"{report.drawing.name} was not written: Keras has no layer for {told}; '--to torch' takes any drawing"
        )
    lines = ["import keras", "from keras import layers", "", ""]
    for function in printer.functions:
        lines += [*_function_lines(function, printer.told[function.name]), "", ""]
    lines += [f"def {name}() -> keras.Model:", *_about(report), *_inputs(report, root)]
    lines += [*_body_lines(root), *assigned(INDENT, "", _model(root))]
    layers = {name: layer for name, layer in root.names.items() if layer is not None}
    told_flat = {path[:-1]: reason for path, reason in flat.items()}
    return KerasFile("\n".join([*lines, ""]), name, layers, told_flat, report)


class _Functions:
    """Prints all blocks from the inside outwards."""

    def __init__(self, facts: Facts, scopes: Scopes, name: str) -> None:
        self.facts, self.scopes = facts, scopes
        self.identifiers = local_identifiers(("keras", "layers", "name", name))
        self.functions: list[KerasFunction] = []
        self.told: dict[str, str] = {}

    def print(self) -> KerasBody:
        made: dict[str, Made] = {}
        for level in self.scopes.levels():
            bodies = {path: KerasBodyPrinter(self.facts, self.scopes, path, made).print() for path in level}
            for paths in self._alike(bodies):
                made |= self._function(paths, [bodies[path] for path in paths], made)
        for id in self.facts.program.inputs:
            structure = structure_of(self.facts.program.network.capsules[id])
            if structure.dtype != "float32" or not structure.sizes:
                self.facts.miss(id, f"its data are {structure.dtype}" if structure.sizes else "it is one neuron")
        return KerasBodyPrinter(self.facts, self.scopes, ROOT, made).print()

    def missing(self) -> dict[str, tuple[str, str]]:
        """Give what has no layer, in the order of the program."""
        program = self.facts.program
        order = [*program.inputs, *(program.owners[step.target] for step in self.facts.lowered.steps)]
        return {owner: self.facts.missing[owner] for owner in order if owner in self.facts.missing}

    def _alike(self, bodies: dict[str, KerasBody]) -> list[list[str]]:
        instances = {path: self.scopes.instances.by_path[path] for path in bodies}
        return sort_alike(
            {path: (instances[path].group.id, skeleton_of(body)) for path, body in bodies.items()},
            {path: numbers_of(body) for path, body in bodies.items()},
            {path: instance.values for path, instance in instances.items()},
        )

    def _function(self, paths: list[str], bodies: list[KerasBody], made: dict[str, Made]) -> dict[str, Made]:
        instances = [self.scopes.instances.by_path[path] for path in paths]
        group = instances[0].group.id
        name = self.identifiers.fresh(group)
        values, taken = [instance.values for instance in instances], (*self.told, name)
        function, options = unify(name, bodies, values, taken)
        if function.gave_way:
            # Callers read the names of arguments: what is inside gives way to them.
            bodies = [
                KerasBodyPrinter(self.facts, self.scopes, path, made, function.gave_way).print() for path in paths
            ]
            function, options = unify(name, bodies, values, taken)
        self.functions.append(function)
        self.told[name] = told_uses(group, [instance.row for instance in instances])
        return {path: Made(name, given, body) for path, given, body in zip(paths, options, bodies, strict=True)}


def _function_lines(function: KerasFunction, about: str) -> list[str]:
    body = function.body
    parameters = [f"{argument}: {TENSOR}" for argument in body.arguments]
    parameters += [f"{argument}: {kind}" for argument, kind in function.arguments.items()]
    parameters += ["name: str"] if body.names else []
    result = TENSOR if body.outputs == 1 else f"tuple[{TENSOR}, ...]"
    lines = [*signature("", function.name, parameters, result), f'{INDENT}"""{plain(about)}"""']
    lines += _body_lines(body)
    if not body.lines or body.lines[-1].name:
        lines += assigned(INDENT, "", body.result)
    return lines


def _body_lines(body: KerasBody) -> list[str]:
    printed: list[str] = []
    for line, after in zip(body.lines, [*body.lines[1:], None], strict=True):
        # One structure for a capsule: that of its output.
        last = after is None or not line.owner or after.owner != line.owner
        comment = line.comment if last else ""
        call = GRANTED.sub("", line.call) if line.call.startswith("layers.Conv") else line.call
        if line.times:
            printed += [f"{INDENT}{line.name} = {line.given}"]
            printed += [f"{INDENT}for {line.number} in range({line.times}):"]
            printed += assigned(INDENT * 2, line.name, call, comment)
        elif not line.given:
            printed += assigned(INDENT, line.name, call, comment)
        else:
            printed += _laid_out(line, call, comment)
    return printed


def _inputs(report: Report, root: KerasBody) -> list[str]:
    network = report.network
    lines: list[str] = []
    # The first names of all are those of the inputs.
    for id, value, name in zip(network.inputs, root.arguments, root.names, strict=False):
        sizes = _last(structure_of(network.capsules[id]).sizes)
        lines.append(f'{INDENT}{value} = keras.Input({sizes}, name="{name}")')
    return lines


def _model(root: KerasBody) -> str:
    return f"keras.Model({listed(root.arguments)}, {listed(root.result.split(', '))})"


def _missing(found: Mapping[str, tuple[str, str]]) -> list[str]:
    """Say what has no layer: each symbol with its capsules and the first reason."""
    kinds: dict[str, list[str]] = {}
    for owner, (title, _) in found.items():
        kinds.setdefault(title, []).append(owner)
    told: list[str] = []
    for title, owners in kinds.items():
        shown = ", ".join(owners[:TOLD]) + (" …" if len(owners) > TOLD else "")
        told.append(f"{title} ({shown}: {found[owners[0]][1]})")
    return told


def _laid_out(line: KerasLine, call: str, comment: str) -> list[str]:
    """Lay out a call of a layer that is made in the same line: the last brackets are opened, or those before them."""
    target = f"{INDENT}{line.name} = " if line.name else f"{INDENT}return "
    whole = f"{target}{call}({line.given})"
    if len(whole) + len(comment) + 4 <= WIDTH and comment:
        return [f"{whole}  # {comment}"]
    above = [f"{INDENT}# {comment}"] if comment else []
    if len(whole) <= WIDTH:
        return [*above, whole]
    start = f"{target}{call}("
    if len(start) <= WIDTH:
        inner = f"{INDENT * 2}{line.given}"
        if len(inner) <= WIDTH:
            return [*above, start, inner, f"{INDENT})"]
        names = [f"{INDENT * 3}{name}," for name in line.given[1:-1].split(", ")]
        return [*above, start, f"{INDENT * 2}[", *names, f"{INDENT * 2}]", f"{INDENT})"]
    made, _, options = call.partition("(")
    options = options.removesuffix(")")
    inner = f"{INDENT * 2}{options}"
    rows = [inner] if len(inner) <= WIDTH else [f"{INDENT * 2}{option}," for option in options.split(", ")]
    return [*above, f"{target}{made}(", *rows, f"{INDENT})({line.given})"]


def _last(sizes: Sizes) -> str:
    turned = (*sizes[1:], sizes[0])
    return f"({', '.join(map(str, turned))}{',' if len(turned) == 1 else ''})"


def _about(report: Report) -> list[str]:
    costs = f"Parameters: {report.parameters + report.frozen_parameters:_}, multiply-adds: {report.multiply_adds:_}."
    return [
        f'{INDENT}"""Make {plain(report.drawing.name)}.',
        "",
        f"{INDENT}{costs}",
        f"{INDENT}Structures behind lines are height×width×channels of one sample.",
        f'{INDENT}"""',
    ]
