"""Common steps: equal operations on equal arguments."""

from __future__ import annotations

from dataclasses import replace

from inkcap.engine.draft import Draft
from inkcap.operations import Step


def compute_once(draft: Draft) -> Draft:
    """Let a step that does what an earlier one did be the earlier one.

    What is drawn at random is drawn anew each time. A value whose gradient is asked for stays, for its gradient is
    that of its own use alone.
    """
    first: dict[object, int] = {}
    same: dict[int, int] = {}
    kept: list[Step] = []
    for step in draft.steps:
        arguments = tuple(same.get(number, number) for number in step.arguments)
        step = step if arguments == step.arguments else replace(step, arguments=arguments)
        if not step.operation.drawn and step.target not in draft.graded:
            key = (step.operation.name, arguments, repr(sorted(step.attributes.items())), step.shape, step.dtype)
            earlier = first.setdefault(key, step.target)
            if earlier != step.target:
                same[step.target] = earlier
                continue
        kept.append(step)
    asked, losing = (frozenset(same.get(number, number) for number in held) for held in (draft.asked, draft.losing))
    return replace(draft, steps=tuple(kept), asked=asked, losing=losing, aliases={**draft.aliases, **same})
