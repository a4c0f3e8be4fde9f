"""The studio's page as HTML. Every text goes through `element`, which escapes it: none reaches the page raw."""

from html import escape
from pathlib import PurePath

from inkcap.studio.workspace import MOST_DRAWINGS, Diagnostic, DrawingEntry, Listing, Summary


class Markup(str):
    """Text that is HTML already; only `element` makes it."""

    __slots__ = ()


VOID = frozenset({"img", "link", "meta"})


def element(name: str, /, *children: str, **attributes: str) -> Markup:
    """Return one HTML element; children and attributes are escaped, save those that are elements themselves.

    An attribute whose name is a Python word takes an underscore at its end (class_).
    """
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    if name in VOID:
        return Markup(f"<{name}{written}>")
    inside = "".join(child if isinstance(child, Markup) else escape(child) for child in children)
    return Markup(f"<{name}{written}>{inside}</{name}>")


def grouped(number: int) -> str:
    """Write a count in groups of three (582 026)."""
    return f"{number:,}".replace(",", "\N{NO-BREAK SPACE}")


def plural(number: int, word: str) -> str:
    """Write a count with its word in the right number."""
    return f"{grouped(number)} {word}" if number == 1 else f"{grouped(number)} {word}s"


def render(listing: Listing) -> str:
    """Return the whole page for a workspace."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", "Inkcap studio"),
        element("link", rel="icon", type="image/svg+xml", href="/static/inkcap.svg"),
        element("link", rel="stylesheet", href="/static/studio.css"),
    )
    broken = sum(not (entry.summary and entry.summary.well_formed) for entry in listing.drawings)
    top = element(
        "header",
        element("img", src="/static/inkcap.svg", alt="", width="26", height="26"),
        element("h1", "inkcap"),
        element("span", PurePath(listing.workspace).name, class_="place", title=listing.workspace),
        element("span", plural(len(listing.drawings), "drawing"), class_="chip"),
        *([element("span", f"{broken} to mend", class_="chip bad")] if broken else []),
    )
    cards = [_card(entry) for entry in listing.drawings] or [_empty()]
    if listing.more:
        cards.append(element("p", f"There are more: the first {MOST_DRAWINGS} drawings are shown.", class_="note"))
    body = element("body", top, element("main", *cards))
    return f"<!doctype html>\n{element('html', head, body, lang='en-GB')}\n"


def _empty() -> Markup:
    return element(
        "section",
        element("h2", "No drawing yet"),
        element("p", "A drawing is a file whose name ends in ", element("code", ".inkcap.json"), "."),
        element("p", "Make the first one in this folder, then load this page again:"),
        element("pre", "inkcap new lenet"),
        class_="card empty",
    )


def _card(entry: DrawingEntry) -> Markup:
    if entry.summary is None:
        chips = element("p", element("span", "cannot be read", class_="chip bad"), class_="chips")
        return element("article", _title(entry), chips, element("p", entry.error or "", class_="error"), class_="card")
    parts = [_title(entry), _chips(entry.summary)]
    if entry.summary.diagnostics:
        parts.append(element("ul", *map(_finding, entry.summary.diagnostics), class_="findings"))
    return element("article", *parts, class_="card")


def _title(entry: DrawingEntry) -> Markup:
    folder, _, name = entry.path.rpartition("/")
    before = [element("span", f"{folder}/", class_="place")] if folder else []
    return element("h2", *before, name)


def _chips(summary: Summary) -> Markup:
    if summary.well_formed:
        verdict, tone, sofar = f"✓ well formed · {summary.kind}", "chip ok", ""
    else:
        verdict, tone, sofar = "✗ not well formed", "chip bad", " so far"
    size = f"{plural(summary.capsules, 'capsule')} · {plural(summary.connections, 'connection')}"
    return element(
        "p",
        element("span", verdict, class_=tone),
        element("span", size, class_="chip"),
        element("span", plural(summary.parameters, "parameter") + sofar, class_="chip"),
        element("span", plural(summary.multiply_adds, "multiply-add") + sofar, class_="chip"),
        class_="chips",
    )


def _finding(diagnostic: Diagnostic) -> Markup:
    return element(
        "li",
        element("b", diagnostic.severity),
        " ",
        element("span", ", ".join(diagnostic.where), class_="place"),
        " ",
        diagnostic.message,
        " ",
        element("code", diagnostic.rule),
        class_="error" if diagnostic.severity == "error" else "other",
    )
