"""From grown capsules to a drawing and its weights, by the names that the drawing gives them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inkcap.drawing import Drawing, DrawingError, from_text
from inkcap.drawing.codec import encode
from inkcap.exchange.importing.errors import ImportRefused
from inkcap.exchange.importing.graph import Constant
from inkcap.exchange.importing.values import Growing, rank_of
from inkcap.structures import AXES
from inkcap.symbols import CONNECTIONS, PARTS, jsonable

NAME_LENGTH = 30
"""Letters of a capsule's id: two of them and a hyphen name a connection."""


@dataclass
class Drawn:
    """A drawing with its weights, and which capsule stands for which input and output of the model."""

    records: dict[str, Any]
    weights: dict[str, Constant]
    inputs: dict[str, str]
    outputs: tuple[str, ...]
    ids: dict[int, str]
    scopes: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict[str, tuple[tuple[str, str], ...]])


class Names:
    """Ids that are free: letters, digits, _ and hyphens."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, name: str, most: int = NAME_LENGTH) -> str:
        """Give an id like this name."""
        stem = re.sub(r"[^0-9A-Za-z_]+", "-", name).strip("-") or "capsule"
        if len(stem) > most:
            # The end of a path tells more than its beginning.
            stem = stem[-most:].lstrip("-")
        found, number = stem, 1
        while found in self._taken:
            number += 1
            found = f"{stem[: most - len(str(number)) - 1]}-{number}"
        self._taken.add(found)
        return found


def draw(name: str, sealed: list[Growing], outputs: list[Growing]) -> Drawn:
    """Write down the capsules that outputs depend on, and the connections between them."""
    kept = _needed(sealed, outputs)
    names, lines = Names(), Names()
    # PyTorch's exporter begins every node's name with node_.
    ids = {id(grown): names.of(grown.name.removeprefix("node_")) for grown in kept}
    ties = _ties(kept)
    capsules: list[dict[str, Any]] = []
    connections: list[dict[str, Any]] = []
    weights: dict[str, Constant] = {}
    for grown in kept:
        own = ids[id(grown)]
        capsules.append(_capsule(grown, own, weights))
        for line in grown.lines:
            record: dict[str, Any] = {
                "id": lines.of(f"{ids[id(line.back)]}-{own}", 62),
                "symbol": line.symbol,
                "back": ids[id(line.back)],
                "front": own,
            }
            if line.attributes:
                record["attributes"] = _jsonable(line.attributes, record["id"])
            if line.port != "in":
                record["port"] = line.port
            owner = record["id"]
            if line.weights and (tie := ties.get(_key(line.symbol, line.weights))):
                record["tie"], owner = tie, f"tie:{tie}"
            weights |= {f"{owner}.{name}": constant for name, constant in line.weights.items()}
            connections.append(record)
    records = {"format": 1, "name": name, "dtype": "float32", "capsules": capsules, "connections": connections}
    return Drawn(
        records,
        weights,
        {grown.name: ids[id(grown)] for grown in kept if grown.symbol == "data"},
        tuple(ids[id(grown)] for grown in outputs),
        ids,
        {ids[id(grown)]: grown.scope for grown in kept},
    )


def drawing_of(records: Mapping[str, Any]) -> Drawing:
    """Read the records as a drawing; what a model states may still be more than one holds."""
    try:
        return from_text(encode(records))
    except DrawingError as error:
        found = re.match(r"(capsules|connections)\[(\d+)\]", error.place)
        own = records[found[1]][int(found[2])]["id"] if found else records["name"]
        raise ImportRefused(f"node {own!r}: no drawing holds what it states: {error}") from None


def _needed(sealed: list[Growing], outputs: list[Growing]) -> list[Growing]:
    wanted = {id(grown) for grown in outputs} | {id(grown) for grown in sealed if grown.symbol == "data"}
    for grown in reversed(sealed):
        if id(grown) in wanted:
            wanted.update(id(line.back) for line in grown.lines)
    return [grown for grown in sealed if id(grown) in wanted]


def _key(symbol: str, weights: Mapping[str, Constant]) -> tuple[str, ...]:
    return (symbol, *(constant.key for constant in weights.values()))


def _ties(kept: list[Growing]) -> dict[tuple[str, ...], str]:
    """Name what several connections store together."""
    count: dict[tuple[str, ...], int] = {}
    for grown in kept:
        for line in grown.lines:
            if line.weights:
                key = _key(line.symbol, line.weights)
                count[key] = count.get(key, 0) + 1
    names = Names()
    return {key: names.of(key[1]) for key, number in count.items() if number > 1}


def _capsule(grown: Growing, own: str, weights: dict[str, Constant]) -> dict[str, Any]:
    rank = grown.rank if grown.rank >= 0 else rank_of(_entering(grown))
    record: dict[str, Any] = {"id": own, "symbol": grown.symbol, "rank": rank}
    attributes = dict(grown.attributes)
    if grown.symbol == "data":
        attributes |= _sizes(grown)
        if grown.dtype != "float32":
            attributes["dtype"] = grown.dtype
    else:
        kind = "full" if rank < 2 and grown.bias is not None else grown.bias_kind
        if kind != _usual_bias(grown, rank):
            attributes["bias"] = kind
        if grown.bias is not None:
            weights[f"{own}.bias"] = grown.bias
    if attributes:
        record["attributes"] = _jsonable(attributes, own)
    if grown.worn:
        record["wears"] = [
            {"part": worn.part, **({"attributes": _jsonable(worn.attributes, own)} if worn.attributes else {})}
            for worn in grown.worn
        ]
        for worn in grown.worn:
            weights |= {f"{own}.{worn.part}.{name}": constant for name, constant in worn.weights.items()}
    weights |= {f"{own}.{name}": constant for name, constant in grown.parameters.items()}
    if grown.label:
        record["label"] = re.sub(r"[^ -~]+", "?", grown.label)[:200]
    return record


def _entering(grown: Growing) -> tuple[int, ...]:
    """Give the structure of what a capsule sums, as far as its rank goes."""
    return grown.drawn


def _usual_bias(grown: Growing, rank: int) -> str:
    """Give the bias that a capsule has when nothing is stated."""
    summed = [line for line in grown.lines if line.port == "in"]
    weighted = any(CONNECTIONS[line.symbol].weights for line in summed)
    if not weighted or any(PARTS[worn.part].normalises for worn in grown.worn):
        return "none"
    items = any(line.symbol == "full" and rank > 1 for line in summed)
    return "full" if rank < 2 else "item" if items else "channel"


def _sizes(grown: Growing) -> dict[str, int]:
    names = AXES[rank_of(grown.drawn)]
    sizes = (*grown.drawn[1:], grown.drawn[0]) if len(grown.drawn) > 1 else grown.drawn
    return dict(zip(names, sizes, strict=True))


def _jsonable(attributes: Mapping[str, Any], own: str) -> dict[str, Any]:
    for name, value in attributes.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ImportRefused(
                f"node {own!r}: its {name} is {value}, which no drawing holds; the model is damaged, or must be "
                "exported again with a number"
            )
    return {name: jsonable(value) for name, value in attributes.items()}
