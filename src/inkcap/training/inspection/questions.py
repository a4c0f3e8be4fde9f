"""Looking into runs: one object a run for Python, and the questions of the command line and the studio."""

from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inkcap.recipes import RunFolder, layout, signal_courses
from inkcap.recipes.runfolder import sha256_of
from inkcap.training.errors import TrainingError
from inkcap.training.inspection import answering
from inkcap.training.inspection.confusion import confusion, examples
from inkcap.training.inspection.looking import Looking
from inkcap.training.inspection.summary import Plain
from inkcap.training.inspection.surfaces import surface
from inkcap.training.inspection.values import values_of

_MOST_OPEN = 3


class Inspection:
    """A run that is looked into. Everything is given as plain values, as the studio and the command line show it.

    `epoch` is one of `epochs()`, 0 being the start; without it the newest that is there is taken.
    """

    def __init__(self, run: RunFolder | Path | str) -> None:
        """Open a run by its folder."""
        self._looking = Looking(run)

    def epochs(self) -> list[int]:
        """Give the epochs whose weights can be looked at."""
        return sorted(self._looking.epochs())

    def signals(self) -> Plain:
        """Give the signals of the run over its epochs, and why there are none, if so."""
        return signal_courses(RunFolder.open(self._looking.folder.path))

    def values(self, item: str, epoch: int | None = None) -> Plain:
        """Tell what a capsule or a connection holds: weights, and Y, δ and gradient over the fixed batch."""
        return values_of(self._looking, item, epoch)

    def examples(
        self,
        part: str = "validation",
        first: int = 0,
        count: int = 24,
        only: str = "all",
        epoch: int | None = None,
        found: bool = False,
    ) -> Plain:
        """Give samples of a part of the run's data; with `only` those that it is "wrong" about, or the "worst" first.

        With `found`, of a detector or a segmenter, what it finds on each of them.
        """
        return examples(self._looking, part, first, count, only, epoch, found)

    def answer(
        self,
        *,
        example: Mapping[str, Any] | None = None,
        picture: Mapping[str, Any] | None = None,
        image: str | None = None,
        values: list[float] | None = None,
        epoch: int | None = None,
    ) -> Plain:
        """Ask about one sample: ``{"part", "number"}``, a drawn picture ``{"rows"}``, a file in base64, or numbers."""
        if sum(given is not None for given in (example, picture, image, values)) != 1:
            raise TrainingError("ask about one sample: give an example, a picture, an image or values.")
        if example is not None:
            asked = answering.of_example(self._looking, example["part"], example["number"])
        elif picture is not None:
            asked = answering.of_picture(self._looking, picture["rows"])
        elif image is not None:
            asked = answering.of_image(self._looking, image)
        else:
            asked = answering.of_values(self._looking, values or [])
        return answering.answer(self._looking, asked, epoch)

    def confusion(
        self, part: str = "validation", epoch: int | None = None, worst: int = 24, output: str | None = None
    ) -> Plain:
        """Count which classes are taken for which, and find the samples of the largest loss."""
        return confusion(self._looking, part, epoch, worst, output)

    def surface(self, epoch: int | None = None, cells: int = 64) -> Plain:
        """Give what a network of two input numbers answers over the plane."""
        return surface(self._looking, epoch, cells)


_open: OrderedDict[tuple[str, ...], Inspection] = OrderedDict()


def inspection_of(path: Path) -> Inspection:
    """Give a run that was looked into before as it is still open; the last few stay so."""
    marks = [sha256_of(path / name) for name in (layout.DRAWING, layout.DATA, layout.RECIPE) if (path / name).is_file()]
    key = (str(path), *marks)
    if key not in _open:
        # A folder whose content has changed is another run.
        for old in [other for other in _open if other[0] == key[0]]:
            del _open[old]
        _open[key] = Inspection(path)
    _open.move_to_end(key)
    while len(_open) > _MOST_OPEN:
        _open.popitem(last=False)
    return _open[key]


QUESTIONS = ("values", "examples", "answer", "confusion", "surface")


def ask(path: Path, about: str, given: Mapping[str, Any]) -> Plain:
    """Answer one question about a run."""
    if about not in QUESTIONS:
        raise TrainingError(f"a run is not asked about {about!r}, but about {', '.join(QUESTIONS)}.")
    return getattr(inspection_of(path), about)(**given)
