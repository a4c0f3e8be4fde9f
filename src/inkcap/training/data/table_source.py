"""Loading a CSV file as a dataset."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.dataset import Dataset, with_manifest
from inkcap.training.data.errors import DataError
from inkcap.training.data.options import Option, OptionValues
from inkcap.training.data.tables import (
    Table,
    TableLayout,
    categories_of,
    encode,
    find_missing,
    is_missing,
    number_in,
    numeric_column,
    read_table,
)
from inkcap.training.data.wording import counted, listing

_SEPARATORS = {"comma": ",", ",": ",", "semicolon": ";", ";": ";", "tab": "\t"}
_FEW_VALUES = 20
_PERHAPS_NAMES = 20

TABLE_OPTIONS = (
    Option("target", "", "the target column, or several as a;b (default: the last column)"),
    Option("task", "auto", "classification or regression; auto: texts and up to 20 distinct whole numbers are classes"),
    Option("categorical", "", "columns of words, as a;b, to be turned into one-hot vectors"),
    Option("ignore", "", "columns to leave out, as a;b"),
    Option("missing", "error", "rows with missing values: error, drop, or mean (fill with the training part's mean)"),
    Option("separator", "comma", "comma, semicolon or tab"),
    Option("separate", "no", "yes to keep several regression targets apart instead of joining them into y"),
)


@dataclass(frozen=True)
class _Target:
    """One target column: its values, its classes (none for regression), and what to say of it."""

    values: NDArray[Any]
    classes: tuple[str, ...]
    note: str


def load_csv(path: Path, options: OptionValues) -> Dataset:
    """Load a CSV file: a header, numeric or categorical columns, one or more targets."""
    separator = _SEPARATORS[options.choice("separator", tuple(_SEPARATORS))]
    missing = options.choice("missing", ("error", "drop", "mean"))
    task = options.choice("task", ("auto", "classification", "regression"))
    table = read_table(path, separator)
    targets, categorical, features = _columns(table, options)
    table, missing_note = _without_missing(table, features, targets, missing)
    layout = TableLayout(
        features=tuple(features),
        categories={name: categories_of(table, name) for name in features if name in categorical},
        targets=tuple(targets),
        separator=separator,
        missing=missing,
    )
    inputs = encode(table, layout)
    found = {name: _read_target(table, name, task) for name in targets}
    arrays, class_names = _arrange(found, options.flag("separate"))
    words = [f"{counted(len(table.rows), 'row')} with {counted(len(features), 'column')} and {_word(found)}."]
    words += [target.note for target in found.values() if target.note] + ([missing_note] if missing_note else [])
    dataset = Dataset(
        name=path.stem,
        inputs={"x": inputs},
        targets=arrays,
        classes=next(iter(class_names.values()), ()),
        class_names=class_names,
        description=" ".join(words),
        kind="table",
        positions=np.array(table.lines, dtype=np.int64),
        position_word="line",
        missing="mean" if missing == "mean" else "error",
    )
    return with_manifest(dataset, str(path), [path], table=layout.to_json())


def _word(found: dict[str, _Target]) -> str:
    return f"the {'target' if len(found) == 1 else 'targets'} {listing(found)}"


def _columns(table: Table, options: OptionValues) -> tuple[list[str], list[str], list[str]]:
    """Sort the columns into targets, categorical features and all features."""
    targets = options.names("target") or [table.header[-1]]
    categorical, ignored = options.names("categorical"), options.names("ignore")
    for names, option in ((targets, "target"), (categorical, "categorical"), (ignored, "ignore")):
        table.require(names, option)
    for name in targets:
        if name in ignored:
            raise DataError(
                f"{table.path}: {name} is the target and in ignore. Name another target, or do not ignore it."
            )
    if len(set(targets)) < len(targets):
        raise DataError(f"{table.path}: target={';'.join(targets)} names a column twice. Name each once.")
    others = {*targets, *ignored}
    features = [name for name in table.header if name not in others]
    if not features:
        raise DataError(f"{table.path}: no column is left beside {listing(targets)}. Add columns to learn from.")
    return targets, categorical, features


def _without_missing(table: Table, features: list[str], targets: list[str], missing: str) -> tuple[Table, str]:
    """Deal with missing values as asked: refuse them, drop their rows, or leave them for the preparation to fill."""
    bad_targets = find_missing(table, targets)
    bad_features = find_missing(table, features)
    if missing == "drop":
        dropped = set(bad_targets) | set(bad_features)
        if len(dropped) == len(table.rows):
            raise DataError(f"{table.path}: every row has a missing value, so missing=drop leaves none. Fill some in.")
        note = f"{counted(len(dropped), 'row')} with missing values left out." if dropped else ""
        return table.without(dropped), note
    if bad_targets:
        row, name = next(iter(bad_targets.items()))
        raise DataError(
            f"{table.path}, line {table.lines[row]}, column {name}: the target is missing "
            f"({counted(len(bad_targets), 'row')} in all). Fill it in, or leave such rows out with missing=drop."
        )
    if bad_features and missing == "error":
        row, name = next(iter(bad_features.items()))
        raise DataError(
            f"{table.path}, line {table.lines[row]}, column {name}: the value is missing "
            f"({counted(len(bad_features), 'row')} in all). Fill it in, or give missing=mean or missing=drop."
        )
    for name in features:
        if bad_features and all(is_missing(cell) for cell in table.column(name)):
            raise DataError(f"{table.path}: the column {name} holds no values at all. Leave it out with ignore={name}.")
    count = counted(len(bad_features), "row")
    return table, f"{count} with missing values, to be filled with the training part's means." if bad_features else ""


def _read_target(table: Table, name: str, task: str) -> _Target:
    """Decide whether a target column holds classes or numbers, and read it."""
    cells = table.column(name)
    numbers = [number_in(cell) for cell in cells]
    if any(number is None for number in numbers):
        return _text_target(table, name, task, cells, numbers)
    values = numeric_column(table, name)
    distinct = np.unique(values)
    whole = bool((distinct == np.floor(distinct)).all())
    if task == "regression" or (task == "auto" and not (whole and len(distinct) <= _FEW_VALUES)):
        return _Target(values.astype(np.float32)[:, None], (), "")
    if not whole:
        row = int(np.flatnonzero(values != np.floor(values))[0])
        raise DataError(
            f"{table.path}, line {table.lines[row]}, column {name}: {values[row]:g} is no class number. "
            f"Use whole numbers or words for classes, or say task=regression."
        )
    classes = tuple(str(int(value)) for value in distinct)
    note = ""
    if task == "auto":
        note = (
            f"The target {name} has {len(classes)} distinct whole numbers and is taken as classes "
            f"(task=regression takes it as a number)."
        )
    return _Target(np.searchsorted(distinct, values).astype(np.int64), classes, note)


def _text_target(table: Table, name: str, task: str, cells: list[str], numbers: list[float | None]) -> _Target:
    """Read a target column of words as classes."""
    row = next(row for row, number in enumerate(numbers) if number is None)
    if task == "regression":
        raise DataError(
            f"{table.path}, line {table.lines[row]}, column {name}: {cells[row]!r} is not a number, so the target "
            f"cannot be used for regression. Correct it, or say task=classification."
        )
    classes = tuple(sorted(set(cells)))
    if len(classes) == len(cells) and len(cells) > _PERHAPS_NAMES:
        raise DataError(
            f"{table.path}: the column {name} has a different word in each of its {len(cells)} rows, "
            f"so it holds no classes. Name the target column with target=."
        )
    mixed = sum(number is not None for number in numbers)
    note = f"{mixed} of the {len(cells)} targets are numbers, taken as class names." if mixed else ""
    index = {word: number for number, word in enumerate(classes)}
    return _Target(np.array([index[cell] for cell in cells], dtype=np.int64), classes, note)


def _arrange(found: dict[str, _Target], separate: bool) -> tuple[dict[str, NDArray[Any]], dict[str, tuple[str, ...]]]:
    """Name the targets: y for one, y for several regression columns joined, the columns' names otherwise."""
    if len(found) == 1:
        (target,) = found.values()
        return {"y": target.values}, ({"y": target.classes} if target.classes else {})
    if not separate and not any(target.classes for target in found.values()):
        return {"y": np.concatenate([target.values for target in found.values()], axis=1)}, {}
    classes = {name: target.classes for name, target in found.items() if target.classes}
    return {name: target.values for name, target in found.items()}, classes
