"""Bodies: what a block declares and what it does, as text with this one instance's numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from inkcap.engine.printed import Printed
from inkcap.engine.printing import (
    NAMED,
    SUMS,
    is_deep,
    print_layer,
    print_numbers,
    print_operation,
    print_sizes,
)
from inkcap.exchange.instances import ROOT
from inkcap.exchange.scopes import Item, NoBlock, Scopes
from inkcap.network import WeightRecord
from inkcap.operations import Step
from inkcap.program import Identifiers

AMBIGUOUS = ("l", "O", "I")
"""Names that look like numbers."""


@dataclass(frozen=True)
class Declaration:
    """A line of ``__init__``: an attribute and what makes it, or, without one, a call."""

    attribute: str
    made: str


@dataclass(frozen=True)
class Line:
    """A line of ``forward``: the value's name, its expression, and its structure."""

    name: str
    expression: str
    comment: str = ""


@dataclass
class Body:
    """A block of one instance, before it is known what it has in common with others."""

    arguments: list[str] = field(default_factory=list[str])
    declarations: list[Declaration] = field(default_factory=list[Declaration])
    lines: list[Line] = field(default_factory=list[Line])
    result: str = ""
    outputs: int = 1
    names: dict[str, str] = field(default_factory=dict[str, str])
    """The paths, from this block, of every weight and state by its name in the drawing."""
    drawn: list[int] = field(default_factory=list[int])
    """The steps that draw random numbers, in the order in which they do."""


@dataclass(frozen=True)
class Made:
    """A block that is printed already: how it is made, and what it holds."""

    constructor: str
    body: Body


def local_identifiers(taken: tuple[str, ...]) -> Identifiers:
    """Give identifiers that are none of these, nor any that look like a number."""
    identifiers = Identifiers()
    for name in (*AMBIGUOUS, *taken):
        identifiers.take(name)
    return identifiers


class BodyPrinter:
    """Prints the body of one block; the blocks inside of it are printed already."""

    def __init__(self, scopes: Scopes, path: str, made: Mapping[str, Made], called: tuple[str, ...]) -> None:
        """Name what the block takes."""
        self.scopes, self.path, self.made = scopes, path, made
        self.lowered, self.program = scopes.lowered, scopes.program
        self.masks = {s.target: s for s in self.lowered.steps if s.operation.name == "random_mask"}
        self.attributes, self.locals = local_identifiers(()), local_identifiers(called)
        self.expressions: dict[int, Printed] = {}
        self.declared: dict[object, str] = {}
        self.body = Body(outputs=len(scopes.outputs(path)))
        inputs = scopes.inputs(path)
        own = {number: id for id, number in self.program.inputs.items()}
        for count, number in enumerate(inputs, 1):
            name = own[number] if path == ROOT else "x" if len(inputs) == 1 else f"x_{count}"
            self.body.arguments.append(self.locals.of(name) if path == ROOT else self.locals.fresh(name))
            self.expressions[number] = Printed(self.body.arguments[-1])

    def print(self) -> Body:
        """Print everything, in order."""
        items = self.scopes.order(self.path)
        self.uses = self._count_uses(items)
        self.placed = {
            n for item in items if item.step and item.step.operation.name == "place" for n in item.step.arguments
        }
        for item in items:
            if item.step is not None:
                self._step(item.step)
            else:
                self._call(item)
        self.body.result = ", ".join(self.expressions[n].text for n in self.scopes.outputs(self.path))
        last = self.body.lines[-1] if self.body.lines else None
        if last is not None and last.name == self.body.result and self.path != ROOT:
            # A block ends with what it gives.
            self.body.result = f"{last.expression}"
            self.body.lines[-1] = Line("", last.expression, last.comment)
        return self.body

    def _local(self, name: str) -> str:
        """Give a name as the block knows it: without the path that leads to it."""
        return name.removeprefix(self.path) if self.path else name

    def _step(self, step: Step) -> None:
        lowered = self.lowered
        source = lowered.aliases.get(step.target)
        printed = self._expression(step) if source is None else self.expressions[source]
        owner = self.program.owners[step.target]
        local = self._local(owner)
        kind = step.operation.name
        is_output = self.program.outputs[owner] == step.target
        wanted = self.uses.get(step.target, 0) > 1 or step.target in self.scopes.outputs(self.path)
        name = ""
        if kind in NAMED:
            name = self.locals.fresh(f"{local} {NAMED[kind]}")
        elif (is_output or wanted) and step.target in self.placed:
            # Several connections into one capsule each have entries of their own.
            name = self.locals.fresh(f"{local} entries")
        elif is_output or wanted:
            name = self.locals.of(local if is_output else f"{local} total")
        elif kind not in SUMS and is_deep(printed.text):
            name = self.locals.fresh(f"{local} part")
        if self.scopes.draws(step):
            self.body.drawn.append(step.target)
        if name:
            self.body.lines.append(Line(name, printed.text, print_sizes(step)))
            printed = Printed(name)
        self.expressions[step.target] = printed

    def _call(self, item: Item) -> None:
        first, last = item.blocks[0], item.blocks[-1]
        instance = self.scopes.instances.by_path[first]
        row = len(item.blocks) > 1
        made = [self.made[path] for path in item.blocks]
        constructors = [one.constructor for one in made]
        title = self._local(instance.row if row else instance.title)
        stored = tuple(self.scopes.stored_inside(first))
        attribute = self.declared.get(stored) if stored else None
        if attribute is not None and self.declared[attribute] != constructors[0]:
            raise NoBlock(item.blocks, "it shares its weights with a block that differs from it")
        if attribute is None:
            attribute = self.attributes.fresh(self._local(instance.row) if instance.use.tie else title)
            self.declared[stored], self.declared[attribute] = attribute, constructors[0]
            text = _sequence(constructors) if row else constructors[0]
            self.body.declarations.append(Declaration(attribute, text))
            for number, one in enumerate(made):
                place = f"{attribute}.{number}" if row else attribute
                self.body.names.update({name: f"{place}.{path}" for name, path in one.body.names.items()})
        for one in made:
            self.body.drawn += one.body.drawn
        given = ", ".join(self.expressions[number].text for number in self.scopes.inputs(first))
        outputs = self.scopes.outputs(last)
        shapes = {step.target: print_sizes(step) for step in self.scopes.all_steps(last)}
        names = [self.locals.of(title) if len(outputs) == 1 else self._output_name(number) for number in outputs]
        comment = ", ".join(shapes[number] for number in outputs)
        self.body.lines.append(Line(", ".join(names), f"self.{attribute}({given})", comment))
        self.expressions |= {number: Printed(name) for number, name in zip(outputs, names, strict=True)}

    def _output_name(self, number: int) -> str:
        return self.locals.of(self._local(self.program.owners[number]))

    def _expression(self, step: Step) -> Printed:
        layer = self.lowered.layers.get(step.target)
        if layer is not None:
            return Printed(f"self.{self._layer(step)}({self.expressions[layer.argument].text})")
        arguments = [self._argument(number) for number in step.arguments]
        if "index" in step.attributes:
            arguments.append(Printed(f"self.{self._index(step)}"))
        return print_operation(step, arguments, self.masks)

    def _layer(self, step: Step) -> str:
        layer = self.lowered.layers[step.target]
        key = tuple(layer.held.values()) or step.target
        if key not in self.declared:
            parts = [self._local(part) for part in layer.named]
            if len(parts) == 3 and not layer.named[2].startswith(self.path):
                parts[2] = "outside"
            attribute = self.attributes.fresh("_".join(parts))
            self.declared[key] = attribute
            self.body.declarations.append(Declaration(attribute, print_layer(layer)))
            records = self.program.network.weights
            for own, name in layer.held.items():
                self.body.names[name] = f"{attribute}.{own}"
                if name in records and not records[name].trainable:
                    self.body.declarations.append(Declaration("", f"self.{attribute}.{own}.requires_grad_(False)"))
        return self.declared[key]

    def _argument(self, number: int) -> Printed:
        name = self.scopes.weight_of.get(number)
        if name is None:
            return self.expressions[number]
        if name not in self.declared:
            attribute = self.attributes.fresh(self._local(name.removeprefix("tie:")).replace(".", "_"))
            self.declared[name] = attribute
            self.body.names[name] = attribute
            self.body.declarations.append(Declaration(attribute, _parameter(self.program.network.weights[name])))
        return Printed(f"self.{self.declared[name]}")

    def _index(self, step: Step) -> str:
        index = step.attributes["index"]
        if index not in self.declared:
            kind = "to" if step.operation.name == "place" else "from"
            attribute = self.attributes.fresh(f"{self._local(self.program.owners[step.target])}_{kind}")
            self.declared[index] = attribute
            # Places of numbers belong to the module, so that they go to its device, and are no weights.
            made = f'self.register_buffer("{attribute}", torch.tensor({print_numbers(index)}), persistent=False)'
            self.body.declarations.append(Declaration("", made))
        return self.declared[index]

    def _count_uses(self, items: list[Item]) -> dict[int, int]:
        uses: dict[int, int] = {}
        for item in items:
            if item.step is None:
                for number in self.scopes.inputs(item.blocks[0]):
                    uses[number] = uses.get(number, 0) + 1
            elif item.step.target not in self.lowered.aliases:
                # What is written several times gets a line of its own.
                times = {"place": 3, "difference": 2}.get(item.step.operation.name, 1)
                for number in self.scopes.arguments(item.step):
                    uses[number] = uses.get(number, 0) + times
        return uses


def _sequence(constructors: list[str]) -> str:
    if len(constructors) > 2 and len(set(constructors)) == 1:
        return f"nn.Sequential(*({constructors[0]} for _ in range({len(constructors)})))"
    return f"nn.Sequential({', '.join(constructors)})"


def _bounded(weight: WeightRecord, bound: float) -> str:
    return f".uniform_({-bound:.4g}, {bound:.4g})"


STARTS: dict[str, Callable[[WeightRecord], str]] = {
    "uniform": lambda w: _bounded(w, 1 / math.sqrt(w.fan_in)),
    "bias": lambda w: _bounded(w, 1 / math.sqrt(w.fan_in)),
    "glorot": lambda w: _bounded(w, math.sqrt(6 / (w.fan_in + w.fan_out))),
    "he": lambda w: f".normal_(0, {math.sqrt(2 / w.fan_in):.4g})",
    "normal": lambda w: ".normal_(0, 0.01)",
    "ones": lambda w: ".fill_(1)",
    "signs": lambda w: ".bernoulli_(0.5).mul_(2).sub_(1)",
}
"""How a parameter that no layer holds starts, by its initialiser; any other starts at 0."""


def _parameter(weight: WeightRecord) -> str:
    dtype = "" if weight.structure.dtype == "float32" else f", dtype=torch.{weight.structure.dtype}"
    sizes = ", ".join(map(str, weight.structure.sizes))
    started = STARTS.get(weight.initialiser)
    made = f"torch.zeros({sizes or '()'}{dtype})"
    if weight.starts:
        made = f"torch.tensor({list(weight.starts)}{dtype}).reshape({sizes or '()'})"
    elif weight.start is not None:
        made += f".fill_({weight.start})" if weight.start else ""
    elif started is not None:
        made += started(weight)
    return f"nn.Parameter({made}{'' if weight.trainable else ', requires_grad=False'})"
