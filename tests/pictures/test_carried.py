"""Pictures that carry their drawing open again as the same one; whatever else is inside is refused."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from PIL import Image

from inkcap.drawing import DrawingError, Edit, Meta, Put, from_bytes, limits, load_drawing
from inkcap.drawing.picture_carried import (
    KEYWORD,
    SIGNATURE,
    carried_text,
    carry_in_png,
    carry_in_svg,
    is_picture,
    state_resolution,
)
from inkcap.drawing.picture_png import svg_to_png
from inkcap.network import check
from inkcap.network.picture import picture_of
from inkcap.zoo import draw

SVG = picture_of(check(draw("mlp")))
PNG = svg_to_png(SVG)
NAMES = ("LeNet", "a\ufffeb\uffff<&>]]>\"'", "中文 \U0001f600 е", "--></metadata>")


@pytest.mark.parametrize("name", NAMES)
def test_a_drawing_goes_into_both_and_comes_back(name: str) -> None:
    drawing = draw("resnet18")
    drawing.apply(Edit("name", (Put(Meta(name, drawing.dtype)),)))
    text = drawing.to_text()
    for picture in (carry_in_svg(SVG, text).encode(), carry_in_png(PNG, text)):
        assert is_picture(picture)
        assert from_bytes(picture).to_text() == text


def test_a_picture_stays_a_picture(tmp_path) -> None:
    png = carry_in_png(state_resolution(PNG, 11811), draw("mlp").to_text())
    image = Image.open(io.BytesIO(png))
    image.load()
    assert image.size == Image.open(io.BytesIO(PNG)).size
    assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)
    (tmp_path / "mlp.png").write_bytes(png)
    assert load_drawing(tmp_path / "mlp.png").to_text() == draw("mlp").to_text()


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def with_text(body: bytes) -> bytes:
    return PNG[:33] + chunk(b"iTXt", KEYWORD.encode() + body) + PNG[33:]


BOMB = zlib.compress(b" " * (limits.FILE_BYTES + 1))
CARRYING = carry_in_svg(SVG, draw("mlp").to_text())
WRONG = {
    "nothing inside": (PNG, "carries no drawing"),
    "a picture of somebody else": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "carries no drawing"),
    "a bomb": (with_text(b"\0\1\0\0\0" + BOMB), "larger than 16 MiB"),
    "text that is cut off": (with_text(b"\0\1\0\0\0" + zlib.compress(b"{}")[:-6]), "cut off"),
    "text that is not packed": (with_text(b"\0\1\0\0\0nothing"), "cannot be unpacked"),
    "another form of text": (with_text(b"\0\7\0\0\0{}"), "not of the form"),
    "bytes that are no text": (with_text(b"\0\0\0\0\0\xff\xfe"), "not UTF-8"),
    "two drawings": (carry_in_png(carry_in_png(PNG, "{}"), "{}"), "carries 2 drawings"),
    "a PNG that ends early": (PNG[:-6], "PNG"),
    "a PNG with a wrong sum": (PNG[:40] + b"\0" + PNG[41:], "PNG"),
    "a PNG of many parts": (SIGNATURE + chunk(b"tEXt", b"") * 10_001, "more than 10000 parts"),
    "a document type": (b"<!DOCTYPE svg [<!ENTITY a 'b'>]><svg>&a;</svg>", "document type"),
    "no XML": (b"<svg><g></svg>", "not XML"),
    "an unknown entity": (b"<svg>&nbsp;</svg>", "not XML"),
    "deep elements": (b"<g>" * 100 + b"</g>" * 100, "deeper than"),
    "elements in the drawing": (CARRYING.replace("{", "<b>{</b>", 1).encode(), "elements in it"),
    "twice in one": (carry_in_svg(CARRYING, "{}").encode(), "carries 2 drawings"),
    "a drawing elsewhere": (b"<svg xmlns='http://www.w3.org/2000/svg'><g xmlns='urn:inkcap:drawing'/></svg>", "no dra"),
    "a wrong drawing": (carry_in_svg(SVG, '{"format": 1, "format": 2}').encode(), "stands twice"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_refused(what: str) -> None:
    content, said = WRONG[what]
    with pytest.raises(DrawingError, match=said):
        from_bytes(content)


def test_too_large_a_picture_is_not_looked_into(monkeypatch) -> None:
    monkeypatch.setattr("inkcap.drawing.picture_carried.PICTURE_BYTES", 100)
    with pytest.raises(DrawingError, match="100 are allowed"):
        carried_text(PNG)
