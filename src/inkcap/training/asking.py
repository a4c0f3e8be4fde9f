"""Asking a run about more samples than fit into memory: where they are found, and how they are handed to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from inkcap.engine.inference import EngineMaker, EngineName
from inkcap.recipes import DataSpec
from inkcap.training.data import SOURCES, DataError
from inkcap.training.data.files import path_of
from inkcap.training.data.idx import looks_like_idx
from inkcap.training.data.idx_source import mnist_files
from inkcap.training.data.images import IMAGE_SUFFIXES
from inkcap.training.data.packed import archive_names, find_idx, find_in_archive, find_npy
from inkcap.training.data.parquet import SUFFIX, ParquetPieces, parquet_files
from inkcap.training.data.pieces import ArrayPieces, ImagePieces, Piece, Pieces, SetPieces, TablePieces, find_images
from inkcap.training.data.single import archive_key, layout_of
from inkcap.training.opened import OpenedRun
from inkcap.training.prediction import BATCH, Asked, OutputPrediction, arrays_by_input
from inkcap.training.samples import asked_inputs, samples_from


def find_pieces(opened: OpenedRun, spec: DataSpec, folder: Path, room: Path) -> Pieces:
    """Find the samples that a name or a path (relative to the folder) stands for; packed files are unpacked into room.

    Of a set that has a part for tests, the samples are those of the other part.
    """
    name = spec.name.strip()
    if name.lower() in SOURCES:
        return SetPieces(spec, folder.resolve())
    path = path_of(name, folder).resolve()
    if path.is_dir():
        return _in_folder(opened, path, room)
    if not path.exists() and "," in name:
        path = path_of(name.partition(",")[0], folder).resolve()
    if not path.is_file():
        raise DataError(f"{name} is neither a known set nor an existing file or folder ({path}). Correct it.")
    return _in_file(opened, path, room)


def _in_folder(opened: OpenedRun, path: Path, room: Path) -> Pieces:
    if found := parquet_files(path):
        return ParquetPieces(found, tuple(asked_inputs(opened)))
    if images := mnist_files(path).get("train-images"):
        return _in_file(opened, images, room)
    return find_images(path)


def _in_file(opened: OpenedRun, path: Path, room: Path) -> Pieces:
    names = asked_inputs(opened)
    sample = opened.preparation.inputs[names[0]].shape if len(names) == 1 else ()
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return TablePieces(path, layout_of(opened.manifest.get("table"), ()).separator)
    if suffix == ".npy":
        return ArrayPieces(str(path), {"": find_npy(path)}, sample)
    if suffix == ".npz":
        there = archive_names(path)
        several = len(names) > 1 and len(there) > 1
        chosen = {name: archive_key(str(path), there, name if several else "", name) for name in names}
        if len(names) > 1 and not several:
            chosen = {there[0]: there[0]}
        return ArrayPieces(str(path), find_in_archive(path, chosen, room), sample)
    if suffix == SUFFIX:
        return ParquetPieces((path,), tuple(names))
    if looks_like_idx(path):
        return ArrayPieces(str(path), {"": find_idx(path, room)}, sample)
    if suffix in IMAGE_SUFFIXES:
        return ImagePieces(path.parent, (path.name,))
    raise DataError(
        f"{path}: the ending is not known. Give .csv, .npy, .npz, IDX, {SUFFIX}, a folder of images or of {SUFFIX} "
        "files, or a known set."
    )


class Answering:
    """A run that answers pieces of samples; `samples` are all of them."""

    def __init__(self, opened: OpenedRun, engine: EngineName | EngineMaker, samples: int, *, resize: bool) -> None:
        """Make what answers."""
        self.opened, self.resize = opened, resize
        self.asked = Asked(opened, engine, samples)

    def answers(self, pieces: Pieces, piece: Piece) -> Iterator[tuple[int, int, dict[str, OutputPrediction]]]:
        """Answer a piece batch by batch: the number of the first sample, how many they are, and their outputs."""
        for raw in pieces.read(piece, BATCH):
            samples = samples_from(self.opened, raw, resize=self.resize)
            arrays = arrays_by_input(self.opened, samples, raw.first)
            yield raw.first, len(arrays[0]), self.asked.outputs(self.asked.values(arrays), raw.first)
