"""Event files for TensorBoard in the run's folder, written without TensorFlow.

A run that goes on writes them anew from its log, which holds each point once: so no point is there twice.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inkcap.recipes import layout
from inkcap.training.watchers.beside import Line

FOLDER = "tensorboard"
FLUSH_SECONDS = 5


class EventFiles:
    """Writes loss, metrics, rate and signals as scalars, and the recipe as text and hyper-parameters."""

    name = "tensorboard"

    def __init__(self, run: Path, facts: Mapping[str, Any]) -> None:
        """Know where to write, and what is known of the run."""
        self.folder, self.facts = run / FOLDER, facts
        self.writer: Any = None

    def begin(self) -> None:
        """Begin one file in place of those that there were."""
        from torch.utils.tensorboard import summary, writer

        from inkcap.training.watchers import flat, written

        made: Any = writer
        hparams: Any = vars(summary)["hparams"]
        self.folder.mkdir(exist_ok=True)
        for old in self.folder.glob("events.out.tfevents.*"):
            old.unlink()
        self.writer = made.SummaryWriter(str(self.folder), flush_secs=FLUSH_SECONDS)
        self.writer.add_text("recipe", f"```json\n{written(self.facts['recipe'])}\n```")
        self.writer.add_text("drawing", f"```json\n{self.facts['drawing']}\n```")
        watched = f"epoch/{self.facts['monitor']}"
        for one in hparams(flat(self.facts["recipe"]), {watched: math.nan}):
            self.writer.file_writer.add_summary(one)

    def hear(self, lines: list[Line]) -> None:
        """Write each value as a point of its own scalar."""
        for line in lines:
            place = "signals" if line.log == layout.SIGNALS else line.kind
            for name, value in line.values.items():
                self.writer.add_scalar(f"{place}/{name}", value, line.step)

    def end(self, state: str) -> None:
        """Close the file."""
        self.writer.add_text("state", state)
        self.writer.close()
