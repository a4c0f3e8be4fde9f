"""What was found to be the fastest way before: kept for the user, by network, batch, recipe and machine.

The same run on the same machine is computed the same way, and so to the same bits, without being measured again.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import platformdirs
import torch

from inkcap.engine import source_of
from inkcap.network import Network
from inkcap.structures.atomic import write_atomic
from inkcap.training.engines.choice import Choice
from inkcap.training.facts import NetworkFacts
from inkcap.training.losses import wanted_returns
from inkcap.training.session import Course

_MOST = 500
"""So many choices are kept; older ones are found again when they are needed."""


def engines_file() -> Path:
    """Give the file in which choices are kept."""
    return Path(platformdirs.user_cache_dir("inkcap")) / "engines.json"


@cache
def machine() -> str:
    """Give what kind of machine this is, as far as speed goes."""
    model = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    return f"{platform.machine()} {model}"


def key_of(network: Network, facts: NetworkFacts, course: Course, allowed: Sequence[object]) -> str:
    """Give the name under which a choice is kept; `allowed` is what else the choice depends on."""
    recipe, training = course.recipe, course.training
    told = [
        source_of(network, dict(wanted_returns(facts, recipe))),
        [[loss.kind, loss.weight] for loss in recipe.losses],
        [recipe.optimiser.kind, bool(recipe.clip), list(recipe.freeze), list(recipe.recompute)],
        [min(training.batch, training.samples), training.device.type, machine(), *allowed],
        [torch.__version__, metadata.version("inkcap")],
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def recall_choice(key: str) -> Choice | None:
    """Give the choice that was kept under a name, if there is one."""
    kept = _read().get(key)
    threads = kept.get("threads") if kept is not None else None
    return Choice.from_json(kept, threads) if isinstance(threads, int) else None


def keep_choice(key: str, choice: Choice) -> None:
    """Keep a choice; where there is no place for it, it is found again the next time."""
    known = _read()
    known.pop(key, None)
    known[key] = {**choice.to_json(), "threads": choice.threads}
    newest = dict(list(known.items())[-_MOST:])
    path = engines_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, json.dumps(newest, indent=1) + "\n")
    except OSError:
        pass


def _read() -> dict[str, dict[str, Any]]:
    try:
        found: object = json.loads(engines_file().read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    entries = cast("dict[str, object]", found)
    return {key: cast("dict[str, Any]", kept) for key, kept in entries.items() if isinstance(kept, dict)}
