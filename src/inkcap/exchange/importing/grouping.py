"""Groups from modules: what a model repeats, submodules of one class that are drawn alike, is drawn once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inkcap.exchange.importing.drawn import Drawn, Names
from inkcap.symbols import CAPSULES

CONTAINERS = {"Sequential", "ModuleList", "ModuleDict"}
"""Classes that say nothing of what they hold."""
LEAST = 2
"""Capsules that a group needs, and uses that make one worth while."""
Record = dict[str, Any]


@dataclass
class _Instance:
    """A submodule of the model: its capsules, and how it would be drawn as a group."""

    path: str
    kind: str
    members: list[str]
    names: dict[str, str] = field(default_factory=dict[str, str])
    """Capsules and connections by their names in the group."""
    doors: dict[str, str] = field(default_factory=dict[str, str])
    """The input that stands for each capsule outside."""
    outputs: dict[str, str] = field(default_factory=dict[str, str])
    """The output that each capsule inside is read by."""
    body: Record = field(default_factory=dict[str, Any])
    arguments: dict[str, int] = field(default_factory=dict[str, int])
    """The numbers in which it differs from others of its group."""


def _slots(body: Record) -> list[tuple[Record, str]]:
    """Give the places of a body where a whole number stands that may differ from use to use."""
    parts = [part for section in ("capsules", "connections") for part in body[section]]
    held = [part["attributes"] for part in parts if "attributes" in part]
    return [(attributes, name) for attributes in held for name, value in attributes.items() if type(value) is int]


def _without_numbers(body: Record) -> Record:
    """Give a body without the numbers that may differ."""
    bare: Record = json.loads(json.dumps(body))
    for attributes, name in _slots(bare):
        attributes[name] = "="
    return bare


def _give_arguments(instances: list[_Instance]) -> dict[str, int]:
    """Let the first body speak of arguments where the numbers of its uses differ; give their defaults."""
    slots = [_slots(instance.body) for instance in instances]
    known: dict[tuple[int, ...], str] = {}
    names = Names()
    for places in zip(*slots, strict=True):
        values = tuple(attributes[name] for attributes, name in places)
        if len(set(values)) == 1:
            continue
        attributes, name = places[0]
        if values not in known:
            # An argument stands in expressions, where a hyphen would subtract.
            known[values] = names.of(name).replace("-", "_")
        attributes[name] = f"={known[values]}"
    for number, instance in enumerate(instances):
        instance.arguments = {name: values[number] for values, name in known.items()}
    return dict(instances[0].arguments)


def group_modules(drawn: Drawn) -> None:
    """Draw submodules that are alike as uses of one group; the network stays as it is, its names become paths."""
    maker = _Maker(drawn)
    chosen = maker.choose()
    if chosen:
        maker.put(chosen)


class _Maker:
    def __init__(self, drawn: Drawn) -> None:
        self.drawn = drawn
        self.capsules: dict[str, Record] = {record["id"]: record for record in drawn.records["capsules"]}
        self.connections: list[Record] = drawn.records["connections"]
        self.entering: dict[str, list[Record]] = {id: [] for id in self.capsules}
        self.leaving: dict[str, list[Record]] = {id: [] for id in self.capsules}
        for record in self.connections:
            self.entering[record["front"]].append(record)
            self.leaving[record["back"]].append(record)

    def choose(self) -> list[list[_Instance]]:
        """Find the outermost submodules that are drawn alike, each list a group."""
        members: dict[tuple[str, str], list[str]] = {}
        for id, scope in self.drawn.scopes.items():
            for path, kind in scope:
                if kind not in CONTAINERS:
                    members.setdefault((path, kind), []).append(id)
        alike: dict[str, list[_Instance]] = {}
        for (path, kind), ids in sorted(members.items(), key=lambda entry: entry[0][0].count(".")):
            made = self._instance(path, kind, ids) if len(ids) >= LEAST else None
            if made is not None:
                key = json.dumps([kind, _without_numbers(made.body)], sort_keys=True)
                alike.setdefault(key, []).append(made)
        found: list[list[_Instance]] = []
        claimed: set[str] = set()
        for instances in alike.values():
            free = [instance for instance in instances if not claimed.intersection(instance.members)]
            if len(free) >= LEAST:
                found.append(free)
                claimed.update(id for instance in free for id in instance.members)
        return found

    def _instance(self, path: str, kind: str, ids: list[str]) -> _Instance | None:
        inside = set(ids)
        touching = [record for id in ids for record in (*self.entering[id], *self.leaving[id])]
        if any(record.get("tie") for record in touching) or not self._whole(inside):
            return None
        made = _Instance(path, kind, ids)
        names = Names()
        prefix = re.sub(r"[^0-9A-Za-z_]+", "-", path) + "-"
        for id in ids:
            stem = id.removeprefix(prefix) if id.startswith(prefix) else re.sub(r"[-_]+\d+(?=[-_]|$)", "", id)
            made.names[id] = names.of(stem or "capsule")
        lines = Names()
        inner: list[Record] = []
        doors: list[Record] = []
        for id in ids:
            for record in self.entering[id]:
                back = record["back"]
                if back not in inside and back not in made.doors:
                    made.doors[back] = names.of("in")
                    source = self.capsules[back]
                    rank = CAPSULES[source["symbol"]].output_rank(source["rank"])
                    doors.append({"id": made.doors[back], "symbol": "identical", "rank": rank})
                start = made.names.get(back) or made.doors[back]
                made.names[record["id"]] = lines.of(f"{start}-{made.names[id]}", 62)
                ends = {"id": made.names[record["id"]], "back": start, "front": made.names[id]}
                inner.append({**record, **ends})
        for id in ids:
            readers = self.leaving[id]
            if not readers or any(record["front"] not in inside for record in readers):
                made.outputs[id] = made.names[id]
        made.body = {
            "capsules": [*doors, *({**self.capsules[id], "id": made.names[id]} for id in ids)],
            "connections": inner,
            "inputs": {door: door for door in made.doors.values()},
            "outputs": {name: name for name in made.outputs.values()},
        }
        return made if made.doors else None

    def _whole(self, inside: set[str]) -> bool:
        """Tell whether no way leads out of some capsules and back into them."""
        stack = [r["front"] for id in inside for r in self.leaving[id] if r["front"] not in inside]
        seen = set(stack)
        while stack:
            for record in self.leaving[stack.pop()]:
                front = record["front"]
                if front in inside:
                    return False
                if front not in seen:
                    seen.add(front)
                    stack.append(front)
        return True

    def put(self, chosen: list[list[_Instance]]) -> None:
        """Write groups and their uses down, in place of the capsules that they stand for."""
        records = self.drawn.records
        ids = Names()
        for id in self.capsules:
            ids.of(id)
        groups = Names()
        defined: list[Record] = []
        uses: list[Record] = []
        use_of: dict[str, tuple[str, _Instance]] = {}
        for instances in chosen:
            group = groups.of(instances[0].kind)
            arguments = _give_arguments(instances)
            defined.append({"id": group, "arguments": arguments, **instances[0].body})
            for instance in instances:
                use = ids.of(instance.path)
                own = {name: value for name, value in instance.arguments.items() if value != arguments[name]}
                uses.append({"id": use, "group": group, "arguments": own})
                use_of |= dict.fromkeys(instance.members, (use, instance))
        records["groups"], records["uses"] = defined, uses
        records["connections"] = self._outside(use_of)
        records["capsules"] = [record for id, record in self.capsules.items() if id not in use_of]
        self._rename(use_of)

    def _outside(self, use_of: Mapping[str, tuple[str, _Instance]]) -> list[Record]:
        kept: list[Record] = []
        lines = Names()
        brought: set[tuple[str, str]] = set()
        for record in self.connections:
            back, front = record["back"], record["front"]
            source, target = use_of.get(back), use_of.get(front)
            if source is not None and target is not None and source[0] == target[0]:
                continue
            left: Record = {} if source is None else {"output": source[1].outputs[back]}
            start = back if source is None else source[0]
            if target is None:
                kept.append({**record, "id": lines.of(record["id"], 62), "back": start, **left})
                continue
            use, instance = target
            if (use, back) not in brought:
                brought.add((use, back))
                line = {"symbol": "transfer", "back": start, "front": use, "port": instance.doors[back]}
                kept.append({"id": lines.of(f"{start}-{use}", 62), **line, **left})
        return kept

    def _rename(self, use_of: Mapping[str, tuple[str, _Instance]]) -> None:
        """Let weights, outputs and what has no symbol go by the paths that groups give them."""
        paths = {id: f"{use}.{instance.names[id]}" for id, (use, instance) in use_of.items()}
        for record in self.connections:
            if record["front"] in use_of:
                use, instance = use_of[record["front"]]
                paths[record["id"]] = f"{use}.{instance.names[record['id']]}"

        def renamed(name: str) -> str:
            owner, dot, rest = name.partition(".")
            return f"{paths[owner]}.{rest}" if dot and owner in paths else paths.get(name, name)

        drawn = self.drawn
        drawn.weights = {renamed(name): constant for name, constant in drawn.weights.items()}
        drawn.outputs = tuple(paths.get(id, id) for id in drawn.outputs)
        drawn.ids = {key: paths.get(id, id) for key, id in drawn.ids.items()}
