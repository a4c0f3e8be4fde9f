"""Rewrites: small changes of a program or of its source that leave what it computes and save work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inkcap.engine.draft import Draft
from inkcap.engine.rewrites.common import compute_once
from inkcap.engine.rewrites.concatenation import collect_gradients, fill_in_place, grow_in_place
from inkcap.engine.rewrites.dead import remove_dead
from inkcap.engine.rewrites.in_place import overwrite
from inkcap.engine.rewrites.normalisation import normalise_at_once
from inkcap.engine.rewrites.pooling import pool_first
from inkcap.engine.rewrites.siblings import join_siblings
from inkcap.engine.rewrites.small_maps import make_matrices
from inkcap.structures import InkcapError


@dataclass(frozen=True)
class Rewrite:
    """One rewrite: what it does in a sentence, and the function that does it, to the steps or to the source."""

    meaning: str
    steps: Callable[[Draft], Draft] | None = None
    source: Callable[[Sequence[str]], list[str]] | None = None
    mutates: bool = False
    """Whether it writes into tensors that are there: a tracer has to make such a source functional first."""
    usual: bool = True
    """Whether it is among the usual ones; one that made a network slower is there to be measured."""


REWRITES: dict[str, Rewrite] = {
    "dead": Rewrite("Steps that no loss and no value that is asked for needs are left out.", remove_dead),
    "common": Rewrite("Equal steps on equal arguments are computed once, unless they draw at random.", compute_once),
    "siblings": Rewrite(
        "Convolutions, or matrix products, of one input and one geometry are one over joined kernels.", join_siblings
    ),
    "small-maps": Rewrite(
        "A convolution over few positions is a product of matrices, without what meets padding.", make_matrices
    ),
    "pooling": Rewrite("A maximum is taken before a ReLU, which then works on the maxima alone.", pool_first),
    "normalisation": Rewrite(
        "A batch normalisation, its scale, its bias and its running numbers are one kernel each way.",
        normalise_at_once,
    ),
    "growth": Rewrite(
        "Concatenations that grow from one another are leading slices of one buffer.",
        grow_in_place,
        mutates=True,
        # Nothing is copied twice, but normalisations of slices are slower than the copies were.
        usual=False,
    ),
    "collecting": Rewrite(
        "Concatenations that grow from one another collect their gradients in slices of the longest one's.",
        collect_gradients,
    ),
    "filling": Rewrite(
        "ReLUs that enter one concatenation alone write into their slices of it.", fill_in_place, mutates=True
    ),
    "in-place": Rewrite(
        "What nobody reads again is overwritten by ReLU, bias, sum and gradient.", source=overwrite, mutates=True
    ),
}
"""Every rewrite by its name, in the order in which they help one another most."""

USUAL: tuple[str, ...] = tuple(name for name, rewrite in REWRITES.items() if rewrite.usual)
"""All rewrites but those that made a network slower where each was measured."""

TRACEABLE: tuple[str, ...] = tuple(name for name in USUAL if not REWRITES[name].mutates)
"""Those of them that write into nothing: their source is traced as it is."""


def _chosen(names: Sequence[str]) -> list[Rewrite]:
    for name in names:
        if name not in REWRITES:
            raise InkcapError(f"there is no rewrite {name!r}; there are {', '.join(REWRITES)}")
    return [REWRITES[name] for name in names]


def rewrite_draft(draft: Draft, names: Sequence[str]) -> Draft:
    """Apply the rewrites of steps among these, in their order."""
    for rewrite in _chosen(names):
        if rewrite.steps is not None:
            draft = rewrite.steps(draft)
    return draft


def rewrite_source(lines: Sequence[str], names: Sequence[str]) -> list[str]:
    """Apply the rewrites of the source among these, in their order."""
    for rewrite in _chosen(names):
        if rewrite.source is not None:
            lines = rewrite.source(lines)
    return list(lines)
