"""The table of a checked drawing: a row for each capsule, for the terminal and for notebooks."""

from __future__ import annotations

from html import escape

from inkcap.network.network import CheckedConnection
from inkcap.network.report import Report
from inkcap.structures import show_shape

HEADINGS = ("capsule", "symbol", "enters by", "total input", "output", "parameters", "multiply-adds")
WORDS = 3
"""The first columns are words, the others numbers."""
MOST_ROWS = 500
"""How many rows a notebook shows."""


def rows_of(report: Report) -> list[list[str]]:
    """Give the cells of every capsule; what enters it stands on one line each."""
    rows: list[list[str]] = []
    for capsule in (c for id, c in report.capsules.items() if id in report.drawing.capsules):
        incoming = [report.connections[id] for id in capsule.incoming]
        parameters = sum(w.structure.elements for c in incoming for w in c.weights.values())
        parameters += sum(w.structure.elements for w in capsule.stored if not w.state)
        costs = capsule.multiply_adds + sum(c.multiply_adds for c in incoming)
        rows.append(
            [
                capsule.id,
                capsule.title,
                "\n".join(_entering_text(c, report) for c in incoming),
                show_shape(capsule.total_input.shape) if capsule.total_input else "?",
                show_shape(capsule.output.shape) if capsule.output else "?",
                grouped(parameters) if parameters else "",
                grouped(costs) if costs else "",
            ]
        )
    return rows


def totals_of(report: Report) -> str:
    """Give parameters, multiply-adds and kind in one line."""
    kind = report.classification.kind if report.classification else "with a cycle"
    return f"{grouped(report.parameters)} parameters · {grouped(report.multiply_adds)} multiply-adds · {kind}"


def html_of(report: Report) -> str:
    """Write the table as HTML, with what is wrong above it."""
    rows = rows_of(report)
    errors = "".join(f"<li><b>{escape(d.rule)}</b> {escape(d.message)}</li>" for d in report.errors)
    head = "".join(f"<th{_side(i)}>{heading}</th>" for i, heading in enumerate(HEADINGS))
    body = "".join(
        f"<tr>{''.join(f'<td{_side(i)}>{_cell(cell)}</td>' for i, cell in enumerate(row))}</tr>"
        for row in rows[:MOST_ROWS]
    )
    more = f"<p>… and {len(rows) - MOST_ROWS} more capsules</p>" if len(rows) > MOST_ROWS else ""
    return (
        f"<p><b>{escape(report.drawing.name)}</b> · {escape(totals_of(report))}</p>"
        f"{f'<ul>{errors}</ul>' if errors else ''}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
    )


def grouped(value: int) -> str:
    """Write a whole number in groups of three: 582 026."""
    return f"{value:,}".replace(",", " ")


def _side(column: int) -> str:
    return ' style="text-align:left"' if column < WORDS else ' style="text-align:right"'


def _cell(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _entering_text(connection: CheckedConnection, report: Report) -> str:
    port = "" if connection.port == "in" else f" to {connection.port}"
    back = connection.back
    if back not in report.drawing.capsules and report.plain is not None:
        first, count = report.plain.columns.writes[connection.front]
        back = f"n{first} … n{first + count - 1}"
    return f"{connection.record.mark} {back}{port}  {_weight_text(connection)}".rstrip()


def _weight_text(connection: CheckedConnection) -> str:
    for weight in connection.weights.values():
        shape = weight.structure.shape
        if len(shape) == 4:
            return f"{shape[0]}@{shape[2]}×{shape[3]}×{shape[1]}"
        return "×".join(map(str, shape))
    return ""
