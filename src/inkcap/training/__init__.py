"""Training: data, loops and runs.

What needs torch is imported when it is first asked for, so that a program can read help texts, listen to events or
look at data without waiting for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from inkcap.training.environment import prepare_environment
from inkcap.training.errors import TrainingError
from inkcap.training.events import EndEvent, EpochEvent, Listener, PauseEvent, PretrainingEvent, StartEvent, StepEvent
from inkcap.training.stopping import StopRequest

if TYPE_CHECKING:
    from inkcap.training.evaluation import ClassReport, Evaluation, evaluate
    from inkcap.training.inspection import Inspection
    from inkcap.training.opened import OpenedRun, open_run
    from inkcap.training.prediction import OutputPrediction, Prediction, predict
    from inkcap.training.resuming import resume
    from inkcap.training.running import RunResult
    from inkcap.training.runs import train
    from inkcap.training.watchers import Watching
    from inkcap.training.weights import Borrowed

_LATER = {
    "Borrowed": "weights",
    "ClassReport": "evaluation",
    "Evaluation": "evaluation",
    "Inspection": "inspection",
    "OpenedRun": "opened",
    "OutputPrediction": "prediction",
    "Prediction": "prediction",
    "RunResult": "running",
    "evaluate": "evaluation",
    "open_run": "opened",
    "predict": "prediction",
    "resume": "resuming",
    "train": "runs",
    "Watching": "watchers",
}

__all__ = [
    "Borrowed",
    "ClassReport",
    "EndEvent",
    "EpochEvent",
    "Evaluation",
    "Inspection",
    "Listener",
    "OpenedRun",
    "OutputPrediction",
    "PauseEvent",
    "Prediction",
    "PretrainingEvent",
    "RunResult",
    "StartEvent",
    "StepEvent",
    "StopRequest",
    "TrainingError",
    "Watching",
    "evaluate",
    "open_run",
    "predict",
    "prepare_environment",
    "resume",
    "train",
]


def __getattr__(name: str) -> Any:
    """Import what needs torch when it is first asked for."""
    if name in _LATER:
        return getattr(import_module(f"inkcap.training.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
