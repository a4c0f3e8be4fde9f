"""A member of a group that torchrun starts: trains the cases that it is given, one after another, and tells of each.

``torchrun … members.py FOLDER CASES.json``; rank 0 writes FOLDER/results.json. Without torchrun it trains alone.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any


def drawing_of(kind: str) -> Any:
    """Draw one of the small networks of the cases, in double precision where curves are compared."""
    from inkcap.drawing import Drawing
    from inkcap.zoo import draw

    if kind == "narrow":
        return draw("ssd_narrow")
    drawing = Drawing(kind)
    if kind == "straight":
        drawing.add("x", "1D-data", dimension=10)
        drawing.then("y", "1D-identical", dimension=1)
        return drawing
    drawing.add("x", "1D-data", dimension=2, dtype="float64")
    # Wide layers are parted each for itself.
    first, second = (160, 130) if kind == "wide" else (13, 7)
    drawing.then("a", "1D-sigmoid" if kind == "stacked" else "1D-tanh", dimension=first)
    drawing.then("b", "1D-sigmoid", dimension=second)
    drawing.then("y", "1D-softmax", dimension=2)
    if kind == "normalised":
        drawing.wear("a", "batch-norm")
    if kind == "dropping":
        drawing.wear("a", "dropout", probability=0.3)
    return drawing


def recipe_of(case: dict[str, Any]) -> Any:
    """Make the recipe of a case."""
    from inkcap.recipes import DataSpec, OptimiserSpec, Recipe

    data = case.get("data", {"name": "moons", "options": {"n": 151}})
    optimiser = OptimiserSpec(*case.get("optimiser", ["adam", 0.01]))
    common: dict[str, Any] = {"batch": 15, "epochs": 3, "seed": 3, "threads": 1}
    return Recipe(data=DataSpec(**data), optimiser=optimiser, **{**common, **case.get("recipe", {})})


def told(result: Any) -> dict[str, Any]:
    """Tell what came of a run: its curve, and check sums of all that it has learnt."""
    log = result.run.metrics()
    weights = {name: digest(result.run.path / name) for name in ("weights.safetensors", "best.safetensors")}
    return {
        "run": result.run.id,
        "state": result.state,
        "steps": [record.values["loss"] for record in log.records if record.kind == "step"],
        "epochs": [dict(record.values) for record in log.records if record.kind == "epoch"],
        "notes": list(result.notes),
        "environment": dict(result.run.environment()),
        **weights,
    }


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run_case(case: dict[str, Any], folder: Path, group: Any) -> dict[str, Any]:
    """Train, or go on with a run of an earlier case, and tell what came of it, or why it was refused."""
    from inkcap.structures.errors import InkcapError
    from inkcap.training import StopRequest, resume, train

    stop = StopRequest(case.get("until"))
    try:
        if "resume" in case:
            result = resume(case["resume"], folder, stop=stop, group=group, epochs=case.get("epochs"))
        else:
            result = train(drawing_of(case["drawing"]), recipe_of(case), folder, stop=stop, group=group)
    except InkcapError as problem:
        return {"problem": str(problem)}
    return told(result) if group is None or group.writes else {}


def main() -> None:
    folder, cases = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    from inkcap.training.environment import prepare_environment

    prepare_environment()
    from inkcap.training.group import Group

    group = Group.joined()
    results: dict[str, Any] = {}
    for name, case in cases.items():
        found = run_case(case, folder, group)
        # A case may go on with the run of another.
        for other in cases.values():
            if other.get("resume") == name and group is None:
                other["resume"] = found.get("run")
        if group is not None:
            shared = group.gather(found)
            for other in cases.values():
                if other.get("resume") == name:
                    other["resume"] = shared[0].get("run")
            found = {**shared[0], "problems": [each.get("problem", "") for each in shared]}
        results[name] = found
    if group is None or group.writes:
        (folder / "results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main()
