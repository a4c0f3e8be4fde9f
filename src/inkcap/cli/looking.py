"""A look into data for the studio: what is in them, what is wrong with them, and whether a network can learn them."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from inkcap.structures import InkcapError
from inkcap.training.data import FORMATS, SOURCES, DataError, load, validate
from inkcap.training.data.dataset import Dataset
from inkcap.training.data.samples import Samples, head_of_table, samples_of
from inkcap.training.data.validation import fit_to

MOST_BYTES = 2 << 30
"""Files that are larger together are not looked into: that would take all memory for a glance."""


def look(question: dict[str, Any]) -> dict[str, Any]:
    """Look into data by their name or path; whatever is wrong with them is told among the rest."""
    name, workspace, rows = question["name"], Path(question["workspace"]), question["rows"]
    form = _form(name, workspace)
    declared = FORMATS[form].options if form else SOURCES[name].options if name in SOURCES else ()
    told: dict[str, Any] = {
        **{"name": name, "description": "", "count": None, "test_count": 0, "inputs": [], "targets": []},
        **{"class_counts": {}, "notes": [], "problem": None, "misfit": None},
        "options": [asdict(option) for option in declared],
    }
    samples = Samples()
    if name not in SOURCES and not any(path.exists() for path in _paths(name, workspace)):
        load(name, {}, workspace)
    try:
        _check_size(name, workspace)
        dataset = load(name, question["options"], workspace)
        outline = asdict(dataset.preview(rows=0, pictures=0))
        told |= {key: outline[key] for key in told if key in outline} | {"name": name}
        samples = samples_of(dataset, rows)
        told["notes"] = validate(dataset)
        told["misfit"] = _misfit(dataset, question)
    except InkcapError as error:
        told["problem"] = _short(str(error), workspace)
        separator = {"semicolon": ";", "tab": "\t"}.get(question["options"].get("separator", ""), ",")
        # A pipe is refused like any bad table, and would keep its reader waiting for ever.
        if form == "csv" and (workspace / name).is_file():
            samples = head_of_table(workspace / name, rows, separator)
    pictures = [{"caption": caption, "png": png, "marks": marks} for caption, png, marks in samples.pictures]
    return told | {"columns": samples.columns, "rows": samples.rows, "pictures": pictures}


def _form(name: str, workspace: Path) -> str:
    """Tell the form of data on the disk, as far as their name tells it."""
    if name in SOURCES:
        return ""
    path = workspace / name
    if path.is_dir():
        return "images"
    return "idx" if "," in name and not path.exists() else path.suffix[1:].lower() if path.suffix else ""


def _paths(name: str, workspace: Path) -> list[Path]:
    """Give the files or folders that data are: a path may hold a comma, and two paths are joined by one."""
    return [workspace / part.strip() for part in ([name] if (workspace / name).exists() else name.split(","))]


def _check_size(name: str, workspace: Path) -> None:
    size = sum(path.stat().st_size for path in _paths(name, workspace) if path.is_file())
    if size > MOST_BYTES:
        raise DataError(
            f"{name} has {size / 2**30:.1f} GiB, too much for a glance (at most {MOST_BYTES >> 30}); "
            "train on it without one, or give a part of it"
        )


def _misfit(dataset: Dataset, question: dict[str, Any]) -> str | None:
    """Say why the open drawing cannot learn these data, if it cannot."""
    if not question.get("inputs") or not question.get("outputs"):
        return None
    inputs, outputs = ({id: tuple(shape) for id, shape in question[part].items()} for part in ("inputs", "outputs"))
    free: list[str] = []
    if dataset.layouts and len(dataset.targets) > len(question["outputs"]):
        # Of places that are told in several ways each output takes what suits it; the pictures have to fit still.
        free = list(question["outputs"])
        dataset = replace(dataset, targets=dict.fromkeys(free, next(iter(dataset.targets.values()))))
    try:
        fit_to(dataset, inputs, outputs, free)
    except InkcapError as error:
        return str(error)
    return None


def _short(message: str, workspace: Path) -> str:
    return message.replace(f"{workspace}/", "")
