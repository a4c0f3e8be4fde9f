"""Recipes (how to train) and run folders (what came of it) as plain records; nothing here needs the engine."""

from inkcap.recipes.courses import signal_courses
from inkcap.recipes.errors import RecipeError, RunFolderError
from inkcap.recipes.fields import Field, declared_fields
from inkcap.recipes.kinds import LOSSES, OPTIMISERS, SCHEDULES, Kind
from inkcap.recipes.layout import RunRecord
from inkcap.recipes.metrics import MetricLog, MetricRecord, MetricWriter, read_log
from inkcap.recipes.rates import rate_factor
from inkcap.recipes.record import (
    DataSpec,
    LossSpec,
    OptimiserSpec,
    Recipe,
    ScheduleSpec,
    complete_losses,
    complete_pace,
    monitored,
)
from inkcap.recipes.runfolder import DamagedRun, RunFolder, find_run, list_runs
from inkcap.recipes.signals import EpochSignals, Signal, Weighing, read_signals, signal_values
from inkcap.recipes.text import recipe_from_json, recipe_from_text, recipe_schema, recipe_to_json, recipe_to_text

__all__ = [
    "LOSSES",
    "OPTIMISERS",
    "SCHEDULES",
    "DamagedRun",
    "DataSpec",
    "EpochSignals",
    "Field",
    "Kind",
    "LossSpec",
    "MetricLog",
    "MetricRecord",
    "MetricWriter",
    "OptimiserSpec",
    "Recipe",
    "RecipeError",
    "RunFolder",
    "RunFolderError",
    "RunRecord",
    "ScheduleSpec",
    "Signal",
    "Weighing",
    "complete_losses",
    "complete_pace",
    "declared_fields",
    "find_run",
    "list_runs",
    "monitored",
    "rate_factor",
    "read_log",
    "read_signals",
    "recipe_from_json",
    "recipe_from_text",
    "recipe_schema",
    "recipe_to_json",
    "recipe_to_text",
    "signal_courses",
    "signal_values",
]
