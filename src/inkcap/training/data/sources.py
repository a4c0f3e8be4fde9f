"""The table of everything that data can come from, and the one entry that loads it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from inkcap.recipes import DataSpec
from inkcap.remote import is_url, local_copy
from inkcap.training.data.archives import ARCHIVE_OPTIONS, load_archive
from inkcap.training.data.bundled import load_diabetes, load_digits, table_loader
from inkcap.training.data.dataset import Dataset
from inkcap.training.data.download import Progress
from inkcap.training.data.errors import DataError
from inkcap.training.data.files import path_of
from inkcap.training.data.grid_world import GRID_OPTIONS, load_grid_world
from inkcap.training.data.idx import looks_like_idx
from inkcap.training.data.idx_source import IDX_OPTIONS, load_idx_folder, load_idx_pair, mnist_files
from inkcap.training.data.images import FOLDER_OPTIONS, IMAGE_SUFFIXES, load_image_folder
from inkcap.training.data.options import Option, OptionValues
from inkcap.training.data.remote_sources import load_cifar_10, load_fashion_mnist, load_mnist
from inkcap.training.data.sentences import SENTENCE_OPTIONS, load_sentences
from inkcap.training.data.shapes import SHAPE_OPTIONS, load_shapes
from inkcap.training.data.table_source import TABLE_OPTIONS, load_csv
from inkcap.training.data.toys import SPIRAL_OPTIONS, TOY_OPTIONS, load_circles, load_moons, load_spirals
from inkcap.training.data.wording import listing, near_matches

NamedLoader = Callable[[OptionValues, Progress | None], Dataset]
PathLoader = Callable[[Path, OptionValues], Dataset]


@dataclass(frozen=True)
class Source:
    """A set known by name: how to load it, a line about it, and its options."""

    name: str
    description: str
    loader: NamedLoader
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class FileFormat:
    """A form that data on the disk may have: how to load it, a line about it, and its options."""

    name: str
    description: str
    loader: PathLoader
    options: tuple[Option, ...] = ()


def _local(loader: Callable[[OptionValues], Dataset]) -> NamedLoader:
    return lambda options, _progress: loader(options)


def _remote(loader: Callable[[Progress | None], Dataset]) -> NamedLoader:
    return lambda _options, progress: loader(progress)


_IRIS = table_loader("iris", "load_iris", "Three kinds of iris from four lengths, bundled with scikit-learn.")
_WINE = table_loader("wine", "load_wine", "Three wines from thirteen analyses, bundled with scikit-learn.")
_CANCER = table_loader(
    "breast-cancer", "load_breast_cancer", "Malignant or benign from thirty measurements, bundled with scikit-learn."
)

SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source("digits", "handwritten digits, 8×8 grey images, 10 classes", _local(load_digits)),
        Source("iris", "flowers, 4 numbers, 3 classes", _local(_IRIS)),
        Source("wine", "chemical analyses, 13 numbers, 3 classes", _local(_WINE)),
        Source("breast-cancer", "measurements of cells, 30 numbers, 2 classes", _local(_CANCER)),
        Source("diabetes", "progression of a disease, 10 numbers, regression", _local(load_diabetes)),
        Source("moons", "two interleaved half circles, 2 numbers, 2 classes", _local(load_moons), TOY_OPTIONS),
        Source("circles", "one circle inside another, 2 numbers, 2 classes", _local(load_circles), TOY_OPTIONS),
        Source("spirals", "two spiral arms, 2 numbers, 2 classes", _local(load_spirals), SPIRAL_OPTIONS),
        Source(
            "sentences",
            "text of a small grammar, 64 characters, the next of 28",
            _local(load_sentences),
            SENTENCE_OPTIONS,
        ),
        Source(
            "grid-world",
            "a game that the network plays, 4×4 maps of 4 channels, what 4 moves are worth",
            _local(load_grid_world),
            GRID_OPTIONS,
        ),
        Source(
            "shapes",
            "circles, squares, triangles in colour pictures, where and which",
            _local(load_shapes),
            SHAPE_OPTIONS,
        ),
        Source("mnist", "handwritten digits, 28×28 grey images, 10 classes (fetched)", _remote(load_mnist)),
        Source("fashion-mnist", "clothes, 28×28 grey images, 10 classes (fetched)", _remote(load_fashion_mnist)),
        Source("cifar-10", "photographs, 32×32 colour images, 10 classes (fetched)", _remote(load_cifar_10)),
    )
}

FORMATS: dict[str, FileFormat] = {
    form.name: form
    for form in (
        FileFormat("csv", "a .csv file with a header, one row a sample", load_csv, TABLE_OPTIONS),
        FileFormat("npz", "an .npz file with x and y", load_archive, ARCHIVE_OPTIONS),
        FileFormat("idx", "a folder with MNIST's file names, or IMAGES,LABELS", load_idx_folder, IDX_OPTIONS),
        FileFormat("images", "a folder with a sub-folder of images per class", load_image_folder, FOLDER_OPTIONS),
    )
}


def load(
    spec: str, options: Mapping[str, str], folder: Path, *, progress: Progress | None = None, resize: str = ""
) -> Dataset:
    """Load the data that a registered name or a path (relative to the folder) stands for.

    `resize` is for files that may differ in size: their reader has to know it. Other data are left as they are.
    """
    try:
        return _load(spec, options, folder, progress, resize)
    except OSError as error:
        raise DataError(f"{spec} cannot be read: {error.strerror or error}. Check the path and its rights.") from None
    except MemoryError:
        raise DataError(f"{spec} does not fit into memory. Give fewer or smaller samples.") from None


def load_named(spec: DataSpec, folder: Path, progress: Progress | None = None) -> Dataset:
    """Load data as a recipe names them."""
    options = {
        name: ("yes" if value else "no") if isinstance(value, bool) else str(value)
        for name, value in spec.options.items()
    }
    return load(spec.name, options, folder, progress=progress, resize=spec.resize)


def _load(spec: str, options: Mapping[str, str], folder: Path, progress: Progress | None, resize: str) -> Dataset:
    source = SOURCES.get(spec.strip().lower())
    if source is not None:
        return source.loader(OptionValues(source.name, source.options, options), progress)
    if not spec.strip():
        raise DataError(f"No data were named. Give one of {listing(SOURCES)}, or a path.")
    if "," in spec and all(map(is_url, spec.split(","))):
        return _load_pair(spec, options, folder, progress)
    path = _path(spec, folder, progress)
    if not path.exists() and "," in spec:
        return _load_pair(spec, options, folder, progress)
    form = _format_of(path, spec)
    if resize and any(option.name == "resize" for option in form.options):
        options = {"resize": resize, **options}
    return _named_after(form.loader(path, OptionValues(form.name, form.options, options)), path)


def _path(spec: str, folder: Path, progress: Progress | None) -> Path:
    """Give the file or folder that a path or a URL of storage stands for."""
    return local_copy(spec.strip(), progress) if is_url(spec) else path_of(spec, folder)


def _named_after(dataset: Dataset, path: Path) -> Dataset:
    """Give a dataset read from `.` or a similar path a name that says something."""
    return dataset if dataset.name else replace(dataset, name=path.resolve().name or "data")


def _load_pair(spec: str, options: Mapping[str, str], folder: Path, progress: Progress | None) -> Dataset:
    """Load IDX images and labels given as IMAGES,LABELS."""
    parts = [_path(part, folder, progress) for part in spec.split(",")]
    if len(parts) != 2:
        raise DataError(f"{spec} names {len(parts)} files. Give the images and the labels as IMAGES,LABELS.")
    for part in parts:
        if part.exists() and not part.is_file():
            raise DataError(f"{spec} names {part}, which is no ordinary file. Give the images and the labels.")
        if not part.is_file():
            raise _not_found(part, str(part))
    return load_idx_pair(parts[0], parts[1], OptionValues("idx", IDX_OPTIONS, options))


def _not_found(path: Path, spec: str) -> DataError:
    """Say that nothing has this name, and what comes near it."""
    neighbours = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    near = near_matches(spec, SOURCES) or near_matches(path.name, neighbours)
    return DataError(
        f"{spec} is neither a known set nor an existing file or folder ({path}).{near} "
        f"Known sets: {listing(SOURCES)}. Correct the name or the path."
    )


def _format_of(path: Path, spec: str) -> FileFormat:
    """Tell the form of a file or folder from its name and content."""
    if path.is_dir():
        return FORMATS["idx"] if mnist_files(path) else FORMATS["images"]
    if not path.exists():
        raise _not_found(path, spec)
    if not path.is_file():
        # A pipe would keep its reader waiting for ever, a device would never end.
        raise DataError(f"{path} is no ordinary file. Give a file or a folder.")
    suffix = path.suffix.lower()
    if suffix in (".csv", ".npz"):
        return FORMATS[suffix[1:]]
    if looks_like_idx(path):
        raise DataError(f"{path} holds only one part. Give images and labels as IMAGES,LABELS, or the folder of both.")
    if suffix in IMAGE_SUFFIXES:
        raise DataError(f"{path} is a single image. Give the folder with a sub-folder of images per class.")
    raise DataError(
        f"{path} has the ending {suffix or '(none)'}, which is not known. "
        f"Give {'; '.join(form.description for form in FORMATS.values())}."
    )
