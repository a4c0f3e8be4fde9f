"""The studio's helper: answers what needs torch, one JSON object a line in, one a line out, until its input ends."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from inkcap.structures import InkcapError

Question = dict[str, Any]
Answer = dict[str, Any]


def _network(question: Question) -> Any:
    from inkcap.drawing import from_text
    from inkcap.network import check

    return check(from_text(question["text"])).network


def _code(question: Question) -> Answer:
    from inkcap.engine import source_of

    return {"source": source_of(_network(question))}


def _step(question: Question) -> Answer:
    from inkcap.cli.backpropagation import walk

    given = [question[name] for name in ("inputs", "targets", "weights")]
    found = walk(_network(question), question["rate"], question["seed"], given)
    if question.get("most") is None:
        return found.to_json()
    from inkcap.cli.telling import in_short

    return in_short(found, question["most"])


def _expand(question: Question) -> Answer:
    from inkcap.engine import expand, starting_weights

    network = _network(question)
    return {"text": expand(network, starting_weights(network, 0)).drawing.to_text()}


def _data(_: Question) -> Answer:
    from pathlib import Path

    from inkcap.training.data import SOURCES, load

    told: list[Answer] = []
    for source in SOURCES.values():
        # What would have to be fetched is not looked into: listing must need no network.
        known = None if "(fetched)" in source.description else load(source.name, {}, Path())
        preview = known.preview(rows=0, pictures=0) if known else None
        shape = preview.inputs[0].shape if preview else next(iter(re.findall(r"\d+×\d+", source.description)), None)
        classes = re.search(r"(\d+) classes", source.description)
        told.append(
            {
                "name": source.name,
                "title": source.description,
                "samples": preview.count if preview else None,
                "shape": shape,
                "classes": int(classes[1]) if classes else None,
                "options": [asdict(option) for option in source.options],
            }
        )
    return {"sets": told}


def _preview(question: Question) -> Answer:
    from inkcap.cli.looking import look

    return look(question)


def _export(question: Question) -> Answer:
    from pathlib import Path

    from inkcap.cli.export import carry_out
    from inkcap.drawing import from_text
    from inkcap.exchange.forms import ENDINGS, FIGURES

    names = ("font", "width", "monochrome", "labels", "opened", "compact", "direction")
    looks = {name: question[name] for name in names} if question["to"] in FIGURES else None
    path = Path(question["folder"]) / f"{question['stem']}{ENDINGS[question['to']]}"
    done = carry_out(
        from_text(question["text"]), question["to"], path, question["run"], Path(question["workspace"]),
        train=question["train"], looks=looks,
    )  # fmt: skip
    return {"files": [file.name for file in done.files], "told": done.told, "notes": list(done.notes)}


def _import(question: Question) -> Answer:
    from pathlib import Path

    from inkcap.cli.importing import summary
    from inkcap.exchange import import_onnx

    # From bytes alone: nothing of the file can name others beside it.
    imported = import_onnx(Path(question["model"]).read_bytes(), question["name"])
    files = imported.save(Path(question["drawing"]))
    return summary(imported, files)


def _borrow(question: Question) -> Answer:
    from pathlib import Path

    from inkcap.engine import build
    from inkcap.network import as_plain
    from inkcap.recipes import recipe_from_json
    from inkcap.training.borrowing import borrow

    recipe = recipe_from_json(question["recipe"])
    return borrow(build(as_plain(_network(question)), {}), recipe, Path(question["workspace"]))[2].to_json()


def _inspect(question: Question) -> Answer:
    from pathlib import Path

    from inkcap.training.inspection import ask

    return ask(Path(question["run"]), question["about"], question["given"])


ANSWERS: dict[str, Callable[[Question], Answer]] = {
    "code": _code,
    "step": _step,
    "expand": _expand,
    "data": _data,
    "preview": _preview,
    "export": _export,
    "import": _import,
    "borrow": _borrow,
    "inspect": _inspect,
}


def answer(line: str) -> Answer:
    """Answer one question; whatever is wrong becomes the answer's error."""
    try:
        question: Question = json.loads(line)
        return ANSWERS[question["what"]](question)
    except InkcapError as error:
        return {"error": str(error)}
    except Exception as error:
        return {"error": f"this could not be computed ({type(error).__name__}: {error})"}


def _as_text(value: Answer) -> bytes:
    return json.dumps(value, allow_nan=False, ensure_ascii=False).encode("utf-8", "replace")


def _written(value: Answer) -> str:
    try:
        told = json.dumps(value, allow_nan=False)
        # A file's name may be any bytes; what is told of it is text.
        return told if "\\ud" not in told else json.dumps(json.loads(_as_text(value)))
    except ValueError:
        return json.dumps({"error": "numbers came out that are not finite: choose smaller inputs, or a smaller rate"})


def main() -> None:
    """Answer until nobody asks any more."""
    # What libraries print must not stand among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(_written(answer(line)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
