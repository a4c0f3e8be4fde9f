"""Whether what is to be learnt can be: a loss that no weight has a part in stays as it is."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from inkcap.network import Network
from inkcap.training.batches import Batches
from inkcap.training.errors import TrainingError
from inkcap.training.losses import TotalLoss
from inkcap.training.scores import outputs_of

_FEW = 2


def check_reach(network: Network, module: torch.nn.Module, loss: TotalLoss, batches: Batches) -> None:
    """Refuse a training whose loss depends on no weight that learns, by a trial on two samples."""
    if _depends(module, loss, batches):
        return
    steps = [name for name, capsule in network.capsules.items() if capsule.symbol == "step"]
    if steps:
        raise TrainingError(
            f"nothing can be learnt: no gradient passes the step {_listed(steps)}; draw another activation there, "
            "sigmoid for example."
        )
    raise TrainingError(
        "nothing can be learnt: the loss depends on no weight that learns; connect such weights with an output, "
        "or freeze fewer."
    )


def _listed(names: Sequence[str]) -> str:
    return f"{'capsule' if len(names) == 1 else 'capsules'} {', '.join(names)}"


def _depends(module: torch.nn.Module, loss: TotalLoss, batches: Batches) -> bool:
    was_training = module.training
    # Measured as after training, so that nothing is drawn at random and no running mean moves.
    module.eval()
    try:
        inputs, targets = next(replace(batches, batch=_FEW).in_order())
        with torch.enable_grad():
            return bool(loss(outputs_of(module(*inputs)), targets).requires_grad)
    except RuntimeError:
        # What breaks here breaks in the run too, which tells it with its place.
        return True
    finally:
        module.train(was_training)
