"""The pages that the server makes itself: how to come in, and how to build the studio where it is not built."""

from html import escape


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


def page(title: str, *content: Markup) -> str:
    """Return a whole page with one card."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"Inkcap studio: {title}"),
        element("link", rel="icon", type="image/svg+xml", href="/static/inkcap.svg"),
        element("link", rel="stylesheet", href="/static/studio.css"),
    )
    top = element(
        "header", element("img", src="/static/inkcap.svg", alt="", width="26", height="26"), element("h1", "inkcap")
    )
    card = element("section", element("h2", title), *content, class_="card empty")
    body = element("body", top, element("main", card))
    return f"<!doctype html>\n{element('html', head, body, lang='en-GB')}\n"


def how_to_come_in() -> str:
    """Return the page for a browser that has no cookie of ours."""
    return page(
        "Open it by its link",
        element("p", "The studio lets in only who has its link. The terminal in which it runs has printed it:"),
        element("pre", "Inkcap studio: http://127.0.0.1:8765/?code=…"),
        element("p", "A link is good for one browser. For another one, stop the studio (Ctrl-C) and start it again."),
    )


def how_to_build() -> str:
    """Return the page in place of a front end that was not built."""
    return page(
        "The studio is not built yet",
        element("p", "This copy of Inkcap comes from its source, and the page that you would see here is built from "),
        element("p", element("code", "web/"), ". In the folder of the source, this builds it and starts the studio:"),
        element("pre", "make studio"),
        element("p", "Then load this page again."),
    )
