"""Keras bodies: what a block does in Keras, as text with this one use's numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from inkcap.engine.printing import print_sizes
from inkcap.exchange.bodies import AMBIGUOUS, local_identifiers
from inkcap.exchange.instances import ROOT
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
from inkcap.exchange.scopes import Item, NoBlock, Scopes
from inkcap.network import structure_of
from inkcap.operations import Step
from inkcap.program import Layer, Lowered, identifier
from inkcap.symbols import CAPSULES

ARRAYS = (1, 3, 4)
"""How many axes the values of capsules have: vectors, arrays of matrices, arrays of volumes."""
ACTIVATION = re.compile(r'layers\.Activation\("(\w+)"\)')
GIVEN = "{name}"
"""What stands in the name of a layer for the name that its block is given."""
LOOP = 3
"""So many blocks in a row that are called alike are a loop."""


@dataclass
class KerasLine:
    """A call with its result: several lines may give one name anew, and a loop calls so many ``times``."""

    name: str
    call: str
    given: str
    owner: str
    comment: str
    times: str = ""
    number: str = ""


@dataclass
class KerasBody:
    """A block of one use, before it is known what it has in common with others."""

    arguments: list[str] = field(default_factory=list[str])
    lines: list[KerasLine] = field(default_factory=list[KerasLine])
    result: str = ""
    outputs: int = 1
    names: dict[str, Layer | None] = field(default_factory=dict[str, "Layer | None"])
    """The layers that hold something by their names; inside of a block these begin with the name it is given."""


@dataclass(frozen=True)
class Made:
    """A block that is printed already: its function, the options that make it this one, and what it holds."""

    function: str
    options: tuple[str, ...]
    body: KerasBody


class Facts:
    """What is known of every value of a program, and what was found to have no layer."""

    def __init__(self, lowered: Lowered) -> None:
        """Go through the steps in their order."""
        self.lowered, self.program = lowered, lowered.program
        self.missing: dict[str, tuple[str, str]] = {}
        self.shapes: dict[int, Sizes] = {}
        self.positive: set[int] = set()
        self.shared: set[int] = set()
        for id, number in self.program.inputs.items():
            self.shapes[number] = structure_of(self.program.network.capsules[id]).sizes
        seen: set[tuple[str, ...]] = set()
        for step in lowered.steps:
            if step.target in lowered.inside:
                continue
            self.shapes[step.target] = sizes_of(step)
            kind, layer = step.operation.name, lowered.layers.get(step.target)
            if kind in POSITIVE or (kind in KEEPS_SIGN and all(n in self.positive for n in self.arguments(step))):
                self.positive.add(step.target)
            if layer is not None and layer.held:
                held = tuple(layer.held.values())
                self.shared |= {step.target} if held in seen else set()
                seen.add(held)

    def arguments(self, step: Step) -> tuple[int, ...]:
        """Give the values that a step is printed with; weights that no layer holds are among them."""
        alias = self.lowered.aliases.get(step.target)
        layer = self.lowered.layers.get(step.target)
        return (alias,) if alias is not None else (layer.argument,) if layer is not None else step.arguments

    def origin(self, number: int) -> int:
        """Give the value that a value is another name of."""
        while number in self.lowered.aliases:
            number = self.lowered.aliases[number]
        return number

    def miss(self, owner: str, why: str) -> None:
        """Write down that something in a capsule has no layer."""
        capsule = self.program.network.capsules[owner]
        self.missing.setdefault(owner, (CAPSULES[capsule.symbol].title_of(capsule.rank, capsule.attributes), why))


class KerasBodyPrinter:
    """Prints the body of one block; what has no layer is written down and passed over."""

    def __init__(
        self, facts: Facts, scopes: Scopes, path: str, made: Mapping[str, Made], taken: tuple[str, ...] = ()
    ) -> None:
        """Name what the block takes; nothing in it is called like what is taken."""
        self.facts, self.scopes, self.path, self.made = facts, scopes, path, made
        self.lowered, self.program = facts.lowered, facts.program
        called = dict.fromkeys(one.function for one in made.values())
        self.locals = local_identifiers(("keras", "layers", *(() if path == ROOT else ("name",)), *called, *taken))
        self.number = ""
        self.body = KerasBody(outputs=len(scopes.outputs(path)))
        self.values: dict[int, str] = {}
        inputs = scopes.inputs(path)
        own = {number: id for id, number in self.program.inputs.items()}
        for count, number in enumerate(inputs, 1):
            name = own[number] if path == ROOT else "x" if len(inputs) == 1 else f"x_{count}"
            self.values[number] = self.locals.of(name) if path == ROOT else self.locals.fresh(name)
            self.body.arguments.append(self.values[number])
            if path == ROOT:
                plain = identifier(name)
                self.body.names[self._fresh(plain) if plain in self.body.names else plain] = None

    def print(self) -> KerasBody:
        """Print everything, in order."""
        items = self.scopes.order(self.path)
        outputs = self.scopes.outputs(self.path)
        if not outputs and self.path != ROOT:
            raise NoBlock((self.path,), "nothing outside uses what it makes")
        self.uses = self._count_uses(items, outputs)
        for item in items:
            if item.step is not None:
                self._step(item.step)
            else:
                self._row(item)
        self.body.result = ", ".join(self.values[number] for number in outputs)
        last = self.body.lines[-1] if self.body.lines else None
        if last is not None and last.name == self.body.result and not last.times and self.path != ROOT:
            # A block ends with what it gives.
            last.name = ""
        return self.body

    def _count_uses(self, items: list[Item], outputs: list[int]) -> dict[int, int]:
        used = list(outputs)
        for item in items:
            if item.step is None:
                used += self.scopes.inputs(item.blocks[0])
            elif item.step.target not in self.lowered.aliases:
                used += self.facts.arguments(item.step)
        uses: dict[int, int] = {}
        for number in map(self.facts.origin, used):
            uses[number] = uses.get(number, 0) + 1
        return uses

    def _local(self, name: str) -> str:
        return name.removeprefix(self.path)

    # Steps ---------------------------------------------------------------------------------------------------

    def _step(self, step: Step) -> None:
        owner = self.program.owners[step.target]
        arguments = self.facts.arguments(step)
        if step.target in self.lowered.aliases:
            self.values[step.target] = self.values.get(arguments[0], "")
            return
        try:
            self._layer(step, owner, arguments)
        except NoLayer as no:
            self.facts.miss(owner, str(no))
            self.values[step.target] = "nothing"

    def _layer(self, step: Step, owner: str, arguments: tuple[int, ...]) -> None:
        shapes = self.facts.shapes
        if not step.shape:
            raise NoLayer("it is one neuron")
        if len(step.shape) not in ARRAYS or len(shapes.get(arguments[0], sizes_of(step))) not in ARRAYS:
            raise NoLayer(step.operation.meaning)
        if any(number not in self.values for number in arguments):
            raise NoLayer(f"{step.operation.meaning}, with a weight that no layer holds")
        name = self.locals.of(self._local(owner))
        given = [self.values[number] for number in arguments]
        layer = self.lowered.layers.get(step.target)
        both = joined(step) if layer is None else None
        if both is not None:
            self._add(step, name, (both,), listed(given))
            return
        takes = shapes[arguments[0]]
        if layer is not None:
            if step.target in self.facts.shared:
                raise NoLayer("it shares its weights with another")
            calls = self._named(layer, takes)
        elif step.operation.name in FORMS:
            calls = FORMS[step.operation.name](step, takes, arguments[0] in self.facts.positive)
        else:
            raise NoLayer(step.operation.meaning)
        self._add(step, name, calls, given[0], arguments[0])

    def _named(self, layer: Layer, takes: Sizes) -> Calls:
        name = self._fresh(self._layer_name(layer))
        calls = layer_calls(layer, name, takes)
        if any("name=" in call for call in calls):
            self.body.names[name] = layer if layer.held else None
        return tuple(call.replace(f'"{name}"', quoted(name)) for call in calls)

    def _layer_name(self, layer: Layer) -> str:
        """Name a layer by its capsule, and by where its connection comes from if there are several."""
        if self.path == ROOT:
            return identifier("_".join(layer.named))
        if len(layer.named) == 3:
            inside = layer.named[2].startswith(self.path)
            source = f"{GIVEN}_{_end(self._local(layer.named[2]))}" if inside else "outside"
            return f"{GIVEN}_{_end(self._local(layer.named[0]))}_from_{source}"
        return f"{GIVEN}_{_end('_'.join(map(self._local, layer.named)))}"

    def _fresh(self, stem: str, inner: tuple[str, ...] = (GIVEN,)) -> str:
        """Give a name like this one under which nothing inside is called like another layer."""
        name, count = stem, 2
        while not self._is_free(name, inner):
            name, count = f"{stem}_{count}", count + 1
        return name

    def _is_free(self, name: str, inner: tuple[str, ...]) -> bool:
        named = [one.replace(GIVEN, name) for one in inner]
        return len(set(named)) == len(named) and not any(one in self.body.names or one in AMBIGUOUS for one in named)

    def _add(self, step: Step, name: str, calls: Calls, given: str, argument: int = -1) -> None:
        last = self.body.lines[-1] if self.body.lines else None
        once = self.uses.get(self.facts.origin(argument)) == 1
        activation = ACTIVATION.fullmatch(calls[0]) if len(calls) == 1 else None
        held = last is not None and re.match(r"layers\.(Conv|Dense)", last.call) and "activation=" not in last.call
        if activation and last is not None and held and last.name == given and once:
            # As a person writes it: the function of a capsule is that of its layer.
            last.call = last.call.replace(", name=", f', activation="{activation[1]}", name=')
            self.values[step.target] = given
            return
        for number, call in enumerate(calls, 1):
            name = self._free(name, given, once) if number == 1 else name
            self.body.lines.append(KerasLine(name, call, given, self.program.owners[step.target], print_sizes(step)))
            given = name
        self.values[step.target] = given

    def _free(self, name: str, given: str, once: bool) -> str:
        """Give a name that no value has which is still needed; the value that is used up here may be given up."""
        if name == given:
            return name if once else self.locals.fresh(name)
        return self.locals.fresh(name) if name in self.values.values() else name

    # Blocks --------------------------------------------------------------------------------------------------

    def _row(self, item: Item) -> None:
        made = [self.made[path] for path in item.blocks]
        instance = self.scopes.instances.by_path[item.blocks[0]]
        alike = len({(one.function, one.options) for one in made}) == 1
        stem = self._block_name(instance.row)
        names = [f"{stem}_{number}" for number in range(len(made))]
        free = all(self._is_free(name, tuple(one.body.names)) for name, one in zip(names, made, strict=True))
        if len(made) < LOOP or not alike or not free:
            for path in item.blocks:
                self._block(path)
            return
        if not self.number:
            self.number = self.locals.fresh("number")
        row, first, last = self.locals.of(self._local(instance.row)), item.blocks[0], item.blocks[-1]
        given = self.values[self.scopes.inputs(first)[0]]
        for name, one in zip(names, made, strict=True):
            self._keep(name, one)
        call = self._text(made[0], [row], f"{stem}_{{{self.number}}}")
        comment = self._shapes(last)
        number = self.number if made[0].body.names else "_"
        self.body.lines.append(KerasLine(row, call, given, "", comment, str(len(made)), number))
        self.values[self.scopes.outputs(last)[0]] = row

    def _block(self, path: str) -> None:
        instance, made = self.scopes.instances.by_path[path], self.made[path]
        name = self._fresh(self._block_name(instance.title), tuple(made.body.names))
        self._keep(name, made)
        given = [self.values.get(number, "nothing") for number in self.scopes.inputs(path)]
        outputs = self.scopes.outputs(path)
        titles = [instance.title] if len(outputs) == 1 else [self.program.owners[number] for number in outputs]
        targets = [self._free(self.locals.of(self._local(title)), "", False) for title in titles]
        self.body.lines.append(KerasLine(", ".join(targets), self._text(made, given, name), "", "", self._shapes(path)))
        self.values |= dict(zip(outputs, targets, strict=True))

    def _block_name(self, title: str) -> str:
        return identifier(title) if self.path == ROOT else f"{GIVEN}_{_end(self._local(title))}"

    def _keep(self, name: str, made: Made) -> None:
        self.body.names |= {inner.replace(GIVEN, name): layer for inner, layer in made.body.names.items()}

    def _text(self, made: Made, given: list[str], name: str) -> str:
        named = (f"name={quoted(name)}",) if made.body.names else ()
        return f"{made.function}({', '.join((*given, *made.options, *named))})"

    def _shapes(self, path: str) -> str:
        shapes = {step.target: print_sizes(step) for step in self.scopes.all_steps(path)}
        return ", ".join(shapes[number] for number in self.scopes.outputs(path))


def quoted(name: str) -> str:
    """Write the name of a layer; what a block is given stands in it as an expression."""
    return f'f"{name}"' if "{" in name else f'"{name}"'


def listed(names: list[str]) -> str:
    """Write one value, or several as a list."""
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _end(local: str) -> str:
    """Turn a path into the end of an identifier, which may begin with a digit."""
    return identifier(f"x_{local}")[2:] or "x"
