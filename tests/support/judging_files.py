"""Hostile names in the forms beside Python, SVG and TikZ: notebooks, PNG, PDF, ONNX, programs, weights, terminals."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from contextlib import redirect_stdout
from html.parser import HTMLParser
from xml.etree import ElementTree as Xml

import onnx

from inkcap.cli.output import print_json, say
from inkcap.drawing import from_bytes
from inkcap.drawing.picture_text import NOT_XML
from inkcap.exchange.exporting import _packed, drawn_with, loaded
from inkcap.exchange.onnx_file import to_onnx
from inkcap.exchange.program_file import to_program
from inkcap.exchange.proof import stored_in
from inkcap.exchange.torch_file import print_checked
from inkcap.network import Report
from inkcap.network.picture import Style, draw_figure

TAGS = {"p", "b", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "br"}
STYLES = {"text-align:left", "text-align:right"}
DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
PLAIN_NAME = re.compile(r"[A-Za-z0-9_.]*")


class _Tree(HTMLParser):
    """Reads HTML as a list of tags with their attributes, and refuses what the table of a report does not have."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, ...]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, f"the tag {tag}"
        assert all(name == "style" and value in STYLES for name, value in attrs), attrs
        self.found.append((tag, *(str(value) for _, value in attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert tag in TAGS, f"the end of {tag}"
        self.found.append((f"/{tag}",))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def refuse(self, data: str) -> None:
        raise AssertionError(f"HTML has {data!r}")

    handle_comment = handle_decl = handle_pi = unknown_decl = refuse


def html_tree(html: str) -> list[tuple[str, ...]]:
    """Give the tags of a notebook's table with their attributes; other tags and attributes are an error."""
    tree = _Tree()
    tree.feed(html)
    tree.close()
    # Scripts read HTML in ways of their own, XML readers in one: both have to see the same.
    whole = NOT_XML.sub("\ufffd", html.replace("<br>", "<br/>"))
    root = Xml.fromstring(f"<div>{whole}</div>")  # noqa: S314
    assert sum(1 for _ in root.iter()) - 1 == sum(1 for one in tree.found if one[0][0] != "/")
    return tree.found


def judge_notebook_table(report: Report) -> list[tuple[str, ...]]:
    """Read the table of a notebook; its heading is the drawing's name, letter by letter."""
    html = report._repr_html_()
    tree = _Tree()
    tree.feed(html)
    tree.close()
    heading = "".join(tree.texts).split(" · ")[0]
    assert heading == report.drawing.name.split(" · ")[0], heading
    return html_tree(html)


def judge_png(report: Report) -> list[str]:
    """Give the kinds of chunks of a PNG; the drawing that it carries comes back as it was."""
    content = draw_figure(report, "png", Style()).content
    assert from_bytes(content).to_text() == (report.drawn or report.drawing).to_text()
    kinds: list[str] = []
    place = 8
    while place < len(content):
        length, kind = struct.unpack(">I4s", content[place : place + 8])
        kinds += [kind.decode("ascii")] if not kinds or kinds[-1] != kind.decode("ascii") else []
        place += length + 12
    assert place == len(content)
    return kinds


ACTS = re.compile(
    rb"/(?:JavaScript|JS|Launch|URI|GoToR|GoToE|SubmitForm|ImportData|EmbeddedFiles?|OpenAction|AA|RichMedia)\b"
)
STREAM = re.compile(rb"stream\r?\n(.*?)\r?\nendstream", re.DOTALL)


def judge_pdf(report: Report) -> list[str]:
    """Give the kinds of objects of a PDF; nothing in it acts, loads or leads elsewhere."""
    content = draw_figure(report, "pdf", Style()).content
    parts = [STREAM.sub(b"", content)]
    for packed in STREAM.findall(content):
        # Fonts and pictures may hold any bytes; lists of objects begin with their numbers.
        try:
            plain = zlib.decompress(packed)
        except zlib.error:
            continue
        parts += [plain] if re.match(rb"\d+ \d+ ", plain) else []
    for part in parts:
        assert not (found := ACTS.search(part)), found
    types = [kind for part in parts for kind in re.findall(rb"/Type ?/(Page|Catalog|Annot|Action)\b", part)]
    return sorted(kind.decode() for kind in types)


def judge_onnx(report: Report) -> list[str]:
    """Give the operators of an ONNX file; every name in it is of plain letters, and no text tells more."""
    file = print_checked(report)
    model = onnx.load_from_string(to_onnx(file, loaded(file, stored_in(drawn_with(file, None)))))
    graph = model.graph
    named = [*graph.input, *graph.output, *graph.initializer, *graph.value_info, *graph.node]
    for name in [one.name for one in named] + [name for node in graph.node for name in (*node.input, *node.output)]:
        assert PLAIN_NAME.fullmatch(name), name
    for text in (model.doc_string, graph.doc_string, *(node.doc_string for node in graph.node)):
        assert text.isascii(), text
    props = [*model.metadata_props, *graph.metadata_props, *(p for node in graph.node for p in node.metadata_props)]
    for prop in props:
        assert prop.value.isascii(), (prop.key, prop.value)
    return [node.op_type for node in graph.node]


def judge_program(report: Report) -> list[str]:
    """Give the members of a program of torch.export, each a plain path inside of it, and its operations."""
    file = print_checked(report)
    packed = zipfile.ZipFile(io.BytesIO(to_program(file, loaded(file, stored_in(drawn_with(file, None))))))
    assert all(re.fullmatch(r"[\w./-]+", name) and ".." not in name for name in packed.namelist()), packed.namelist()
    model = next(name for name in packed.namelist() if name.endswith("models/model.json"))
    program = json.loads(packed.read(model))
    return [node["target"] for node in program["graph_module"]["graph"]["nodes"]]


def judge_weights(report: Report) -> list[tuple[int, ...]]:
    """Give the shapes of a file of weights; its names are paths of plain letters."""
    file = print_checked(report)
    content = _packed(file, stored_in(drawn_with(file, None)))
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    assert all(PLAIN_NAME.fullmatch(name) or name == "__metadata__" for name in header), list(header)
    return sorted(tuple(entry["shape"]) for name, entry in header.items() if name != "__metadata__")


def judge_terminal(report: Report) -> None:
    """Print a report as JSON and as lines: the JSON reads back equal, and no letter steers a terminal."""
    told = report.to_json()
    texts = [report.drawing.name, *(record.label for record in report.drawing.capsules.values())]
    with redirect_stdout(io.StringIO()) as printed:
        print_json(told)
    assert json.loads(printed.getvalue()) == json.loads(json.dumps(told))
    with redirect_stdout(io.StringIO()) as lines:
        for text in texts:
            say(text)
    for sign in printed.getvalue() + lines.getvalue():
        assert sign in "\n\t" or not steers(sign), repr(sign)


def steers(sign: str) -> bool:
    """Tell whether a terminal could take a letter for a command, or turn the direction of what follows."""
    return ord(sign) < 32 or 127 <= ord(sign) < 160 or sign in "\u2028\u2029" or sign in DIRECTIONS


FORMS: dict[str, tuple[int, Callable[[Report], object]]] = {
    "notebook": (1, judge_notebook_table),
    "terminal": (1, judge_terminal),
    "safetensors": (50, judge_weights),
    "png": (50, judge_png),
    "pdf": (100, judge_pdf),
    "torch-export": (300, judge_program),
    "onnx": (1000, judge_onnx),
}
"""Every form with how many drawings lie between two that are judged in it: ONNX takes seconds."""
SLOW = {"onnx"}
"""Forms that only the full part judges."""
