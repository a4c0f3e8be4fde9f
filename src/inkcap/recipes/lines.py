"""Lines of a log: each is one JSON object with a check sum, so that a torn or damaged line is told from a whole one."""

import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, cast

_CRC = b',"crc":"'


class Numbered(Protocol):
    """A record of a log: it knows its number, from 1."""

    @property
    def seq(self) -> int:
        """The number of its line."""
        ...


NumberedT = TypeVar("NumberedT", bound=Numbered)


def seal(plain: Mapping[str, Any]) -> bytes:
    """Give one line, with its line feed."""
    body = json.dumps(plain, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")
    return body[:-1] + _CRC + f'{zlib.crc32(body):08x}"}}\n'.encode("ascii")


def unseal(line: bytes) -> dict[str, Any]:
    """Give the object of one line without its line feed; a ValueError says what is wrong with it."""
    head, mark, tail = line.rpartition(_CRC)
    if not mark or len(tail) != 10 or not tail.endswith(b'"}'):
        raise ValueError("no check sum at its end")
    body = head + b"}"
    if tail[:8] != f"{zlib.crc32(body):08x}".encode("ascii"):
        raise ValueError("a wrong check sum")
    plain: object = json.loads(body, parse_constant=_refuse_constant)
    if not isinstance(plain, dict):
        raise ValueError("no object")
    return cast("dict[str, Any]", plain)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"the bare word {name}")


def whole_lines(
    data: bytes, name: str, seq: int, decode: Callable[[bytes], NumberedT]
) -> tuple[list[NumberedT], int, str]:
    """Give the records up to the first line that cannot be trusted, where they end, and a word on what was cut."""
    records: list[NumberedT] = []
    place, note = 0, ""
    while place < len(data):
        stop = data.find(b"\n", place)
        number = seq + len(records)
        if stop < 0:
            note = f"{name}: line {number} is not whole"
            break
        try:
            record = decode(data[place:stop])
            if record.seq != number:
                raise ValueError(f"the number {record.seq}")
        except (ValueError, OverflowError, RecursionError) as problem:
            note = f"{name}: line {number} has {problem}"
            break
        records.append(record)
        place = stop + 1
    if note:
        note = f"{note}; the last {len(data) - place} bytes are left out, {len(records)} records before them are kept."
    return records, place, note
