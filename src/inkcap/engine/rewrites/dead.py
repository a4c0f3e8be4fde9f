"""Dead steps: what no loss and no value that is asked for needs."""

from __future__ import annotations

from dataclasses import replace

from inkcap.engine.draft import Draft
from inkcap.operations import Step


def remove_dead(draft: Draft) -> Draft:
    """Keep the steps on the way to a loss, to a value that is asked for or to one whose gradient is."""
    # A gradient that is asked for of a value that nothing needs is none; its value goes too.
    wanted = set(draft.asked)
    kept: list[Step] = []
    for step in reversed(draft.steps):
        if step.target in wanted:
            wanted.update(step.arguments)
            kept.append(step)
    return replace(draft, steps=tuple(reversed(kept)))
