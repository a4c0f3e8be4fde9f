"""Answers as columns of a Parquet file: the class and how sure it is, or the values."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from inkcap.training import OutputPrediction


def _arrow() -> Any:
    """Give pyarrow, which states no types, and comes with Ray Data."""
    import pyarrow

    return pyarrow


def table_of(first: int, count: int, names: Sequence[str], outputs: Mapping[str, "OutputPrediction"]) -> Any:
    """Give the answers to some samples as a table: the sample's number, the name of its file if it has one, answers."""
    arrow = _arrow()
    columns: dict[str, Any] = {"sample": arrow.array(np.arange(first, first + count, dtype=np.int64))}
    if names:
        columns["file"] = arrow.array(list(names), arrow.string())
    for output in outputs.values():
        columns.update(_columns(output))
    return arrow.table(columns)


def _columns(output: "OutputPrediction") -> Iterator[tuple[str, Any]]:
    values, name = output.values, output.name
    sure = "probability" if output.meaning == "probabilities" else "score"
    if output.meaning == "detections":
        yield f"{name}_boxes", _boxes(output)
    elif output.meaning == "instances":
        yield f"{name}_instances", _lists(values)
    elif output.kind == "bits" and output.labels is not None and values[:1].size == 1:
        share = values.reshape(-1).astype(np.float64)
        labels = output.labels.reshape(-1)
        yield f"{name}_label", _words(output, labels, 2)
        yield f"{name}_{sure}", np.where(labels == 1, share, 1.0 - share)
    elif output.kind == "bits":
        yield (f"{name}_probabilities" if sure == "probability" else f"{name}_scores"), _lists(values)
    elif output.labels is not None and values.ndim == 2:
        yield f"{name}_label", _words(output, output.labels, values.shape[1])
        yield f"{name}_{sure}", values[np.arange(len(values)), output.labels]
    elif output.labels is not None:
        yield f"{name}_labels", _lists(output.labels)
    elif values[:1].size == 1:
        yield f"{name}_value", values.reshape(-1)
    else:
        yield f"{name}_values", _lists(values)


def _words(output: "OutputPrediction", labels: NDArray[np.int64], count: int) -> Any:
    arrow = _arrow()
    words = output.classes or tuple(str(number) for number in range(count))
    return arrow.array([words[label] for label in labels.tolist()], arrow.string())


def _lists(values: NDArray[Any]) -> Any:
    """Give each sample's values as one list, the last axis running fastest."""
    arrow = _arrow()
    flat = np.ascontiguousarray(values).reshape(len(values), -1)
    return arrow.FixedSizeListArray.from_arrays(arrow.array(flat.reshape(-1)), flat.shape[1])


def _boxes(output: "OutputPrediction") -> Any:
    """Give the boxes that were found, each with its label and its score; rows without a label are none."""
    arrow = _arrow()
    words = dict(enumerate(output.classes))
    places = ("score", "x1", "y1", "x2", "y2")
    rows = [
        [
            {"label": words.get(int(row[0]), str(int(row[0]))), **dict(zip(places, row[1:], strict=True))}
            for row in found
            if row[0] > 0
        ]
        for found in output.values.tolist()
    ]
    box = arrow.struct([("label", arrow.string()), *((place, arrow.float32()) for place in places)])
    return arrow.array(rows, arrow.list_(box))
