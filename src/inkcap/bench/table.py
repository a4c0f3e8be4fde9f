"""A benchmark as text: lines for a terminal, a table for a page, JSON for programs."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inkcap.bench.contenders import INSTALL
from inkcap.bench.errors import BenchError
from inkcap.bench.records import CaseResult, Result, Row

BEGIN, END = "<!-- inkcap bench {work}: begin -->", "<!-- inkcap bench {work}: end -->"
NOISY = "~"


def show_ratio(value: float) -> str:
    """Write how many times as fast something is, with as many digits as it bears."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def show_seconds(value: float) -> str:
    """Write the time of a step."""
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.1f} ms" if value >= 1e-3 else f"{value * 1e6:.1f} µs"


def _share(row: Row) -> str:
    if row.share is None:
        return ""
    return f"{row.share:.0%}" if row.share >= 0.01 else f"{row.share:.1%}" if row.share >= 0.001 else "< 0.1%"


def heading(title: str, batch: int) -> str:
    """Write what was measured on which batch."""
    return title if "batch" in title else f"{title}, batch {batch}"


def lines_of(result: CaseResult) -> Iterator[str]:
    """Write a case for a terminal."""
    for row in result.rows:
        if row.figure is None:
            yield f"  {row.title:<46} {row.reason}"
            continue
        ratio, mark = row.figure.ratio, NOISY if row.figure.noisy else " "
        spread = f"({show_ratio(ratio.low)} to {show_ratio(ratio.high)})"
        time = show_seconds(row.figure.seconds.median)
        yield f"  {row.title:<46}{mark}{show_ratio(ratio.median):>6} {spread:<18}{time:>10} {_share(row):>7}"
    if result.gigaflops is not None and result.gigabytes is not None:
        yield f"  limits: {result.gigaflops:.0f} GFLOP/s by a matrix product, {result.gigabytes:.0f} GB/s by a triad"
    if result.noisy:
        yield "  noisy: the reference's own slots lie far apart, something else runs on this machine"


def missing_lines(result: Result) -> list[str]:
    """Say once who is left out, and how to get him in."""
    if not result.missing:
        return []
    packages = sorted({package for needed in result.missing.values() for package in needed})
    return [f"left out: {', '.join(result.missing)}, for {', '.join(packages)} is not installed: {INSTALL}"]


def geometric_mean(result: Result, contender: str) -> float | None:
    """Give the geometric mean of a contender's ratios over the drawn networks; None for one who lacks some of them."""
    drawn = [case for case in result.cases if not case.case.endswith("dag")]
    ratios = [
        row.figure.ratio.median
        for case in drawn
        for row in case.rows
        if row.contender == contender and row.figure is not None
    ]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios and len(ratios) == len(drawn) else None


def markdown(result: Result, command: str) -> str:
    """Write the whole benchmark as a part of a page."""
    titles: dict[str, str] = {}
    for case in result.cases:
        for row in case.rows:
            titles.setdefault(row.contender, row.title)
    load = "" if result.load_before is None else f" at a load of {result.load_before:.1f} before it began"
    versions = ", ".join(f"{package} {version}" for package, version in result.versions.items())
    lines = [
        f"`{command}` on {result.date}: {result.machine}, {result.threads} threads, {result.rounds} rounds{load}.",
        f"With {versions}.",
        "",
        f"One {result.work} step, as times as fast as eager PyTorch: the median of the rounds, and its quartiles.",
        f"A figure with {NOISY} is noisy: something else ran on the machine, or the rounds lie far apart.",
        "",
    ]
    lines += _table(result, titles)
    failed = [f"- {case.title}, {row.title}: {row.reason}." for case in result.cases for row in case.rows if row.reason]
    if failed:
        lines += ["", "Not measured:", "", *failed]
    lines += _limits(result) + _growth(result)
    return "\n".join(lines) + "\n"


def _table(result: Result, titles: dict[str, str]) -> list[str]:
    lines = [
        f"| | {' | '.join(heading(case.title, case.batch) for case in result.cases)} | geometric mean |",
        "|---|" + "---|" * (len(result.cases) + 1),
    ]
    for contender, title in titles.items():
        cells: list[str] = []
        for case in result.cases:
            row = next((row for row in case.rows if row.contender == contender), None)
            cells.append("" if row is None else _cell(row))
        mean = geometric_mean(result, contender)
        cells.append("" if mean is None else show_ratio(mean))
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return lines


def _cell(row: Row) -> str:
    if row.figure is None:
        return "failed"
    ratio, mark = row.figure.ratio, NOISY if row.figure.noisy else ""
    if ratio.low == ratio.high == 1:
        return f"{mark}1"
    return f"{mark}{show_ratio(ratio.median)} ({show_ratio(ratio.low)} to {show_ratio(ratio.high)})"


def _limits(result: Result) -> list[str]:
    known = [case for case in result.cases if case.gigaflops is not None and case.gigabytes is not None]
    if not known:
        return []
    lines = [
        "",
        "What the machine could do in the same rounds, and which part of its multiply-adds the steps reach "
        f"(two operations a multiply-add{', three passes' if result.work == 'training' else ''}).",
        "",
        "| network | a step of the reference | matrix product | triad | reference | Inkcap | best |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in known:
        assert case.gigaflops is not None
        assert case.gigabytes is not None
        measured = [row for row in case.rows if row.figure is not None and row.share is not None]
        ours = next((row for row in measured if row.contender == "inkcap"), None)
        best = max(measured, key=lambda row: row.share or 0)
        reference = case.rows[0].figure
        assert reference is not None
        lines.append(
            f"| {case.title} | {show_seconds(reference.seconds.median)} | {case.gigaflops:.0f} GFLOP/s "
            f"| {case.gigabytes:.0f} GB/s | {_share(case.rows[0])} | {'' if ours is None else _share(ours)} "
            f"| {_share(best)}, {best.title} |"
        )
    return lines


def _growth(result: Result) -> list[str]:
    if not result.growth:
        return []
    lines = [
        "",
        "How the time of a training step grows: as this power of the size.",
        "",
        "| size | from … to | PyTorch, eager | Inkcap |",
        "|---|---|---|---|",
    ]
    by_what: dict[str, dict[str, Any]] = {}
    for growth in result.growth:
        by_what.setdefault(growth.what, {})[growth.contender] = growth
    for what, grown in by_what.items():
        sizes = next(iter(grown.values())).sizes
        cells = [f"{grown[who].exponent:.2f}" if who in grown else "" for who in ("eager", "inkcap")]
        lines.append(f"| {what} | {sizes[0]} … {sizes[-1]} | {cells[0]} | {cells[1]} |")
    return lines


def to_json(result: Result) -> dict[str, Any]:
    """Give everything that was measured as plain values."""
    return dataclasses.asdict(result)


def write_into_page(path: Path, result: Result, command: str) -> None:
    """Write the benchmark into a page, between two marks: in place of what stands there, or at the end."""
    begin, end = BEGIN.format(work=result.work), END.format(work=result.work)
    block = f"{begin}\n{markdown(result, command)}{end}\n"
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if begin in text and end in text:
            text = re.sub(re.escape(begin) + ".*?" + re.escape(end) + "\n?", lambda _: block, text, flags=re.DOTALL)
        else:
            text = f"{text.rstrip()}\n\n{block}" if text.strip() else block
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BenchError(f"{path}: the table cannot be written: {error.strerror}") from None
