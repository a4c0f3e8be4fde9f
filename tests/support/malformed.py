"""Malformed drawings: grown from a grammar that makes mistakes, and real ones damaged as values, text or bytes."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from hostile import SHAPES
from small_zoo import draw_small

from inkcap.structures import AXES
from inkcap.symbols import CAPSULES, CONNECTIONS, PARTS, Attribute
from inkcap.zoo import NETWORKS

Document = dict[str, Any]
JUNK: list[Any] = [
    None, True, False, 0, -1, 1, 2, 3, 2**31, 2**53, 2**53 + 1, 10**400, 1.5, -0.0, 1e308, float("nan"), float("inf"),
    "", "a", "b", "=k", "=k/0", "=9^9^9^9", "=(" * 60, "relu", "data", "full", "in", "plain", "\x00", "\u202e",
    "\ud800", "名", "ﬁ", "x" * 300, [], {}, [1], [1, 2], [1, 2, 3, 4], [[[]]], {"a": 1}, {"id": "a"}, [None],
    ["a", "b"], [0.5, "x"], "-", "a.b", "a/../b", "1e999", "__class__", "os.system", "NaN",
]  # fmt: skip
WORDS = ["a", "b", "c", "d", "e", "f", "g", "h"]
TEXTS = ["x", "max(x, 0)", "x^x^x^x", "(" * 90 + "x", "-" * 190 + "x", "exp(exp(exp(x)))", "sobel", "gray",
         "normal(0,1)", "uniform(", "1/0", "x; import os", "y", "²", "x" * 200]  # fmt: skip


def junk(luck: random.Random) -> Any:
    """Give something that does not belong there; a thing of its own, since what is damaged next may be inside of it."""
    return copy.deepcopy(luck.choice(JUNK))


@dataclass(frozen=True)
class Case:
    """One malformed drawing, how it was made and by which number it is made again."""

    kind: str
    number: int
    content: bytes


# By grammar ------------------------------------------------------------------------------------------------------


class Grammar:
    """Writes documents from the catalogue; now and then, by ``slip``, it writes something else instead."""

    def __init__(self, luck: random.Random, slip: float) -> None:
        self.luck, self.slip = luck, slip

    def maybe(self, chance: float) -> bool:
        return self.luck.random() < chance

    def or_junk(self, make: Callable[[], Any]) -> Any:
        return junk(self.luck) if self.maybe(self.slip) else make()

    def word(self) -> str:
        return self.luck.choice(WORDS)

    def size(self) -> int:
        return self.luck.choice(
            [1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 8, 9, 28, 4096, 2**31 - 1] if self.maybe(0.2) else [2, 4]
        )

    def value(self, attribute: Attribute) -> Any:
        """Give an attribute a value of its kind, within its limits or not."""
        if attribute.choices:
            return self.luck.choice(attribute.choices)
        kinds: dict[str, Callable[[], Any]] = {
            "size": self.size,
            "axes": lambda: self.luck.choice(
                [self.size(), [self.size() for _ in range(self.luck.choice([2, 2, 3, 1]))]]
            ),
            "shape": lambda: [self.size() for _ in range(self.luck.randint(1, 3))],
            "list": lambda: [self.luck.choice([0, 1, 2, -1, 0.5, 1e30]) for _ in range(self.luck.randint(0, 6))],
            "number": lambda: self.luck.choice([0, 0.5, 1, -1, 1e-300, 1e300, 2]),
            "flag": lambda: self.maybe(0.5),
        }
        return kinds.get(attribute.kind, lambda: self.luck.choice(TEXTS))()

    def attributes(self, declared: tuple[Attribute, ...], often: float) -> Document:
        found = {a.name: self.or_junk(lambda a=a: self.value(a)) for a in declared if self.maybe(often)}
        return found | ({self.word(): 1} if self.maybe(self.slip) else {})

    def capsule(self, id: str, rank: int, *, data: bool = False) -> Document:
        fitting = [s for s in CAPSULES.values() if rank in s.ranks] if self.maybe(0.3) else None
        symbol = CAPSULES["data"] if data else self.luck.choice(fitting) if fitting else CAPSULES["relu"]
        declared = symbol.attributes(rank)
        sizes = {axis: self.size() for axis in AXES[rank]} if data else {}
        record: Document = {"id": self.or_junk(lambda: id), "symbol": self.or_junk(lambda: symbol.id), "rank": rank}
        record["attributes"] = sizes | self.attributes(tuple(a for a in declared if a.name not in sizes), 0.08)
        if self.maybe(0.1):
            worn = self.luck.choice(list(PARTS.values()))
            record["wears"] = [{"part": worn.id, "attributes": self.attributes(worn.attributes, 0.3)}]
        if self.maybe(0.1):
            record["tie"] = self.or_junk(self.word)
        if self.maybe(0.1):
            record["label"] = self.or_junk(lambda: "a label")
        return self.or_junk(lambda: record)

    def connection(self, id: str, back: str, front: str, ranks: tuple[int, int]) -> Document:
        fitting = [s for s in CONNECTIONS.values() if s.joins(*ranks)] or list(CONNECTIONS.values())
        usual = {(1, 1): "full", (2, 2): "convolution", (2, 1): "reshaping", (0, 0): "amplifying"}.get(ranks)
        symbol = CONNECTIONS[usual] if usual and self.maybe(0.6) else self.luck.choice(fitting)
        needed = {"kernels": 2, "kernel": 1} if symbol.id == "convolution" else {}
        record: Document = {"id": self.or_junk(lambda: id), "symbol": self.or_junk(lambda: symbol.id)}
        record |= {"back": self.or_junk(lambda: back), "front": self.or_junk(lambda: front)}
        record["attributes"] = needed | self.attributes(symbol.attributes, 0.06)
        for field, chance in (("port", 0.05), ("tie", 0.08), ("output", 0.03)):
            if self.maybe(chance):
                record[field] = self.or_junk(self.word)
        return self.or_junk(lambda: record)

    def graph(self, letters: list[str], *, inner: bool = False) -> Document:
        """Draw a few capsules in a row of layers, with connections forwards, seldom back or to nowhere."""
        capsules, connections, ranks = [], [], {}
        for i, id in enumerate(letters):
            ranks[id] = self.luck.choice([0, 1, 1, 1, 2, 2, 3]) if i == 0 or self.maybe(0.1) else ranks[letters[i - 1]]
            capsules.append(self.capsule(id, ranks[id], data=i == 0 and not inner))
            back = letters[i - 1] if i and self.maybe(0.9) else self.luck.choice(letters)
            if i:
                connections.append(self.connection(f"{back}-{id}", back, id, (ranks.get(back, 1), ranks[id])))
            if self.maybe(0.1):
                front = self.luck.choice([*letters, "nowhere"])
                connections.append(self.connection(f"more-{i}", id, front, (ranks[id], ranks.get(front, 1))))
        return {"capsules": capsules, "connections": connections}

    def use(self, id: str, groups: list[str]) -> Document:
        repeat = self.luck.choice([1, 2, 3, 10_000, 10_001]) if self.maybe(0.3) else 1
        return {"id": id, "group": self.or_junk(lambda: self.luck.choice(groups)), "repeat": repeat,
                "arguments": {"k": self.or_junk(self.size)} if self.maybe(0.3) else {}}  # fmt: skip

    def group(self, id: str, groups: list[str]) -> Document:
        """Write a group; it may use any group, itself among them."""
        letters = WORDS[: self.luck.randint(1, 3)]
        record = {"id": id, "arguments": {"k": self.or_junk(self.size)}, **self.graph(letters, inner=True)}
        for capsule in record["capsules"]:
            if isinstance(capsule, dict) and self.maybe(0.3):
                capsule["attributes"] = {
                    "dimension": self.luck.choice(["=k", "=2*k", "=k+copy", "=z", "=k^64", "=" * 9])
                }
        if self.maybe(0.4):
            record["uses"] = [self.use(f"u{i}", groups) for i in range(self.luck.randint(1, 3))]
        ends = {"inputs": {"in": letters[0]}, "outputs": {"out": letters[-1]}}
        return record | {name: self.or_junk(lambda ports=ports: ports) for name, ports in ends.items()}

    def position(self) -> list[float]:
        """Write a place on the sheet, at its edge or beyond."""
        return [self.luck.choice([0, 1, 2.5, -300, 1e6, 1e8, -1e8, 1.1e8, 1e300]) for _ in range(2)]

    def plain(self) -> Document:
        """Write a columnar block: a few neurons, connections forwards, and sometimes a column that does not fit."""
        neurons = self.luck.randint(1, 6)
        lines = self.luck.randint(0, 8)
        pick = lambda low, high: [self.luck.randint(low, high) for _ in range(lines)]  # noqa: E731
        record: Document = {
            "symbol": ["data", *(self.luck.choice(["relu", "sigmoid", "data"]) for _ in range(neurons - 1))],
            "bias": [self.luck.choice([0, 0.5, -1]) for _ in range(neurons)],
            "back": pick(0, neurons - 1), "front": pick(0, neurons - 1), "weight": pick(-3, 3),
        }  # fmt: skip
        if self.maybe(0.3):
            record["tie"] = pick(-3, lines)
        if self.maybe(0.2):
            record["reads"] = {self.word(): [self.luck.randint(-1, 3), self.luck.randint(0, 3)]}
        if self.maybe(0.2):
            record["writes"] = {self.word(): [self.luck.randint(-1, 3), self.luck.randint(0, 3)]}
        return {key: self.or_junk(lambda value=value: value) for key, value in record.items()}

    def document(self) -> Document:
        """Write a whole file."""
        letters = WORDS[: self.luck.randint(1, 8)]
        document: Document = {"format": self.or_junk(lambda: 1), "name": self.or_junk(lambda: "x")}
        if self.maybe(0.3):
            document["dtype"] = self.or_junk(lambda: self.luck.choice(["float32", "float64", "float16", "int64"]))
        document |= self.graph(letters)
        if self.maybe(0.3):
            names = ["g", "h", "i"][: self.luck.randint(1, 3)]
            document["groups"] = [self.group(name, names) for name in names]
            document["uses"] = [self.use(f"use{i}", names) for i in range(self.luck.randint(1, 3))]
            enter = self.connection("enter", letters[-1], "use0", (1, 1))
            document["connections"].append(enter if isinstance(enter, dict) else {"id": "enter"})
        if self.maybe(0.1):
            document["plain"] = self.plain()
        if self.maybe(0.2):
            document["notes"] = [{"id": "n", "text": self.or_junk(lambda: "a remark")}]
        if self.maybe(0.2):
            document["positions"] = {id: self.or_junk(self.position) for id in [*letters[:2], self.word()]}
        return {key: self.or_junk(lambda value=value: value) for key, value in document.items()}


def by_grammar(luck: random.Random) -> bytes:
    """Write a document from the catalogue with none, few or many mistakes."""
    return as_bytes(Grammar(luck, luck.choice([0.0, 0.005, 0.02, 0.1])).document())


def as_bytes(document: object) -> bytes:
    """Write what JSON has no word for too: NaN, numbers without end, half characters."""
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")


# Bombs -----------------------------------------------------------------------------------------------------------


def bombs() -> dict[str, bytes]:
    """Give small files that would become something huge, or take for ever, if someone let them."""
    one = {"id": "a", "symbol": "relu", "rank": 1}
    whole = {"format": 1, "name": "x", "capsules": [], "connections": []}

    def with_groups(groups: list[Document], uses: list[Document]) -> bytes:
        return as_bytes({**whole, "groups": groups, "uses": uses})

    def chain(length: int, wide: int, repeat: int) -> list[Document]:
        """Groups of which each uses the next so many times, and the last is one capsule."""
        names = [f"g{i}" for i in range(length)]
        rows = [
            {"id": name, "uses": [{"id": f"u{k}", "group": after, "repeat": repeat} for k in range(wide)]}
            for name, after in itertools.pairwise(names)
        ]
        return [*rows, {"id": names[-1], "capsules": [one]}]

    first = [{"id": "u", "group": "g0"}]
    circle = [{"id": f"g{i}", "uses": [{"id": "u", "group": f"g{(i + 1) % 900}"}]} for i in range(900)]
    huge = {"id": "d", "symbol": "data", "rank": 1, "attributes": {"dimension": 2**31 - 1}}
    return {
        "ten by ten by ten": with_groups(chain(10, 10, 10), first),
        "each ten thousand times": with_groups(chain(30, 1, 10_000), first),
        "deep": with_groups(chain(900, 1, 1), first),
        "deep at the limit": with_groups(chain(32, 1, 1), first),
        "wide": with_groups(chain(3, 8_000, 1), first),
        "wide and the last first": with_groups(chain(4, 5_000, 1)[::-1], first),
        "circle": with_groups(circle, first),
        "itself": with_groups([{"id": "g0", "uses": [{"id": "u", "group": "g0", "repeat": 10_000}]}], first),
        "brackets": b"[" * 2**20,
        "objects": b'{"a":' * 2**18,
        "long number": b'{"format": ' + b"9" * 2**20 + b"}",
        "long fraction": b'{"format": 0.' + b"3" * 2**20 + b"}",
        "many keys": b"{" + b",".join(b'"%d":1' % i for i in range(50_000)) + b"}",
        "one key often": b"{" + b'"a":1,' * 100_000 + b'"a":1}',
        "long id": as_bytes({**whole, "capsules": [{**one, "id": "a" * 2**20}]}),
        "long note": as_bytes({**whole, "notes": [{"id": "n", "text": "\u0301" * 2**18}]}),
        "large product": as_bytes({**whole, "capsules": [huge, {**huge, "id": "e", "symbol": "relu"}],
                                   "connections": [{"id": "l", "symbol": "full", "back": "d", "front": "e"}]}),
    }  # fmt: skip


# By damage -------------------------------------------------------------------------------------------------------


@cache
def real_documents() -> tuple[tuple[str, str], ...]:
    """Give drawings that someone could have: the whole zoo, and the small ones with groups, ties and ports."""
    zoo = [(name, draw_small(name).to_text()) for name in NETWORKS]
    # One edit of a drawing of a thousand capsules takes as long as a hundred of small ones, and shows no more.
    return tuple((name, text) for name, text in zoo if len(text) < 40_000) + tuple(SHAPES.items())


def damage(document: Document, luck: random.Random) -> Document:
    """Change, move, double or drop something, one to four times."""
    document = copy.deepcopy(document)
    for _ in range(luck.randint(1, 4)):
        holder, key = document, None
        while isinstance(holder, (dict, list)) and holder:
            key = luck.choice(list(holder)) if isinstance(holder, dict) else luck.randrange(len(holder))
            if luck.random() < 0.35 or not isinstance(holder[key], (dict, list)):
                break
            holder = holder[key]
        if key is None or not holder:
            continue
        act = luck.choice(["junk", "near", "drop", "double", "rename", "swap"])
        if act == "junk":
            holder[key] = junk(luck)
        elif act == "near" and type(holder[key]) in (int, float):
            holder[key] = holder[key] + luck.choice([-1, 1, 0.5, 1000])
        elif act == "drop":
            del holder[key]
        elif act == "double" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        elif act == "rename" and isinstance(holder, dict):
            holder[luck.choice(["id", "symbol", "rank", "back", "front", "x"])] = holder.pop(key)
        elif act == "swap" and isinstance(holder, list):
            luck.shuffle(holder)
    return document


def by_damaged_values(luck: random.Random) -> bytes:
    """Damage the values of a real drawing."""
    return as_bytes(damage(json.loads(luck.choice(real_documents())[1]), luck))


PIECES = [b"", b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\\ud800", b"null", b"NaN", b"-Infinity",
          b"1e999", b"0x1", b"01", b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"//", b'"id": "a",',
          b"[" * 80, b"9" * 5000, b"\xe2\x80\xae", b'"k": ']  # fmt: skip


def by_damaged_text(luck: random.Random) -> bytes:
    """Damage the bytes of a real drawing: something is written into it, cut out, doubled or turned round."""
    text = luck.choice(real_documents())[1].encode()
    for _ in range(luck.randint(1, 3)):
        start = luck.randrange(len(text) + 1)
        end = min(len(text), start + luck.choice([0, 0, 1, 1, 2, 9, 80, 4000]))
        new = luck.choice(
            [luck.choice(PIECES), text[start:end] * 2, bytes([luck.randrange(256)]), text[start:end][::-1]]
        )
        text = text[:start] + new + text[end:]
    return text


WAYS: tuple[Callable[[random.Random], bytes], ...] = (by_grammar, by_damaged_values, by_damaged_text)


def malformed(count: int, seed: str = "S4") -> Iterator[Case]:
    """Make so many, in turn by every way; the number of a case is enough to make it again."""
    for number in range(count):
        way = WAYS[number % len(WAYS)]
        yield Case(way.__name__, number, way(random.Random(f"{seed} {number}")))  # noqa: S311


# Edits -----------------------------------------------------------------------------------------------------------


def malformed_edit(luck: random.Random, document: Document) -> Any:
    """Write an edit of a drawing, in most cases with something wrong about it."""
    grammar, sections = Grammar(luck, luck.choice([0.0, 0.03, 0.15])), ("capsules", "connections", "groups", "uses")
    ids = [r["id"] for s in sections for r in document.get(s, [])] or ["a"]

    def patch() -> Any:
        if grammar.maybe(0.25):
            kind = luck.choice(["capsule", "connection", "group", "use", "note", "position", "meta", "plain"])
            return {"remove": grammar.or_junk(lambda: kind), "id": grammar.or_junk(lambda: luck.choice(ids))}
        id = luck.choice([*ids, *WORDS])
        made = {
            "capsule": lambda: grammar.capsule(id, luck.choice([0, 1, 2, 3])),
            "connection": lambda: grammar.connection(id, luck.choice(ids), luck.choice(ids), (1, 1)),
            "group": lambda: grammar.group(id, ["g", id]),
            "use": lambda: grammar.use(id, ["g", "h"]),
            "position": grammar.position,
            "note": lambda: {"id": id, "text": "x"},
            "meta": lambda: {"name": "y", "dtype": "float64"},
            "plain": grammar.plain,
        }
        kind = luck.choice(list(made))
        own = kind if kind in ("meta", "plain") else id
        found = {"put": grammar.or_junk(lambda: kind), "id": grammar.or_junk(lambda: own),
                 "record": grammar.or_junk(made[kind])}  # fmt: skip
        return found | ({"index": grammar.or_junk(lambda: luck.randint(0, 5))} if grammar.maybe(0.2) else {})

    patches = [grammar.or_junk(patch) for _ in range(luck.randint(0, 4))]
    edit = {"label": grammar.or_junk(lambda: "edit"), "patches": grammar.or_junk(lambda: patches)}
    return grammar.or_junk(lambda: edit)


def malformed_command(luck: random.Random, document: Document, commands: dict[str, Any]) -> tuple[str, Any]:
    """Write a command with arguments that are sometimes right."""
    ids = [r["id"] for s in ("capsules", "connections", "uses") for r in document.get(s, [])] or ["a"]
    name = luck.choice(list(commands))
    _, needed, others = commands[name]
    usual: dict[str, Callable[[], Any]] = {
        "ids": lambda: luck.sample(ids, min(len(ids), luck.randint(0, 3))),
        "chosen": lambda: luck.sample(ids, min(len(ids), luck.randint(0, 3))),
        "where": lambda: [luck.choice(ids)],
        "face": lambda: luck.choice(["1D-relu", "2D-data", "relu neuron", "softmax", "g", "9D-relu", "1D-"]),
        "attributes": lambda: {luck.choice(["dimension", "bias", "kernel", "self"]): junk(luck)},
        "symbol": lambda: luck.choice([*CAPSULES, *CONNECTIONS]),
        "rule": lambda: luck.choice(["layer", "cycle", "no-input", "1", "rank-mismatch"]),
        "at": lambda: luck.choice([[1, 2], [1], ["a", 2]]),
        "text": lambda: by_grammar(luck).decode("utf-8", "replace"),
        "times": lambda: luck.choice([1, 3, 10_000, 0]),
    }
    arguments = {key: usual.get(key, lambda: luck.choice([*ids, *WORDS]))()
                 for key in (*needed, *others) if key in needed or luck.random() < 0.3}  # fmt: skip
    for key in list(arguments):
        if luck.random() < 0.15:
            arguments[key] = junk(luck)
    if luck.random() < 0.1:
        arguments["inside"] = luck.choice(["g", "Q4Q", 3, None])
    return name, arguments
