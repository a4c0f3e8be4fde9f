"""The well-known image sets as datasets: MNIST, Fashion-MNIST and CIFAR-10."""

import tarfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.arrays import check_labels
from inkcap.training.data.dataset import Dataset, with_manifest
from inkcap.training.data.download import CIFAR_10, FASHION_MNIST, MNIST, Progress, RemoteSet, obtain
from inkcap.training.data.errors import DataError
from inkcap.training.data.idx_source import IDX_OPTIONS, load_idx_set
from inkcap.training.data.options import OptionValues

_DIGITS = tuple(str(digit) for digit in range(10))
_CLOTHES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
_CIFAR_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_CIFAR_RECORD = 1 + 3 * 32 * 32
_CIFAR_FOLDER = "cifar-10-batches-bin"
_CIFAR_RECORDS_PER_BATCH = 10_000
_CIFAR_TRAINING = tuple(f"{_CIFAR_FOLDER}/data_batch_{number}.bin" for number in range(1, 6))
_CIFAR_TEST = f"{_CIFAR_FOLDER}/test_batch.bin"
_MOST_MEMBERS = 64


def load_mnist(progress: Progress | None = None, bases: Sequence[str] | None = None) -> Dataset:
    """Load MNIST, 28×28 grey images of handwritten digits, with its test set."""
    return load_mnist_like(MNIST, _DIGITS, "Handwritten digits, 28×28 grey images.", progress, bases)


def load_fashion_mnist(progress: Progress | None = None, bases: Sequence[str] | None = None) -> Dataset:
    """Load Fashion-MNIST, 28×28 grey images of clothes, with its test set."""
    return load_mnist_like(FASHION_MNIST, _CLOTHES, "Pieces of clothing, 28×28 grey images.", progress, bases)


def load_mnist_like(
    remote: RemoteSet,
    classes: tuple[str, ...],
    description: str,
    progress: Progress | None = None,
    bases: Sequence[str] | None = None,
) -> Dataset:
    """Load a set of four files in MNIST's form."""
    obtained = obtain(remote, progress=progress, bases=bases)
    files = {"-".join(name.split("-")[:2]): file.path for name, file in obtained.items()}
    options = OptionValues(remote.name, IDX_OPTIONS, {"classes": ";".join(classes)})
    dataset = load_idx_set(remote.name, remote.name, files, options)
    manifest = dataset.manifest | {"verified": all(file.verified for file in obtained.values())}
    return replace(dataset, description=description, manifest=manifest)


def load_cifar_10(
    progress: Progress | None = None,
    bases: Sequence[str] | None = None,
    remote: RemoteSet = CIFAR_10,
    records_per_batch: int = _CIFAR_RECORDS_PER_BATCH,
) -> Dataset:
    """Load CIFAR-10, 32×32 colour images in ten classes, with its test set."""
    (obtained,) = obtain(remote, progress=progress, bases=bases).values()
    length = records_per_batch * _CIFAR_RECORD
    members = read_members(obtained.path, dict.fromkeys((*_CIFAR_TRAINING, _CIFAR_TEST), length))
    training = b"".join(members[name] for name in _CIFAR_TRAINING)
    test = _cifar_part(members[_CIFAR_TEST], obtained.path, remote.name)
    dataset = replace(_cifar_part(training, obtained.path, remote.name), test=test)
    return with_manifest(dataset, remote.name, [obtained.path], verified=obtained.verified)


def read_members(path: Path, wanted: Mapping[str, int]) -> dict[str, bytes]:
    """Read members of a .tar.gz into memory, only regular files with exactly the names and sizes wanted.

    The archive is read as a stream and nothing of it reaches the disk, so that no member can write anywhere.
    """
    found: dict[str, bytes] = {}
    limit = 2 * max(wanted.values())
    try:
        with path.open("rb") as stream, tarfile.open(fileobj=stream, mode="r|gz") as archive:
            for number, member in enumerate(archive):
                if number >= _MOST_MEMBERS or member.size > limit:
                    raise DataError(f"{path}: {member.name} is not expected there. Fetch the file again.")
                if member.name not in wanted or member.name in found:
                    continue
                content = archive.extractfile(member) if member.isreg() else None
                if content is None or member.size != wanted[member.name]:
                    raise DataError(
                        f"{path}: {member.name} has {member.size} bytes where {wanted[member.name]} are expected. "
                        f"Fetch the file again."
                    )
                found[member.name] = content.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path} is damaged: {error}. Remove it and fetch it again.") from None
    for name in wanted:
        if name not in found:
            raise DataError(f"{path} lacks {name}. Remove it and fetch it again.")
    return found


def _cifar_part(content: bytes, path: Path, name: str) -> Dataset:
    """Read records of one label and 3×32×32 pixels each."""
    records: NDArray[np.uint8] = np.frombuffer(content, dtype=np.uint8).reshape(-1, _CIFAR_RECORD)
    labels = records[:, 0].astype(np.int64)
    check_labels(labels, len(_CIFAR_CLASSES), str(path))
    dataset = Dataset(
        name=name,
        inputs={"x": records[:, 1:].reshape(-1, 3, 32, 32).copy()},
        targets={"y": labels},
        classes=_CIFAR_CLASSES,
        description="Small photographs, 32×32 colour images.",
        kind="images",
        ranges={"x": (0.0, 255.0)},
    )
    return with_manifest(dataset, name)
