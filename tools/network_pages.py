"""The pages of the zoo: for every network its picture, its capsules with their costs, and where it comes from."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from catalogue_pages import HEAD, table
from inkcap.drawing import Capsule, Drawing, Edit, Group, Put, Use, draw_svg
from inkcap.network import Report, check
from inkcap.network.picture import used_groups, weight_text
from inkcap.structures import show_shape
from inkcap.theory import Graph
from inkcap.zoo import NETWORKS, KnownNetwork, picture_of
from inkcap.zoo.registry import show_sizes

MOST_ACROSS = 9
"""So many boxes in a row go from left to right; more go from top to bottom, where a page has room."""
MOST_ENTERING = 4
"""So many connections into one capsule are told one by one."""
MOST_INSIDE = 14
"""So many rows the inside of a group may have; of more, the first and last ones tell how it goes on."""


def network_pages() -> dict[str, str]:
    """Write every page and picture of the zoo, by its path below the reference folder."""
    pages: dict[str, str] = {}
    rows: list[tuple[str, ...]] = []
    for known in NETWORKS.values():
        report = check(known.draw())
        pages |= _page(known, report)
        rows.append(
            (
                f"[`{known.name}`]({known.name}.md)",
                known.title,
                number(report.parameters),
                number(report.multiply_adds),
                number(report.capsule_count),
                number(report.connection_count),
            )
        )
    heads = ("network", "what it is", "parameters", "multiply-adds", "capsules", "connections")
    pages["networks/README.md"] = (
        f"# Networks of the zoo\n\n{HEAD}\n`inkcap zoo NAME` writes one of them as a drawing, with other classes and "
        f"another input where it has them. Multiply-adds are those of the connections, for one sample.\n\n"
        f"{table(heads, rows)}"
    )
    return pages


def number(value: int) -> str:
    """Write a whole number in groups of three."""
    return f"{value:,}".replace(",", " ")


def _page(known: KnownNetwork, report: Report) -> dict[str, str]:
    drawn = report.drawn or report.drawing
    pictures = {f"networks/{known.name}.svg": picture_of(report, direction=_direction(drawn)) + "\n"}
    whole = _Inside(report, "", tuple(drawn.capsules.values()), tuple(drawn.uses.values()))
    parts = [
        f"# {known.title[0].upper()}{known.title[1:]}\n\n{HEAD}\n{known.reference}\n",
        _facts(known, report),
        f"![{known.title}]({known.name}.svg)\n",
        "## Capsules\n\n" + whole.table(drawn),
    ]
    for group, path in used_groups(drawn):
        inside = _Inside(report, path, group.capsules, group.uses)
        arguments = f"Its arguments: {', '.join(group.arguments)}. " if group.arguments else ""
        parts.append(f"## Group `{group.id}`\n\n{arguments}As in `{path[:-1]}`:\n")
        if len(group.capsules) + len(group.uses) <= MOST_INSIDE:
            name, opened = f"{known.name}-{group.id}.svg", _opened(group)
            pictures[f"networks/{name}"] = draw_svg(opened, direction=_direction(opened)) + "\n"
            parts.append(f"![The group {group.id}]({name})\n")
        parts.append(inside.table(drawn, MOST_INSIDE))
    return {f"networks/{known.name}.md": "\n".join(parts), **pictures}


def _direction(drawn: Drawing) -> Literal["right", "down"]:
    ends = [(connection.back, connection.front) for connection in drawn.connections.values()]
    return "right" if Graph.of((*drawn.capsules, *drawn.uses), ends).depth < MOST_ACROSS else "down"


def _facts(known: KnownNetwork, report: Report) -> str:
    kind = report.classification.kind if report.classification else "with a cycle"
    frozen = f", and {number(report.frozen_parameters)} frozen" if report.frozen_parameters else ""
    rows = [
        ("names", ", ".join(f"`{name}`" for name in known.names)),
        ("parameters", number(report.parameters) + frozen),
        ("multiply-adds", number(report.multiply_adds)),
        ("capsules, connections", f"{number(report.capsule_count)}, {number(report.connection_count)}"),
        ("inputs, outputs", f"{len(report.inputs)}, {len(report.outputs)}"),
        ("kind, depth", f"{kind}, {report.depth}"),
        ("input", show_sizes(known.input) + " (`--input`)" if known.input else "fixed"),
        ("classes", f"{known.classes} (`--classes`)" if known.classes else "none to choose"),
    ]
    return table(("of the network", ""), rows)


def _output_of(drawn: Drawing, use: Use) -> str:
    """Give the path of the capsule that is the first output of a use, of its last copy where it is repeated."""
    group = drawn.groups[use.group]
    inner = next(iter(group.outputs.values()))
    path = f"{use.id}." if use.repeat == 1 else f"{use.id}.{use.repeat - 1}."
    nested = next((within for within in group.uses if within.id == inner), None)
    return path + (inner if nested is None else _output_of(drawn, nested))


def _opened(group: Group) -> Drawing:
    """Make a drawing of a group's inside, to be looked at."""
    inside = Drawing(group.id, arguments=dict(group.arguments))
    # A use inside stands for its group with a plain box; what that group is, is told elsewhere.
    empty = [Group(id, {}, (), (), (), {}, {}) for id in {use.group for use in group.uses}]
    records = (*empty, *group.capsules, *group.uses, *group.connections)
    inside.apply(Edit("open", tuple(map(Put, records))))
    return inside


@dataclass(frozen=True)
class _Inside:
    """What a table tells: the capsules and uses below a path."""

    report: Report
    path: str
    capsules: tuple[Capsule, ...]
    uses: tuple[Use, ...]

    def table(self, drawn: Drawing, most: int | None = None) -> str:
        """Write a row for every capsule and every use, in the order in which they are computed."""
        order = {id: place for place, id in enumerate(self.report.capsules)}
        rows = {order[self.path + c.id]: self._row(c.id) for c in self.capsules if self.path + c.id in order}
        for use in self.uses:
            members = self._members(use)
            rows[min(order[id] for id in members)] = self._use_row(drawn, use, members)
        heads = ("capsule", "symbol", "enters by", "output", "parameters", "multiply-adds")
        listed = [rows[place] for place in sorted(rows)]
        if most is not None and len(listed) > most:
            listed = [*listed[: most // 2], ("…",) * len(heads), *listed[-2:]]
        return table(heads, listed)

    def _members(self, use: Use) -> list[str]:
        return [id for id in self.report.capsules if id.startswith(f"{self.path}{use.id}.")]

    def _row(self, id: str) -> tuple[str, ...]:
        capsule = self.report.capsules[self.path + id]
        entering = self._entering(capsule.incoming, set())
        return (f"`{id}`", capsule.title, entering, *self._costs([self.path + id], self.path + id))

    def _use_row(self, drawn: Drawing, use: Use, members: list[str]) -> tuple[str, ...]:
        inside = set(members)
        incoming = [id for member in members for id in self.report.capsules[member].incoming]
        given = use.arguments.items()
        arguments = ", ".join(name if value == f"={name}" else f"{name} {value}" for name, value in given)
        times = f" ×{use.repeat}" if use.repeat > 1 else ""
        title = f"group `{use.group}`{times}{f', {arguments}' if arguments else ''}; {len(members)} capsules"
        last = self.path + _output_of(drawn, use)
        return (f"`{use.id}`", title, self._entering(incoming, inside), *self._costs(members, last))

    def _costs(self, members: list[str], last: str) -> tuple[str, str, str]:
        found = [self.report.capsules[id] for id in members]
        incoming = [self.report.connections[id] for capsule in found for id in capsule.incoming]
        parameters = sum(w.structure.elements for c in incoming for w in c.weights.values())
        parameters += sum(w.structure.elements for c in found for w in c.stored if not w.state)
        costs = sum(c.multiply_adds for c in incoming)
        output = self.report.capsules[last].output
        shape = show_shape(output.shape) if output else "?"
        return shape, number(parameters) if parameters else "", number(costs) if costs else ""

    def _entering(self, connections: Iterable[str], inside: set[str]) -> str:
        texts: list[str] = []
        for id in connections:
            connection = self.report.connections[id]
            if connection.back in inside:
                continue
            within = connection.back.startswith(self.path)
            back = connection.back.removeprefix(self.path).partition(".")[0] if within else "the input"
            weights = " ".join(weight_text(w.structure.shape) for w in list(connection.weights.values())[:1])
            port = "" if connection.port == "in" else f" to {connection.port}"
            text = " ".join(filter(None, (connection.record.mark, back, weights))) + port
            # Into a group the same capsule may lead more than once; that it does is what the reader wants to know.
            if not inside or text not in texts:
                texts.append(text)
        if len(texts) > MOST_ENTERING:
            return f"{texts[0]}, {texts[1]}, … {texts[-1]} ({len(texts)})"
        return ", ".join(texts)
