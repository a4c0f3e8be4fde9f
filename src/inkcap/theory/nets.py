"""Neural networks as the paper defines them: net = (S, H, W, Y), made by four rules and by nothing else.

A network is a value: a rule takes networks and gives a new one. Each application copies what it is given, so a long
derivation is better replayed by ``inkcap.theory.replay_net``, which makes the same value in one go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from inkcap.theory.errors import RuleError, TheoryError, some
from inkcap.theory.graphs import Graph


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


ACTIVATIONS: dict[str, Callable[[float], float]] = {
    "relu": lambda x: max(0.0, x),
    "identical": lambda x: x,
    "sigmoid": _sigmoid,
    "tanh": math.tanh,
    "step": lambda x: 1.0 if x >= 0 else 0.0,
}
"""F: the activation functions by name."""


@dataclass(frozen=True)
class Neuron:
    """A non-input neuron h, which depends on (f, b): its activation function and its bias."""

    name: str
    activation: str = "relu"
    bias: float = 0.0


@dataclass(frozen=True)
class WeightingConnection:
    """A weighting connection w_{z→h}: its back end z, its front end h and its strength."""

    back: str
    front: str
    strength: float = 1.0


@dataclass(frozen=True)
class Output:
    """The output y of a vertex: an input's own value, or f(Σ w·y + b) of a neuron."""

    vertex: str
    neuron: Neuron | None = None
    entering: tuple[WeightingConnection, ...] = ()

    def __str__(self) -> str:
        if self.neuron is None:
            return f"y_{self.vertex} = {self.vertex}"
        terms = " + ".join(f"{w.strength:g}·y_{w.back}" for w in self.entering)
        return f"y_{self.vertex} = {self.neuron.activation}({terms} + {self.neuron.bias:g})"


@dataclass(frozen=True, eq=False, repr=False)
class Net:
    """A neural network (S, H, W, Y). Rules make it; the constructor itself takes its arguments on trust.

    Each of the four is kept in the order of its making, in which the neurons can be computed, and compared as a set.
    """

    S: tuple[str, ...]
    H: tuple[Neuron, ...]
    W: tuple[WeightingConnection, ...]

    @cached_property
    def Y(self) -> tuple[Output, ...]:
        """The outputs: one for every vertex of S ∪ H."""
        entering: dict[str, list[WeightingConnection]] = {neuron.name: [] for neuron in self.H}
        for connection in self.W:
            entering[connection.front].append(connection)
        inputs = (Output(name) for name in self.S)
        return (*inputs, *(Output(neuron.name, neuron, tuple(entering[neuron.name])) for neuron in self.H))

    @cached_property
    def vertices(self) -> tuple[str, ...]:
        """S ∪ H, by name: the inputs first, then the neurons in the order of their making."""
        return (*self.S, *(neuron.name for neuron in self.H))

    @cached_property
    def members(self) -> frozenset[str]:
        """S ∪ H, to look a name up in."""
        return frozenset(self.vertices)

    def graph(self) -> Graph:
        """Give the directed graph representation: V = S ∪ H, E = {z→h}."""
        return Graph(self.vertices, tuple((w.back, w.front) for w in self.W))

    def evaluate(self, values: Mapping[str, float]) -> dict[str, float]:
        """Compute the output of every vertex from a value for every input."""
        if missing := [name for name in self.S if name not in values]:
            raise TheoryError(f"the input {missing[0]} has no value; the inputs are {some(self.S)}")
        if strange := [name for name in values if name not in self.S]:
            raise TheoryError(f"{strange[0]!r} is no input; the inputs are {some(self.S)}")
        computed: dict[str, float] = {}
        for output in self.Y:
            if output.neuron is None:
                computed[output.vertex] = _finite(values[output.vertex], f"the value of {output.vertex}")
                continue
            terms = (w.strength * computed[w.back] for w in output.entering)
            try:
                total = math.fsum((*terms, output.neuron.bias))
            except (OverflowError, ValueError):
                total = math.nan
            if not math.isfinite(total):
                raise TheoryError(f"the weighted sum of {output.vertex} is too large for a real number of 64 bits")
            computed[output.vertex] = ACTIVATIONS[output.neuron.activation](total)
        return computed

    def __eq__(self, other: object) -> bool:
        """Equal networks have equal sets S, H and W; Y follows from them."""
        return self._sets == other._sets if isinstance(other, Net) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._sets)

    @cached_property
    def _sets(self) -> tuple[frozenset[str], frozenset[Neuron], frozenset[WeightingConnection]]:
        return frozenset(self.S), frozenset(self.H), frozenset(self.W)

    def __repr__(self) -> str:
        return f"<Net: |S| = {len(self.S)}, |H| = {len(self.H)}, |W| = {len(self.W)}>"


@dataclass(frozen=True)
class Rules:
    """The four rules over the variables X and the activation functions F. Without X, every name may be a variable."""

    X: frozenset[str] | None = None
    F: tuple[str, ...] = tuple(ACTIVATIONS)

    def variable(self, z: str) -> Net:
        """Rule of variable: S = {z}, H = ∅, W = ∅, Y = {y_z}."""
        self._require_variables("variable", (z,))
        return Net((z,), (), ())

    def neuron(
        self, h: str, S: Sequence[str], *, f: str = "relu", b: float = 0.0, w: Sequence[float] | None = None
    ) -> Net:
        """Rule of neuron: a new neuron h on a nonempty set S of variables."""
        where = f"rule of neuron for {h}"
        if not S:
            raise RuleError(f"{where}: S is empty; a neuron needs one variable at least")
        self._require_variables("neuron", S)
        _require_once(where, S)
        made, connections = self._make(where, h, S, frozenset(S), f, b, w)
        return Net(tuple(S), (made,), connections)

    def growth(
        self, net: Net, h: str, N: Sequence[str], *, f: str = "relu", b: float = 0.0, w: Sequence[float] | None = None
    ) -> Net:
        """Rule of growth: a new neuron h on a nonempty set N of vertices of one network."""
        where = f"rule of growth for {h}"
        if not N:
            raise RuleError(f"{where}: N is empty; choose one vertex of the network at least")
        _require_once(where, N)
        _require_inside(where, "N", N, net)
        made, connections = self._make(where, h, N, net.members, f, b, w)
        return Net(net.S, (*net.H, made), (*net.W, *connections))

    def convergence(
        self,
        nets: Sequence[Net],
        h: str,
        A: Sequence[Sequence[str]],
        *,
        f: str = "relu",
        b: float = 0.0,
        w: Sequence[float] | None = None,
    ) -> Net:
        """Rule of convergence: a new neuron h on nonempty sets A_k of vertices of K ≥ 1 networks that share nothing.

        The strengths w follow A_1, A_2, … one after the other. With K = 1 this is the rule of growth.
        """
        where = f"rule of convergence for {h}"
        if not nets:
            raise RuleError(f"{where}: K = 0; give one network at least")
        if len(A) != len(nets):
            raise RuleError(f"{where}: there are {len(nets)} networks and {len(A)} sets A_k; give one set for each")
        owner: dict[str, int] = {}
        for k, (net, chosen) in enumerate(zip(nets, A, strict=True), 1):
            if shared := [name for name in net.vertices if name in owner]:
                raise RuleError(
                    f"{where}: the networks {owner[shared[0]]} and {k} share {some(shared)}; networks that converge "
                    "have no vertex in common: within one network the rule is growth"
                )
            owner.update(dict.fromkeys(net.vertices, k))
            if not chosen:
                raise RuleError(f"{where}: A_{k} is empty; choose one vertex of network {k} at least")
            _require_once(where, chosen)
            _require_inside(where, f"A_{k}", chosen, net)
        N = [name for chosen in A for name in chosen]
        made, connections = self._make(where, h, N, owner, f, b, w)
        return Net(
            tuple(name for net in nets for name in net.S),
            (*(neuron for net in nets for neuron in net.H), made),
            (*(connection for net in nets for connection in net.W), *connections),
        )

    def _require_variables(self, rule: str, names: Sequence[str]) -> None:
        if self.X is not None and (strange := [name for name in names if name not in self.X]):
            raise RuleError(f"rule of {rule}: {some(strange)} is no variable of X = {{{some(sorted(self.X))}}}")

    def _make(
        self, where: str, h: str, N: Sequence[str], taken: Collection[str], f: str, b: float, w: Sequence[float] | None
    ) -> tuple[Neuron, tuple[WeightingConnection, ...]]:
        if h in taken:
            raise RuleError(f"{where}: {h} is not new; choose a name that no vertex of the network has")
        if self.X is not None and h in self.X:
            raise RuleError(f"{where}: {h} is a variable of X; a neuron has a name of its own")
        if f not in self.F or f not in ACTIVATIONS:
            raise RuleError(f"{where}: there is no activation function {f!r} in F = {{{', '.join(self.F)}}}")
        strengths = [1.0] * len(N) if w is None else list(w)
        if len(strengths) != len(N):
            raise RuleError(
                f"{where}: there are {len(N)} connections and {len(strengths)} strengths; give one for each"
            )
        connections = (
            WeightingConnection(z, h, _finite(strength, f"{where}: the strength of {z}→{h}"))
            for z, strength in zip(N, strengths, strict=True)
        )
        return Neuron(h, f, _finite(b, f"{where}: the bias")), tuple(connections)


def _finite(value: float, what: str) -> float:
    if not math.isfinite(value):
        raise RuleError(f"{what} must be a real number, not {value}")
    return float(value)


def _require_once(where: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise RuleError(f"{where}: {name} is named twice; there is one connection between two vertices")
        seen.add(name)


def _require_inside(where: str, what: str, names: Iterable[str], net: Net) -> None:
    if strange := [name for name in names if name not in net.members]:
        raise RuleError(
            f"{where}: {what} is not inside the network: it has no {some(strange)}; its vertices are "
            f"{some(net.vertices)}"
        )


ANY = Rules()
"""The rules over every variable and every activation function."""
variable = ANY.variable
neuron = ANY.neuron
growth = ANY.growth
convergence = ANY.convergence
