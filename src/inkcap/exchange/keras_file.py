"""The Keras file: a drawing as one function that makes a Keras 3 model, channels last, run by any backend."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from inkcap.drawing import Drawing
from inkcap.engine.build import lower
from inkcap.engine.printing import print_sizes
from inkcap.exchange.bodies import local_identifiers
from inkcap.exchange.keras_forms import (
    FORMS,
    KEEPS_SIGN,
    POSITIVE,
    Calls,
    NoLayer,
    Sizes,
    joined,
    layer_calls,
    sizes_of,
)
from inkcap.exchange.layout import WIDTH, assigned
from inkcap.exchange.torch_file import plain
from inkcap.network import Report, check, structure_of
from inkcap.operations import Step
from inkcap.program import Layer, Lowered, identifier
from inkcap.structures import InkcapError
from inkcap.symbols import CAPSULES

INDENT = "    "
ARRAYS = (1, 3, 4)
"""How many axes the values of capsules have: vectors, arrays of matrices, arrays of volumes."""
ACTIVATION = re.compile(r'layers\.Activation\("(\w+)"\)')
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
    report: Report


def print_keras(drawing: Drawing) -> KerasFile:
    """Print a drawing as Keras; what has no layer there is named."""
    return print_checked(check(drawing))


def print_checked(report: Report) -> KerasFile:
    """Print a drawing that was checked already."""
    printer = _Printer(lower(report.network))
    lines = printer.print()
    if printer.missing:
        told = "; ".join(_missing(printer.missing)[:TOLD])
        raise NoKeras(
            f"{report.drawing.name} was not written: Keras has no layer for {told}; '--to torch' takes any drawing"
        )
    name = identifier(f"make_{report.drawing.name.lower()}")
    source = ["import keras", "from keras import layers", "", "", f"def {name}() -> keras.Model:", *_about(report)]
    return KerasFile("\n".join([*source, *lines, ""]), name, printer.layers, report)


@dataclass
class _Line:
    """A call with its result: several lines may give one name anew."""

    name: str
    call: str
    given: str
    owner: str
    comment: str


@dataclass
class _Printer:
    """Prints the steps in order; what has no layer is written down and passed over."""

    lowered: Lowered
    lines: list[_Line] = field(default_factory=list[_Line])
    missing: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """By the capsule: its title, and the first thing in it that has no layer."""
    layers: dict[str, Layer] = field(default_factory=dict[str, Layer])

    def __post_init__(self) -> None:
        self.program = self.lowered.program
        self.names = local_identifiers(("keras", "layers"))
        self.layer_names = local_identifiers(())
        self.values: dict[int, str] = {}
        self.shapes: dict[int, Sizes] = {}
        self.positive: set[int] = set()
        self.uses: dict[int, int] = {}
        self.called: dict[tuple[str, ...], str] = {}

    def print(self) -> list[str]:
        inputs: list[str] = []
        for id, number in self.program.inputs.items():
            structure = structure_of(self.program.network.capsules[id])
            self.values[number], self.shapes[number] = self.names.of(id), structure.sizes
            if structure.dtype != "float32" or not structure.sizes:
                self._miss(id, f"its data are {structure.dtype}" if structure.sizes else "it is one neuron")
                continue
            inputs.append(f"{self.names.of(id)} = keras.Input({_last(structure.sizes)}, name={identifier(id)!r})")
        inputs = [line.replace("'", '"') for line in inputs]
        for step in self.lowered.steps:
            for number in self._arguments(step):
                self.uses[number] = self.uses.get(number, 0) + 1
        for number in self.lowered.returned:
            self.uses[number] = self.uses.get(number, 0) + 1
        for step in self.lowered.steps:
            if step.target not in self.lowered.inside:
                self._step(step)
        if self.missing:
            return []
        printed = [f"{INDENT}{line}" for line in inputs]
        for line, after in zip(self.lines, [*self.lines[1:], None], strict=True):
            # One structure for a capsule: that of its output.
            last = after is None or after.owner != line.owner
            printed += _laid_out(line, line.comment if last else "")
        ins = [self.values[number] for number in self.program.inputs.values()]
        outs = [self.values[number] for number in self.lowered.returned]
        return [*printed, *assigned(INDENT, "", f"keras.Model({_listed(ins)}, {_listed(outs)})")]

    def _arguments(self, step: Step) -> tuple[int, ...]:
        if step.target in self.lowered.inside:
            return ()
        alias = self.lowered.aliases.get(step.target)
        layer = self.lowered.layers.get(step.target)
        return (alias,) if alias is not None else (layer.argument,) if layer is not None else step.arguments

    def _miss(self, owner: str, why: str) -> None:
        capsule = self.program.network.capsules[owner]
        self.missing.setdefault(owner, (CAPSULES[capsule.symbol].title_of(capsule.rank, capsule.attributes), why))

    def _step(self, step: Step) -> None:
        owner = self.program.owners[step.target]
        arguments = self._arguments(step)
        self.shapes[step.target] = sizes_of(step)
        kind = step.operation.name
        if kind in POSITIVE or (kind in KEEPS_SIGN and all(number in self.positive for number in arguments)):
            self.positive.add(step.target)
        if step.target in self.lowered.aliases:
            self.values[step.target] = self.values.get(arguments[0], "")
            return
        try:
            self._call(step, owner, arguments)
        except NoLayer as no:
            self._miss(owner, str(no))
            self.values[step.target] = "nothing"

    def _call(self, step: Step, owner: str, arguments: tuple[int, ...]) -> None:
        if not step.shape:
            raise NoLayer("it is one neuron")
        if len(step.shape) not in ARRAYS or len(self.shapes.get(arguments[0], sizes_of(step))) not in ARRAYS:
            raise NoLayer(step.operation.meaning)
        if any(number not in self.values for number in arguments):
            raise NoLayer(f"{step.operation.meaning}, with a weight that no layer holds")
        name = self.names.of(owner)
        given = [self.values[number] for number in arguments]
        layer = self.lowered.layers.get(step.target)
        both = joined(step) if layer is None else None
        if both is not None:
            self._add(step, name, (both,), _listed(given))
            return
        takes = self.shapes[arguments[0]]
        if layer is not None:
            calls = layer_calls(layer, self._layer_name(layer), takes)
        elif step.operation.name in FORMS:
            calls = FORMS[step.operation.name](step, takes, arguments[0] in self.positive)
        else:
            raise NoLayer(step.operation.meaning)
        self._add(step, name, calls, given[0], arguments[0])

    def _layer_name(self, layer: Layer) -> str:
        name = self.layer_names.fresh("_".join(layer.named))
        if layer.held:
            if tuple(layer.held.values()) in self.called:
                raise NoLayer("it shares its weights with another")
            self.called[tuple(layer.held.values())] = name
            self.layers[name] = layer
        return name

    def _add(self, step: Step, name: str, calls: Calls, given: str, argument: int = -1) -> None:
        last = self.lines[-1] if self.lines else None
        activation = ACTIVATION.fullmatch(calls[0]) if len(calls) == 1 else None
        held = last is not None and re.match(r"layers\.(Conv|Dense)", last.call) and "activation=" not in last.call
        if activation and last is not None and held and last.name == given and self.uses.get(argument) == 1:
            # As a person writes it: the function of a capsule is that of its layer.
            last.call = last.call.replace(", name=", f', activation="{activation[1]}", name=')
            self.values[step.target] = given
            return
        for number, call in enumerate(calls, 1):
            target = self._free(name, given, argument) if number == 1 else name
            name = target
            self.lines.append(_Line(target, call, given, self.program.owners[step.target], print_sizes(step)))
            given = target
        self.values[step.target] = given

    def _free(self, name: str, given: str, argument: int) -> str:
        """Give a name that no value has which is still needed; the value that is used up here may be given up."""
        if name == given:
            return name if self.uses.get(argument) == 1 else self.names.fresh(name)
        return self.names.fresh(name) if name in self.values.values() else name


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


def _laid_out(line: _Line, comment: str) -> list[str]:
    """Lay out a call of a layer that is made in the same line: the last brackets are opened, or those before them."""
    whole = f"{INDENT}{line.name} = {line.call}({line.given})"
    if len(whole) + len(comment) + 4 <= WIDTH and comment:
        return [f"{whole}  # {comment}"]
    above = [f"{INDENT}# {comment}"] if comment else []
    if len(whole) <= WIDTH:
        return [*above, whole]
    start = f"{INDENT}{line.name} = {line.call}("
    if len(start) <= WIDTH:
        inner = f"{INDENT * 2}{line.given}"
        if len(inner) <= WIDTH:
            return [*above, start, inner, f"{INDENT})"]
        names = [f"{INDENT * 3}{name}," for name in line.given[1:-1].split(", ")]
        return [*above, start, f"{INDENT * 2}[", *names, f"{INDENT * 2}]", f"{INDENT})"]
    made, _, options = line.call.partition("(")
    options = options.removesuffix(")")
    inner = f"{INDENT * 2}{options}"
    rows = [inner] if len(inner) <= WIDTH else [f"{INDENT * 2}{option}," for option in options.split(", ")]
    return [*above, f"{INDENT}{line.name} = {made}(", *rows, f"{INDENT})({line.given})"]


def _last(sizes: Sizes) -> str:
    turned = (*sizes[1:], sizes[0])
    return f"({', '.join(map(str, turned))}{',' if len(turned) == 1 else ''})"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _about(report: Report) -> list[str]:
    costs = f"Parameters: {report.parameters + report.frozen_parameters:_}, multiply-adds: {report.multiply_adds:_}."
    return [
        f'{INDENT}"""Make {plain(report.drawing.name)}.',
        "",
        f"{INDENT}{costs}",
        f"{INDENT}Structures behind lines are height×width×channels of one sample.",
        f'{INDENT}"""',
    ]
