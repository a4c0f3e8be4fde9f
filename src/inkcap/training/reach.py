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
_NAMED = 8


def check_reach(network: Network, module: torch.nn.Module, loss: TotalLoss, batches: Batches) -> None:
    """Refuse a training whose loss depends on no weight that learns, by a trial on two samples."""
    steps = [id for id in network.drawing.capsules if network.drawing.capsules[id].symbol == "step"]
    if network.plain is not None and not network.plain.names:
        steps += [network.plain.name(i) for i, s in enumerate(network.plain.columns.symbol) if s == "step"]
    if _depends(module, loss, batches, through_kernels=bool(steps) and network.plain is not None):
        return
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
    more = " …" if len(names) > _NAMED else ""
    return f"{'capsule' if len(names) == 1 else 'capsules'} {', '.join(names[:_NAMED])}{more}"


def _depends(module: torch.nn.Module, loss: TotalLoss, batches: Batches, through_kernels: bool) -> bool:
    was_training = module.training
    # Measured as after training, so that nothing is drawn at random and no running mean moves.
    module.eval()
    try:
        inputs, targets = next(replace(batches, batch=_FEW).in_order())
        with torch.enable_grad():
            found = loss(outputs_of(module(*inputs)), targets)
            if found.requires_grad and through_kernels:
                # Compiled kernels always have a gradient; behind a step it is zero.
                learning = [parameter for parameter in module.parameters() if parameter.requires_grad]
                return any(bool(g.any()) for g in torch.autograd.grad(found, learning))
            return bool(found.requires_grad)
    except RuntimeError:
        # What breaks here breaks in the run too, which tells it with its place.
        return True
    finally:
        module.train(was_training)
