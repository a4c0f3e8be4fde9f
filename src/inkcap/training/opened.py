"""A run opened for use: its drawing as a module with the weights that were learnt, and its data's preparation."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from inkcap.drawing import from_text
from inkcap.engine import build, load_weights
from inkcap.network import Network, as_plain, check
from inkcap.recipes import Recipe, RunFolder, RunFolderError
from inkcap.recipes.runfolder import WeightsName
from inkcap.training.data import Fit, Preparation
from inkcap.training.errors import TrainingError
from inkcap.training.facts import NetworkFacts, facts_of
from inkcap.training.losses import wanted_returns
from inkcap.training.stored import read_stored
from inkcap.training.targets import TargetKind
from inkcap.training.weights import read_weights


@dataclass(frozen=True)
class OpenedRun:
    """A run's module and everything that is needed to feed it and to read its outputs."""

    run: RunFolder
    recipe: Recipe
    network: Network
    facts: NetworkFacts
    module: torch.nn.Module
    preparation: Preparation
    fit: Fit
    targets: dict[str, TargetKind]
    classes: dict[str, tuple[str, ...]]
    manifest: dict[str, Any]
    split_sha256: str

    @property
    def workspace(self) -> Path:
        """The workspace that the run lies in; data files are looked for from there."""
        return self.run.path.parent.parent


def open_run(run: RunFolder | Path | str, weights: WeightsName = "best", logits: bool = False) -> OpenedRun:
    """Open a run; with `logits`, outputs give what their losses are computed from."""
    if weights not in ("best", "last"):
        raise TrainingError(f"weights: there are no {weights!r} weights; give best or last.")
    folder = run if isinstance(run, RunFolder) else RunFolder.open(run)
    file = folder.weights_file(weights)
    opened = open_untrained(folder, logits)
    load_weights(opened.module, read_weights(file))
    return opened


def open_untrained(folder: RunFolder, logits: bool = False) -> OpenedRun:
    """Open a run without its weights; those of any epoch can be loaded into the module."""
    recipe = folder.recipe()
    network = as_plain(check(from_text(folder.drawing_text())).network)
    facts = facts_of(network)
    outputs = [output.name for output in facts.outputs]
    if sorted(loss.output for loss in recipe.losses) != sorted(outputs) or any(
        loss.kind == "auto" for loss in recipe.losses
    ):
        raise RunFolderError(
            f"{folder.id}/recipe.json: damaged (losses: not one for each of {', '.join(outputs)}); train the run again."
        )
    stored = read_stored(folder, facts)
    module = build(network, dict(wanted_returns(facts, recipe)) if logits else None)
    module.eval()
    return OpenedRun(
        run=folder,
        recipe=recipe,
        network=network,
        facts=facts,
        module=module,
        preparation=stored.preparation,
        fit=stored.fit,
        targets=stored.targets,
        classes=stored.classes,
        manifest=stored.manifest,
        split_sha256=stored.split_sha256,
    )
