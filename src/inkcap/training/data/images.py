"""Image files: one image, or a folder with one sub-folder per class."""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from inkcap.training.data.dataset import Dataset, with_manifest
from inkcap.training.data.errors import DataError
from inkcap.training.data.options import Option, OptionValues
from inkcap.training.data.wording import counted, listing

# Only decoders that are needed: each further one would be a way in for hostile files.
IMAGE_FORMATS = ("PNG", "JPEG", "BMP", "WEBP")
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp")
_MOST_PIXELS = 64_000_000
_MOST_BYTES = 4 << 30
_GREY_MODES = ("1", "L", "LA", "I", "I;16", "I;16B", "F")

FOLDER_OPTIONS = (
    Option("resize", "", "HEIGHTxWIDTH to bring all images to one size (bilinear)"),
    Option("grey", "no", "yes to read colour images as grey"),
)


@dataclass(frozen=True)
class ImageHead:
    """What an image file says of itself before its pixels are decoded."""

    height: int
    width: int
    grey: bool


def _open(path: Path) -> Image.Image:
    """Open an image without decoding it, and refuse what is too large."""
    try:
        with warnings.catch_warnings():
            # Pillow warns above its own limit; ours is lower and is checked below.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(path, formats=IMAGE_FORMATS)
    except UnidentifiedImageError:
        raise DataError(f"{path} is not a readable image. Give a PNG, JPEG, BMP or WebP file, or remove it.") from None
    except Image.DecompressionBombError:
        raise DataError(f"{path} has more than {_MOST_PIXELS} pixels. Make it smaller.") from None
    except (OSError, ValueError, SyntaxError) as error:
        raise DataError(f"{path} cannot be read: {error}. Check or remove the file.") from None
    width, height = image.size
    if width * height > _MOST_PIXELS:
        image.close()
        raise DataError(f"{path} has {height}×{width} pixels; at most {_MOST_PIXELS} are read. Make it smaller.")
    return image


def image_head(path: Path) -> ImageHead:
    """Read an image's size and whether it is grey, without decoding it."""
    with _open(path) as image:
        return ImageHead(image.height, image.width, image.mode in _GREY_MODES)


def read_image(path: Path, channels: int, size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """Read an image as uint8 (channels, M, N), grey for one channel and RGB for three, resized when a size is given."""
    with _open(path) as image:
        try:
            if image.mode.startswith("I;16") or image.mode == "I":
                # Converting 16-bit grey directly would cut every value off at 255.
                deep = np.asarray(image).astype(np.int64)
                grey = Image.fromarray(np.clip(deep >> 8, 0, 255).astype(np.uint8))
                picture = grey.convert("L" if channels == 1 else "RGB")
            else:
                picture = image.convert("L" if channels == 1 else "RGB")
        except (OSError, ValueError, SyntaxError) as error:
            raise DataError(f"{path} is damaged: {error}. Save the image again, or remove it.") from None
        if size is not None and (picture.height, picture.width) != size:
            picture = picture.resize((size[1], size[0]), Image.Resampling.BILINEAR)
        pixels = np.asarray(picture, dtype=np.uint8)
    return pixels[None] if channels == 1 else np.ascontiguousarray(np.moveaxis(pixels, 2, 0))


def resize_images(images: NDArray[Any], size: tuple[int, int]) -> NDArray[Any]:
    """Resize images (n, d, M, N) by Pillow's bilinear filter; uint8 stays uint8, anything else becomes float32."""
    if images.shape[2:] == size:
        return images
    count, channels = images.shape[:2]
    exact = images if images.dtype == np.uint8 else images.astype(np.float32)
    resized = np.empty((count, channels, *size), dtype=exact.dtype)
    for sample in range(count):
        for channel in range(channels):
            picture = Image.fromarray(np.ascontiguousarray(exact[sample, channel]))
            resized[sample, channel] = np.asarray(picture.resize((size[1], size[0]), Image.Resampling.BILINEAR))
    return resized


def _class_folders(folder: Path) -> list[Path]:
    found = (entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    return sorted((entry for entry in found if not leads_out(entry, folder)), key=_name)


def leads_out(entry: Path, folder: Path) -> bool:
    """Tell whether something in a folder is a link to something outside of it: who gives data gives no other file."""
    return entry.is_symlink() and not entry.resolve().is_relative_to(folder.resolve())


def _name(path: Path) -> str:
    return path.name


def _image_files(folder: Path, whole: Path) -> tuple[list[Path], int]:
    """List a class's image files in a fixed order, and count the other files; a link out of it all is such a one."""
    files = [entry for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith(".")]
    images = (entry for entry in files if entry.suffix.lower() in IMAGE_SUFFIXES and not leads_out(entry, whole))
    found = sorted(images, key=_name)
    return found, len(files) - len(found)


def load_image_folder(folder: Path, options: OptionValues) -> Dataset:
    """Load a folder of images: a sub-folder per class, or train and test with those inside."""
    size, grey = options.size("resize"), options.flag("grey")
    inside = {entry.name for entry in _class_folders(folder)}
    if inside in ({"train", "test"}, {"train"}) and _class_folders(folder / "train"):
        dataset = _load_part(folder / "train", size, grey, None)
        if "test" in inside:
            shape = dataset.inputs["x"].shape[1:]
            test = _load_part(folder / "test", size, grey, (dataset.classes, int(shape[0]), (shape[1], shape[2])))
            dataset = replace(dataset, test=test)
    else:
        dataset = _load_part(folder, size, grey, None)
    return with_manifest(replace(dataset, name=folder.name), str(folder))


def _collect(folder: Path, known: tuple[str, ...] | None) -> tuple[tuple[str, ...], list[Path], list[int], int]:
    """Find the classes, the image files with their labels, and how many other files lie there."""
    class_folders = _class_folders(folder)
    names = tuple(entry.name for entry in class_folders)
    if not names:
        raise DataError(
            f"{folder} has no sub-folders. Put the images of each class into a sub-folder named after the class."
        )
    if known is not None and not set(names) <= set(known):
        raise DataError(f"{folder} has classes that the training part lacks: {listing(set(names) - set(known))}.")
    classes = known or names
    paths: list[Path] = []
    labels: list[int] = []
    others = 0
    for class_folder in class_folders:
        images, other = _image_files(class_folder, folder)
        if not images:
            raise DataError(
                f"The class {class_folder.name} in {folder} has no images ({', '.join(IMAGE_SUFFIXES)}); "
                f"links that lead out of the folder are none. Add some, or remove the sub-folder."
            )
        others += other
        paths += images
        labels += [classes.index(class_folder.name)] * len(images)
    if len(classes) == 1:
        raise DataError(f"{folder} has only the class {classes[0]}. Add a sub-folder for each further class.")
    return classes, paths, labels, others


def _common_size(heads: list[ImageHead], paths: list[Path], first: tuple[int, int], what: str) -> None:
    """Refuse images that differ in size when no size was asked for."""
    for head, path in zip(heads, paths, strict=True):
        if (head.height, head.width) != first:
            raise DataError(
                f"{path} is {head.height}×{head.width}, but {what} is {first[0]}×{first[1]}. "
                f"Give a common size, for example resize={first[0]}x{first[1]}."
            )


def _load_part(
    folder: Path,
    size: tuple[int, int] | None,
    grey: bool,
    training: tuple[tuple[str, ...], int, tuple[int, int]] | None,
) -> Dataset:
    """Load one folder of classes; `training` gives the classes, channels and size that a test part must share."""
    classes, paths, labels, others = _collect(folder, training[0] if training else None)
    heads = [image_head(path) for path in paths]
    first = training[2] if training else (heads[0].height, heads[0].width)
    if size is None:
        _common_size(heads, paths, first, "the training part" if training else str(paths[0]))
    channels = training[1] if training else 1 if grey or all(head.grey for head in heads) else 3
    height, width = size or first
    total = len(paths) * channels * height * width
    if total > _MOST_BYTES:
        raise DataError(
            f"{folder}: {len(paths)} images of {height}×{width}×{channels} take {total} bytes; at most {_MOST_BYTES} "
            f"are loaded. Give a smaller size with resize, or fewer images."
        )
    images = np.empty((len(paths), channels, height, width), dtype=np.uint8)
    for index, path in enumerate(paths):
        images[index] = read_image(path, channels, (height, width))
    left_out = f" {counted(others, 'other file was', 'other files were')} left out." if others else ""
    dataset = Dataset(
        name=folder.name,
        inputs={"x": images},
        targets={"y": np.array(labels, dtype=np.int64)},
        classes=classes,
        description=f"{len(paths)} images of {height}×{width}×{channels} in {len(classes)} classes.{left_out}",
        kind="images",
    )
    return with_manifest(dataset, str(folder))
