"""Which weights of a run can be looked at: its frames, and its best and last weights."""

from pathlib import Path

from inkcap.recipes import layout
from inkcap.recipes.frames import list_frames
from inkcap.recipes.runfolder import RunFolder


def weights_by_epoch(run: RunFolder) -> dict[int, Path]:
    """Give the files of the weights that a run had after its epochs, as far as they were kept.

    A run that goes on has its frames alone: which epoch its best weights are of is told at its end.
    """
    found: dict[int, Path] = {}
    summary = run.summary()
    for name, sealed, key in (
        (layout.WEIGHTS, run.record.weights_sha256, "epochs"),
        (layout.BEST, run.record.best_sha256, "best_epoch"),
    ):
        epoch = summary.get(key)
        if sealed and type(epoch) is int and epoch >= 0 and (run.path / name).is_file():
            found[epoch] = run.path / name
    return found | list_frames(run.path)
