"""Edits of groups: a selection becomes a group, a use is dissolved, a group is opened and saved for other drawings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from inkcap.drawing.codec import DrawingError
from inkcap.drawing.document import Drawing
from inkcap.drawing.edits import Edit, Patch, Put, Remove
from inkcap.drawing.fields import fresh_id, read_id
from inkcap.drawing.flattening import flatten, open_use
from inkcap.drawing.groups import Group, Use
from inkcap.drawing.records import Capsule, Connection, Position
from inkcap.symbols import suggest

DOOR_DISTANCE = 110.0
"""How far from the others, and from each other, the inputs of a new group lie."""


def make_group(drawing: Drawing, ids: Iterable[str], name: str, use_id: str = "") -> str:
    """Make a group of some vertices of a drawing and let a use of it stand in their place; give the use's id.

    What enters them from one capsule outside becomes one input; what others read becomes an output. The network stays
    as it is.
    """
    chosen = list(dict.fromkeys(ids))
    for id in chosen:
        drawing.check_vertex(id)
    if not chosen:
        raise DrawingError("a group needs something inside: choose capsules")
    if name in drawing.groups:
        raise DrawingError(f"there is a group {name!r} already; choose another name, or dissolve its uses first")
    read_id(name, "group")
    if drawing.plain is not None and not {*drawing.plain.reads, *drawing.plain.writes}.isdisjoint(chosen):
        raise DrawingError("a capsule that neurons in columns read from or write into stays outside of groups")
    _check_ties(drawing, set(chosen))
    making = _Making(drawing, chosen)
    use = read_id(use_id, "use") if use_id else drawing.fresh_vertex(name)
    group = Group(
        name,
        {},
        (*making.doors, *(drawing.capsules[id] for id in chosen if id in drawing.capsules)),
        tuple(making.inside),
        tuple(drawing.uses[id] for id in chosen if id in drawing.uses),
        {door.id: door.id for door in making.doors},
        making.outputs,
        positions=_places(drawing, chosen, making),
    )
    patches: list[Patch] = [Remove("connection", id) for id in making.gone]
    patches += [Remove("capsule" if id in drawing.capsules else "use", id) for id in chosen]
    patches += [Remove("position", id) for id in chosen if id in drawing.positions]
    patches += [Put(group), Put(Use(use, name))]
    patches += [Put(replace(c, front=use) if c.front == "" else replace(c, back=use)) for c in making.outside]
    if place := next((drawing.positions[id] for id in chosen if id in drawing.positions), None):
        patches.append(Put(replace(place, id=use)))
    drawing.apply(Edit(f"group {', '.join(chosen)} as {name}", tuple(patches)))
    return use


def _places(drawing: Drawing, chosen: list[str], making: _Making) -> dict[str, Position]:
    """Let what goes into a group lie as it lay outside; an input lies before the first that it enters."""
    places = {id: drawing.positions[id] for id in chosen if id in drawing.positions}
    if not places:
        return {}
    left = min(place.x for place in places.values()) - DOOR_DISTANCE
    for number, door in enumerate(making.doors):
        entered = next(c.front for c in making.inside if c.back == door.id)
        y = places[entered].y if entered in places else DOOR_DISTANCE * number
        taken = [place.y for place in places.values() if place.x == left]
        while any(abs(y - other) < DOOR_DISTANCE for other in taken):
            y += DOOR_DISTANCE
        places[door.id] = Position.near(door.id, left, y)
    return places


def _check_ties(drawing: Drawing, chosen: set[str]) -> None:
    """Refuse to part what shares weights: a tie inside of a group is the group's own."""
    lines = drawing.connections.values()
    goes = {c.id for c in lines if c.front in chosen}
    inside = {c.tie for c in lines if c.id in goes} | {drawing.tie_of(id) for id in chosen}
    outside = {c.tie for c in lines if c.id not in goes}
    outside |= {drawing.tie_of(id) for id in (*drawing.capsules, *drawing.uses) if id not in chosen}
    if parted := sorted((inside & outside) - {""}):
        raise DrawingError(
            f"what is tied as {parted[0]!r} would stand inside and outside of the group and share no weights any more: "
            "choose all of it, or none"
        )


class _Making:
    """What a selection becomes: inputs that stand for capsules outside, connections inside, and lines to the use."""

    def __init__(self, drawing: Drawing, chosen: list[str]) -> None:
        self.drawing = drawing
        self.doors: list[Capsule] = []
        self.inside: list[Connection] = []
        self.outside: list[Connection] = []
        self.outputs: dict[str, str] = {}
        self.gone: list[str] = []
        taken = {*chosen}
        self.door_of: dict[tuple[str, str], str] = {}
        self.output_of: dict[tuple[str, str], str] = {}
        for connection in drawing.connections.values():
            back, front = connection.back in taken, connection.front in taken
            if not back and not front:
                continue
            self.gone.append(connection.id)
            if back and front:
                self.inside.append(connection)
            elif front:
                self._enter(connection, taken)
            else:
                self._leave(connection)
        # What nothing leaves is an output of the network, and so of the group.
        left = {connection.back for connection in drawing.connections.values()}
        for id in chosen:
            if id in drawing.capsules and id not in left:
                self.outputs[fresh_id(id, set(self.outputs))] = id

    def _enter(self, connection: Connection, taken: set[str]) -> None:
        source = (connection.back, connection.output)
        if source not in self.door_of:
            giver = self.drawing.giver(*source)
            if giver is None:
                raise DrawingError(f"{connection.back} gives nothing that could enter a group")
            door = fresh_id(f"{connection.back}-in", {*taken, *self.door_of.values()})
            self.door_of[source] = door
            self.doors.append(Capsule(door, "identical", giver.output_rank))
            wire = fresh_id(f"{connection.back}-{door}", {*self.drawing.connections, *(c.id for c in self.outside)})
            self.outside.append(Connection(wire, "transfer", source[0], "", port=door, output=source[1]))
        self.inside.append(replace(connection, back=self.door_of[source], output=""))

    def _leave(self, connection: Connection) -> None:
        source = (connection.back, connection.output)
        if source not in self.output_of:
            port = fresh_id(source[1] or source[0], set(self.outputs))
            if source[1] and port != source[1]:
                raise DrawingError(
                    f"two outputs of the group would be called {source[1]!r}; group {source[0]} without the other first"
                )
            self.output_of[source] = port
            self.outputs[port] = source[0]
        self.outside.append(replace(connection, back="", output=self.output_of[source]))


def dissolve(drawing: Drawing, id: str) -> list[str]:
    """Put what a use stands for in its place, by one level; give the ids of the new vertices."""
    drawing.check_vertex(id)
    if id not in drawing.uses:
        raise DrawingError(f"{id!r} is a capsule; only a use of a group can be dissolved")
    use = drawing.uses[id]
    sharing = [other.id for other in _all_uses(drawing) if use.tie and other.tie == use.tie and other is not use]
    if sharing:
        raise DrawingError(
            f"{id} shares its weights as {use.tie!r} with {', '.join(sharing)}: dissolved, it would not; untie it first"
        )
    opened = open_use(drawing, id)
    if opened.problems:
        raise DrawingError(f"{id} cannot be dissolved: {opened.problems[0].message}")
    edit, made = _difference(drawing, _renamed(opened.drawing, drawing), f"dissolve {id}")
    drawing.apply(replace(edit, patches=(*edit.patches, *_laid_down(drawing, use, made))))
    return made


def _laid_down(drawing: Drawing, use: Use, made: list[str]) -> list[Patch]:
    """Let what comes out of a group lie around the use's place as it lies inside; copies lie one behind another."""
    inner, place = drawing.groups[use.group].positions, drawing.positions.get(use.id)
    if not inner or place is None:
        return []
    xs, ys = [p.x for p in inner.values()], [p.y for p in inner.values()]
    wide, dx, dy = max(xs) - min(xs) + DOOR_DISTANCE, place.x - sum(xs) / len(xs), place.y - sum(ys) / len(ys)
    puts: list[Patch] = []
    for number in range(use.repeat):
        copy = f"{use.id}-{number}-" if use.repeat > 1 else f"{use.id}-"
        puts += [
            Put(Position.near(f"{copy}{id}", round(p.x + dx + number * wide, 1), round(p.y + dy, 1)))
            for id, p in inner.items()
            if f"{copy}{id}" in made
        ]
    return puts


def dissolve_all(drawing: Drawing) -> Drawing:
    """Give a drawing of its own without any group, with ids that a file may have."""
    flattened = flatten(drawing)
    if flattened.problems:
        raise DrawingError(f"the groups cannot be dissolved: {flattened.problems[0].message}")
    flat = flattened.drawing
    return _renamed(flat, Drawing()) if drawing.uses else flat.copy()


def inside(drawing: Drawing, name: str) -> Drawing:
    """Open a group: give its inside as a drawing with arguments; ``define`` puts it back, for all its uses."""
    group = _group(drawing, name)
    body = Drawing(group.label or name, drawing.dtype, arguments=group.arguments)
    needed = _needed(drawing, name)
    records = [*(Put(drawing.groups[id]) for id in needed if id != name), *map(Put, group.capsules)]
    records += [*map(Put, group.uses), *map(Put, group.connections), *map(Put, group.positions.values())]
    body.apply(Edit(f"open {name}", tuple(records)))
    body.start_history_here()
    return body


def extract_group(drawing: Drawing, name: str) -> Drawing:
    """Give a drawing that holds a group, and those that it uses, and nothing else: a file to keep it in."""
    _group(drawing, name)
    kept = Drawing(name, drawing.dtype)
    kept.apply(Edit(f"keep {name}", tuple(Put(drawing.groups[id]) for id in _needed(drawing, name))))
    kept.start_history_here()
    return kept


def take_groups(drawing: Drawing, other: Drawing, names: Iterable[str] = ()) -> list[str]:
    """Take groups of another drawing, all of them unless some are named, with those that they use."""
    wanted = list(names) or list(other.groups)
    if not wanted:
        raise DrawingError(f"{other.name!r} has no groups to take")
    needed = dict.fromkeys(id for name in wanted for id in _needed(other, _group(other, name).id))
    for id in needed:
        if id in drawing.groups and not drawing.groups[id].means_the_same(other.groups[id]):
            raise DrawingError(f"the drawing has another group {id!r} already; rename one of them")
    drawing.apply(Edit(f"take {', '.join(wanted)}", tuple(Put(other.groups[id]) for id in needed)))
    return list(needed)


def _group(drawing: Drawing, name: str) -> Group:
    if name not in drawing.groups:
        known = suggest(name, drawing.groups) if drawing.groups else "it has none"
        raise DrawingError(f"the drawing has no group {name!r}; {known}")
    return drawing.groups[name]


def _all_uses(drawing: Drawing) -> list[Use]:
    return [*drawing.uses.values(), *(use for group in drawing.groups.values() for use in group.uses)]


def _needed(drawing: Drawing, name: str) -> list[str]:
    """List a group and what it uses, those first."""
    found: dict[str, None] = {}
    waiting = [name]
    while waiting:
        id = waiting.pop()
        if id not in found:
            found[id] = None
            waiting.extend(use.group for use in drawing.groups[id].uses)
    return list(reversed(found))


def _renamed(flat: Drawing, original: Drawing) -> Drawing:
    """Give what was made ids that a file may have: ``stage.0.conv`` becomes ``stage-0-conv``."""
    legal = flat.copy()
    vertices = _names([*flat.capsules, *flat.uses], [*original.capsules, *original.uses])
    lines = _names(list(flat.connections), original.connections)
    tied = (*flat.capsules.values(), *flat.uses.values(), *flat.connections.values())
    ties = {"": "", **_names([record.tie for record in tied if record.tie], ())}
    legal.replace_graph(
        {vertices[id]: replace(c, id=vertices[id], tie=ties[c.tie]) for id, c in flat.capsules.items()},
        {
            lines[id]: replace(c, id=lines[id], back=vertices[c.back], front=vertices[c.front], tie=ties[c.tie])
            for id, c in flat.connections.items()
        },
        {vertices[id]: replace(u, id=vertices[id], tie=ties[u.tie]) for id, u in flat.uses.items()},
    )
    return legal


def _names(ids: list[str], taken: Iterable[str]) -> dict[str, str]:
    used = {*taken, *(id for id in ids if "." not in id)}
    named: dict[str, str] = {}
    for id in ids:
        if id not in named:
            named[id] = fresh_id(id.replace(".", "-"), used) if "." in id else id
            used.add(named[id])
    return named


def _difference(old: Drawing, new: Drawing, label: str) -> tuple[Edit, list[str]]:
    """Write what is different between two drawings as one edit."""
    patches: list[Patch] = []
    kinds: tuple[tuple[str, Mapping[str, Any], Mapping[str, Any]], ...] = (
        ("connection", old.connections, new.connections),
        ("capsule", old.capsules, new.capsules),
        ("use", old.uses, new.uses),
    )
    for kind, before, after in kinds:
        patches += [Remove(kind, id) for id in before if id not in after]
    gone = {*old.capsules, *old.uses} - {*new.capsules, *new.uses}
    patches += [Remove("position", id) for id in old.positions if id in gone]
    for _, before, after in reversed(kinds):
        patches += [Put(record) for id, record in after.items() if before.get(id) != record]
    made = [id for id in (*new.capsules, *new.uses) if id not in old.capsules and id not in old.uses]
    return Edit(label, tuple(patches)), made
