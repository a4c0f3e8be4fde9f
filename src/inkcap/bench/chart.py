"""A benchmark as a picture: for each network a bar for every contender, readable on light and on dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from inkcap.bench.records import CaseResult, Result, Row
from inkcap.bench.table import heading, show_ratio

WIDTH, LABEL, RIGHT = 800, 290, 60
BAR, GAP, HEAD, TOP = 15, 5, 30, 64
FEWEST_FOR_SCALE = 4.0
"""The scale reaches at least so many times as fast; beyond that it is logarithmic."""
SHOWN = (
    "eager",
    "favoured",
    "eager-here",
    "compiled",
    "onnxruntime",
    "keras-torch",
    "keras-jax",
    "keras-tensorflow",
    "jax",
    "torch-gather",
    "torch-csr",
    "scipy",
    "neat",
    "inkcap",
)
"""Whose bars are drawn, from the top: Inkcap's engines one by one are left to the table."""

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #1f2328; paint-order: stroke; stroke: #ffffff; stroke-width: 3px }
  .title { font-size: 15px; font-weight: 600 }
  .case { font-size: 13px; font-weight: 600 }
  .quiet { fill: #656d76 }
  .peer { fill: #9aa4b2 }
  .reference { fill: #57606a }
  .ours { fill: #c2410c }
  .whisker { stroke: #1f2328; stroke-width: 1; opacity: .55 }
  .one { stroke: #57606a; stroke-width: 1; stroke-dasharray: 3 3 }
  .paper { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; stroke: #0d1117 }
    .quiet { fill: #9198a1 }
    .peer { fill: #6b7684 }
    .reference { fill: #9198a1 }
    .ours { fill: #fb923c }
    .whisker { stroke: #e6edf3 }
    .one { stroke: #9198a1 }
    .paper { fill: #0d1117 }
  }
"""


def _drawn(case: CaseResult) -> list[Row]:
    measured = {row.contender: row for row in case.rows if row.figure is not None}
    return [measured[name] for name in SHOWN if name in measured]


class _Scale:
    """Where a ratio lies: linear, or logarithmic where some are many times as fast as others."""

    def __init__(self, rows: list[Row]) -> None:
        ratios = [row.figure.ratio for row in rows if row.figure is not None]
        largest = max((ratio.high for ratio in ratios), default=1.0)
        smallest = min((ratio.low for ratio in ratios), default=1.0)
        self.logarithmic = largest > FEWEST_FOR_SCALE
        self._low = math.log(min(smallest, 0.5) / 2) if self.logarithmic else 0.0
        self._high = math.log(largest) if self.logarithmic else max(largest, 1.5)

    def x(self, ratio: float) -> float:
        at = math.log(max(ratio, 1e-9)) if self.logarithmic else ratio
        part = (at - self._low) / (self._high - self._low)
        return LABEL + max(0.0, min(1.0, part)) * (WIDTH - LABEL - RIGHT)


def _bars(case: CaseResult, top: float) -> Iterator[str]:
    rows = _drawn(case)
    scale = _Scale(rows)
    note = ", logarithmic" if scale.logarithmic else ""
    title = heading(case.title, case.batch)
    yield f'<text class="case" x="12" y="{top + 18:.0f}">{escape(title)}<tspan class="quiet">{note}</tspan></text>'
    y = top + HEAD
    for row in rows:
        assert row.figure is not None
        ratio = row.figure.ratio
        kind = "ours" if row.contender == "inkcap" else "reference" if row is case.rows[0] else "peer"
        end = scale.x(ratio.median)
        middle = y + BAR / 2
        yield f'<text x="{LABEL - 8}" y="{y + 12:.0f}" text-anchor="end">{escape(row.title)}</text>'
        yield f'<rect class="{kind}" x="{LABEL}" y="{y:.0f}" width="{end - LABEL:.1f}" height="{BAR}" rx="2"/>'
        low, high = scale.x(ratio.low), scale.x(ratio.high)
        if high - low > 1:
            yield f'<path class="whisker" d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {y + 4}v7M{high:.1f} {y + 4}v7"/>'
        mark = "~" if row.figure.noisy else ""
        yield f'<text x="{max(end, high) + 6:.1f}" y="{y + 12:.0f}">{mark}{show_ratio(ratio.median)}</text>'
        y += BAR + GAP
    one = scale.x(1.0)
    yield f'<path class="one" d="M{one:.1f} {top + HEAD - 4:.0f}V{y:.0f}"/>'


def picture(result: Result) -> str:
    """Draw the benchmark as SVG; it says in words what it shows."""
    parts: list[str] = []
    top = float(TOP)
    for case in result.cases:
        rows = _drawn(case)
        if not rows:
            continue
        parts.extend(_bars(case, top))
        top += HEAD + len(rows) * (BAR + GAP) + 12
    names = ", ".join(case.title for case in result.cases)
    about = f"One {result.work} step, times as fast as eager PyTorch written by hand: {names}"
    height = top + 8
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" role="img" aria-label="{escape(about)}">'
    )
    where = f"{result.date}, {result.machine}; medians with quartiles, longer is faster"
    return "\n".join(
        [
            head,
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{height:.0f}" rx="8"/>',
            f'<text class="title" x="12" y="26">One {result.work} step, times as fast as eager PyTorch</text>',
            f'<text class="quiet" x="12" y="46">{escape(where)}</text>',
            *parts,
            "</svg>\n",
        ]
    )
