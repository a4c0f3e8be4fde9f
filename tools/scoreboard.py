"""The scoreboard of the fortress: what the campaigns counted, kept in docs/fortress.json and shown on docs/fortress.md.

Usage: python tools/scoreboard.py [tally]     take the figures of a tally, if one is named, and write the page anew

A tally is what campaigns write to the file that INKCAP_TALLY names: one JSON object a line, with the campaign, the
test, whether it was the full count, and its figures. A row that is marked as whole has all of its count in the quick
part, which every `make test` runs; one of which this holds for some tests names them. One that states what its full
count is says so as long as that is not reached: long campaigns run in parts, on more than one day if need be, and each
part is kept until it is run again.
"""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE, DATA = ROOT / "docs" / "fortress.md", ROOT / "docs" / "fortress.json"
BEGIN, END = "<!-- scoreboard: written by tools/scoreboard.py -->", "<!-- end of the scoreboard -->"
HEAD = "| | attacked or broken | target | reached | other tools, at best | how to repeat | when |"
KNOWN = ("campaign", "full", "test", "what")
LARGEST = ("longest", "most", "slowest", "peak", "p50", "p90", "p95", "p99", "clients", "kinds", "steps")
"""Figures that begin like this are the largest of their parts; all others are added up."""
UNITS = ("_ms", "_s", "_seconds", "_mb", "_mib", "_percent", "_ratio")
Record = dict[str, Any]
Key = tuple[str, bool, str, str]
"""A campaign, whether it was the full count, a test and the kind of thing that it counts."""


def read_tally(text: str) -> list[Record]:
    """Read the lines of a tally; a test that ran again counts once, as it ended last."""
    found: dict[tuple[str, ...], Record] = {}
    for line in filter(str.strip, text.splitlines()):
        record = json.loads(line)
        found[record["campaign"], record["test"], str(record.get("what", "")), str(record["full"])] = record
    return list(found.values())


def dated(records: Iterable[Record], today: str) -> list[Record]:
    """Give what is kept of each record: its figures apart from its names, and the day."""
    names = ({**record, "full": bool(record["full"]), "what": str(record.get("what", ""))} for record in records)
    return [
        {
            **{name: record[name] for name in KNOWN},
            "when": today,
            "figures": {name: value for name, value in record.items() if name not in KNOWN},
        }
        for record in names
    ]


def function_of(entry: Record) -> Key:
    """Name the test function of an entry, whichever part of it was run."""
    return (entry["campaign"], entry["full"], entry["test"].partition("[")[0], entry["what"])


def part_of(entry: Record) -> Key:
    """Name the part of an entry."""
    return (entry["campaign"], entry["full"], entry["test"], entry["what"])


def together(entries: Iterable[Record]) -> list[Record]:
    """Put the parts of one test together: one entry for each campaign, test function and kind of thing."""
    found: dict[Key, Record] = {}
    for part in entries:
        campaign, full, test, what = function_of(part)
        start = {"campaign": campaign, "full": full, "test": test, "what": what, "when": "", "figures": {}}
        entry = found.setdefault(function_of(part), start)
        entry["when"] = max(entry["when"], part["when"])
        for name, value in part["figures"].items():
            entry["figures"][name] = merged(name, entry["figures"].get(name), value)
    return list(found.values())


def merged(name: str, before: Any, value: Any) -> Any:
    """Put two figures of one name together."""
    if before is None or not isinstance(value, int | float) or not isinstance(before, int | float):
        return value
    if isinstance(value, bool) or name.startswith(LARGEST) or name.endswith(UNITS):
        return max(before, value)
    return before + value


def updated(data: Record, entries: Sequence[Record]) -> Record:
    """Give the kept figures with newer ones in their places, and a row for a campaign that had none."""
    # A test that has parts now had none when it was kept as a whole.
    undivided = {function_of(entry) for entry in entries if "[" in entry["test"]}
    kept = {part_of(entry): entry for entry in data["figures"] if part_of(entry) not in undivided}
    kept |= {part_of(entry): entry for entry in entries}
    rows = {row["campaign"]: row for row in data["rows"]}
    for campaign, *_ in kept:
        rows.setdefault(campaign, {"campaign": campaign, "broken": "", "target": "", "others": ""})
    return {"rows": list(rows.values()), "figures": [kept[key] for key in sorted(kept)]}


def shown(value: Any) -> str:
    """Write a figure as a person reads it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).replace("|", "∣").replace("\n", " ")
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}".replace(",", "\u202f")
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}".replace(",", "\u202f")


def told(entry: Record) -> str:
    """Write one entry: what was counted, and how often."""
    parts = [f"{name.replace('_', ' ')} {shown(value)}" for name, value in entry["figures"].items()]
    return f"{entry['what']}: {', '.join(parts)}" if entry["what"] else ", ".join(parts)


def row_of(row: Record, entries: Sequence[Record]) -> str:
    """Write the row of a campaign; what was not run in full says so."""
    full, quick = ([entry for entry in entries if entry["full"] is kind] for kind in (True, False))
    chosen = full or quick
    reached = "; ".join(map(told, chosen)) or "not run"
    if quick and not full and not row.get("whole"):
        reached = f"quick: {reached}; the full count was not run"
    # What has no larger part than that of every run counts beside the full part of the others.
    daily = [entry for entry in quick if full and entry["test"].partition("::")[2] in row.get("every_run", ())]
    reached += "".join(f"; in every run {told(entry)}" for entry in daily)
    reached += "".join(lacking(row, full))
    files = sorted({entry["test"].partition("::")[0] for entry in chosen})
    named = f'"{" ".join(files)}"' if len(files) > 1 else "".join(files)
    repeat = (f"`make soak TESTS={named}`" if full else f"`pytest {' '.join(files)}`") if files else ""
    when = max((entry["when"] for entry in chosen), default="")
    cells = (row["campaign"], row["broken"], row["target"], reached, row["others"], repeat, when)
    return "| " + " | ".join(cells) + " |"


def lacking(row: Record, full: Sequence[Record]) -> Iterable[str]:
    """Say how far the full count has come, where only some of its parts were run."""
    for name, wanted in row.get("counts", {}).items():
        done = sum(entry["figures"].get(name, 0) for entry in full)
        if full and done < wanted:
            yield f"; so far {shown(done)} {name.replace('_', ' ')} of {shown(wanted)}"


def table(data: Record) -> str:
    """Write the whole table."""
    lines = [HEAD, "|" + "---|" * (HEAD.count("|") - 1)]
    for row in data["rows"]:
        lines.append(row_of(row, together(e for e in data["figures"] if e["campaign"] == row["campaign"])))
    return "\n".join(lines)


def rendered(page: str, data: Record) -> str:
    """Give the page with the table in its place."""
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"docs/fortress.md: the table goes between {BEGIN!r} and {END!r}, which are not there")
    return f"{before}{BEGIN}\n{table(data)}\n{END}{after}"


def main(arguments: Sequence[str]) -> int:
    """Take new figures, if any, and write the page."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    for name in arguments:
        path = Path(name)
        if not path.is_file():
            print(f"{name}: no campaign has counted anything")
            continue
        entries = dated(read_tally(path.read_text(encoding="utf-8")), datetime.date.today().isoformat())
        data = updated(data, entries)
        print(f"{len(entries)} figures of {len({entry['campaign'] for entry in entries})} campaigns taken over")
    DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8"), data), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
