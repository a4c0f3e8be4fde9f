"""Scopes: which steps of a program belong to which block, and in which order a block does them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from inkcap.exchange.instances import ROOT, Instances
from inkcap.operations import Step
from inkcap.program import Lowered


class NoBlock(Exception):
    """Instances of groups that cannot be blocks, and why."""

    def __init__(self, paths: Iterable[str], reason: str) -> None:
        """Say which instances, by their paths."""
        super().__init__(reason)
        self.paths, self.reason = tuple(paths), reason


@dataclass(frozen=True)
class Item:
    """Something that a block does: a step of its own, or a call of one block or of a row of blocks."""

    first: int
    step: Step | None = None
    blocks: tuple[str, ...] = ()


class Scopes:
    """The steps of a program by the block that does them; instances in ``flat`` belong to what is around them."""

    def __init__(self, lowered: Lowered, instances: Instances, flat: Iterable[str]) -> None:
        """Sort every needed step into its block."""
        self.lowered, self.program, self.instances = lowered, lowered.program, instances
        self.flat = frozenset(flat)
        self.weight_of = {number: name for name, number in self.program.weights.items()}
        self.entering = _last_inputs(lowered)
        self.steps: dict[str, list[Step]] = {ROOT: []}
        self.scope: dict[int, str] = dict.fromkeys(self.program.inputs.values(), ROOT)
        self.users: dict[int, list[int]] = {}
        for step in lowered.steps:
            if step.target in lowered.inside:
                continue
            self.scope[step.target] = self._scope_of(step)
            self.steps.setdefault(self.scope[step.target], []).append(step)
            for argument in self.arguments(step):
                self.users.setdefault(argument, []).append(step.target)
        self.steps_inside: dict[str, list[Step]] = {}
        self.paths = self._living()
        self._check_weights()

    def arguments(self, step: Step) -> tuple[int, ...]:
        """Give the values that a step is printed with, without weights and states."""
        alias = self.lowered.aliases.get(step.target)
        if alias is not None:
            return (alias,)
        layer = self.lowered.layers.get(step.target)
        if layer is not None:
            return (layer.argument,)
        return tuple(number for number in step.arguments if number in self.scope)

    def stored(self, step: Step) -> tuple[str, ...]:
        """Give the names of the weights that a step is printed with."""
        layer = self.lowered.layers.get(step.target)
        if layer is not None:
            return tuple(layer.held.values())
        if step.target in self.lowered.aliases:
            return ()
        return tuple(self.weight_of[number] for number in step.arguments if number in self.weight_of)

    def parent(self, path: str) -> str:
        """Give the block around an instance."""
        path = self.instances.by_path[path].parent
        while path in self.flat:
            path = self.instances.by_path[path].parent
        return path

    def within(self, number: int, path: str) -> bool:
        """Tell whether a value is made by a block or by one inside of it."""
        return self.scope[number].startswith(path)

    def all_steps(self, path: str) -> list[Step]:
        """Give the steps of a block and of those inside of it, in order."""
        if path not in self.steps_inside:
            found = [step for scope, steps in self.steps.items() if scope.startswith(path) for step in steps]
            self.steps_inside[path] = sorted(found, key=lambda step: step.target)
        return self.steps_inside[path]

    def inputs(self, path: str) -> list[int]:
        """Give the values that a block takes, in the order in which it uses them."""
        if path == ROOT:
            return list(self.program.inputs.values())
        used = (number for step in self.all_steps(path) for number in self.arguments(step))
        return list(dict.fromkeys(number for number in used if not self.within(number, path)))

    def outputs(self, path: str) -> list[int]:
        """Give the values that a block makes for others."""
        if path == ROOT:
            return list(self.lowered.returned)
        returned = set(self.lowered.returned)
        made = (step.target for step in self.all_steps(path))
        return [
            number
            for number in made
            if number in returned or any(not self.within(user, path) for user in self.users.get(number, ()))
        ]

    def children(self, path: str) -> list[str]:
        """Give the blocks right inside of one."""
        return [inner for inner in self.paths if self.parent(inner) == path]

    def levels(self) -> list[list[str]]:
        """Give the blocks from the inside outwards: first those that have none inside, then those around them."""
        heights: dict[str, int] = {}
        for path in sorted(self.paths, key=len, reverse=True):
            heights[path] = 1 + max((heights[inner] for inner in self.children(path)), default=0)
        return [[path for path in self.paths if heights[path] == height] for height in sorted(set(heights.values()))]

    def order(self, path: str) -> list[Item]:
        """Give what a block does, each after what it needs, otherwise as the program does."""
        rows = self._rows(path)
        items = [Item(step.target, step) for step in self.steps.get(path, ())]
        items += [Item(self.all_steps(row[0])[0].target, blocks=row) for row in rows]
        made_by = {item.step.target: item for item in items if item.step is not None}
        for item in items:
            for block in item.blocks:
                made_by.update({step.target: item for step in self.all_steps(block)})
        waiting: dict[int, set[int]] = {}
        leads_to: dict[int, list[Item]] = {}
        for item in items:
            steps = [item.step] if item.step else [s for block in item.blocks for s in self.all_steps(block)]
            used = {number for step in steps for number in self.arguments(step)}
            needs = {made_by[n].first for n in used if n in made_by} - {item.first}
            waiting[item.first] = needs
            for first in needs:
                leads_to.setdefault(first, []).append(item)
        ready = [(item.first, item) for item in items if not waiting[item.first]]
        heapq.heapify(ready)
        ordered: list[Item] = []
        while ready:
            _, item = heapq.heappop(ready)
            ordered.append(item)
            for after in leads_to.get(item.first, ()):
                waiting[after.first].discard(item.first)
                if not waiting[after.first]:
                    heapq.heappush(ready, (after.first, after))
        if len(ordered) < len(items):
            stuck = [b for item in items if waiting[item.first] for b in item.blocks]
            raise NoBlock(stuck, "something outside lies on the way from one of its capsules to another")
        return ordered

    def draws(self, step: Step) -> bool:
        """Tell whether a step draws random numbers in training."""
        layer = self.lowered.layers.get(step.target)
        worn = layer is not None and layer.worn is not None and not layer.held
        return worn or step.operation.name == "random_mask"

    def row_is_plain(self, blocks: Sequence[str]) -> bool:
        """Tell whether blocks stand in a row, each given only what the one before makes for it alone."""
        for before, after in pairwise(blocks):
            made = self.outputs(before)
            if len(made) != 1 or self.inputs(after) != made or made[0] in self.lowered.returned:
                return False
            if not all(self.within(user, after) for user in self.users[made[0]]):
                return False
        return all(len(self.inputs(b)) == len(self.outputs(b)) == 1 for b in blocks)

    def _rows(self, path: str) -> list[tuple[str, ...]]:
        rows: dict[str, list[str]] = {}
        for inner in self.children(path):
            rows.setdefault(self.instances.by_path[inner].row, []).append(inner)
        found: list[tuple[str, ...]] = []
        for row in rows.values():
            tied = self.instances.by_path[row[0]].use.tie
            plain = len(row) > 1 and not tied and self.row_is_plain(row)
            found += [tuple(row)] if plain else [(inner,) for inner in row]
        return found

    def _scope_of(self, step: Step) -> str:
        owner = self.program.owners[step.target]
        path = self.instances.home.get(owner, ROOT)
        while path in self.flat:
            path = self.instances.by_path[path].parent
        # What joins connections from outside before they enter is a thing of the outside.
        joins = step.target not in self.lowered.layers and not self.stored(step)
        if joins and step.target <= self.entering.get(owner, -1):
            while path and owner in self.instances.doors[path] and not self._inside_any(step, path):
                path = self.parent(path)
        return path

    def _inside_any(self, step: Step, path: str) -> bool:
        return any(self.within(number, path) for number in self.arguments(step))

    def _living(self) -> list[str]:
        """Give the instances that do anything and are blocks."""
        alive = {
            path[: end + 1] for path in self.steps for end, letter in enumerate(path) if letter == "."
        } & self.instances.by_path.keys()
        return [path for path in self.instances.by_path if path in alive and path not in self.flat]

    def stored_inside(self, path: str) -> list[str]:
        """Give the names of the weights that a block uses, in order."""
        return list(dict.fromkeys(name for step in self.all_steps(path) for name in self.stored(step)))

    def _check_weights(self) -> None:
        """Refuse blocks that share only some of their weights with others."""
        users: dict[str, set[str]] = {}
        for path, steps in self.steps.items():
            for step in steps:
                for name in self.stored(step):
                    users.setdefault(name, set()).add(path)
        for name, scopes in users.items():
            if len(scopes) == 1:
                continue
            tops = {self._top(path, scopes) for path in scopes}
            alike = ROOT not in tops and len({self.parent(top) for top in tops} if tops else ()) == 1
            if alike:
                alike = len({self.instances.by_path[top].group.id for top in tops}) == 1
                alike = alike and len({tuple(self.stored_inside(top)) for top in tops}) == 1
            if not alike:
                shared = [path for path in self.paths if any(scope.startswith(path) for scope in scopes)]
                raise NoBlock(shared, f"the weight {name} is shared with something outside")

    def _top(self, path: str, scopes: set[str]) -> str:
        """Go up from a block while only it has the weight."""
        while path and not all(scope.startswith(self.parent(path)) for scope in scopes):
            path = self.parent(path)
        return path


def _last_inputs(lowered: Lowered) -> dict[str, int]:
    found: dict[str, int] = {}
    for socket, number in lowered.program.total_inputs.items():
        for owner in (socket, socket.rpartition(".")[0]):
            found[owner] = max(found.get(owner, -1), number)
    return found
