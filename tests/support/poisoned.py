"""Poisoned data: files and folders that are damaged, lie about themselves, or would like to be more than data."""

from __future__ import annotations

import functools
import gzip
import io
import os
import pickle
import random
import socket
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

REFUSED, EITHER = "refused", "either"


@dataclass(frozen=True)
class Poison:
    """One poisoned set: what makes it in a folder and gives the name to load, and whether it must be refused."""

    name: str
    make: Callable[[Path], str]
    must: str = EITHER


class Canary:
    """An object that writes a file where it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (open, (self.path, "w"))


def alarming_pickle(folder: Path) -> bytes:
    """Give a pickle that leaves a file ``canary`` beside the data, if anyone reads it as one."""
    return pickle.dumps(Canary(str(folder / "canary")))


def written(folder: Path, name: str, content: bytes) -> str:
    """Write a file and give its name."""
    (folder / name).write_bytes(content)
    return name


# Pictures --------------------------------------------------------------------------------------------------------


def picture(form: str = "PNG", mode: str = "RGB", size: tuple[int, int] = (9, 8), **options: object) -> bytes:
    """Save a small picture."""
    stream = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).convert(mode).save(stream, form, **options)
    return stream.getvalue()


def among_pictures(content: bytes, suffix: str = ".png") -> Callable[[Path], str]:
    """Put a file among good pictures of two classes."""

    def make(folder: Path) -> str:
        for name in ("a", "b"):
            (folder / "set" / name).mkdir(parents=True)
            (folder / "set" / name / "good.png").write_bytes(picture())
        (folder / "set" / "b" / f"poison{suffix}").write_bytes(content)
        return "set"

    return make


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png_of(width: int, height: int, *more: bytes) -> bytes:
    """Write a PNG whose header says what it likes."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"\0" * 1000))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(more) + body + chunk(b"IEND", b"")


def damaged(content: bytes, luck: random.Random) -> bytes:
    """Change some bytes, cut some out or put some in."""
    data = bytearray(content)
    for _ in range(luck.randint(1, 6)):
        at = luck.randrange(len(data))
        act = luck.choice(["byte", "cut", "add", "end"])
        if act == "byte":
            data[at] = luck.randrange(256)
        elif act == "cut" and len(data) > 20:
            del data[at : at + luck.randint(1, 9)]
        elif act == "add":
            data[at:at] = luck.randbytes(luck.randint(1, 9))
        elif act == "end" and len(data) > 40:
            del data[luck.randrange(len(data) // 2, len(data)) :]
    return bytes(data)


def pictures() -> Iterator[Poison]:
    forms = {"PNG": ".png", "JPEG": ".jpg", "WEBP": ".webp", "BMP": ".bmp"}
    for form, suffix in forms.items():
        whole = picture(form)
        for part in range(1, 8):
            yield Poison(f"{form} cut to {part}/8", among_pictures(whole[: len(whole) * part // 8], suffix))
        for number in range(14):
            luck = random.Random(f"{form} {number}")  # noqa: S311
            yield Poison(f"{form} damaged {number}", among_pictures(damaged(whole, luck), suffix))
    for width, height in ((50_000, 50_000), (2**31 - 1, 2**31 - 1), (2**31 - 1, 1), (0, 0), (2**32 - 1, 2)):
        yield Poison(f"PNG says {width}×{height}", among_pictures(png_of(width, height)), REFUSED)
    bmp = bytearray(picture("BMP"))
    for width, height in ((2**31 - 1, 2**31 - 1), (-5, 9), (60_000, -60_000), (0, 5)):
        bmp[18:26] = struct.pack("<ii", width, height)
        yield Poison(f"BMP says {width}×{height}", among_pictures(bytes(bmp), ".bmp"), REFUSED)
    large = picture("JPEG").replace(b"\xff\xc0\x00\x11\x08\x00\x08\x00\x09", b"\xff\xc0\x00\x11\x08\xff\xff\xff\xff")
    yield Poison("JPEG says 65535×65535", among_pictures(large, ".jpg"), REFUSED)
    for kind in (b"zTXt", b"iCCP"):
        yield Poison(f"PNG with a bomb of {kind!r}", lambda folder, k=kind: among_pictures(
            png_of(9, 8, chunk(k, b"a\0\0" + zlib.compress(b"\0" * (64 << 20)))))(folder))  # fmt: skip
    others = {
        "SVG": b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', "text": b"hello",
        "nothing": b"", "zeros": b"\0" * 5000, "HTML": b"<html><script>alert(1)</script>", "PDF": b"%PDF-1.7 x",
        "EPS": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage", "pickle": pickle.dumps({"a": 1}),
        "a zip": b"PK\x03\x04" + b"\0" * 30, "a script": b"#!/bin/sh\ntouch canary\n",
    }  # fmt: skip
    for name, content in others.items():
        yield Poison(f"{name} called png", among_pictures(content), REFUSED)
    for form in ("GIF", "TIFF", "ICO", "PPM", "TGA"):
        yield Poison(f"{form} called png", among_pictures(picture(form)), REFUSED)
    yield Poison("JPEG called png", among_pictures(picture("JPEG")))
    yield Poison("PNG and HTML behind it", among_pictures(picture() + b"<script>alert(1)</script>"))
    archive = io.BytesIO(picture())
    with zipfile.ZipFile(archive, "a") as packed:
        packed.writestr("../../x", "x")
    yield Poison("PNG and zip in one", among_pictures(archive.getvalue()))
    frames = [Image.new("RGB", (9, 8), colour) for colour in ("red", "blue")]
    for form, suffix in (("PNG", ".png"), ("WEBP", ".webp")):
        stream = io.BytesIO()
        frames[0].save(stream, form, save_all=True, append_images=frames[1:])
        yield Poison(f"{form} that moves", among_pictures(stream.getvalue(), suffix))
    for mode in ("1", "L", "LA", "P", "RGBA", "I;16"):
        yield Poison(f"PNG in mode {mode}", among_pictures(picture(mode=mode)))
    yield Poison("JPEG in CMYK", among_pictures(picture("JPEG", "CMYK"), ".jpg"))
    yield Poison("PNG of another size", among_pictures(picture(size=(5, 30))), REFUSED)


# Tables ----------------------------------------------------------------------------------------------------------


def table(content: bytes, name: str = "t.csv") -> Callable[[Path], str]:
    return lambda folder: written(folder, name, content)


GOOD_TABLE = b"a,b,y\n" + b"".join(b"%d,%d.5,%d\n" % (i, i, i % 2) for i in range(12))


def tables(columns: int) -> Iterator[Poison]:
    wide = b",".join(b"c%d" % i for i in range(columns))
    row = b",".join([b"1"] * columns)
    yield Poison(f"{columns} columns", table(wide + b"\n" + row + b"\n" + row + b"\n"))
    yield Poison("1,000,000 columns", table(b"c," * 10**6 + b"y\n"), REFUSED)
    yield Poison("as many rows as fit into a line", table(b"a,y\r" * 20_000))
    for word in (b"inf", b"-Infinity", b"1e999", b"1e39", b"0x10", b"1_000", b"1,5", b"=1+1", b"\xd9\xa3", b"x",
                 b"NaN", b"", b"nan(1)", b'"', b"\0", b"1\0", b"--1", b"1e", b"\xe2\x88\x922"):  # fmt: skip
        yield Poison(f"a cell {word!r}", table(GOOD_TABLE.replace(b"\n3,", b"\n" + word + b",")))
        yield Poison(f"a label {word!r}", table(GOOD_TABLE.replace(b"3.5,1", b"3.5," + word)))
    for name, content in {
        "nothing": b"", "only a header": b"a,b,y\n", "no header": b"1,2,3\n4,5,6\n", "one column": b"y\n1\n2\n",
        "a doubled name": b"a,a,y\n1,2,3\n", "a name missing": b"a,,y\n1,2,3\n", "a quote without end": b'a,y\n"1,2\n',
        "a ragged row": GOOD_TABLE + b"1,2\n", "a long row": GOOD_TABLE + b"1,2,3,4\n", "Latin-1": b"a,y\n\xe9,1\n",
        "UTF-16": "a,y\n1,2\n".encode("utf-16"), "UTF-16 without mark": "a,y\n1,2\n".encode("utf-16-be"),
        "UTF-32": "a,y\n1,2\n".encode("utf-32"), "half a character": b"a,y\n\xc3,1\n",
        "a surrogate": b"a,y\n\xed\xa0\x80,1\n", "a huge cell": b"a,y\n" + b"1" * 200_000 + b",1\n",
        "only NULs": b"\0" * 4096, "a gzip": gzip.compress(GOOD_TABLE),
        "a pickle": pickle.dumps([1, 2]), "only quotes": b'"' * 9999, "only commas": b"," * 9999 + b"\n" + b"," * 9999,
    }.items():  # fmt: skip
        yield Poison(f"CSV: {name}", table(content), REFUSED)
    yield Poison("CSV with a mark at its start", table(b"\xef\xbb\xbf" + GOOD_TABLE))
    yield Poison("CSV with other line ends", table(GOOD_TABLE.replace(b"\n", b"\r\n")))
    labels = b"a,y\n" + b"".join(b"%d,w%d\n" % (i, i) for i in range(3000))
    yield Poison("every label another", table(labels), REFUSED)
    for number in range(20):
        luck = random.Random(f"csv {number}")  # noqa: S311
        yield Poison(f"CSV damaged {number}", table(damaged(GOOD_TABLE, luck)))


# Arrays ----------------------------------------------------------------------------------------------------------


def npy(array: object, header: bytes | None = None) -> bytes:
    """Save an array, with another header where one is given."""
    stream = io.BytesIO()
    np.save(stream, np.asarray(array), allow_pickle=True)
    content = stream.getvalue()
    if header is None:
        return content
    start = 10 + struct.unpack("<H", content[8:10])[0]
    return content[:8] + struct.pack("<H", len(header)) + header + content[start:]


def npz(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


X, Y = np.arange(40, dtype=np.float32).reshape(10, 4), np.arange(10) % 2
GOOD_ARRAYS = npz({"x.npy": npy(X), "y.npy": npy(Y)})


def arrays() -> Iterator[Poison]:
    def both(x: bytes, y: bytes | None = None, **options: int) -> Callable[[Path], str]:
        return table(npz({"x.npy": x, "y.npy": npy(Y) if y is None else y}, **options), "t.npz")

    yield Poison("objects", both(npy(np.array([{}, []] * 5, dtype=object))), REFUSED)
    yield Poison(
        "objects that would write a file",
        lambda f: written(f, "t.npz", npz({"x.npy": npy(np.array([Canary(str(f / "canary"))] * 10, dtype=object)),
                                           "y.npy": npy(Y)})),
        REFUSED,
    )  # fmt: skip
    yield Poison("a pickle", lambda f: written(f, "t.npz", alarming_pickle(f)), REFUSED)
    yield Poison("a pickle inside", lambda f: written(f, "t.npz", npz({"x.npy": alarming_pickle(f)})), REFUSED)
    yield Poison("fields", both(npy(np.zeros(10, dtype=[("a", "f4"), ("b", "i4")]))), REFUSED)
    yield Poison("dates", both(npy(np.zeros(10, dtype="M8[s]"))), REFUSED)
    yield Poison("complex numbers", both(npy(np.zeros((10, 2), dtype=complex))), REFUSED)
    yield Poison("bytes", both(npy(np.array([b"a"] * 10))), REFUSED)
    shapes = ["(2**40,)", "(-1, 4)", "(10, 4, -1)", "(4294967296, 4294967296)", "(10, 5)", "()", "(0, 4)", "(10.0, 4)",
              "[10, 4]", "'a'", "(10, __import__('os').system('touch canary'))", "(True, 4)", "(10,) * 9"]  # fmt: skip
    for shape in shapes:
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        yield Poison(f"an array that says {shape}", both(npy(X, header)), REFUSED)
    for kind in ("'<f99'", "'|O'", "'<U999999999'", "'|V8'", "__import__('os')", "('<f4', (3,))", "[('a', '|O')]"):
        header = f"{{'descr': {kind}, 'fortran_order': False, 'shape': (10, 4), }}\n".encode()
        yield Poison(f"an array of {kind}", both(npy(X, header)), REFUSED)
    yield Poison("a header without end", both(npy(X, b"{" * 60_000)), REFUSED)
    yield Poison("a version of the future", both(b"\x93NUMPY\x09\x00" + npy(X)[8:]), REFUSED)
    yield Poison("Fortran's order", both(npy(np.asfortranarray(X))))
    yield Poison("the other byte order", both(npy(X.astype(">f4"))))
    for value in (np.nan, np.inf, -np.inf):
        odd = X.copy()
        odd[3, 2] = value
        yield Poison(f"a value {value}", both(npy(odd)), REFUSED)
    yield Poison("too large for float32", both(npy(X.astype(np.float64) * 1e300)), REFUSED)
    yield Poison("labels below nothing", both(npy(X), npy(Y - 5)))
    yield Poison("labels beyond all", both(npy(X), npy(Y + 2**40)))
    yield Poison("fewer labels", both(npy(X), npy(Y[:7])), REFUSED)
    yield Poison("no samples", both(npy(X[:0]), npy(Y[:0])), REFUSED)

    def bomb(method: int) -> Callable[[Path], str]:
        return lambda folder: both(npy(np.zeros((1, 100 << 20), dtype=np.uint8)), method=method)(folder)  # noqa: PLW0108

    yield Poison("a bomb", bomb(zipfile.ZIP_DEFLATED), REFUSED)
    yield Poison("a bomb of bzip2", bomb(zipfile.ZIP_BZIP2), REFUSED)
    yield Poison("two thousand members", table(npz({f"{i}.npy": npy(1) for i in range(2000)}), "t.npz"), REFUSED)
    for name in ("../x.npy", "/etc/x.npy", "x.txt\0.npy", "x.txt", "a/b/x.npy", "C:\\x.npy"):
        yield Poison(f"a member {name!r}", table(npz({name: npy(X), "y.npy": npy(Y)}), "t.npz"), REFUSED)
    encrypted = bytearray(GOOD_ARRAYS)
    encrypted[6] |= 1
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
    yield Poison("encrypted", table(bytes(encrypted), "t.npz"), REFUSED)
    for size in (0, 1, 4, 22, len(GOOD_ARRAYS) // 2, len(GOOD_ARRAYS) - 1):
        yield Poison(f"archive cut to {size}", table(GOOD_ARRAYS[:size], "t.npz"), REFUSED)
    for number in range(36):
        luck = random.Random(f"npz {number}")  # noqa: S311
        yield Poison(f"archive damaged {number}", table(damaged(GOOD_ARRAYS, luck), "t.npz"))


# IDX -------------------------------------------------------------------------------------------------------------


def idx(code: int, shape: tuple[int, ...], content: bytes) -> bytes:
    return bytes([0, 0, code, len(shape)]) + b"".join(struct.pack(">I", size) for size in shape) + content


IMAGES, LABELS = idx(8, (6, 4, 4), bytes(range(96))), idx(8, (6,), bytes([0, 1, 2] * 2))


def pair(images: bytes, labels: bytes = LABELS) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        return f"{written(folder, 'images.idx', images)},{written(folder, 'labels.idx', labels)}"

    return make


def idx_files() -> Iterator[Poison]:
    for shape in ((2**32 - 1,) * 3, (7, 4, 4), (5, 4, 4), (6, 4, 5), (0, 4, 4), (6, 0, 4), (2**16,) * 4, (1,) * 255,
                  (2**31, 2**31), (60_000, 280, 28)):  # fmt: skip
        yield Poison(f"IDX that says {'×'.join(map(str, shape[:5]))}", pair(idx(8, shape, bytes(range(96)))), REFUSED)
    for code in (0, 7, 10, 15, 255):
        yield Poison(f"IDX of type {code}", pair(idx(code, (6, 4, 4), bytes(96))), REFUSED)
    for size in (0, 1, 3, 4, 7, 15, 16, 100):
        yield Poison(f"IDX cut to {size}", pair(IMAGES[:size]), REFUSED)
    floats = struct.pack(">6f", 0, 1, float("nan"), float("inf"), -1, 1e38)
    yield Poison("IDX labels that are no numbers", pair(IMAGES, idx(13, (6,), floats)), REFUSED)
    yield Poison("IDX labels below nothing", pair(IMAGES, idx(9, (6,), bytes([255] * 6))), REFUSED)
    yield Poison("IDX labels beyond all", pair(IMAGES, idx(12, (6,), struct.pack(">6i", *[2**31 - 1] * 6))), REFUSED)
    yield Poison("IDX: images for labels", pair(IMAGES, IMAGES))
    yield Poison("IDX: fewer labels", pair(IMAGES, idx(8, (5,), bytes(5))), REFUSED)
    packed = gzip.compress(IMAGES)
    for part in range(1, 9):
        yield Poison(f"gzip cut to {part}/9", pair(packed[: len(packed) * part // 9]), REFUSED)
    for number in range(18):
        luck = random.Random(f"gz {number}")  # noqa: S311
        yield Poison(f"gzip damaged {number}", pair(damaged(packed, luck)))
    for number in range(14):
        luck = random.Random(f"idx {number}")  # noqa: S311
        yield Poison(f"IDX damaged {number}", pair(damaged(IMAGES, luck)))
    bomb = functools.cache(lambda: bytes(300 << 20))
    behind = lambda folder: pair(gzip.compress(IMAGES + bomb(), 6))(folder)  # noqa: E731, PLW0108
    honest = lambda folder: pair(gzip.compress(idx(8, (300, 1024, 1024), bomb()), 6))(folder)  # noqa: E731, PLW0108
    yield Poison("gzip with a bomb behind the images", behind, REFUSED)
    yield Poison("gzip that is a bomb and says so", honest, REFUSED)
    yield Poison("gzip in gzip", pair(gzip.compress(packed)), REFUSED)


# Folders ---------------------------------------------------------------------------------------------------------


def folders() -> Iterator[Poison]:
    def changed(change: Callable[[Path], object]) -> Callable[[Path], str]:
        def make(folder: Path) -> str:
            name = among_pictures(picture())(folder)
            (folder / "outside").mkdir()
            (folder / "outside" / "secret.png").write_bytes(picture(size=(31, 7)))
            change(folder / name)
            return name

        return make

    links = {
        "a file outside": lambda s: (s / "a" / "l.png").symlink_to(s.parent / "outside" / "secret.png"),
        "a folder outside": lambda s: (s / "c").symlink_to(s.parent / "outside"),
        "/etc/passwd": lambda s: (s / "a" / "l.png").symlink_to("/etc/passwd"),
        "/dev/zero": lambda s: (s / "a" / "l.png").symlink_to("/dev/zero"),
        "nothing": lambda s: (s / "a" / "l.png").symlink_to("nowhere"),
        "itself": lambda s: (s / "a" / "l.png").symlink_to("l.png"),
        "the folder above": lambda s: (s / "a" / "up").symlink_to(".."),
        "the whole": lambda s: (s / "c").symlink_to("."),
        "a file inside": lambda s: (s / "a" / "l.png").symlink_to("good.png"),
    }
    for name, link in links.items():
        yield Poison(f"a link to {name}", changed(link))

    def only_a_link(whole: Path) -> None:
        (whole / "c").mkdir()
        (whole / "c" / "l.png").symlink_to(whole.parent / "outside" / "secret.png")

    yield Poison("a class that is only a link out", changed(only_a_link), REFUSED)
    yield Poison("a pipe", changed(lambda s: os.mkfifo(s / "a" / "pipe.png")))
    yield Poison("a socket", changed(lambda s: socket.socket(socket.AF_UNIX).bind(os.path.relpath(s / "a" / "s.png"))))
    yield Poison("a folder called png", changed(lambda s: (s / "a" / "x.png").mkdir()))
    yield Poison("an empty class", changed(lambda s: (s / "c").mkdir()), REFUSED)
    yield Poison("many classes", changed(lambda s: [(s / f"c{i}").mkdir() for i in range(1500)]), REFUSED)
    yield Poison("many other files", changed(lambda s: [(s / "a" / f"{i}.txt").touch() for i in range(1500)]))
    yield Poison("deep", changed(lambda s: (s / "a" / "/".join(["d"] * 100)).mkdir(parents=True)))
    for name in ("new\nline", "\x1b[2J", "\u202egnp", "a" * 200, "CON", "-rf", "${x}", "name. "):
        yield Poison(f"a class called {name[:9]!r}", changed(lambda s, n=name: (s / "b").rename(s / n)))
    bad = b"\xff\xfe.png".decode("utf-8", "surrogateescape")
    yield Poison("a name of odd bytes", changed(lambda s: (s / "a" / bad).write_bytes(picture())))
    yield Poison("a class of odd bytes", changed(lambda s: (s / "b").rename(s / bad)))
    yield Poison("a file that cannot be read", changed(lambda s: (s / "a" / "good.png").chmod(0)))
    for name in ("pipe.csv", "pipe.npz", "pipe.idx"):
        yield Poison(f"{name} alone", lambda f, n=name: (os.mkfifo(f / n), n)[1], REFUSED)
    yield Poison("pipes as IDX", lambda f: (os.mkfifo(f / "a"), os.mkfifo(f / "b"), "a,b")[2], REFUSED)
    yield Poison("/dev/zero as CSV", lambda f: ((f / "z.csv").symlink_to("/dev/zero"), "z.csv")[1], REFUSED)
    yield Poison("an empty folder", lambda f: ((f / "e").mkdir(), "e")[1], REFUSED)
    yield Poison("a Parquet file", table(b"PAR1" + b"\0" * 40 + b"PAR1", "t.parquet"), REFUSED)
    yield Poison("a folder that links to itself", lambda f: ((f / "l").symlink_to("l"), "l")[1], REFUSED)
    for name in ("nowhere.csv", "a,b,c", ",", "x\0.csv", "a" * 5000, "~nobody/x.csv", "\ud800.csv"):
        yield Poison(f"the name {name[:12]!r}", lambda _, n=name: n, REFUSED)


def poisons(columns: int = 20_000) -> list[Poison]:
    """Give them all."""
    return [*pictures(), *tables(columns), *arrays(), *idx_files(), *folders()]
