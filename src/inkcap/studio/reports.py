"""What the canvas shows of a checked drawing: the whole in numbers, and every capsule, connection and use of a group.

A report is told in full once; after that only what has changed in it, so that an edit of a large drawing says little.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from inkcap.drawing import Capsule, Connection, Mark, touched_between
from inkcap.network import CheckedCapsule, CheckedConnection, Report, WeightRecord
from inkcap.structures import Structure, show_shape
from inkcap.symbols import CapsuleSymbol, jsonable

Items = dict[str, dict[str, dict[str, Any]]]
"""By kind (capsules, connections, uses) and id what is told of each."""
KINDS = ("capsules", "connections", "uses")
SMALL = 400
"""Up to so many capsules and connections a report is told in full every time."""
MOST_NAMED = 100
"""How many inputs, outputs and hidden neurons in columns a report names."""
MOST_ALIKE = 20_000
"""How many descriptions are remembered to be shared."""


def outline_of(report: Report) -> dict[str, Any]:
    """Describe the drawing as a whole; every diagnostic has its number, by which its fix is asked for."""
    large = len(report.drawing.capsules) > SMALL
    told = report.outline(most=MOST_NAMED if large else None)
    if report.plain is not None:
        # Neurons in columns are as many as they are, and nobody reads their names.
        told |= {name: told[name][:MOST_NAMED] for name in ("inputs", "outputs", "hidden")}
    told["diagnostics"] = [{**one, "index": i} for i, one in enumerate(told["diagnostics"])]
    told["derivation"] = {"steps": report.capsule_count} if report.classification else None
    told["connected"] = not any(d.rule == "disconnected" for d in report.diagnostics)
    return told


class Telling:
    """What was told of each thing before: while its records are the same, so is what is told of it.

    Things that are alike are told by one and the same object, so that a large drawing is described by few.
    """

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._items: Items = {kind: {} for kind in KINDS}
        self._mark: Mark | None = None
        self._step: tuple[Items, Items, dict[str, set[str]]] | None = None
        self._alike: dict[Hashable, tuple[object, dict[str, Any]]] = {}
        self._sums = _Sums()

    def items(self, report: Report) -> Items:
        """Describe everything that is drawn, and what is inside of groups by its path."""
        if len(self._alike) > MOST_ALIKE:
            self._alike = {}
        touched = touched_between(self._mark, report.mark) if self._mark is not None else None
        before = self._items
        if touched is None:
            items: Items = {kind: {} for kind in KINDS}
            capsules = report.capsules
            self._sums = _Sums()
        else:
            items = {kind: dict(before[kind]) for kind in KINDS}
            capsules = {one.id: report.capsules[one.id] for one in touched if one.id in report.capsules}
            for one in touched:
                kind = f"{one.kind}s"
                if one.removed and one.id not in (report.capsules if kind == "capsules" else report.connections):
                    items[kind].pop(one.id, None)
        told = self._tell(report, capsules.values(), items)
        for one in touched or ():
            told[f"{one.kind}s"].add(one.id)
        items["uses"] = self._uses(report, items, told)
        if touched is not None:
            self._step = (before, items, told)
        self._items, self._mark = items, report.mark
        return items

    def _tell(self, report: Report, capsules: Iterable[CheckedCapsule], items: Items) -> dict[str, set[str]]:
        """Describe some capsules and what enters them, and give the ids of what was described."""
        drawn, found = report.drawing, {"capsules": set[str](), "connections": set[str]()}
        for capsule in capsules:
            if capsule.id not in drawn.capsules:
                continue
            for id in capsule.incoming:
                if id in drawn.connections:
                    items["connections"][id] = self._connection(report.connections[id], drawn.connections[id])
                    found["connections"].add(id)
            record = drawn.capsules[capsule.id]
            items["capsules"][capsule.id] = self._capsule(capsule, record, items["connections"])
            found["capsules"].add(capsule.id)
        return found

    def _uses(self, report: Report, items: Items, told: dict[str, set[str]]) -> dict[str, dict[str, Any]]:
        """Describe the uses of groups by what they hold, of which some may be told otherwise than before."""
        for kind, ids in told.items():
            for id in ids:
                if "." in id:
                    self._sums.exchange(kind, id, items[kind].get(id), report.capsules.get(id))
        drawn = report.drawn
        if drawn is None or not drawn.uses:
            return {}
        ends, capsules = report.ends, items["capsules"]
        return {
            id: {"output": capsules.get(ends.get(id, ""), {}).get("output"), **self._sums.of(id)} for id in drawn.uses
        }

    def change(self, old: Items, new: Items) -> tuple[Items, dict[str, list[str]]]:
        """Give what is new or different in a report, and what is no longer in it."""
        if self._step is None or self._step[0] is not old or self._step[1] is not new:
            return change_of(old, new)
        changed: Items = {}
        gone: dict[str, list[str]] = {}
        for kind in KINDS:
            ids = self._step[2][kind] if kind in self._step[2] else {*old[kind], *new[kind]}
            there = {id: new[kind][id] for id in ids if id in new[kind]}
            changed[kind] = {id: told for id, told in there.items() if _differ(old[kind].get(id), told)}
            gone[kind] = [id for id in ids if id in old[kind] and id not in new[kind]]
        return changed, gone

    # What a check finds of things that are alike has the same attributes, not only equal ones: that is how they are
    # known. The attributes are kept with what is told, so that no others can come to have their identity.

    def _connection(self, checked: CheckedConnection, record: Connection) -> dict[str, Any]:
        key = (id(checked.attributes), checked.back_end, checked.front_end, record.likeness, _inside(record))
        known = self._alike.get(key)
        if known is None:
            known = self._alike[key] = (checked.attributes, _connection(checked, record))
        return known[1]

    def _capsule(self, checked: CheckedCapsule, record: Capsule, lines: dict[str, dict[str, Any]]) -> dict[str, Any]:
        if checked.ports:
            return _capsule(checked, record, lines)
        entering = sum([lines[id]["multiply_adds"] for id in checked.incoming if id in lines])
        key = (
            id(checked.attributes),
            checked.total_input,
            checked.output,
            record.likeness,
            _inside(record),
            checked.bias_kind,
            entering,
        )
        known = self._alike.get(key)
        if known is None:
            known = self._alike[key] = (checked.attributes, _capsule(checked, record, lines))
        return known[1]


def items_of(report: Report) -> Items:
    """Describe everything that is drawn, without a memory of what was told before."""
    return Telling().items(report)


def change_of(old: Items, new: Items) -> tuple[Items, dict[str, list[str]]]:
    """Give what is new or different in a report, and what is no longer in it."""
    changed = {kind: {id: told for id, told in new[kind].items() if _differ(old[kind].get(id), told)} for kind in KINDS}
    gone = {kind: [id for id in old[kind] if id not in new[kind]] for kind in KINDS}
    return changed, gone


def packed(items: Items) -> dict[str, Any]:
    """Give a report's structures with every description once: ``alike`` has them, the things have their numbers."""
    numbers: dict[int, int] = {}
    alike: list[dict[str, Any]] = []
    structures: dict[str, dict[str, int]] = {}
    for kind in KINDS:
        structures[kind] = told = {}
        for name, item in items[kind].items():
            number = numbers.get(id(item))
            if number is None:
                number = numbers[id(item)] = len(alike)
                alike.append(item)
            told[name] = number
    return {"structures": structures, "alike": alike}


def told_whole(outline: dict[str, Any], items: Items) -> dict[str, Any]:
    """Tell a report in full, a large one in its packed form."""
    body = {"structures": items} if sum(map(len, items.values())) <= SMALL else packed(items)
    return {**outline, **body, "partial": False}


def told_change(telling: Telling, outline: dict[str, Any], items: Items, old: Items | None) -> dict[str, Any]:
    """Tell a report in full, or of a large drawing what has changed in it since it was told last."""
    if old is None or sum(map(len, items.values())) <= SMALL:
        return told_whole(outline, items)
    changed, gone = telling.change(old, items)
    return {**outline, **packed(changed), "gone": gone, "partial": True}


def _differ(old: dict[str, Any] | None, new: dict[str, Any]) -> bool:
    return old is not new and old != new


def _told(structure: Structure | None, symbol: CapsuleSymbol | None = None) -> dict[str, Any] | None:
    if structure is None:
        return None
    told = {"shape": list(structure.shape), "dtype": structure.dtype, "text": show_shape(structure.shape)}
    listed = symbol.list_text(structure.shape) if symbol else ""
    return {**told, "listed": listed} if listed else told


def _inferred(attributes: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: jsonable(value) for name, value in attributes.items() if value is not None and stated.get(name) is None
    }


def _stated(record: Capsule | Connection) -> Mapping[str, Any]:
    """Give what a record states; inside of a group that may be computed from arguments, so that it is told too."""
    return {} if _inside(record) else record.attributes


def _inside(record: Capsule | Connection) -> bool:
    """Tell whether a record is one of a group, which its path says."""
    return "." in record.id


def _count(weights: Iterable[WeightRecord]) -> int:
    return sum(weight.structure.elements for weight in weights if weight.trainable and not weight.state)


def _capsule(capsule: CheckedCapsule, record: Capsule, connections: dict[str, dict[str, Any]]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "title": capsule.title,
        "total_input": _told(capsule.total_input),
        "output": _told(capsule.output, capsule.record),
        "bias": list(capsule.bias.structure.shape) if capsule.bias else None,
        "parameter_count": _count(capsule.stored),
        "multiply_adds": capsule.multiply_adds
        + sum(connections[id]["multiply_adds"] for id in capsule.incoming if id in connections),
        "inferred": _inferred(capsule.attributes, _stated(record)),
    }
    if capsule.ports:
        told["ports"] = {name: _told(structure) for name, structure in capsule.ports.items()}
    return told


def _connection(connection: CheckedConnection, record: Connection) -> dict[str, Any]:
    weights = connection.weights
    return {
        "back_end": _told(connection.back_end),
        "weights": {name: list(weight.structure.shape) for name, weight in weights.items()},
        "weight_text": " + ".join(_weight(weight.structure.shape) for weight in weights.values()),
        "front_end": _told(connection.front_end),
        "parameters": _count(weights.values()),
        "multiply_adds": connection.multiply_adds,
        "inferred": _inferred(connection.attributes, _stated(record)),
    }


def _weight(shape: tuple[Any, ...]) -> str:
    """Write a weight as Table 2 does: ``32@5×5×1`` for kernels, ``512×1024`` for a matrix."""
    if len(shape) > 2:
        return f"{shape[0]}@{'×'.join(map(str, (*shape[2:], shape[1])))}"
    return "×".join(map(str, shape)) or "1"


SUMMED = ("parameters", "multiply_adds", "capsules")


class _Sums:
    """What the uses of groups hold in all, kept by differences."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, str], tuple[int, int, int]] = {}
        self._wholes: dict[str, tuple[int, int, int]] = {}

    def exchange(self, kind: str, id: str, told: dict[str, Any] | None, checked: CheckedCapsule | None) -> None:
        """Let what is told of something inside of a use count in place of what was told of it before."""
        part = (0, 0, 0)
        if told is not None and kind == "connections":
            part = (told["parameters"], told["multiply_adds"], 0)
        elif told is not None and checked is not None:
            # Connections count their own multiply-adds.
            part = (told["parameter_count"], checked.multiply_adds, 1)
        key, use = (kind, id), id.partition(".")[0]
        before, whole = self._parts.pop(key, (0, 0, 0)), self._wholes.get(use, (0, 0, 0))
        if told is not None:
            self._parts[key] = part
        self._wholes[use] = (
            whole[0] + part[0] - before[0],
            whole[1] + part[1] - before[1],
            whole[2] + part[2] - before[2],
        )

    def of(self, use: str) -> dict[str, int]:
        """Give the sums of a use."""
        return dict(zip(SUMMED, self._wholes.get(use, (0, 0, 0)), strict=True))
