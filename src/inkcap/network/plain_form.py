"""Networks in plain form: one vector goes in, one comes out, and in between columns instead of objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from inkcap.drawing import FIXED, Capsule, Connection, Drawing, Edit, Plain, Put
from inkcap.network.network import CheckedCapsule, CheckedConnection, Network, structure_of
from inkcap.network.plain import PLAIN_DTYPES, PlainFacts, Start, survey
from inkcap.structures import AXES, Structure

INPUTS, OUTPUTS = "inputs", "outputs"
"""The vectors that all data neurons and all output neurons of a plain network make up."""
NEURONS = ("data", "identical", "relu", "sigmoid", "tanh", "step")
"""The symbols that plain networks compute."""
WRITTEN = ".written"
"""What neurons write into a capsule is held by a data capsule of its name and this ending, which no drawn one has."""


def with_written(drawing: Drawing, columns: Plain) -> Drawing:
    """Give the drawing with a data capsule before each one that the plain block writes, in its shape."""
    puts: list[Put] = []
    for id in columns.writes:
        capsule = drawing.capsules.get(id)
        if capsule is None:
            continue
        sizes = {name: capsule.attributes[name] for name in AXES[capsule.rank] if name in capsule.attributes}
        puts.append(Put(Capsule(f"{id}{WRITTEN}", "data", capsule.rank, sizes)))
        puts.append(Put(Connection(f"{id}{WRITTEN}", "transfer", f"{id}{WRITTEN}", id)))
    written = drawing.copy()
    written.apply(Edit("write", tuple(puts)))
    return written


def plain_network(
    drawing: Drawing,
    facts: PlainFacts,
    capsules: Mapping[str, CheckedCapsule],
    connections: Mapping[str, CheckedConnection],
) -> Network:
    """Give the network of a checked plain block, alone or among capsules."""
    if facts.capsules:
        inputs, outputs = (tuple(map(facts.name, vertices)) for vertices in (facts.inputs, facts.outputs))
        return Network(drawing, capsules, connections, inputs, outputs, facts)
    symbols = {facts.columns.symbol[i] for i in facts.outputs}
    symbol = symbols.pop() if len(symbols) == 1 else "identical"
    inputs, outputs = _end(facts, facts.inputs, INPUTS), _end(facts, facts.outputs, OUTPUTS)
    vectors = {
        inputs: _vector(inputs, "data", len(facts.inputs), facts.dtype),
        outputs: _vector(outputs, symbol, len(facts.outputs), facts.dtype),
    }
    return Network(drawing, vectors, {}, (inputs,), (outputs,), facts)


def _end(facts: PlainFacts, vertices: Sequence[int], name: str) -> str:
    """Name a vector: a single neuron that has a name keeps it."""
    alone = facts.names and len(vertices) == 1 and facts.name(vertices[0]) not in (INPUTS, OUTPUTS)
    return facts.name(vertices[0]) if alone else name


def _vector(id: str, symbol: str, size: int, dtype: str) -> CheckedCapsule:
    structure = Structure((size,), dtype)
    return CheckedCapsule(id, symbol, 1, {}, structure, structure, "none", None, ())


def as_plain(network: Network) -> Network:
    """Give a network of neurons and amplifying connections in plain form; any other as it is."""
    capsules, connections = network.capsules, network.connections
    if network.plain is not None or not connections:
        return network
    dtypes = {structure_of(capsule).dtype for capsule in capsules.values()}
    if (
        any(c.rank or c.symbol not in NEURONS or not c.record.is_plain(c.attributes) for c in capsules.values())
        or any(c.symbol != "amplifying" or _unsaid(c) for c in connections.values())
        or len(dtypes) > 1
        or not dtypes <= set(PLAIN_DTYPES)
    ):
        return network
    # Data neurons first, then the others as they were drawn, so that vectors keep the order of the drawing.
    drawn = network.drawing.capsules
    names = (*network.inputs, *(id for id in drawn if id not in set(network.inputs)))
    columns, starts = _columns(network, names)
    facts = survey(columns, dtypes.pop(), (), (), names, starts)
    return replace(plain_network(network.drawing, facts, {}, {}), drawing=network.drawing)


def _unsaid(connection: CheckedConnection) -> bool:
    """Tell whether a connection is fixed at a number that only chance gives."""
    return any(not weight.trainable and weight.start is None for weight in connection.weights.values())


def _columns(network: Network, names: Sequence[str]) -> tuple[Plain, tuple[Start, ...]]:
    number = {id: i for i, id in enumerate(names)}
    random: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    bias: list[float] = []
    bias_tie: list[int] = []
    for i, id in enumerate(names):
        capsule = network.capsules[id]
        record = capsule.bias
        bias.append(0.0 if record is None or record.start is None else record.start)
        bias_tie.append(-1 if record is not None and record.trainable else FIXED)
        if record is not None and record.start is None:
            random["bias", "bias", max(len(capsule.incoming), 1)].append(i)
    weight: list[float] = []
    tie: list[int] = []
    ties: dict[str, int] = {}
    joined = list(network.connections.values())
    for i, connection in enumerate(joined):
        (record,) = connection.weights.values()
        weight.append(0.0 if record.start is None else record.start)
        if not record.trainable:
            tie.append(FIXED)
        else:
            tie.append(ties.setdefault(record.name, i) if connection.tied else -1)
        if record.start is None and tie[-1] in (-1, FIXED, i):
            # As in a full connection: the more enter a neuron, the smaller each of them starts.
            entering = max(len(network.capsules[connection.front].incoming), 1)
            random["weight", record.initialiser, entering].append(i)
    plain = Plain(
        tuple(network.capsules[id].symbol for id in names),
        tuple(bias),
        tuple(number[c.back] for c in joined),
        tuple(number[c.front] for c in joined),
        tuple(weight),
        tuple(tie),
        tuple(bias_tie),
    )
    starts = tuple(Start(of, initialiser, fan, tuple(at)) for (of, initialiser, fan), at in random.items())  # pyright: ignore[reportArgumentType]
    return plain, starts
