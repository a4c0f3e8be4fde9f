"""A graph that is another one but for a few edges: what is known of the old one is carried over, not found again.

Order, levels, parts and layers of the new graph are those that it would have if it were looked at alone. Dictionaries
and tuples are copied whole, which is quick; only vertices that the change reaches are walked over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from heapq import heappop, heappush

from inkcap.theory.graphs import Graph, classify, layers_of
from inkcap.theory.joining import changed_parts

NEVER = 1 << 60
MANY = 8
"""When more than one vertex in so many changes its layer, layers are made anew."""


def changed(
    old: Graph,
    vertices: tuple[str, ...],
    edges: tuple[tuple[str, str], ...],
    predecessors: Mapping[str, list[str]],
    successors: Mapping[str, list[str]],
) -> Graph:
    """Give the graph with these vertices and edges.

    ``predecessors`` and ``successors`` are those of all vertices that are new or have other edges than in the old
    graph; vertices that both graphs have must stand in the same order.
    """
    graph = Graph(vertices, edges)
    facts = vars(graph)  # Properties that are found once are kept here.
    if old.vertices == vertices:
        facts["known"] = old.known
    gone = [vertex for vertex in old.vertices if vertex not in graph.known] if old.vertices != vertices else []
    facts["predecessors"] = _updated(old.predecessors, predecessors, gone)
    facts["successors"] = _updated(old.successors, successors, gone)
    touched = {*predecessors, *successors}
    if not any((v in old.known) != (v in graph.known) or _role(old, v) != _role(graph, v) for v in (*touched, *gone)):
        facts["inputs"], facts["outputs"] = old.inputs, old.outputs
    facts["order"] = _order(old, graph, touched, gone)
    facts["positions"] = old.positions if graph.order is old.order else _numbered(graph.order)
    moved = _carry_levels(old, graph, touched, gone)
    facts["numbered_parts"] = changed_parts(old, graph, touched, gone)
    if len(graph.order) == len(vertices) and "classification" in vars(old):
        layers = old.classification.layers
        if moved or vertices != old.vertices:
            layers = _layers(old, graph, moved, gone)
        facts["classification"] = classify(graph, layers)
    return graph


def _updated(old: Mapping[str, list[str]], new: Mapping[str, list[str]], gone: Collection[str]) -> dict[str, list[str]]:
    found = {**old, **new}
    for vertex in gone:
        del found[vertex]
    return found


def _numbered(vertices: tuple[str, ...]) -> dict[str, int]:
    return dict(zip(vertices, range(len(vertices)), strict=True))


def _role(graph: Graph, vertex: str) -> tuple[bool, bool]:
    return bool(graph.predecessors.get(vertex)), bool(graph.successors.get(vertex))


# Order -------------------------------------------------------------------------------------------------------


def _released(predecessors: Collection[str] | None, positions: Mapping[str, int]) -> int:
    """Tell at which place the last predecessor of a vertex is taken, before the first for an input."""
    if predecessors is None:
        return NEVER
    return max([positions.get(back, NEVER) for back in predecessors], default=-1)


def _order(old: Graph, new: Graph, touched: Collection[str], gone: Collection[str]) -> tuple[str, ...]:
    """Take up the old order where the new one leaves it first, and give it back where it comes to the same again."""
    start = _parting(old, new, (*touched, *gone))
    if start == NEVER:
        return old.order
    places = old.positions
    first = max(start, 0)
    order = list(old.order[:first])
    if start < 0:
        queue = deque(new.inputs)
    else:
        end = first
        while end < len(old.order) and _released(old.predecessors[old.order[end]], places) < first:
            end += 1
        queue = deque(old.order[first:end])
    taken: set[str] = set()
    waiting: dict[str, int] = {}
    removed = set(gone)
    ahead = {v for v in (*touched, *gone) if v not in old.known or places.get(v, NEVER) >= first}
    passed, odd = first, set[str]()
    while queue:
        vertex = queue.popleft()
        order.append(vertex)
        for front in new.successors[vertex]:
            if front not in waiting:
                backs = new.predecessors[front]
                waiting[front] = sum([1 for b in backs if b not in taken and places.get(b, NEVER) >= first])
            waiting[front] -= 1
            if not waiting[front]:
                queue.append(front)
        taken.add(vertex)
        ahead.discard(vertex)
        if vertex in old.known:
            odd ^= {vertex}
            passed = _pass_removed(old.order, passed, removed, ahead)
            if passed < len(old.order):
                odd ^= {old.order[passed]}
                passed += 1
        passed = _pass_removed(old.order, passed, removed, ahead)
        if not odd and not ahead and old.order[passed : passed + len(queue)] == tuple(queue):
            return (*order, *old.order[passed:])
    return tuple(order)


def _pass_removed(order: tuple[str, ...], passed: int, removed: set[str], ahead: set[str]) -> int:
    while passed < len(order) and order[passed] in removed:
        ahead.discard(order[passed])
        passed += 1
    return passed


def _parting(old: Graph, new: Graph, touched: Collection[str]) -> int:
    """Find the first place at which the two orders may part: -1 when they do from the inputs on."""
    places, found = old.positions, NEVER
    for vertex in touched:
        before = _released(old.predecessors.get(vertex), places)
        after = _released(new.predecessors.get(vertex), places)
        if before != after or (vertex in old.known) != (vertex in new.known):
            found = min(found, before, after)
    for vertex in touched:
        place = places.get(vertex, NEVER)
        if place < found and vertex in new.known and _lets_go(old, vertex, place) != _lets_go(new, vertex, place, old):
            found = place
    return found


def _lets_go(graph: Graph, vertex: str, place: int, old: Graph | None = None) -> list[str]:
    """Give the vertices whose last predecessor a vertex is, as they come into the order."""
    places = (old or graph).positions
    last = list(dict.fromkeys(reversed(graph.successors[vertex])))
    return [front for front in reversed(last) if _released(graph.predecessors[front], places) == place]


# Levels and layers -------------------------------------------------------------------------------------------


def _carry_levels(old: Graph, new: Graph, touched: Collection[str], gone: Collection[str]) -> dict[str, int | None]:
    """Find the levels of the new graph, and give the vertices whose level is another one, with the old one."""
    levels = dict(old.levels)
    moved: dict[str, int | None] = {vertex: levels.pop(vertex, None) for vertex in gone}
    places = new.positions
    dirty = set(touched)
    if len(old.order) != len(old.vertices) or len(new.order) != len(new.vertices):
        dirty |= old.positions.keys() ^ places.keys()
    heap: list[tuple[int, str]] = []
    for vertex in dirty:
        if vertex in places:
            heappush(heap, (places[vertex], vertex))
        elif vertex in levels:
            moved[vertex] = levels.pop(vertex)
    done: set[str] = set()
    while heap:
        vertex = heappop(heap)[1]
        if vertex in done:
            continue
        done.add(vertex)
        level = 1 + max([levels[back] for back in new.predecessors[vertex]], default=-1)
        before = levels.get(vertex)
        if level != before:
            moved[vertex], levels[vertex] = before, level
            for front in new.successors[vertex]:
                if front in places:
                    heappush(heap, (places[front], front))
    if moved:
        vars(new)["levels"] = levels
    else:
        vars(new).update(levels=old.levels, depth=old.depth)
    return moved


def _layers(
    old: Graph, new: Graph, moved: Mapping[str, int | None], gone: Collection[str]
) -> tuple[tuple[str, ...], ...]:
    if len(moved) * MANY > len(new.vertices):
        return layers_of(new)
    layers = [*old.classification.layers]
    layers += [()] * (new.depth + 1 - len(layers))
    leaving: dict[int, set[str]] = {}
    joining: dict[int, list[str]] = {}
    for vertex, before in moved.items():
        if before is not None:
            leaving.setdefault(before, set()).add(vertex)
        if vertex not in gone:
            joining.setdefault(new.levels[vertex], []).append(vertex)
    index = _numbered(new.vertices) if joining else {}
    for level in {*leaving, *joining}:
        left = leaving.get(level, set())
        members = [vertex for vertex in layers[level] if vertex not in left]
        if level in joining:
            members = sorted([*members, *joining[level]], key=index.__getitem__)
        layers[level] = tuple(members)
    return tuple(layers[: new.depth + 1 if new.vertices else 0])
