"""What runs in the limited process: it reads bytes, and leaves a drawing, weights or outputs in a folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from inkcap.exchange.importing.errors import ImportRefused
from inkcap.exchange.importing.sandbox import limit_this_process
from inkcap.structures import InkcapError

DRAWING, WEIGHTS, INPUTS, OUTPUTS = "drawing.json", "weights.safetensors", "inputs.safetensors", "outputs.safetensors"


def read_onnx_file(content: bytes, folder: Path, name: str) -> dict[str, Any]:
    """Turn an ONNX file into a drawing and weights."""
    from inkcap.exchange.importing.model import translate
    from inkcap.exchange.importing.onnx_reader import read_onnx
    from inkcap.exchange.importing.weights_file import write_weights

    graph = read_onnx(content, name)
    del content
    asked = {name: list(shape[1:]) for name, (shape, _) in graph.inputs.items()}
    types = {name: dtype for name, (_, dtype) in graph.inputs.items()}
    made = translate(graph)
    (folder / DRAWING).write_text(made.drawing.to_text(), "utf-8")
    write_weights(folder / WEIGHTS, made.weights)
    return {
        "inputs": made.inputs,
        "outputs": made.outputs,
        "shapes": asked,
        "types": types,
        "batch": graph.batch,
        "missing": [[entry.node, entry.operator, entry.reason, entry.capsule] for entry in made.missing],
    }


def run_onnx_file(content: bytes, folder: Path, name: str) -> dict[str, Any]:
    """Compute what an ONNX file gives for the inputs in the folder."""
    import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
    from safetensors.numpy import load_file, save_file  # pyright: ignore[reportUnknownVariableType]

    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # What is compared is what the file says, not what an optimiser makes of it.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        inputs = load_file(folder / INPUTS)
        asked = [entry.name for entry in session.get_inputs()]
        names = [entry.name for entry in session.get_outputs()]
        found = session.run(None, {name: inputs[name] for name in asked})
    except Exception as error:
        raise ImportRefused(f"onnxruntime does not run it ({str(error).splitlines()[0][:160]})") from None
    save_file(dict(zip(names, found, strict=True)), folder / OUTPUTS)
    return {"outputs": names}


def read_pickled(content: bytes, folder: Path, name: str) -> dict[str, Any]:
    """Turn a ``.pt`` file of tensors into safetensors; anything else in it is refused."""
    import io

    import torch
    from safetensors.torch import save_file  # pyright: ignore[reportUnknownVariableType]

    try:
        loaded: Any = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:
        # torch's own words advise to load it all the same, which would run what is in it.
        raise ImportRefused(
            f"it holds more than tensors, or is damaged ({type(error).__name__}), and nothing in it was run; "
            "save module.state_dict(), best as .safetensors"
        ) from None
    held = _state_of(loaded)
    if not held or not all(isinstance(value, torch.Tensor) for value in held.values()):
        raise ImportRefused("it holds no state_dict: a dictionary of tensors; save module.state_dict()")
    save_file({str(key): value.contiguous().clone() for key, value in held.items()}, folder / WEIGHTS)
    return {"weights": len(held)}


def _state_of(loaded: Any) -> dict[Any, Any]:
    """Give the dictionary that is a state, or the one inside of what a training kept; nothing where there is none."""
    found = cast("dict[Any, Any]", loaded) if isinstance(loaded, dict) else {}
    held: Any = found.get("state_dict", found)
    return cast("dict[Any, Any]", held) if isinstance(held, dict) else {}


TASKS: dict[str, Callable[[bytes, Path, str], dict[str, Any]]] = {
    "read-onnx": read_onnx_file,
    "run-onnx": run_onnx_file,
    "read-pt": read_pickled,
}


def main() -> None:
    """Do the task that the command line names, within the limits."""
    task, folder, *rest = sys.argv[1:]
    content = sys.stdin.buffer.read()
    if task == "read-pt":
        # torch itself takes more room than the limit when it is loaded; the limits hold for what comes after.
        import torch

        torch.set_num_threads(1)
    limit_this_process()
    try:
        answer = TASKS[task](content, Path(folder), rest[0] if rest else "model")
    except InkcapError as refusal:
        answer = {"refused": str(refusal)}
    except MemoryError:
        answer = {"refused": "it needs more than the 2 GiB of memory that are given"}
    except RecursionError:
        answer = {"refused": "it is nested deeper than can be read"}
    except Exception as error:
        # Whatever a hostile file brings about, a person gets one line.
        told = f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}"
        answer = {"refused": f"it could not be read ({told}); the model is damaged, or this is a fault of Inkcap"}
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
