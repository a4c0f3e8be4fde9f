"""The smallest batch that a network can train on: statistics over a batch need more than one number."""

from collections.abc import Iterator

from inkcap.network import Network
from inkcap.training.errors import TrainingError


def smallest_batch(network: Network, batch: int, samples: int, parts: int = 1) -> tuple[int, str]:
    """Give how many samples a training batch needs, and a note where the last batch of an epoch has fewer.

    Where a batch is normalised in parts, each of them needs as many. Such a last batch is left out: the order is drawn
    anew every epoch, so other samples are left out in the next.
    """
    needs = {name: need * parts if need > 1 else need for name, need in _needs(network)}
    least = max(needs.values(), default=1)
    if min(batch, samples) < least:
        names = [name for name, need in needs.items() if need == least]
        where = f"{'the capsule' if len(names) == 1 else 'the capsules'} {', '.join(names[:8])}"
        shared = f" and is shared by {parts} workers" if parts > 1 else ""
        few = f"recipe.batch is {batch}{shared}" if batch < least else f"there is {samples} sample to train on"
        raise TrainingError(
            f"{where}: batch norm over a single number of each sample needs at least {least} samples in a batch, but "
            f"{few}; take a larger batch, or let the capsule wear layer-norm or group-norm."
        )
    rest = samples % batch
    if not 0 < rest < least:
        return least, ""
    return least, f"The last batch of an epoch would have {rest} sample, too few for batch norm: it is left out."


def _needs(network: Network) -> Iterator[tuple[str, int]]:
    for capsule in network.capsules.values():
        for part in capsule.parts:
            if part.record.least_batch is not None and capsule.total_input is not None:
                yield capsule.id, part.record.least_batch(capsule.total_input.shape)
