"""The report of a checked drawing: its roles, its kind, its costs, what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import Any

from inkcap.drawing import Drawing, Mark
from inkcap.network.diagnostics import Diagnostic
from inkcap.network.network import CheckedCapsule, CheckedConnection, Network, WeightRecord
from inkcap.network.plain import PlainFacts
from inkcap.network.plain_form import plain_network
from inkcap.network.totals import Totals
from inkcap.structures import InkcapError, Structure
from inkcap.symbols import jsonable
from inkcap.theory import Classification, Graph


class NotWellFormed(InkcapError):
    """A drawing with errors was asked to be a network."""


@dataclass(frozen=True)
class Report:
    """All that the checks found; a drawing with errors still has everything that could be inferred."""

    drawing: Drawing
    graph: Graph
    classification: Classification | None
    capsules: Mapping[str, CheckedCapsule]
    connections: Mapping[str, CheckedConnection]
    diagnostics: tuple[Diagnostic, ...]
    totals: Totals
    """The numbers of all that is drawn as capsules and connections."""
    mark: Mark
    """How far it is on the trail of what checks with one memory found anew."""
    plain: PlainFacts | None = None
    """The neurons that are held in columns."""
    drawn: Drawing | None = None
    """The drawing as it was drawn; ``drawing`` has its groups opened."""
    ends: Mapping[str, str] = field(default_factory=dict[str, str])
    """By use of a group the capsule that its first output is."""

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that must be mended."""
        return tuple(d for d in self.diagnostics if d.severity == "error")

    @property
    def well_formed(self) -> bool:
        """Tell whether the drawing is a network."""
        return not self.errors

    @cached_property
    def network(self) -> Network:
        """The network, when the drawing is well formed; else the errors are raised in words."""
        if not self.well_formed:
            first = "\n".join(f"  [{d.rule}] {d.message}" for d in self.errors[:5])
            more = f"\n  … and {len(self.errors) - 5} more" if len(self.errors) > 5 else ""
            count = f"{len(self.errors)} error{'s' if len(self.errors) > 1 else ''}"
            raise NotWellFormed(f"the drawing {self.drawing.name!r} has {count}:\n{first}{more}")
        if self.plain is not None:
            return plain_network(self.drawing, self.plain, self.capsules, self.connections)
        return Network(self.drawing, self.capsules, self.connections, self.inputs, self.outputs)

    @property
    def capsule_count(self) -> int:
        """Count the capsules, neurons in columns among them; those that stand for elements of capsules are not."""
        count = len(self.drawing.capsules)
        return count if self.plain is None else count + self.plain.neurons - sum(n for _, n in self.plain.spans)

    @property
    def connection_count(self) -> int:
        """Count the connections, those in columns among them."""
        return len(self.drawing.connections) + (len(self.plain.columns.back) if self.plain else 0)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The capsules that nothing enters."""
        if self.plain is not None:
            return tuple(map(self.plain.name, self.plain.inputs))
        return self.graph.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The capsules that nothing leaves; a network of one capsule gives that capsule."""
        if self.plain is not None:
            return tuple(map(self.plain.name, self.plain.outputs))
        return self.graph.outputs or self.graph.inputs

    @cached_property
    def hidden(self) -> tuple[str, ...]:
        """The capsules in between."""
        return tuple(self._hidden())

    def _hidden(self) -> Iterator[str]:
        ends = {*self.inputs, *self.outputs}
        neurons = self.plain.own_neurons if self.plain is not None else ()
        return (id for id in chain(neurons, self.drawing.capsules) if id not in ends)

    @property
    def depth(self) -> int:
        """The number of layers without the input layer."""
        return self.graph.depth if self.plain is None else self.plain.depth

    @cached_property
    def weights(self) -> Mapping[str, WeightRecord]:
        """Every stored weight by name, tied ones once, as far as they are known."""
        return Network(self.drawing, self.capsules, self.connections, (), (), self.plain).weights

    @property
    def parameters(self) -> int:
        """Count the numbers that training changes."""
        return self.totals.parameters + (self.plain.weights + self.plain.biases if self.plain is not None else 0)

    @property
    def frozen_parameters(self) -> int:
        """Count the stored numbers that training leaves alone."""
        return self.totals.frozen_parameters + (self.plain.fixed if self.plain is not None else 0)

    @property
    def multiply_adds(self) -> int:
        """Count the multiply-adds of connections, and of capsules that multiply what enters them, for one sample."""
        return self.totals.multiply_adds + (len(self.plain.columns.back) if self.plain is not None else 0)

    def activation_bytes(self, batch: int = 1) -> int:
        """Count the bytes that the outputs of all capsules take for a batch."""
        if self.plain is None:
            return batch * self.totals.activation_bytes
        # What neurons in columns write into capsules is held by capsules that nobody drew.
        plain = self.plain.activation_bytes()
        drawn = (capsule for id, capsule in self.capsules.items() if id in self.drawing.capsules)
        return batch * (plain + sum(capsule.output.bytes for capsule in drawn if capsule.output))

    def _repr_html_(self) -> str:
        """Show the report in a notebook, as a table."""
        # The table knows reports, so reports look for it only when they are shown.
        from inkcap.network.table import html_of

        return html_of(self)

    def to_json(self, batch: int = 1) -> dict[str, Any]:
        """Describe the report as one JSON object."""
        return {**self.outline(batch), "structures": self._structures()}

    def outline(self, batch: int = 1, most: int | None = None) -> dict[str, Any]:
        """Describe the drawing as a whole and what is wrong with it, without the structures of its parts.

        With ``most`` only so many hidden capsules are named, and layers are told by their sizes.
        """
        kind = self.classification
        return {
            "name": self.drawing.name,
            "well_formed": self.well_formed,
            "kind": kind.kind if kind else None,
            "layers": self._layers(by_name=most is None),
            "witness": kind.witness.to_json() if kind and kind.witness else None,
            "capsules": self.capsule_count,
            "connections": self.connection_count,
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "hidden": list(self.hidden if most is None else islice(self._hidden(), most)),
            "depth": self.depth,
            "deep": self.depth > 2,
            "parameters": self.parameters,
            "frozen_parameters": self.frozen_parameters,
            "multiply_adds": self.multiply_adds,
            "activation_bytes": self.activation_bytes(batch),
            "batch": batch,
            "diagnostics": [diagnostic.to_json() for diagnostic in self.diagnostics],
        }

    def _layers(self, *, by_name: bool) -> list[list[str]] | list[int] | None:
        """Give the layers by their capsules' names; of neurons in columns only their numbers."""
        kind = self.classification
        if kind is None or kind.kind != "layered":
            return None
        if self.plain is None and not by_name:
            return list(map(len, kind.layers))
        return [list(layer) for layer in kind.layers] if self.plain is None else self.plain.layer_sizes()

    def _structures(self) -> dict[str, Any]:
        def show(structure: Structure | None) -> dict[str, object] | None:
            return structure.to_json() if structure else None

        capsules = {
            capsule.id: {
                "symbol": capsule.symbol,
                "rank": capsule.rank,
                "total_input": show(capsule.total_input),
                "ports": {name: show(structure) for name, structure in capsule.ports.items()},
                "output": show(capsule.output),
                "bias": list(capsule.bias.structure.shape) if capsule.bias else None,
                "parameters": {name: list(w.structure.shape) for name, w in capsule.parameters.items()},
                "wears": [
                    {
                        "part": part.part,
                        "attributes": {name: jsonable(value) for name, value in part.attributes.items()},
                        "weights": {n: list(w.structure.shape) for n, w in part.weights.items() if not w.state},
                        "states": {n: list(w.structure.shape) for n, w in part.weights.items() if w.state},
                    }
                    for part in capsule.parts
                ],
            }
            for capsule in self.capsules.values()
            if capsule.id in self.drawing.capsules
        }
        connections = {
            connection.id: {
                "symbol": connection.symbol,
                "back": connection.back,
                "front": connection.front,
                "port": connection.port,
                "attributes": {
                    name: jsonable(value) for name, value in connection.attributes.items() if value is not None
                },
                "back_end": show(connection.back_end),
                "weights": {name: list(weight.structure.shape) for name, weight in connection.weights.items()},
                "front_end": show(connection.front_end),
                "parameters": sum(weight.structure.elements for weight in connection.weights.values()),
                "multiply_adds": connection.multiply_adds,
            }
            for connection in self.connections.values()
            if connection.id in self.drawing.connections
        }
        return {"capsules": capsules, "connections": connections}
