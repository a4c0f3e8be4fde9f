"""Commands: changes that need to know what things mean, so the server makes them, each as one edit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from inkcap.drawing import (
    Capsule,
    Connection,
    Drawing,
    DrawingError,
    Edit,
    Position,
    Put,
    Remove,
    Use,
    dissolve,
    inside,
    make_group,
)
from inkcap.drawing.arguments import is_expression
from inkcap.drawing.fields import read_id, read_text
from inkcap.network import check
from inkcap.studio.growing import grow
from inkcap.studio.layouts import layout_of
from inkcap.studio.ledger import Command, Refused
from inkcap.studio.pasting import paste
from inkcap.studio.renaming import rename
from inkcap.symbols import CAPSULES, capsule_symbol, connection_symbol, parse_face
from inkcap.theory.errors import some

Arguments = Mapping[str, Any]
Made = tuple[str, Iterable[str]]
Run = Callable[[Drawing, Arguments], Made]
RESERVED = frozenset({"self", "id", "face", "back", "front", "symbol", "port", "output"})
"""Names that no attribute has."""
WORDS = frozenset({"id", "after", "symbol", "output", "port", "function"})
"""Arguments that are texts wherever a command may have them."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def command_of(name: str, arguments: Arguments) -> Command:
    """Give what a command of a tab does to a drawing; unknown ones and unknown arguments are refused."""
    if name not in COMMANDS:
        raise Refused(f"there is no command {name!r}; there are {', '.join(COMMANDS)}")
    run, needed, others = COMMANDS[name]
    for key in needed:
        if arguments.get(key) is None:
            raise Refused(f"{name} needs the argument {key!r}")
    for key in arguments.keys() - {*needed, *others, "inside"}:
        raise Refused(f"{name} has no argument {key!r}; it has {', '.join((*needed, *others)) or 'none'}")
    given = {key: value for key, value in arguments.items() if value is not None}
    for key in given.keys() & WORDS:
        _text(given, key)

    def command(drawing: Drawing) -> Made:
        return _within(drawing, run, given) if "inside" in given else run(drawing, given)

    return command


def _within(drawing: Drawing, run: Run, arguments: Arguments) -> Made:
    """Run a command inside of a group, and define the group anew, for all its uses."""
    name = _text(arguments, "inside")
    body = inside(drawing, name)
    label, made = run(body, arguments)
    drawing.define(name, body)
    return f"{label} in {name}", made


def _add(drawing: Drawing, arguments: Arguments) -> Made:
    """Add a capsule or the use of a group, after another one where that is asked for."""
    face = _text(arguments, "face")
    id = arguments.get("id") or _letter(drawing)
    attributes = _attributes(arguments)
    made = [drawing.add(id, face, **attributes)]
    if after := arguments.get("after"):
        made.append(drawing.connect(after, id, arguments.get("symbol"), output=arguments.get("output", "")))
    if arguments.get("at") is not None:
        drawing.move(id, *_point(arguments["at"]))
    return f"add {id}", made


def _connect(drawing: Drawing, arguments: Arguments) -> Made:
    """Connect two capsules by the symbol that fits them, or by one that is named."""
    back, front = _text(arguments, "back"), _text(arguments, "front")
    made = drawing.connect(
        back,
        front,
        arguments.get("symbol"),
        id=arguments.get("id", ""),
        port=arguments.get("port") or "in",
        output=arguments.get("output", ""),
        **_attributes(arguments),
    )
    return f"connect {back} to {front}", [made]


def _insert(drawing: Drawing, arguments: Arguments) -> Made:
    """Set a capsule in the middle of a connection; the old connection enters it, a fitting one leaves it."""
    old = _connection(drawing, _text(arguments, "connection"))
    face = _text(arguments, "face")
    id = arguments.get("id") or _letter(drawing)
    drawing.add(id, face, **_attributes(arguments))
    drawing.remove(old.id)
    rank = parse_face(face)[1] if face not in drawing.groups else None
    giver = drawing.giver(old.back, old.output)
    fits = rank is not None and giver is not None and connection_symbol(old.symbol).joins(giver.output_rank, rank)
    # The old connection keeps its weights where it still fits; the new capsule then gives its output as it is.
    drawing.apply(Edit("insert", (Put(replace(old, front=id, port="in") if fits else _fitting(drawing, old, id)),)))
    made = drawing.connect(id, old.front, "transfer" if _same_rank(drawing, id, old.front) else None, port=old.port)
    if arguments.get("at") is not None:
        drawing.move(id, *_point(arguments["at"]))
    return f"insert {id} between {old.back} and {old.front}", [id, old.id, made]


def _fitting(drawing: Drawing, old: Connection, front: str) -> Connection:
    return Connection(old.id, drawing.propose(old.back, front, "in", old.output), old.back, front, output=old.output)


def _same_rank(drawing: Drawing, back: str, front: str) -> bool:
    giver, taker = drawing.giver(back), drawing.capsules.get(front)
    return giver is not None and taker is not None and giver.output_rank == taker.rank


def _remove(drawing: Drawing, arguments: Arguments) -> Made:
    """Remove things with all that hangs on them."""
    ids = _texts(arguments, "ids")
    known = (drawing.capsules, drawing.uses, drawing.connections, drawing.notes)
    if there := [id for id in ids if any(id in records for records in known)]:
        drawing.remove(*there)
    return f"remove {some(ids)}", []


def _group(drawing: Drawing, arguments: Arguments) -> Made:
    name = _text(arguments, "name")
    use = make_group(drawing, _texts(arguments, "ids"), name, arguments.get("id", ""))
    return f"group as {name}", [use]


def _dissolve(drawing: Drawing, arguments: Arguments) -> Made:
    id = _text(arguments, "use")
    place = drawing.positions.get(id)
    made = dissolve(drawing, id)
    if place is not None and not all(one in drawing.positions for one in made):
        _spread(drawing, made, (place.x, place.y))
    return f"dissolve {id}", made


def _spread(drawing: Drawing, ids: list[str], at: tuple[float, float]) -> None:
    """Give things that came together places around one point."""
    found = layout_of(_only(drawing, ids), stored=False)["positions"]
    if found:
        middle = [sum(axis) / len(found) for axis in zip(*found.values(), strict=True)]
        shifted = ((id, x - middle[0] + at[0], y - middle[1] + at[1]) for id, (x, y) in found.items())
        drawing.apply(Edit("place", tuple(Put(Position.near(id, round(x, 1), round(y, 1))) for id, x, y in shifted)))


def _only(drawing: Drawing, ids: Iterable[str]) -> Drawing:
    chosen = set(ids)
    some = drawing.copy()
    some.replace_graph(
        {id: capsule for id, capsule in drawing.capsules.items() if id in chosen},
        {c.id: c for c in drawing.connections.values() if c.back in chosen and c.front in chosen},
        {id: use for id, use in drawing.uses.items() if id in chosen},
    )
    return some


def _paste(drawing: Drawing, arguments: Arguments) -> Made:
    at = arguments.get("at")
    made = paste(drawing, _text(arguments, "text"), None if at is None else _point(at))
    return f"paste {len(made)} thing{'s' if len(made) != 1 else ''}", made


def _arrange(drawing: Drawing, arguments: Arguments) -> Made:
    """Lay out everything, or what is named where it lies."""
    ids = _texts(arguments, "ids") if arguments.get("ids") else [*drawing.capsules, *drawing.uses]
    chosen = _only(drawing, ids)
    found = layout_of(chosen, stored=False)["positions"]
    placed = [drawing.positions[id] for id in found if id in drawing.positions]
    left, top = min((p.x for p in placed), default=0.0), min((p.y for p in placed), default=0.0)
    if found:
        x0, y0 = (min(axis) for axis in zip(*found.values(), strict=True))
        puts = tuple(Put(Position.near(id, x - x0 + left, y - y0 + top)) for id, (x, y) in found.items())
        drawing.apply(Edit("arrange", puts))
    return "arrange" if not arguments.get("ids") else f"arrange {len(found)} things", []


def _depends(drawing: Drawing) -> bool:
    """Tell whether values of a group's inside are computed from its arguments."""
    worn = [part for capsule in drawing.capsules.values() for part in capsule.wears]
    held = [thing.attributes for thing in (*drawing.capsules.values(), *drawing.connections.values(), *worn)]
    held += [use.arguments for use in drawing.uses.values()]
    return any(is_expression(value) for values in held for value in values.values())


def _fix(drawing: Drawing, arguments: Arguments) -> Made:
    """Mend what a diagnostic found, if it is still there."""
    rule, where = _text(arguments, "rule"), _texts(arguments, "where")
    if _depends(drawing):
        raise Refused(
            "values in here depend on the arguments of the group, so they can be judged only where it is used; "
            "mend it there, or by hand"
        )
    found = [d for d in check(drawing).diagnostics if (d.rule, list(d.where)) == (rule, where) and d.fix is not None]
    index = arguments.get("index")
    if not found:
        raise Refused("that has been mended already, or it has no fix")
    if len(found) > 1 and isinstance(index, int):
        every = check(drawing).diagnostics
        found = [every[index]] if 0 <= index < len(every) and every[index] in found else found
    edit = found[0].fix
    assert edit is not None
    drawing.apply(edit)
    return edit.label, [p.record.id for p in edit.patches if isinstance(p, Put) and p.record.kind == "capsule"]


def _rename(drawing: Drawing, arguments: Arguments) -> Made:
    old, new = _text(arguments, "id"), _text(arguments, "to")
    rename(drawing, old, read_id(new, "to"))
    return f"rename {old} to {new}", [new]


def _replace_symbol(drawing: Drawing, arguments: Arguments) -> Made:
    """Give a capsule or a connection another symbol; the attributes that both have stay."""
    id, symbol = _text(arguments, "id"), _text(arguments, "symbol")
    if id in drawing.connections:
        old = drawing.connections[id]
        names = {a.name for a in connection_symbol(symbol).attributes}
        kept = {name: value for name, value in old.attributes.items() if name in names}
        record: Capsule | Connection = Connection.from_json(
            {**replace(old, symbol=symbol, attributes=kept).to_json()}, f"connection {id}"
        )
    elif id in drawing.capsules:
        capsule = drawing.capsules[id]
        rank = arguments.get("rank", capsule.rank)
        if rank not in capsule_symbol(symbol).ranks:
            ranks = ", ".join(map(str, CAPSULES[symbol].ranks))
            raise Refused(f"{CAPSULES[symbol].title} has the ranks {ranks}, not {rank}")
        names = {a.name for a in CAPSULES[symbol].attributes(rank)}
        kept = {name: value for name, value in capsule.attributes.items() if name in names}
        record = Capsule.from_json(
            replace(capsule, symbol=symbol, rank=rank, attributes=kept).to_json(), f"capsule {id}"
        )
    else:
        raise Refused(f"there is no capsule and no connection {id!r}")
    drawing.apply(Edit("replace", (Put(record),)))
    return f"make {id} {symbol}", [id]


def _change(drawing: Drawing, arguments: Arguments) -> Made:
    """Change attributes of a capsule or a connection, or arguments of a use; null empties one."""
    id = _text(arguments, "id")
    drawing.change(id, **_attributes(arguments))
    return f"change {id}", [id]


def _repeat(drawing: Drawing, arguments: Arguments) -> Made:
    """Let a group's use stand for several, one after another."""
    id, times = _text(arguments, "use"), arguments["times"]
    if id not in drawing.uses:
        raise Refused(f"{id!r} is no use of a group; only groups can be repeated")
    record = Use.from_json({**drawing.uses[id].to_json(), "repeat": times}, f"use {id}")
    drawing.apply(Edit("repeat", (Put(record),)))
    return f"repeat {id} ×{times}", [id]


def _remove_group(drawing: Drawing, arguments: Arguments) -> Made:
    """Remove a group that nothing uses."""
    name = _text(arguments, "name")
    drawing.apply(Edit("remove", (Remove("group", name),)))
    return f"remove the group {name}", []


COMMANDS: dict[str, tuple[Run, tuple[str, ...], tuple[str, ...]]] = {
    "add": (_add, ("face",), ("id", "at", "attributes", "after", "symbol", "output")),
    "connect": (_connect, ("back", "front"), ("symbol", "id", "port", "output", "attributes")),
    "insert": (_insert, ("connection", "face"), ("id", "at", "attributes")),
    "remove": (_remove, ("ids",), ()),
    "group": (_group, ("ids", "name"), ("id",)),
    "dissolve": (_dissolve, ("use",), ()),
    "repeat": (_repeat, ("use", "times"), ()),
    "remove_group": (_remove_group, ("name",), ()),
    "paste": (_paste, ("text",), ("at",)),
    "arrange": (_arrange, (), ("ids",)),
    "fix": (_fix, ("rule", "where"), ("index",)),
    "rename": (_rename, ("id", "to"), ()),
    "replace_symbol": (_replace_symbol, ("id", "symbol"), ("rank",)),
    "change": (_change, ("id", "attributes"), ()),
    "grow": (grow, ("rule",), ("chosen", "function", "at")),
}
"""By name what runs, the arguments that it needs, and those that it may have."""


def _connection(drawing: Drawing, id: str) -> Connection:
    if id not in drawing.connections:
        raise DrawingError(f"there is no connection {id!r}")
    return drawing.connections[id]


def _letter(drawing: Drawing) -> str:
    """Give the next capsule its letter, as the paper does; after z they are numbered."""
    taken = {*drawing.capsules, *drawing.uses}
    free = next((letter for letter in LETTERS if letter not in taken), None)
    return free or drawing.fresh_vertex("a")


def _text(arguments: Arguments, name: str) -> str:
    return read_text(arguments[name], name, 16 * 2**20)


def _texts(arguments: Arguments, name: str) -> list[str]:
    value = arguments[name]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[Any]", value)):
        raise Refused(f"{name} must be a list of ids")
    return cast("list[str]", value)


def _attributes(arguments: Arguments) -> dict[str, Any]:
    value = arguments.get("attributes", {})
    if not isinstance(value, dict):
        raise Refused("attributes must be an object of names and values")
    found = cast("dict[str, Any]", value)
    for name in found.keys() & RESERVED:
        raise Refused(f"nothing has an attribute {name!r}")
    return found


def _point(value: Any) -> tuple[float, float]:
    position = Position.from_json("at", value, "at")
    return position.x, position.y
