"""One mutant of an ONNX file, judged: it is read or refused in one clear line, and what is read can be used."""

from __future__ import annotations

import ast
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from limited_forks import Campaign
from onnx_mutants import mutant, seeds

WRITTEN = 1 << 20
"""Numbers of weights up to which they are written too."""
LETTERS = 1000
PLACES = re.compile(
    r"node |the input |the output |its input|the stored tensor|attribute |operators|the file|the model|these \d+ bytes|"
    r"there is no operator|deeper than|lie deeper|in it|mutant|it stores|nothing enters|capsule"
)
"""What a refusal names: a part of the model by its name, or the file as a whole."""


class Judgement(AssertionError):
    """A mutant that broke the promise."""


def judge_refusal(words: str) -> None:
    """A refusal is one line of readable text that names its place and does not blame Inkcap."""
    if "\n" in words.strip() or not words.isprintable():
        raise Judgement(f"not one line of text: {words[:300]!r}")
    if "fault of Inkcap" in words:
        raise Judgement(f"blames Inkcap: {words[:300]}")
    if not PLACES.search(words) or len(words) > LETTERS:
        raise Judgement(f"names no place, or is too long ({len(words)}): {words[:300]}")


def judge_drawing(made: Any) -> None:
    """What was read is a drawing that a file holds, that checks without exception, and that prints."""
    from inkcap.drawing import from_text
    from inkcap.exchange.importing.weights_file import write_weights
    from inkcap.exchange.torch_file import print_torch
    from inkcap.network import check

    text = made.drawing.to_text()
    again = from_text(text)
    if again.to_text() != text:
        raise Judgement("the drawing is another when its file is read")
    report = check(again)
    if not made.missing:
        if report.errors:
            raise Judgement(f"the drawing is not well formed: {report.errors[0].message}")
        ast.parse(print_torch(again).source)
    if sum(constant.count for constant in made.weights.values()) <= WRITTEN:
        with tempfile.NamedTemporaryFile(prefix="inkcap-mutant-") as file:
            write_weights(Path(file.name), made.weights)


class OnnxCampaign(Campaign):
    """Mutants through the importer, within the limits that its own process has."""

    room = 2**31 - 2**28
    """With what the importer's process holds when it begins, no more than its 2 GiB."""

    def prepare(self) -> None:
        """Load the importer, and torch, which prints."""
        import torch

        import inkcap.exchange.importing.model
        import inkcap.exchange.importing.onnx_reader
        import inkcap.exchange.torch_file  # noqa: F401

        torch.set_num_threads(1)
        seeds()

    def enter(self) -> None:
        """Take the importer's own limits but that of the memory, which torch alone would use up."""
        from inkcap.exchange.importing import limits
        from inkcap.exchange.importing.sandbox import limit_this_process

        limits.MEMORY_BYTES = 2**40
        # The batch has many cases; each has a second of its own.
        limits.CPU_SECONDS = 600
        limit_this_process()

    def case(self, seed: int, number: int) -> str:
        """Read a mutant, and judge what came of it."""
        from inkcap.exchange.importing.model import translate
        from inkcap.exchange.importing.onnx_reader import read_onnx
        from inkcap.structures import InkcapError

        content = mutant(seed, number)
        try:
            made = translate(read_onnx(content, "mutant"))
        except InkcapError as refusal:
            judge_refusal(str(refusal))
            return "refused"
        except MemoryError:
            return "refused for want of memory"
        except RecursionError:
            return "refused for its depth"
        judge_drawing(made)
        return "drawn with operators of no symbol" if made.missing else "drawn"


campaign = OnnxCampaign()


if __name__ == "__main__":
    # Repeat one mutant in the open: python tests/support/onnx_campaign.py SEED NUMBER
    campaign.prepare()
    print(campaign.case(int(sys.argv[1]), int(sys.argv[2])))
