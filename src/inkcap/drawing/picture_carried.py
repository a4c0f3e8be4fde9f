"""Pictures that carry their drawing: in the metadata of an SVG, in a text chunk of a PNG, read back strictly."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from xml.etree import ElementTree as Xml
from xml.parsers import expat

from inkcap.drawing import limits
from inkcap.drawing.codec import DrawingError
from inkcap.drawing.picture_text import NOT_XML

NAMESPACE = "urn:inkcap:drawing"
KEYWORD = "inkcap:drawing"
SIGNATURE = b"\x89PNG\r\n\x1a\n"
PICTURE_BYTES = 64 * 2**20
"""The largest picture that is looked into."""
CHUNKS = 10_000
"""The most chunks that a PNG may have before its text."""
ELEMENTS = 2_000_000
EMPTY = "this picture carries no drawing: only those that Inkcap wrote with the drawing inside can be opened"


def carry_in_svg(svg: str, text: str) -> str:
    """Put the text of a drawing into the metadata of an SVG."""
    Xml.register_namespace("", "http://www.w3.org/2000/svg")
    holder = Xml.Element("metadata")
    inner = Xml.SubElement(holder, "drawing", {"xmlns": NAMESPACE})
    # What XML may not hold stands in JSON as an escape.
    inner.text = NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    end = svg.rindex("</svg>")
    return svg[:end] + Xml.tostring(holder, encoding="unicode") + svg[end:]


def carry_in_png(png: bytes, text: str) -> bytes:
    """Put the text of a drawing into a chunk of a PNG, after its header."""
    body = KEYWORD.encode() + b"\0\1\0\0\0" + zlib.compress(text.encode(), 9)
    header = len(SIGNATURE) + 12 + 13
    return png[:header] + _chunk(b"iTXt", body) + png[header:]


def state_resolution(png: bytes, per_metre: int) -> bytes:
    """State how many pixels of a PNG make a metre, so that it is set at its size."""
    header = len(SIGNATURE) + 12 + 13
    return png[:header] + _chunk(b"pHYs", struct.pack(">IIB", per_metre, per_metre, 1)) + png[header:]


def is_picture(content: bytes) -> bool:
    """Tell whether bytes are a PNG, or text that begins like XML."""
    return content.startswith(SIGNATURE) or content[:256].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def carried_text(content: bytes) -> str:
    """Read the text of the drawing that a picture carries; whatever is wrong is refused."""
    if len(content) > PICTURE_BYTES:
        raise DrawingError(f"the picture has {len(content)} bytes, {PICTURE_BYTES} are allowed")
    text = _from_png(content) if content.startswith(SIGNATURE) else _from_svg(content)
    if len(text) > limits.FILE_BYTES:
        raise DrawingError(f"the drawing inside is larger than {limits.FILE_BYTES // 2**20} MiB")
    return text


# PNG ---------------------------------------------------------------------------------------------------------


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(SIGNATURE)
    for _ in range(CHUNKS):
        if place == len(content):
            return
        if len(content) - place < 12:
            raise DrawingError(f"the PNG ends in the middle of a part, at byte {len(content)}")
        length, kind = struct.unpack_from(">I4s", content, place)
        end = place + 12 + length
        if end > len(content):
            raise DrawingError(f"the PNG is cut off: its part at byte {place} goes on until {end}")
        body = content[place + 8 : end - 4]
        if struct.unpack_from(">I", content, end - 4)[0] != zlib.crc32(kind + body):
            raise DrawingError(f"the PNG is damaged: the sum of its part at byte {place} is wrong")
        yield kind, body
        place = end
    raise DrawingError(f"the PNG has more than {CHUNKS} parts")


def _from_png(content: bytes) -> str:
    found = [body for kind, body in _chunks(content) if kind == b"iTXt" and body.startswith(KEYWORD.encode() + b"\0")]
    if len(found) != 1:
        raise DrawingError(EMPTY if not found else f"the PNG carries {len(found)} drawings, and one is allowed")
    packed = re.fullmatch(rb"inkcap:drawing\0([\0\1])\0[^\0]*\0[^\0]*\0(.*)", found[0], re.DOTALL)
    if packed is None:
        raise DrawingError("the text in the PNG is not of the form that PNG has for it")
    return _decoded(_inflated(packed[2]) if packed[1] == b"\1" else packed[2])


def _inflated(packed: bytes) -> bytes:
    stream = zlib.decompressobj()
    try:
        # Never more than is allowed, however small the packed text is.
        text = stream.decompress(packed, limits.FILE_BYTES + 1)
    except zlib.error as error:
        raise DrawingError(f"the text in the PNG cannot be unpacked: {error}") from None
    if len(text) > limits.FILE_BYTES:
        raise DrawingError(f"the drawing inside is larger than {limits.FILE_BYTES // 2**20} MiB")
    if not stream.eof:
        raise DrawingError("the text in the PNG is cut off")
    return text


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise DrawingError(f"the text in the picture is not UTF-8 (byte {error.start})") from None


# SVG ---------------------------------------------------------------------------------------------------------


class _Metadata:
    """Listens to an XML parser for the drawing in the metadata; what could be a bomb is refused at sight."""

    PLACE = ("http://www.w3.org/2000/svg svg", "http://www.w3.org/2000/svg metadata", f"{NAMESPACE} drawing")

    def __init__(self) -> None:
        self.path: list[str] = []
        self.elements = 0
        self.found = 0
        self.text: list[str] = []

    def doctype(self, *_: object) -> None:
        raise DrawingError("the SVG declares a document type, which none of Inkcap's does; it is not opened")

    def start(self, name: str, _: dict[str, str]) -> None:
        self.elements += 1
        if self.elements > ELEMENTS or len(self.path) > limits.JSON_DEPTH:
            raise DrawingError(
                f"the SVG has more than {ELEMENTS} elements, or some deeper than {limits.JSON_DEPTH} levels"
            )
        if tuple(self.path) == self.PLACE:
            raise DrawingError("the drawing in the SVG must be text, there are elements in it")
        self.path.append(name)
        self.found += tuple(self.path) == self.PLACE

    def end(self, _: str) -> None:
        self.path.pop()

    def data(self, text: str) -> None:
        if len(self.path) == len(self.PLACE) and tuple(self.path) == self.PLACE:
            self.text.append(text)


def _from_svg(content: bytes) -> str:
    parser = expat.ParserCreate(encoding="utf-8", namespace_separator=" ")
    listening = _Metadata()
    parser.StartDoctypeDeclHandler = listening.doctype
    parser.StartElementHandler = listening.start
    parser.EndElementHandler = listening.end
    parser.CharacterDataHandler = listening.data
    parser.buffer_text = True
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise DrawingError(f"not XML: {expat.ErrorString(error.code)}", f"line {error.lineno}") from None
    if listening.found != 1:
        raise DrawingError(
            EMPTY if not listening.found else f"the SVG carries {listening.found} drawings, and one is allowed"
        )
    return "".join(listening.text)
