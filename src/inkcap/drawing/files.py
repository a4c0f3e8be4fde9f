"""Drawing files: ``*.inkcap.json``, canonical, one record a line, so that a diff shows meaning."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any, cast

from inkcap.drawing import limits
from inkcap.drawing.codec import DrawingError, decode, encode
from inkcap.drawing.document import Drawing
from inkcap.drawing.edits import Edit, Meta, Put, Record
from inkcap.drawing.fields import read_list, read_object
from inkcap.drawing.groups import Group, Use
from inkcap.drawing.migrations import FORMAT, migrate
from inkcap.drawing.picture_carried import carried_text, is_picture
from inkcap.drawing.plain import Plain
from inkcap.drawing.records import Capsule, Connection, Note, Position
from inkcap.structures import InkcapError
from inkcap.structures.atomic import write_atomic
from inkcap.structures.pausing import collector_paused

SUFFIX = ".inkcap.json"

SECTIONS: tuple[tuple[str, str, int], ...] = (
    ("capsules", "capsule", limits.CAPSULES),
    ("connections", "connection", limits.CONNECTIONS),
    ("groups", "group", 1000),
    ("uses", "use", limits.CAPSULES),
    ("notes", "note", limits.CAPSULES),
)
READERS: dict[str, Any] = {"capsule": Capsule, "connection": Connection, "group": Group, "use": Use, "note": Note}
FIELDS = ("format", "name", "dtype", *(section for section, _, _ in SECTIONS), "plain", "positions")


def to_text(drawing: Drawing) -> str:
    """Write a drawing as canonical JSON text."""
    parts = [
        f'  "format": {FORMAT}',
        f'  "name": {encode(drawing.name)}',
        f'  "dtype": {encode(drawing.dtype)}',
    ]
    for section, kind, _ in SECTIONS:
        lines = [f"    {_written(record)}" for record in drawing.records(kind)]
        if lines or kind in ("capsule", "connection"):
            parts.append(f'  "{section}": [' + ("\n" + ",\n".join(lines) + "\n  ]" if lines else "]"))
    if drawing.plain is not None:
        columns = [f'    "{name}": {encode(column)}' for name, column in drawing.plain.to_json().items()]
        parts.append('  "plain": {\n' + ",\n".join(columns) + "\n  }")
    if drawing.positions:
        lines = [f"    {encode(id)}: {encode(position.to_json())}" for id, position in drawing.positions.items()]
        parts.append('  "positions": {\n' + ",\n".join(lines) + "\n  }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _written(record: Record) -> str:
    """Write a record on one line; a group has one for each of its own records, so that a diff shows those."""
    if not isinstance(record, Group):
        return encode(record.to_json())
    parts: list[str] = []
    for key, value in record.to_json().items():
        if key in ("capsules", "connections", "uses"):
            inner = ",\n".join(f"        {encode(item)}" for item in value)
            parts.append(f"      {encode(key)}: [\n{inner}\n      ]")
        else:
            parts.append(f"      {encode(key)}: {encode(value)}")
    return "{\n" + ",\n".join(parts) + "\n    }"


def from_text(text: str, *, expressions: bool = False) -> Drawing:
    """Read a drawing from JSON text; whatever is wrong is refused with its place.

    With ``expressions`` it may be a part of a group, whose attributes speak of the group's arguments.
    """
    with collector_paused():
        return _from_text(text, expressions)


def _from_text(text: str, expressions: bool) -> Drawing:
    if len(text) > limits.FILE_BYTES and '"plain"' not in text and '"sparse"' not in text:
        raise DrawingError(f"the file is larger than {limits.FILE_BYTES // 2**20} MiB")
    document = decode(text)
    if not isinstance(document, dict):
        raise DrawingError("the file must be one JSON object")
    document = read_object(
        migrate(cast("dict[str, Any]", document)), "the file", FIELDS, ("format", "name", "capsules", "connections")
    )
    drawing = Drawing(arguments={} if expressions else None)
    meta = {key: document[key] for key in ("name", "dtype") if key in document}
    patches: list[Put] = [Put(Meta.from_json(meta, ""))]
    for section, kind, most in SECTIONS:
        options = {"expressions": expressions} if kind in ("capsule", "connection") else {}
        patches.extend(_read_section(document.get(section, []), section, kind, most, options))
    if document.get("plain") is not None:
        patches.append(Put(Plain.from_json(document["plain"], "plain")))
    positions = read_object(document.get("positions", {}), "positions", document.get("positions", {}))
    for item, value in positions.items():
        patches.append(Put(Position.from_json(item, value, f"positions.{item}")))
    drawing.apply(Edit("open", tuple(patches)))
    drawing.start_history_here()
    return drawing


def _read_section(value: Any, section: str, kind: str, most: int, options: dict[str, bool]) -> list[Put]:
    patches: list[Put] = []
    seen: dict[str, int] = {}
    for i, item in enumerate(read_list(value, section, most)):
        record = READERS[kind].from_json(item, f"{section}[{i}]", **options)
        if record.id in seen:
            raise DrawingError(f"the id {record.id!r} is taken by {section}[{seen[record.id]}]", f"{section}[{i}].id")
        seen[record.id] = i
        patches.append(Put(record))
    return patches


def from_bytes(content: bytes) -> Drawing:
    """Read a drawing from the bytes of its file, or of a picture that carries it."""
    if is_picture(content):
        return from_text(carried_text(content))
    try:
        return from_text(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DrawingError(f"not text in UTF-8 (byte {error.start})") from None


def load_drawing(path: Path | str) -> Drawing:
    """Read a drawing file, or a picture that carries its drawing."""
    path = Path(path)
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode) and not stat.S_ISDIR(state.st_mode):
            raise DrawingError(f"{path}: this is no ordinary file")
        size = state.st_size
        if size > limits.PLAIN_FILE_BYTES:
            raise DrawingError(f"the file has {size} bytes, {limits.PLAIN_FILE_BYTES} are allowed")
        content = path.read_bytes()
    except FileNotFoundError:
        raise DrawingError(f"{path}: there is no such file; 'inkcap new NAME' makes a drawing") from None
    except IsADirectoryError:
        raise DrawingError(f"{path}: this is a folder, not a drawing") from None
    except OSError as error:
        raise DrawingError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return from_bytes(content)
    except InkcapError as error:
        raise DrawingError(f"{path}: {error}") from None


def save_drawing(drawing: Drawing, path: Path | str) -> None:
    """Write a drawing file: to a temporary file, to the disk, then in place of the old one."""
    if Path(path).is_dir():
        raise DrawingError(f"{path}: this is a folder; give the name of a file")
    try:
        write_atomic(Path(path), to_text(drawing))
    except OSError as error:
        raise DrawingError(f"{path}: cannot be written: {error.strerror}") from None
