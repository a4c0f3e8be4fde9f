"""Bombs: small inputs that would become large, deep or endless, each with the door that it is sent through."""

from __future__ import annotations

import base64
import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from foreign import model_of

MEGA = 2**20


@dataclass(frozen=True)
class Bomb:
    """Bytes, and where they go: a drawing's text, a body, a picture, a file of data, a model, frames or raw HTTP."""

    name: str
    door: str
    content: bytes
    file: str = ""
    """The name of a file of data."""
    harmless: bool = False
    """Whether it may be taken: it is small where it is kept, and grows only where that is counted."""


EMPTY: dict[str, object] = {"format": 1, "name": "x", "capsules": [], "connections": []}


def _text(value: object) -> bytes:
    return json.dumps(value).encode()


def _groups(levels: int, repeat: int) -> dict[str, object]:
    """A drawing whose groups hold groups, each so many times: repeat to the power of the levels."""
    groups: list[dict[str, object]] = [
        {"id": "g0", "capsules": [{"id": "a", "symbol": "identical", "rank": 1}], "inputs": ["a"], "outputs": ["a"]}
    ]
    groups += [{"id": f"g{n}", "uses": [{"id": "u", "group": f"g{n - 1}", "repeat": repeat}]} for n in range(1, levels)]
    return {**EMPTY, "groups": groups, "uses": [{"id": "u", "group": f"g{levels - 1}"}]}


def _data_of(dimension: object) -> bytes:
    data = {"id": "a", "symbol": "data", "rank": 1, "attributes": {"dimension": dimension}}
    return _text({**EMPTY, "capsules": [data]})


def drawings() -> Iterator[Bomb]:
    """Texts of drawings: deep, long, endless, doubled."""
    many = [{"id": f"c{n}", "symbol": "identical", "rank": 1} for n in range(25_000)]
    lines = [{"id": f"l{n}", "symbol": "full", "back": "c0", "front": "c1"} for n in range(80_000)]
    opened = b'{"format":1,"capsules":[],"connections":[],"name":"'
    circle = [{"id": a, "uses": [{"id": "u", "group": b}]} for a, b in (("g", "h"), ("h", "g"))]
    texts: dict[str, bytes] = {
        "deep-lists": b"[" * 1_000_000,
        "deep-objects": b'{"a":' * 500_000,
        "deep-and-closed": b"[" * 100_000 + b"]" * 100_000,
        "just-too-deep": b"[" * 70 + b"]" * 70,
        "deep-in-a-drawing": b'{"format":1,"name":"x","capsules":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        "numbers": b"[" + b"0," * (2 * MEGA) + b"0]",
        "empty-objects": b"[" + b"{}," * MEGA + b"{}]",
        "empty-lists": b"[" + b"[]," * MEGA + b"[]]",
        "keys": b"{" + b",".join(b'"%d":0' % n for n in range(650_000)) + b"}",
        "same-key": b"{" + b'"a":0,' * 500_000 + b'"a":0}',
        "one-number": b"9" * 2 * MEGA,
        "huge-exponent": b'{"format":1,"name":"x","positions":{"a":[1e999999,0]}}',
        "long-name": _text({**EMPTY, "name": "x" * 2 * MEGA}),
        "wide-letters": b'{"format":1,"name":"' + "𝐱".encode() * MEGA + b'"}',
        "surrogates": opened + b"\\ud800" * MEGA + b'"}',
        "escapes": opened + b"\\u0041" * 2 * MEGA + b'"}',
        "white-space": b" " * 4 * MEGA,
        "many-capsules": _text({**EMPTY, "capsules": many}),
        "many-lines": _text({**EMPTY, "capsules": many[:2], "connections": lines}),
        "expression": _data_of("=" + "(" * 9000 + "1" + ")" * 9000),
        "power-expression": _data_of("=9**9**9**9"),
        "huge-dimension": _data_of(2**53),
        "nested-groups": _text(_groups(12, 10)),
        "repeated-group": _text(_groups(2, 2**40)),
        "groups-forty-deep": _text(_groups(40, 1)),
        "circular-groups": _text({**EMPTY, "groups": circle, "uses": [{"id": "u", "group": "g"}]}),
        "plain-columns": _text({**EMPTY, "plain": {"neurons": 2**52, "inputs": 2**52}}),
        "future": _text({"format": 10**9, "name": "x"}),
        "negative-format": _text({"format": -1, "name": "x"}),
        "nan": b'{"format":1,"name":"x","positions":{"a":[NaN,Infinity]}}',
    }  # fmt: skip
    # A drawing may be wrong: its report says so. It must not grow meanwhile.
    taken = ("nested-groups", "repeated-group", "huge-dimension", "circular-groups")
    for name, text in texts.items():
        yield Bomb(name, "drawing", text, harmless=name in taken)


def bodies() -> Iterator[Bomb]:
    """Bodies of JSON that are no requests."""
    texts = {
        "list-of-numbers": b"[" + b"0," * (2 * MEGA) + b"0]",
        "list-of-objects": b"[" + b"{}," * MEGA + b"{}]",
        "deep": b"[" * MEGA,
        "deep-name": b'{"name":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "zipped": gzip.compress(b'{"name":"' + b"x" * 80 * MEGA + b'"}', 9)[: 15 * MEGA],
        "many-unknown": b"{" + b",".join(b'"k%d":0' % n for n in range(650_000)) + b"}",
        "one-digit-after-another": b"1" * 4 * MEGA,
        "zeros": b"\x00" * 4 * MEGA,
        "utf-16": ('{"name":"' + "x" * 4 * MEGA + '"}').encode("utf-16"),
        "base64-of-nothing": b'{"name":"x","picture":"' + b"A" * 8 * MEGA + b'"}',
        "not-base64": b'{"name":"x","picture":"' + b"?" * 4 * MEGA + b'"}',
        "three-sources": b'{"name":"x","zoo":"mlp","text":"{}","picture":"AAAA"}',
    }
    for name, text in texts.items():
        yield Bomb(name, "body", text)


def _png(*chunks: tuple[bytes, bytes]) -> bytes:
    made = [
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(made)


@cache
def _deflated(megabytes: int) -> bytes:
    packer = zlib.compressobj(9)
    pieces = [packer.compress(b"\x00" * MEGA) for _ in range(megabytes)]
    return b"".join([*pieces, packer.flush()])


def _head(width: int, height: int) -> tuple[bytes, bytes]:
    return b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)


def pictures() -> Iterator[Bomb]:
    """Pictures that carry a drawing, or say so."""
    carried = b"inkcap:drawing\0\1\0\0\0"
    huge = carried + _deflated(80)
    made = {
        "packed-zeros": _png(_head(1, 1), (b"iTXt", huge), (b"IEND", b"")),
        "twice": _png(_head(1, 1), (b"iTXt", huge), (b"iTXt", huge), (b"IEND", b"")),
        "many-chunks": _png(_head(1, 1), *[(b"tEXt", b"a\0b")] * 60_000),
        "cut-off": _png(_head(1, 1), (b"iTXt", huge))[:-900],
        "length-beyond": _png(_head(1, 1)) + struct.pack(">I", 2**32 - 1) + b"iTXt",
        "deep-inside": _png(_head(1, 1), (b"iTXt", carried + zlib.compress(b"[" * MEGA)), (b"IEND", b"")),
        "svg-entities": b'<!DOCTYPE svg [<!ENTITY a "' + b"x" * 1000 + b'">'
        + b"".join(b'<!ENTITY b%d "%s">' % (n, b"&a;" * 1000) for n in range(9)) + b"]><svg>&b8;</svg>",
        "svg-deep": b"<svg>" + b"<g>" * 400_000,
        "svg-long": b"<svg>" + b"<metadata>" * 300_000,
    }  # fmt: skip
    for name, content in made.items():
        yield Bomb(name, "picture", content)


def _zip(members: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind, compresslevel=9) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _npy(shape: str, content: bytes = b"", descr: str = "'<f4'") -> bytes:
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(10 + len(head) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + content


def _lying_zip(content: bytes, size: int) -> bytes:
    """Say of every member that it has another size than it has."""
    made = bytearray(_zip({"x.npy": content, "y.npy": content}))
    place = -1
    while (place := made.find(b"PK\x01\x02", place + 1)) >= 0:
        made[place + 24 : place + 28] = struct.pack("<I", size)
    return bytes(made)


def data() -> Iterator[Bomb]:
    """Files of data that are uploaded, and looked into."""
    zeros = _npy(f"({80 * MEGA},)", b"\x00" * (80 * MEGA), "'|u1'")
    small = _npy("(4,)", b"\x00" * 16)
    rows = b"".join(b"%d,%d,a\n" % (n, n) for n in range(9))
    dots = (b"IDAT", zlib.compress(b"\0" * 20))
    idx = b"\x00\x00\x08\x03" + struct.pack(">III", 2**31, 2**31, 2**31)
    made: dict[str, bytes] = {
        "zeros.npz": _zip({"x.npy": zeros, "y.npy": small}),
        "many.npz": _zip({f"a{n}.npy": small for n in range(3000)}),
        "nested.npz": _zip({"x.npy": _zip({"x.npy": _zip({"x.npy": small})}), "y.npy": small}),
        "vast-shape.npz": _zip({"x.npy": _npy("(1099511627776, 1099511627776)"), "y.npy": small}),
        "negative-shape.npz": _zip({"x.npy": _npy("(-4,)", b"\x00" * 16), "y.npy": small}),
        "many-axes.npz": _zip({"x.npy": _npy("(" + "1," * 60 + ")", b"\x00" * 4), "y.npy": small}),
        "deep-header.npz": _zip({"x.npy": _npy("(" * 9000 + ")" * 9000), "y.npy": small}),
        "long-header.npz": _zip({"x.npy": b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{", "y.npy": small}),
        "objects.npz": _zip({"x.npy": _npy("(1,)", b"\x80\x04N.", "'|O'"), "y.npy": small}),
        "lies-small.npz": _lying_zip(_npy(f"({MEGA},)", b"\x00" * 4 * MEGA), 10),
        "lies-large.npz": _lying_zip(small, 2**31),
        "same-name.npz": _zip({"x.npy": small, "x": small, "y.npy": small}),
        "out.npz": _zip({"../../../x.npy": small, "y.npy": small}),
        "cut.npz": _zip({"x.npy": small, "y.npy": small})[:-30],
        "empty.npz": _zip({}),
        "no.npz": b"PK\x05\x06" + b"\x00" * 18,
        "far.npz": b"PK\x05\x06" + b"\xff" * 18,
        "columns.csv": b",".join([b"a"] * 600_000) + b"\n" + b",".join([b"1"] * 600_000) + b"\n",
        "different-columns.csv": b",".join(b"c%d" % n for n in range(400_000)) + b"\n" + b"1," * 400_000 + b"1\n",
        "one-field.csv": b'a,b\n"' + b"x" * 4 * MEGA + b'",1\n',
        "never-closed.csv": b'a,b\n"' + b"1,2\n" * 200_000,
        "ragged.csv": b"a,b\n" + rows + b"1,2,3,4,5\n" * 9,
        "huge-numbers.csv": b"a,b\n" + b"1" * MEGA + b",2\n" * 3,
        "infinite.csv": b"a,b\n1e999,x\nnan,y\n-inf,z\n",
        "classes.csv": b"a,b\n" + b"".join(b"%d,c%d\n" % (n, n) for n in range(60_000)),
        "zeros.csv": b"\x00" * 2 * MEGA,
        "wide-bytes.csv": ("a,b\n" + "1,2\n" * 200_000).encode("utf-16"),
        "blank-lines.csv": b"a,b\n" + b"\n" * 2 * MEGA,
        "zeros-images-idx3-ubyte.gz": gzip.compress(b"\x00\x00\x08\x03" + b"\x00" * 80 * MEGA, 9),
        "vast-images-idx3-ubyte.gz": gzip.compress(idx),
        "vast-images-idx3-ubyte": idx,
        "flat-images-idx3-ubyte": b"\x00\x00\x08\xff" + b"\x00" * 1024,
        "wide.png": _png(_head(50_000, 50_000), (b"IDAT", _deflated(5)), (b"IEND", b"")),
        "endless.png": _png(_head(2**31 - 1, 2**31 - 1), (b"IDAT", b""), (b"IEND", b"")),
        "text.png": _png(_head(4, 4), (b"zTXt", b"a\0\0" + _deflated(80)), dots, (b"IEND", b"")),
        "profile.png": _png(_head(4, 4), (b"iCCP", b"a\0\0" + _deflated(80)), dots, (b"IEND", b"")),
        "vast.bmp": b"BM" + struct.pack("<IHHIIiiHHIIiiII", 70, 0, 0, 54, 40, 2**30, 2**30, 1, 24, 0, 0, 0, 0, 0, 0),
        "vast.jpg": b"\xff\xd8\xff\xc0\x00\x11\x08\xff\xff\xff\xff\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01\xff\xda",
    }  # fmt: skip
    for name, content in made.items():
        ending = name.rpartition(".")[2]
        folder = "pictures" if ending in ("png", "jpg", "bmp") else ""
        taken = name in ("blank-lines.csv", "classes.csv", "same-name.npz", "text.png", "profile.png", "columns.csv")
        yield Bomb(name, f"data {folder}".strip(), content, name, harmless=taken)


def _row(count: int) -> bytes:
    nodes = [("Relu", (f"v{n}",), (f"v{n + 1}",), {}) for n in range(count)]
    return model_of(nodes, {"v0": ("n", 4)}, [f"v{count}"])


def _grown(operator: str, sizes: list[int]) -> bytes:
    return model_of([(operator, "xs", "y", {})], {"x": ("n", 4)}, ["y"], {"s": np.array(sizes)})


def models() -> Iterator[Bomb]:
    """ONNX files that grow when they are read."""
    stated = [("ConstantOfShape", ("s",), ("h",), {}), ("Add", ("x", "h"), ("y",), {})]
    wide = {"s": np.array([1 << 25, 1 << 25])}
    made = {
        "stated": model_of(stated, {"x": ("n", 4)}, ["y"], wide),
        "many-nodes": _row(60_000),
        "wide-input": model_of([("Relu", "x", "y", {})], {"x": ("n", 4096, 65536, 65536)}, ["y"]),
        "expand": _grown("Expand", [1, 2**40, 4]),
        "tile": _grown("Tile", [1, 2**40]),
        "pad": _grown("Pad", [0, 2**40, 0, 2**40]),
        "zeros": b"\x00" * 32 * MEGA,
        "one-field": b"\x3a" + b"\xff\xff\xff\xff\x07" + b"\x0a" * 1000,
        "groups": b"\x0b" * 2 * MEGA,
        "varints": b"\x08\xff" * 2 * MEGA,
    }
    for name, content in made.items():
        yield Bomb(name, "model", content)


@cache
def bombs() -> tuple[Bomb, ...]:
    """All that go through a request as they are; models, frames and raw requests are beside them."""
    return (*drawings(), *bodies(), *pictures(), *data())


def as_request(bomb: Bomb) -> bytes:
    """Give the body in which a drawing or a picture is sent."""
    if bomb.door == "drawing":
        return json.dumps({"name": "bomb", "text": bomb.content.decode()}, ensure_ascii=False).encode()
    if bomb.door == "picture":
        return json.dumps({"name": "bomb", "picture": base64.b64encode(bomb.content).decode()}).encode()
    return bomb.content
