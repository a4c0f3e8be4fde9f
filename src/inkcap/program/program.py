"""Programs: a network lowered to ordered steps over the vocabulary of operations."""

from __future__ import annotations

from dataclasses import dataclass, field

from inkcap.network import CheckedCapsule, CheckedPart, Network, WeightRecord
from inkcap.operations import Trace, Traced
from inkcap.operations import vocabulary as op
from inkcap.program.tilings import along, find_tilings
from inkcap.symbols import MAIN_PORT, socket


@dataclass(frozen=True)
class WornPart:
    """Where a worn part stands in a program: what it takes, and the steps on the way to what it makes."""

    capsule: str
    part: CheckedPart
    argument: Traced
    inside: tuple[int, ...]
    """The values that it makes before its last one."""


@dataclass(frozen=True)
class Program:
    """The steps of a network in order, with what each value of the trace stands for.

    A step that differs between training and evaluation carries the mode, so a program is for one of the two; both
    have the same steps under the same numbers.
    """

    network: Network
    trace: Trace
    inputs: dict[str, int] = field(default_factory=dict[str, int])
    """The value of every data capsule."""
    weights: dict[str, int] = field(default_factory=dict[str, int])
    """The value of every stored weight and parameter, by its name in the drawing."""
    states: dict[str, int] = field(default_factory=dict[str, int])
    """The value of every state, by its name in the drawing."""
    moved: dict[str, int] = field(default_factory=dict[str, int])
    """The value of every state after the step; in evaluation it is the state itself."""
    total_inputs: dict[str, int] = field(default_factory=dict[str, int])
    """U_H of every capsule by its id, and of its other ports as ``h.label``."""
    arguments: dict[str, int] = field(default_factory=dict[str, int])
    """What the capsule's function is applied to: U_H, what a worn normalisation makes of it, or its candidates."""
    outputs: dict[str, int] = field(default_factory=dict[str, int])
    """Y_H of every capsule."""
    owners: dict[int, str] = field(default_factory=dict[int, str])
    """The capsule to which the value of a step belongs."""
    worn: dict[int, WornPart] = field(default_factory=dict[int, WornPart])
    """The worn parts by the value that they make."""

    def returned(self, returns: dict[str, str] | None = None) -> tuple[int, ...]:
        """Give the values that the network's outputs return: Y, or where ``returns`` says so what the function takes.

        That is U, unless the capsule wears a normalisation or chooses from candidates.
        """
        wanted = returns or {}
        return tuple((self.arguments if wanted.get(id) == "U" else self.outputs)[id] for id in self.network.outputs)


def lower_to_steps(network: Network, *, training: bool = False, apart: bool = False) -> Program:
    """Trace a whole network: for every capsule U = Σ W⊗Y + B, then Y = cap(U), with the parts that it wears.

    A transfer gives U the very value that another capsule has as its Y. With ``apart`` every U is a value of its own,
    so that δ = ∂L/∂U means one capsule alone.
    """
    return _Lowering(network, training, apart).run()


class _Lowering:
    def __init__(self, network: Network, training: bool, apart: bool) -> None:
        self.network, self.apart = network, apart
        self.trace = Trace(training=training)
        self.program = Program(network, self.trace)
        self.values: dict[str, Traced] = {}
        self.stored: dict[str, Traced] = {}
        self.taken: set[int] = set()
        """Total inputs and outputs of the capsules so far."""

    def run(self) -> Program:
        for capsule in self.network.capsules.values():
            first_step = len(self.trace.steps)
            total = self._own(self._total_input(capsule))
            given = {port: self._own(self._brought(capsule, port)) for port in capsule.ports}
            for port, value in {MAIN_PORT: total, **given}.items():
                self.program.total_inputs[socket(capsule.id, port)] = value.number
            given |= {name: self._value(weight) for name, weight in capsule.parameters.items()}
            argument = self._wear(capsule, total, "before")
            if capsule.record.candidates is not None:
                argument = capsule.record.candidates(argument, given, capsule.attributes)
            self.program.arguments[capsule.id] = argument.number
            made = self._wear(capsule, capsule.record.forward(argument, given, capsule.attributes), "after")
            self.values[capsule.id] = made
            self.program.outputs[capsule.id] = made.number
            self.taken.add(made.number)
            for step in self.trace.steps[first_step:]:
                self.program.owners[step.target] = capsule.id
        return self.program

    def _own(self, total: Traced) -> Traced:
        """Make a total input a value of its own, where it is another capsule's output or total input."""
        if not self.apart:
            return total
        if total.number in self.taken:
            total = op.same(total)
        self.taken.add(total.number)
        return total

    def _total_input(self, capsule: CheckedCapsule) -> Traced:
        if capsule.incoming:
            total = self._brought(capsule, MAIN_PORT)
        else:
            assert capsule.total_input is not None
            total = self.trace.value(capsule.total_input.shape, capsule.total_input.dtype)
            self.program.inputs[capsule.id] = total.number
        if capsule.bias is not None:
            per = "element" if capsule.bias_kind == "full" else capsule.bias_kind
            total = op.bias(total, self._value(capsule.bias), per=per)
        return total

    def _brought(self, capsule: CheckedCapsule, port_name: str) -> Traced:
        port = capsule.record.port(port_name)
        assert port is not None
        entering = [c for c in map(self.network.connections.__getitem__, capsule.incoming) if c.port == port_name]
        brought: list[Traced] = []
        for tiled in find_tilings(entering) if port.kind == "sums" else [[c] for c in entering]:
            if len(tiled) > 1:
                # Blocks that fill an axis one behind another are a concatenation: nothing is added to zeros.
                brought.append(op.concatenate(*(self.values[c.back] for c in tiled), axis=along(tiled[0])))
                continue
            (connection,) = tiled
            weights = {name: self._value(weight) for name, weight in connection.weights.items()}
            brought.append(connection.record.weigh(self.values[connection.back], weights, connection.attributes))
        if port.kind == "gathers" and len(brought) > 1:
            return op.concatenate(*brought, axis=0)
        total, *rest = brought
        for part in rest:
            total = op.add(total, part)
        return total

    def _wear(self, capsule: CheckedCapsule, x: Traced, place: str) -> Traced:
        for part in capsule.parts:
            if part.record.place != place:
                continue
            given = {name: self._value(weight) for name, weight in part.weights.items()}
            first = len(self.trace.steps)
            made = part.record.forward(x, given, part.attributes)
            inside = tuple(step.target for step in self.trace.steps[first:-1])
            self.program.worn[made.number] = WornPart(capsule.id, part, x, inside)
            if part.record.update:
                for name, value in part.record.update(x, given, part.attributes).items():
                    self.program.moved[part.weights[name].name] = value.number
            x = made
        return x

    def _value(self, weight: WeightRecord) -> Traced:
        if weight.name not in self.stored:
            value = self.trace.value(weight.structure.shape, weight.structure.dtype)
            self.stored[weight.name] = value
            (self.program.states if weight.state else self.program.weights)[weight.name] = value.number
        return self.stored[weight.name]
