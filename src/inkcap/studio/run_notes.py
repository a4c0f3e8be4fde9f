"""What people add to a run: a note and tags, in a file of their own in its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from inkcap.structures.atomic import write_atomic
from inkcap.structures.errors import InkcapError

NOTES = "notes.json"
FORMAT, VERSION = "inkcap-notes", 1
LONGEST_NOTE, MOST_TAGS, LONGEST_TAG = 20_000, 20, 40


class NotesError(InkcapError):
    """Notes that cannot be kept."""


def read_notes(folder: Path) -> tuple[str, list[str]]:
    """Give the note and the tags of a run; a file that is none of ours counts as none."""
    try:
        given: object = json.loads((folder / NOTES).read_bytes())
    except (OSError, ValueError, RecursionError):
        return "", []
    kept = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    note, tags = kept.get("note"), kept.get("tags")
    found = cast("list[object]", tags) if isinstance(tags, list) else []
    return note if isinstance(note, str) else "", [tag for tag in found if isinstance(tag, str)]


def write_notes(folder: Path, note: str, tags: list[str]) -> None:
    """Keep the note and the tags of a run; each tag counts once."""
    kept = list(dict.fromkeys(" ".join(tag.split()) for tag in tags if tag.strip()))
    told = {"format": FORMAT, "version": VERSION, "note": note, "tags": kept}
    try:
        write_atomic(folder / NOTES, json.dumps(told, ensure_ascii=False, indent=2) + "\n")
    except OSError as error:
        raise NotesError(f"{folder.name}/{NOTES}: could not be written ({error.strerror}).") from None
