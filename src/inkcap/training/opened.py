"""A run opened for use: its drawing as a module with the weights that were learnt, and its data's preparation."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch

from inkcap.drawing import from_text
from inkcap.engine import build, load_weights
from inkcap.network import check
from inkcap.recipes import Recipe, RunFolder, RunFolderError
from inkcap.recipes.runfolder import WeightsName
from inkcap.training.data import Fit, Preparation
from inkcap.training.facts import NetworkFacts, facts_of
from inkcap.training.losses import wanted_returns
from inkcap.training.targets import TargetKind
from inkcap.training.weights import read_weights


@dataclass(frozen=True)
class OpenedRun:
    """A run's module and everything that is needed to feed it and to read its outputs."""

    run: RunFolder
    recipe: Recipe
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
    folder = run if isinstance(run, RunFolder) else RunFolder.open(run)
    recipe = folder.recipe()
    network = check(from_text(folder.drawing_text())).network
    facts = facts_of(network)
    module = build(network, dict(wanted_returns(facts, recipe)) if logits else None)
    load_weights(module, read_weights(folder.weights_file(weights)))
    module.eval()
    data = cast("dict[str, Any]", folder.data())
    try:
        fit = Fit(dict(data["inputs"]), dict(data["outputs"]), (), ())
        targets: dict[str, TargetKind] = {str(name): cast("TargetKind", kind) for name, kind in data["targets"].items()}
        classes = {str(name): tuple(str(item) for item in items) for name, items in data["classes"].items()}
        preparation = Preparation.from_json(data["preparation"])
        manifest = dict(data["manifest"])
        split_sha256 = str(data["split"]["validation_sha256"])
    except (KeyError, TypeError, AttributeError) as problem:
        raise RunFolderError(f"{folder.id}/data.json: damaged ({problem!r}); train the run again.") from None
    return OpenedRun(folder, recipe, facts, module, preparation, fit, targets, classes, manifest, split_sha256)
