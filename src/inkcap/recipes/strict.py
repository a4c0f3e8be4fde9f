"""Strict JSON: no doubled names, no NaN, no unknown or missing names, and a message that says where."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from inkcap.drawing import DrawingError
from inkcap.drawing.codec import decode
from inkcap.recipes.fields import show
from inkcap.structures.errors import InkcapError

MOST_BYTES = 64 * 1024 * 1024
CHECK = "check"
_SUM = re.compile(r"[0-9a-f]{16}")


def dump(value: object) -> str:
    """Give a JSON text for a person to read; the same value gives the same text."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def parse(text: str | bytes, name: str, error: type[InkcapError]) -> Any:
    """Give the value of a JSON text, or an error that names the file and the place."""
    if len(text) > MOST_BYTES:
        raise error(f"{name}: {len(text)} bytes are too many; the most is {MOST_BYTES}.")
    try:
        return decode(text if isinstance(text, str) else text.decode("utf-8"))
    except UnicodeDecodeError as problem:
        raise error(f"{name}: not UTF-8 at byte {problem.start}.") from None
    except DrawingError as problem:
        raise error(f"{name}, {problem}.") from None


def sealed(value: Mapping[str, object]) -> dict[str, object]:
    """Give an object with its check sum, for a file that only Inkcap writes."""
    return {**value, CHECK: hashlib.sha256(dump(value).encode()).hexdigest()[:16]}


def unsealed(
    value: Mapping[str, object], place: str, error: type[InkcapError], *, needed: bool = False
) -> dict[str, object]:
    """Give an object without its check sum, which must be right; files from before there were any have none.

    Where one is `needed`, damage that takes its name and its form away is seen, too.
    """
    plain = {name: item for name, item in value.items() if name != CHECK}
    if CHECK in value and value == sealed(plain):
        return plain
    if needed:
        raise error(
            f"{place}: the check sum is not that of the content, so the file was changed or damaged; put a whole copy "
            "back."
        )
    last = list(value.values())[-1] if value else None
    # One whose own name is damaged is still known by its place and its form.
    if CHECK in value or (isinstance(last, str) and _SUM.fullmatch(last)):
        raise error(
            f"{place}: the check sum differs, so the file was changed or damaged; put a whole copy back, or, if the "
            f"change is yours, take out {CHECK!r}."
        )
    return plain


def expect_object(value: object, place: str, error: type[InkcapError]) -> Mapping[str, object]:
    """Give the value as an object."""
    if not isinstance(value, dict):
        raise error(f"{place}: {show(value)} is not an object.")
    return cast("dict[str, object]", value)


def expect_names(
    value: Mapping[str, object], known: Iterable[str], needed: Iterable[str], place: str, error: type[InkcapError]
) -> None:
    """No name that is not known, and none missing that is needed."""
    names = list(known)
    for key in value:
        if key not in names:
            raise error(f"{place}: the name {show(key)} is not known; the names are: {', '.join(names)}.")
    for key in needed:
        if key not in value:
            raise error(f"{place}: the name {key!r} is missing.")
