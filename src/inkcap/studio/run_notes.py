"""What people add to a run: a note and tags, in a file of their own in its folder."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from inkcap.recipes.strict import dump, expect_object, parse, sealed, unsealed
from inkcap.structures.atomic import write_atomic
from inkcap.structures.errors import InkcapError

NOTES = "notes.json"
DAMAGED = "notes.damaged.json"
"""What could not be read when something new was written: nothing that a person wrote is thrown away."""
FORMAT, VERSION = "inkcap-notes", 1
LONGEST_NOTE, MOST_TAGS, LONGEST_TAG = 20_000, 20, 40


class NotesError(InkcapError):
    """Notes that cannot be kept, or read."""


@dataclass(frozen=True)
class Notes:
    """A note and tags, and what is wrong with their file, if anything."""

    note: str = ""
    tags: list[str] = field(default_factory=list[str])
    doubt: str = ""


def read_notes(folder: Path) -> Notes:
    """Give the note and the tags of a run; of a damaged file what is there, and a word on it."""
    place, doubt = f"{folder.name}/{NOTES}", ""
    try:
        given = expect_object(parse((folder / NOTES).read_bytes(), place, NotesError), place, NotesError)
    except FileNotFoundError:
        return Notes()
    except OSError as problem:
        return Notes(doubt=f"{place}: cannot be read ({problem.strerror}).")
    except NotesError as problem:
        return Notes(doubt=str(problem))
    try:
        unsealed(given, place, NotesError)
    except NotesError as problem:
        doubt = str(problem)
    note, tags = given.get("note"), given.get("tags")
    if not isinstance(note, str) or not isinstance(tags, list):
        doubt = doubt or f"{place}: no note and no list of tags; put a whole copy back, or write them anew."
    found = cast("list[object]", tags) if isinstance(tags, list) else []
    return Notes(note if isinstance(note, str) else "", [tag for tag in found if isinstance(tag, str)], doubt)


def write_notes(folder: Path, note: str, tags: list[str]) -> None:
    """Keep the note and the tags of a run; each tag counts once. What cannot be read is put aside before."""
    kept = list(dict.fromkeys(" ".join(tag.split()) for tag in tags if tag.strip()))
    told = {"format": FORMAT, "version": VERSION, "note": note, "tags": kept}
    try:
        if read_notes(folder).doubt:
            os.replace(folder / NOTES, folder / DAMAGED)
        write_atomic(folder / NOTES, dump(sealed(told)))
    except OSError as error:
        raise NotesError(f"{folder.name}/{NOTES}: could not be written ({error.strerror}).") from None
