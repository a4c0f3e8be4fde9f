"""Preparing inputs for a network: resizing and normalising, with numbers fitted on the training part only."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.dataset import Dataset
from inkcap.training.data.errors import DataError
from inkcap.training.data.images import resize_images
from inkcap.training.data.placed import resize_map, scale_boxes
from inkcap.training.data.scaling import Moments, Scaling, moments, safe_scale, standard_scaling
from inkcap.training.data.wording import listing, shape_text

NORMALISATIONS = ("auto", "none", "unit", "standard")
_PIECE = 1024


@dataclass(frozen=True)
class Preparation:
    """What is done to every input before the network sees it.

    `normalise` is "none", "unit" (0 to 1), "standard" (mean 0, deviation 1, for each channel or column) or "auto": unit
    for images, standard for tables and games, none for toy sets. A fitted preparation holds the numbers, so that
    prediction uses those of training.
    """

    resize: tuple[int, int] | None = None
    normalise: str = "auto"
    normalise_targets: bool = False
    inputs: dict[str, Scaling] = field(default_factory=dict[str, Scaling])
    targets: dict[str, Scaling] = field(default_factory=dict[str, Scaling])

    def __post_init__(self) -> None:
        """Refuse an unknown kind of normalisation."""
        if self.normalise not in NORMALISATIONS:
            raise DataError(f"normalise={self.normalise} is not known. Give one of {listing(NORMALISATIONS)}.")

    @property
    def fitted(self) -> bool:
        """Tell whether the numbers are there."""
        return bool(self.inputs)

    def fit(self, train: Dataset) -> "Preparation":
        """Fit the numbers on the training part and give a preparation that holds them."""
        if len(train) == 0:
            raise DataError(f"{train.name}: the training part is empty. Make the validation share smaller.")
        if self.resize is not None and not any(values.ndim == 4 for values in train.inputs.values()):
            raise DataError(f"{train.name} holds no images, so they cannot be resized. Leave the resizing out.")
        inputs = {name: self._fit_input(train, name) for name in train.inputs}
        targets = {
            name: standard_scaling(moments([values], f"{train.name}, target {name}"), _sample_shape(values))
            for name, values in train.targets.items()
            if self.normalise_targets and not train.classes_of(name) and name not in train.layouts
        }
        return replace(self, inputs=inputs, targets=targets)

    def apply(self, array: NDArray[Any], name: str | None = None) -> NDArray[np.float32]:
        """Prepare samples of one input, resizing them when that was asked for."""
        scaling = self.scaling_of(name)
        array = self.resized_images(array)
        if _sample_shape(array) != scaling.shape:
            raise DataError(
                f"The samples are {shape_text(_sample_shape(array))}, but the preparation was fitted on "
                f"{shape_text(scaling.shape)}. Give samples of that shape{_resize_advice(scaling.shape, array)}."
            )
        return scaling.apply(array)

    def apply_targets(self, array: NDArray[Any], name: str = "y") -> NDArray[Any]:
        """Normalise targets when that was asked for; otherwise give them as they are."""
        return self.targets[name].apply(array) if name in self.targets else array

    def restore_targets(self, array: NDArray[Any], name: str = "y") -> NDArray[Any]:
        """Map predictions back to the targets' own scale."""
        return self.targets[name].restore(array) if name in self.targets else array

    def resized(self, dataset: Dataset) -> Dataset:
        """Resize all images of a dataset once, instead of in every epoch."""
        if self.resize is None:
            return dataset
        inputs = {name: self.resized_images(values) for name, values in dataset.inputs.items()}
        test = None if dataset.test is None else self.resized(dataset.test)
        return replace(dataset, inputs=inputs, targets=self._resized_targets(dataset), test=test)

    def _resized_targets(self, dataset: Dataset) -> dict[str, NDArray[Any]]:
        """Bring boxes and maps to the size of the pictures that they tell of."""
        targets = dict(dataset.targets)
        size = dataset.picture_size()
        if self.resize is None or size is None:
            return targets
        for name, layout in dataset.layouts.items():
            values = targets[name]
            targets[name] = (
                scale_boxes(values, size, self.resize) if layout == "boxes" else resize_map(values, self.resize)
            )
        return targets

    def resized_images(self, array: NDArray[Any]) -> NDArray[Any]:
        """Resize images when that was asked for; anything else is given back as it is."""
        return array if self.resize is None or array.ndim != 4 else resize_images(array, self.resize)

    def scaling_of(self, name: str | None = None) -> Scaling:
        """Give the fitted numbers of one input; the name may be left out when there is only one."""
        if not self.inputs:
            raise DataError("The preparation has not been fitted. Fit it on the training part first.")
        if name is None and len(self.inputs) == 1:
            return next(iter(self.inputs.values()))
        if name not in self.inputs:
            raise DataError(f"No input is called {name}. The inputs are {listing(self.inputs)}. Name one of them.")
        return self.inputs[name]

    def to_json(self) -> dict[str, Any]:
        """Write the preparation as plain values."""
        return {
            "resize": None if self.resize is None else list(self.resize),
            "normalise": self.normalise,
            "normalise_targets": self.normalise_targets,
            "inputs": {name: scaling.to_json() for name, scaling in self.inputs.items()},
            "targets": {name: scaling.to_json() for name, scaling in self.targets.items()},
        }

    @staticmethod
    def from_json(values: Mapping[str, Any] | str) -> "Preparation":
        """Read a preparation back from plain values, or from their JSON text."""
        try:
            plain = cast(Mapping[str, Any], json.loads(values)) if isinstance(values, str) else values
            resize = plain["resize"]
            inputs = cast(Mapping[str, Mapping[str, Any]], plain["inputs"])
            targets = cast(Mapping[str, Mapping[str, Any]], plain["targets"])
            return Preparation(
                resize=None if resize is None else (int(resize[0]), int(resize[1])),
                normalise=str(plain["normalise"]),
                normalise_targets=bool(plain["normalise_targets"]),
                inputs={name: Scaling.from_json(scaling) for name, scaling in inputs.items()},
                targets={name: Scaling.from_json(scaling) for name, scaling in targets.items()},
            )
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise DataError(f"The stored preparation is damaged: {error}. Train again to store it anew.") from None

    def _method(self, dataset: Dataset, name: str) -> str:
        """Decide what auto means for one input."""
        if self.normalise != "auto":
            return self.normalise
        if dataset.inputs[name].ndim == 4:
            # Maps of a game are zeros with a few ones, which would hardly move a network.
            return "unit" if dataset.world is None else "standard"
        return "none" if dataset.kind in ("toy", "text") else "standard"

    def _fit_input(self, train: Dataset, name: str) -> Scaling:
        values = train.inputs[name]
        shape = _sample_shape(values)
        if self.resize is not None and values.ndim == 4:
            shape = (shape[0], *self.resize)
        method = self._method(train, name)
        known = train.ranges.get(name, (0.0, 255.0) if values.dtype == np.uint8 else None)
        may_be_missing = values.dtype.kind == "f" and train.missing == "mean"
        if not may_be_missing and (method == "none" or (method == "unit" and known is not None)):
            low, high = known if method == "unit" and known is not None else (0.0, 1.0)
            return Scaling(method, shape, (low,), (high - low,), known)
        found = moments(self._pieces(values), f"{train.name}, input {name}")
        scaling = replace(standard_scaling(found, shape), value_range=known)
        if method == "unit":
            return _unit_scaling(scaling, found, known)
        return replace(scaling, method="none") if method == "none" else scaling

    def _pieces(self, values: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """Give the samples piece by piece, in the size the network gets."""
        for start in range(0, len(values), _PIECE):
            piece = values[start : start + _PIECE]
            yield self.resized_images(piece)


def _unit_scaling(scaling: Scaling, found: Moments, known: tuple[float, float] | None) -> Scaling:
    """Make the scaling to 0..1: by the known range, by the training part's limits of a column, or of all pixels."""
    if known is not None:
        return replace(scaling, method="unit", offset=(known[0],), scale=(known[1] - known[0],))
    lowest, highest = found.lowest, found.highest
    if len(scaling.shape) == 3:
        # One range for all channels keeps the colours in balance.
        lowest, highest = np.full_like(lowest, lowest.min()), np.full_like(highest, highest.max())
    joint = replace(found, lowest=lowest, highest=highest)
    offset = tuple(float(value) for value in lowest)
    return replace(scaling, method="unit", offset=offset, scale=safe_scale(highest - lowest, joint))


def _sample_shape(values: NDArray[Any]) -> tuple[int, ...]:
    return tuple(int(size) for size in values.shape[1:])


def _resize_advice(shape: tuple[int, ...], array: NDArray[Any]) -> str:
    return f", or resize them with --resize {shape[1]}x{shape[2]}" if len(shape) == 3 and array.ndim == 4 else ""
