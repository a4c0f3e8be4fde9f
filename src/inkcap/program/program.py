"""Programs: a network lowered to ordered steps over the vocabulary of operations."""

from __future__ import annotations

from dataclasses import dataclass, field

from inkcap.network import Network, WeightRecord
from inkcap.operations import Trace, Traced
from inkcap.operations import vocabulary as op


@dataclass(frozen=True)
class Program:
    """The steps of a network in order, with what each value of the trace stands for."""

    network: Network
    trace: Trace
    inputs: dict[str, int]
    """The value of every data capsule."""
    weights: dict[str, int]
    """The value of every stored weight, by its name in the drawing."""
    total_inputs: dict[str, int]
    """U_H of every capsule."""
    outputs: dict[str, int]
    """Y_H of every capsule."""
    owners: dict[int, str] = field(default_factory=dict[int, str])
    """The capsule to which the value of a step belongs."""

    def returned(self, returns: dict[str, str] | None = None) -> tuple[int, ...]:
        """Give the values that the network's outputs return: Y, or U where ``returns`` says so."""
        wanted = returns or {}
        return tuple((self.total_inputs if wanted.get(id) == "U" else self.outputs)[id] for id in self.network.outputs)


def lower_to_steps(network: Network, *, apart: bool = False) -> Program:
    """Trace a whole network: for every capsule U = Σ W⊗Y + B, then Y = cap(U).

    A transfer gives U the very value that another capsule has as its Y. With ``apart`` every U is a value of its own,
    so that δ = ∂L/∂U means one capsule alone.
    """
    program = Program(network, Trace(), {}, {}, {}, {})
    trace = program.trace
    values: dict[str, Traced] = {}
    weights: dict[str, Traced] = {}

    def weight_value(weight: WeightRecord) -> Traced:
        if weight.name not in weights:
            weights[weight.name] = trace.value(weight.structure.shape, weight.structure.dtype)
            program.weights[weight.name] = weights[weight.name].number
        return weights[weight.name]

    for capsule in network.capsules.values():
        first_step = len(trace.steps)
        total: Traced | None = None
        for id in capsule.incoming:
            connection = network.connections[id]
            stored = {name: weight_value(weight) for name, weight in connection.weights.items()}
            brought = connection.record.forward(values[connection.back], stored, connection.attributes)
            total = brought if total is None else op.add(total, brought)
        if total is None:
            assert capsule.total_input is not None
            total = trace.value(capsule.total_input.shape, capsule.total_input.dtype)
            program.inputs[capsule.id] = total.number
        if capsule.bias is not None:
            per = "channel" if capsule.bias_kind == "channel" else "element"
            total = op.bias(total, weight_value(capsule.bias), per=per)
        if apart and total.number in program.outputs.values():
            total = op.same(total)
        values[capsule.id] = capsule.record.forward(total, capsule.attributes)
        program.total_inputs[capsule.id] = total.number
        program.outputs[capsule.id] = values[capsule.id].number
        for step in trace.steps[first_step:]:
            program.owners[step.target] = capsule.id
    return program
