"""Networks grown by the four rules: what is offered on a drawing of neurons, and the rule that is chosen applied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from inkcap.drawing import Drawing
from inkcap.drawing.fields import read_text
from inkcap.drawing.records import Position
from inkcap.studio.ledger import Refused
from inkcap.symbols import CAPSULES
from inkcap.theory import ACTIVATIONS, Graph, Offer, TheoryError, offers

MOST = 2_000
"""So many neurons are grown by hand, at most: each rule looks at all of them."""
DATA = "data"


def graph_of(drawing: Drawing) -> Graph:
    """Give the graph of what is drawn: capsules and uses, each pair of ends once."""
    ends = dict.fromkeys((c.back, c.front) for c in drawing.connections.values())
    return Graph.of((*drawing.capsules, *drawing.uses), tuple(ends))


def problem_of(drawing: Drawing) -> str:
    """Say why no rule can be applied to a drawing, or nothing: the rules make neurons, so it must be one of neurons."""
    if drawing.plain is not None or len(drawing.capsules) > MOST:
        return f"this drawing has too many neurons to grow by hand; up to {MOST} can be"
    others = [capsule.id for capsule in drawing.capsules.values() if capsule.rank]
    if others or drawing.uses:
        first = (*others, *drawing.uses)[0]
        return f"the rules make neurons, and {first} is none: start an empty drawing, or open this one to its neurons"
    entered = {connection.front for connection in drawing.connections.values()}
    for capsule in drawing.capsules.values():
        if CAPSULES[capsule.symbol].is_data and capsule.id in entered:
            return f"something enters the data neuron {capsule.id}, and no rule does that: remove the connection"
        if not CAPSULES[capsule.symbol].is_data and capsule.id not in entered:
            return f"nothing enters the neuron {capsule.id}, and no rule makes such a one: connect or remove it"
    return ""


def offers_of(drawing: Drawing, chosen: Sequence[str]) -> tuple[tuple[Offer, ...], str]:
    """Try the four rules on chosen neurons; when none can be tried at all, say why."""
    if problem := problem_of(drawing):
        return (), problem
    try:
        return offers(graph_of(drawing), chosen, drawing.fresh_vertex("h")), ""
    except TheoryError as error:
        return (), str(error)


def grow(drawing: Drawing, arguments: Mapping[str, Any]) -> tuple[str, Iterable[str]]:
    """Apply one of the four rules to a drawing of neurons: a new neuron on the chosen ones."""
    rule = read_text(arguments["rule"], "rule", 20)
    chosen = _names(arguments.get("chosen", []))
    function = read_text(arguments.get("function", "relu"), "function", 40)
    if function not in ACTIVATIONS:
        raise Refused(f"there is no activation function {function!r}; there are {', '.join(ACTIVATIONS)}")
    found, problem = offers_of(drawing, chosen)
    offer = next((one for one in found if one.rule == rule), None)
    if offer is None:
        raise Refused(problem or f"there is no rule {rule!r}; there are variable, neuron, growth and convergence")
    if offer.why:
        raise Refused(offer.why)
    is_variable = rule == "variable"
    id = _numbered(drawing, "x" if is_variable else "h")
    made = [drawing.add(id, f"{DATA if is_variable else function} neuron")]
    made += [drawing.connect(back, id, "amplifying") for part in offer.parts for back in part]
    if arguments.get("at") is not None:
        place = Position.from_json("at", arguments["at"], "at")
        drawing.move(id, place.x, place.y)
    return f"rule of {rule}: {id}", made


def _numbered(drawing: Drawing, letter: str) -> str:
    taken = {*drawing.capsules, *drawing.uses}
    return next(name for n in range(1, len(taken) + 2) if (name := f"{letter}{n}") not in taken)


def _names(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[Any]", value)):
        raise Refused("chosen must be a list of ids")
    return list(dict.fromkeys(cast("list[str]", value)))
