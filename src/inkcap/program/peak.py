"""The fullest moment of a training step, walked through on a lowered program: forwards, and back in reverse.

Nothing is computed: every value is a number of bytes that is there from the step that makes it to the last one that
needs it, as in the printed module under autograd.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from inkcap.operations import Step
from inkcap.program.kept import PARTS, Kept, Sized, kept_of
from inkcap.program.layers import Layer, Lowered
from inkcap.structures import BYTES, FLOATING, Shape, product


@dataclass(frozen=True)
class Moment:
    """What is there at the fullest moment of a step, in bytes, beside weights and what is remembered of them."""

    gradients: int
    """Gradients of weights."""
    values: int
    """Everything else: the batch, values that are kept, their gradients, and what is needed for the moment."""

    @property
    def total(self) -> int:
        """All of it."""
        return self.gradients + self.values


def fullest_moment(
    lowered: Lowered,
    batch: int,
    learning: Collection[str],
    *,
    targets: int = 0,
    update: int = 0,
    lasting: bool = False,
    recomputed: Sequence[Collection[str]] = (),
) -> Moment:
    """Find the fullest moment of a step with so many samples, in which the named weights learn.

    ``targets`` are the bytes of what is to be learnt, ``update`` those that the optimiser needs for a moment beside
    gradients and what it remembers; ``lasting`` tells whether the loss keeps the memory of all its terms, as torch's
    mean squared error does; ``recomputed`` are sets of capsules whose values are let go and computed once more.
    """
    walk = _Walk(lowered, batch, learning, recomputed)
    walk.memory.make(targets)
    walk.forward(lasting)
    walk.backward()
    walk.memory.look(update)
    return walk.memory.fullest


@dataclass
class _Memory:
    """Storages: each has a size and some holders, and goes with the last of them."""

    sizes: list[int] = field(default_factory=list[int])
    holders: list[int] = field(default_factory=list[int])
    now: int = 0
    gradients: int = 0
    fullest: Moment = Moment(0, 0)

    def make(self, size: int) -> int:
        self.sizes.append(size)
        self.holders.append(1)
        self.now += size
        self.look()
        return len(self.sizes) - 1

    def hold(self, storage: int) -> int:
        self.holders[storage] += 1
        return storage

    def drop(self, storage: int) -> None:
        self.holders[storage] -= 1
        if self.holders[storage] == 0:
            self.now -= self.sizes[storage]

    def look(self, for_a_moment: float = 0.0) -> None:
        here = Moment(self.gradients, self.now + int(for_a_moment))
        if here.total > self.fullest.total:
            self.fullest = here


@dataclass
class _Done:
    """A step that was taken, with what it holds for the way back."""

    step: Step
    kept: Kept
    arguments: list[int]
    weights: list[int]
    """What a layer holds beside its arguments."""
    saved: list[int] = field(default_factory=list[int])
    let_go: list[int] = field(default_factory=list[int])
    """What it would hold if it were not computed once more."""
    backward: float = 0.0


class _Walk:
    def __init__(
        self, lowered: Lowered, batch: int, learning: Collection[str], recomputed: Sequence[Collection[str]]
    ) -> None:
        self.lowered, self.program, self.batch = lowered, lowered.program, batch
        self.memory = _Memory()
        self.forms: dict[int, tuple[Shape, str]] = {v.number: (v.shape, v.dtype) for v in self.program.trace.inputs}
        stored = {**self.program.weights, **self.program.states}
        self.fixed = set(stored.values())
        """Values that do not grow with the batch."""
        named = set(learning)
        self.leaves = {
            number
            for name, number in self.program.weights.items()
            if self.forms[number][1] in FLOATING and name in named
        }
        self.learning = set(self.leaves)
        """Values that have a gradient."""
        self.places: dict[int, int] = {}
        """The storages of values; weights have none."""
        self.turned: set[int] = set()
        self.done: list[_Done] = []
        self.returned = [self._real(number) for number in lowered.returned]
        self.slopes: dict[int, int] = {}
        self.weighed: set[int] = set()
        self.parts = {capsule: part for part, capsules in enumerate(recomputed) for capsule in capsules}
        self.inner: dict[int, int] = {}
        """The part in which a storage was made, where it is computed once more."""
        self.again: dict[int, dict[int, int]] = {}
        """By part: what stands for its storages when they are computed once more."""

    def _real(self, number: int) -> int:
        while number in self.lowered.aliases:
            number = self.lowered.aliases[number]
        return number

    def _bytes(self, number: int) -> int:
        shape, dtype = self.forms[number]
        size = product(shape)
        assert isinstance(size, int), "a network knows every size"
        return size * BYTES[dtype] * (1 if number in self.fixed else self.batch)

    def forward(self, lasting: bool) -> None:
        """Take the steps: what has a name lives until the function returns, what has none until it is used."""
        entering = set(self.program.inputs.values())
        for number in self.program.inputs.values():
            self.places[number] = self.memory.make(self._bytes(number))
        lowered, outputs = self.lowered, {self._real(number) for number in self.program.outputs.values()}
        taken = [s for s in lowered.steps if s.target not in lowered.inside and s.target not in lowered.aliases]
        uses: dict[int, int] = {}
        for step in taken:
            for number in self._arguments(step):
                uses[number] = uses.get(number, 0) + 1
        named = list[int]()
        for step in taken:
            done = self._take(step)
            self.done.append(done)
            target = step.target
            if target in outputs or uses.get(target, 0) > 1 or target in self.returned:
                named.append(self.memory.hold(self.places[target]))
            for number in done.arguments:
                uses[number] -= 1
                if uses[number] == 0 and number in self.places and number not in entering:
                    self.memory.drop(self.places[number])
            if not uses.get(target):
                self.memory.drop(self.places[target])
        self._lose(named, lasting)

    def _arguments(self, step: Step) -> list[int]:
        layer = self.lowered.layers.get(step.target)
        given = [layer.argument] if layer is not None and layer.worn is not None else step.arguments
        return [self._real(number) for number in given]

    def _take(self, step: Step) -> _Done:
        arguments, layer = self._arguments(step), self.lowered.layers.get(step.target)
        worn = None if layer is None else layer.worn
        kept = kept_of(step) if worn is None else PARTS.get(worn.part.part, Kept((0,), result=True))
        self.forms[step.target] = (step.shape, step.dtype)
        if kept.once or all(number in self.fixed for number in arguments):
            self.fixed.add(step.target)
        done = _Done(step, kept, arguments, self._held(layer, arguments))
        sized = Sized(step, self._bytes(step.target), [*map(self._bytes, arguments)], self.batch, BYTES[step.dtype])
        self._place(done, sized)
        self.memory.look(kept.forward(sized))
        gradual = not kept.flat and step.dtype in FLOATING
        if gradual and any(number in self.learning for number in (*arguments, *done.weights)):
            self.learning.add(step.target)
            self._keep(done, sized)
        return done

    def _held(self, layer: Layer | None, arguments: list[int]) -> list[int]:
        names = () if layer is None else layer.held.values()
        numbers = [self.program.weights[name] for name in names if name in self.program.weights]
        return [number for number in numbers if number in self.leaves and number not in arguments]

    def _place(self, done: _Done, sized: Sized) -> None:
        """Give the result its memory: that of the first argument where it is a view, unless it has to be copied."""
        target, first = done.step.target, done.arguments[0] if done.arguments else -1
        copied = done.step.operation.name == "reshape" and first in self.turned
        if not done.kept.view or copied or first not in self.places:
            self.places[target] = self.memory.make(sized.result)
            if not done.step.operation.drawn:
                self._note(done, self.places[target])
            return
        self.places[target] = self.memory.hold(self.places[first])
        if done.kept.turned or first in self.turned:
            self.turned.add(target)

    def _keep(self, done: _Done, sized: Sized) -> None:
        kept, arguments = done.kept, done.arguments
        wanted = [self.places[done.step.target]] if kept.result else []
        for place in kept.arguments:
            other = arguments[1 - place] if kept.crossed and len(arguments) > 1 else None
            if (other is None or other in self.learning) and arguments[place] in self.places:
                wanted.append(self.places[arguments[place]])
        part = self.parts.get(self.program.owners[done.step.target])
        for storage in wanted:
            if part is not None and self.inner.get(storage) == part:
                done.let_go.append(storage)
            else:
                done.saved.append(self.memory.hold(storage))
        more = int(kept.more(sized))
        if more:
            storage = self.memory.make(more)
            if part is None or kept.drawn:
                done.saved.append(storage)
            else:
                done.let_go.append(storage)
                self.memory.drop(storage)
        done.backward = kept.backward(sized)

    def _note(self, done: _Done, storage: int) -> None:
        part = self.parts.get(self.program.owners[done.step.target])
        if part is not None:
            self.inner[storage] = part

    def _compute_again(self, part: int) -> None:
        """Make everything that a part let go, but for what is still there."""
        made = self.again[part] = dict[int, int]()
        for done in self.done:
            if self.parts.get(self.program.owners[done.step.target]) != part:
                continue
            for storage in done.let_go:
                if storage in made:
                    done.saved.append(self.memory.hold(made[storage]))
                elif self.memory.holders[storage]:
                    done.saved.append(self.memory.hold(storage))
                else:
                    made[storage] = self.memory.make(self.memory.sizes[storage])
                    done.saved.append(made[storage])
            done.let_go.clear()

    def _lose(self, named: list[int], lasting: bool) -> None:
        """Take the losses, each of which keeps something of its output's size, when the names are gone."""
        returned = [self.memory.hold(self.places[number]) for number in self.returned]
        for storage in named:
            self.memory.drop(storage)
        losing = [self.memory.make(self._bytes(number)) for number in self.returned]
        for number in self.returned:
            if number in self.learning:
                self._arrive(number, self.memory.make(self._bytes(number)))
        self.memory.look(max(self.memory.sizes[storage] for storage in losing))
        # Only a single loss is itself what the way back starts from; of several there is the sum.
        if not lasting or len(losing) > 1:
            for storage in losing:
                self.memory.drop(storage)
        for storage in returned:
            self.memory.drop(storage)

    def backward(self) -> None:
        """Go back: gradients of values come and go, those of weights stay."""
        for done in reversed(self.done):
            slope = self.slopes.pop(done.step.target, None)
            part = self.parts.get(self.program.owners[done.step.target])
            if slope is not None and part is not None and part not in self.again:
                self._compute_again(part)
            if slope is not None:
                self._pass_on(done, slope)
                self.memory.drop(slope)
            for storage in done.saved:
                self.memory.drop(storage)

    def _pass_on(self, done: _Done, slope: int) -> None:
        made: list[tuple[int, int]] = []
        for number in dict.fromkeys((*done.arguments, *done.weights)):
            if number in self.leaves:
                self._weigh(number)
            elif number in self.learning:
                through = done.kept.through
                storage = self.memory.hold(slope) if through else self.memory.make(self._bytes(number))
                made.append((number, storage))
        self.memory.look(done.backward)
        for number, storage in made:
            self._arrive(number, storage)

    def _weigh(self, number: int) -> None:
        """Let the gradient of a weight come, which stays; a second one and their sum are there for a moment."""
        size = self._bytes(number)
        if number in self.weighed:
            self.memory.look(2 * size)
            return
        self.weighed.add(number)
        self.memory.gradients += size
        self.memory.look()

    def _arrive(self, number: int, storage: int) -> None:
        """Let a gradient reach its value; of a second one the sum is made, in memory of its own."""
        there = self.slopes.get(number)
        if there is None:
            self.slopes[number] = storage
            return
        self.slopes[number] = self.memory.make(self._bytes(number))
        self.memory.drop(there)
        self.memory.drop(storage)
