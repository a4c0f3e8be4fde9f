"""Sweeps: attributes of a drawing and values of a recipe are varied, and each trial is an ordinary run."""

from inkcap.sweeps.errors import SweepError
from inkcap.sweeps.places import Place, drawing_places, find_place, values_edit
from inkcap.sweeps.recipe_places import recipe_places
from inkcap.sweeps.record import METHODS, Sweep, SweepPlan, Trial, find_sweep, list_sweeps, open_sweep
from inkcap.sweeps.results import best_trial, in_short, over_seeds, ranked
from inkcap.sweeps.running import Runner, SweepListener, begin_sweep, plan_sweep
from inkcap.sweeps.space import Choices, Range, Space, read_space, space_from_text, space_from_words

__all__ = [
    "METHODS",
    "Choices",
    "Place",
    "Range",
    "Runner",
    "Space",
    "Sweep",
    "SweepError",
    "SweepListener",
    "SweepPlan",
    "Trial",
    "begin_sweep",
    "best_trial",
    "drawing_places",
    "find_place",
    "find_sweep",
    "in_short",
    "list_sweeps",
    "open_sweep",
    "over_seeds",
    "plan_sweep",
    "ranked",
    "read_space",
    "recipe_places",
    "space_from_text",
    "space_from_words",
    "values_edit",
]
