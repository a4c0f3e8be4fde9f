"""What the command line shows of a dataset."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.wording import shape_text

if TYPE_CHECKING:
    from inkcap.training.data.dataset import Dataset

_LARGEST_PICTURE = 40
_SHOWN_NUMBERS = 8
_SHADES = " .:-=+*#%@"


@dataclass(frozen=True)
class PartPreview:
    """One input or target: its name, sample shape, dtype and range of values."""

    name: str
    shape: str
    dtype: str
    lowest: float
    highest: float


@dataclass(frozen=True)
class Preview:
    """The outline of a dataset, ready to be laid out in a table or as plain text."""

    name: str
    description: str
    count: int
    test_count: int
    inputs: tuple[PartPreview, ...]
    targets: tuple[PartPreview, ...]
    class_counts: dict[str, dict[str, int]]
    rows: tuple[str, ...]
    pictures: tuple[tuple[str, str], ...]

    def text(self) -> str:
        """Lay the outline out as plain text."""
        test = f", {self.test_count} in the test set" if self.test_count else ""
        lines = [f"{self.name}: {self.count} samples{test}"]
        if self.description:
            lines.append(self.description)
        for word, parts in (("input", self.inputs), ("target", self.targets)):
            lines += [
                f"{word} {part.name}: {part.shape}, {part.dtype}, {part.lowest:g} to {part.highest:g}" for part in parts
            ]
        for target, counts in self.class_counts.items():
            shown = ", ".join(f"{name} ({count})" for name, count in counts.items())
            lines.append(f"classes of {target}: {shown}")
        lines += self.rows
        for caption, picture in self.pictures:
            lines += ["", caption, picture]
        return "\n".join(lines)


def half_block_picture(image: NDArray[Any], lowest: float, highest: float, unicode: bool = True) -> str:
    """Draw a grey image (M, N) with two pixels to a character: half blocks, or shades in plain ASCII."""
    span = highest - lowest if highest > lowest else 1.0
    grey = np.clip((image.astype(np.float64) - lowest) / span, 0.0, 1.0)
    if grey.shape[0] % 2:
        grey = np.vstack([grey, np.zeros((1, grey.shape[1]))])
    upper, lower = grey[0::2], grey[1::2]
    if unicode:
        codes = (upper >= 0.5).astype(np.int64) + 2 * (lower >= 0.5).astype(np.int64)
        characters = " ▀▄█"
    else:
        codes = np.minimum((upper + lower) / 2 * len(_SHADES), len(_SHADES) - 1).astype(np.int64)
        characters = _SHADES
    return "\n".join("".join(characters[code] for code in line).rstrip() for line in codes)


def limits_of(values: NDArray[Any]) -> tuple[float, float]:
    """Give the lowest and highest finite value; zeros when there is none."""
    if values.dtype.kind in "iub":
        return (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def _part(name: str, values: NDArray[Any]) -> PartPreview:
    lowest, highest = limits_of(values)
    return PartPreview(name, shape_text(values.shape[1:]), str(values.dtype), lowest, highest)


def target_text(dataset: "Dataset", index: int, only: str = "") -> str:
    """Write the targets of one sample, or one of them: class names for classes, numbers otherwise."""
    parts: list[str] = []
    for name, values in dataset.targets.items():
        if only and name != only:
            continue
        if name in dataset.layouts:
            parts.append(f"{name}={_placed(dataset, name, values[index])}")
            continue
        classes = dataset.classes_of(name)
        labels = np.asarray(values[index]).reshape(-1) if classes else np.array([-1])
        known = bool(((labels >= 0) & (labels < len(classes))).all())
        shown = _shown([classes[int(label)] for label in labels]) if known else _numbers(values[index])
        parts.append(f"{name}={shown}")
    return ", ".join(parts)


def _placed(dataset: "Dataset", name: str, values: NDArray[Any]) -> str:
    """Write boxes with their labels and corners; of a map, what stands on it."""
    names = dict(enumerate(dataset.labels_of(name)))
    if dataset.layouts[name] == "boxes":
        real = [(int(row[0]), " ".join(f"{number:g}" for number in row[1:])) for row in values if row[0] > 0]
        shown = [f"{names.get(label, label)} at {box}" for label, box in real]
    else:
        found = zip(*np.unique(values, return_counts=True), strict=True)
        shown = [f"{names.get(int(label), int(label))}: {int(pixels)} pixels" for label, pixels in found]
    few = shown[:_SHOWN_NUMBERS] + (["…"] if len(shown) > _SHOWN_NUMBERS else [])
    return f"({', '.join(few)})"


def _shown(names: list[str]) -> str:
    """Write the classes at all places of a sample: characters as a text, names with blanks between them."""
    text = ("" if max(map(len, names)) == 1 else " ").join(names)
    return text if len(names) == 1 else repr(text)


def _numbers(values: NDArray[Any]) -> str:
    flat = np.asarray(values).reshape(-1)
    shown = " ".join(f"{float(value):.4g}" for value in flat[:_SHOWN_NUMBERS])
    return shown if flat.size <= _SHOWN_NUMBERS else f"{shown} … ({flat.size} numbers)"


def _row(dataset: "Dataset", index: int) -> str:
    inputs = "; ".join(
        f"{name}: {_numbers(values[index]) if values.ndim < 4 else shape_text(values.shape[1:])}"
        for name, values in dataset.inputs.items()
    )
    return f"{dataset.place(index)}: {inputs} → {target_text(dataset, index)}"


def _pictures(dataset: "Dataset", count: int, unicode: bool) -> tuple[tuple[str, str], ...]:
    """Draw the first samples of the first input when they are small grey images."""
    name, images = next(iter(dataset.inputs.items()))
    if images.ndim != 4 or images.shape[1] != 1 or max(images.shape[2:]) > _LARGEST_PICTURE:
        return ()
    lowest, highest = dataset.ranges.get(name, (0.0, 255.0) if images.dtype == np.uint8 else limits_of(images))
    return tuple(
        (target_text(dataset, index), half_block_picture(images[index, 0], lowest, highest, unicode))
        for index in range(min(count, len(dataset)))
    )


def make_preview(dataset: "Dataset", rows: int, pictures: int, unicode: bool) -> Preview:
    """Gather the outline of a dataset."""
    return Preview(
        name=dataset.name,
        description=dataset.description,
        count=len(dataset),
        test_count=0 if dataset.test is None else len(dataset.test),
        inputs=tuple(_part(name, values) for name, values in dataset.inputs.items()),
        targets=tuple(_part(name, values) for name, values in dataset.targets.items()),
        class_counts={name: dataset.histogram(name) for name in dataset.targets if dataset.classes_of(name)},
        rows=tuple(_row(dataset, index) for index in range(min(rows, len(dataset)))),
        pictures=_pictures(dataset, pictures, unicode),
    )
