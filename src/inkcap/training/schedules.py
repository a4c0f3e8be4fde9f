"""The learning rate over a run: the shares come from the recipe, the plateau from torch.optim."""

from collections.abc import Mapping
from typing import Any, Literal

from torch import optim
from torch.optim.lr_scheduler import ReduceLROnPlateau

from inkcap.recipes import ScheduleSpec, rate_factor
from inkcap.recipes.rates import warm_up_steps

_REMEMBERED = ("best", "num_bad_epochs", "cooldown_counter", "last_epoch")


class RateSchedule:
    """Sets the rate before each step and listens to the monitored value after each epoch.

    A schedule that never changes the rate costs one comparison a step.
    """

    def __init__(
        self,
        spec: ScheduleSpec,
        optimiser: optim.Optimizer,
        steps_per_epoch: int,
        epochs: int,
        mode: Literal["min", "max"] = "min",
    ) -> None:
        self._spec = spec
        self._groups = optimiser.param_groups
        self._rate = float(optimiser.param_groups[0]["lr"])
        self._steps_per_epoch = steps_per_epoch
        self._epochs = epochs
        self._warm = warm_up_steps(spec.options, steps_per_epoch)
        self._moving = spec.kind not in ("constant", "plateau")
        self._plateau: ReduceLROnPlateau | None = None
        if spec.kind == "plateau":
            self._plateau = ReduceLROnPlateau(
                optimiser,
                mode=mode,
                factor=float(spec.options["factor"]),
                patience=int(spec.options["patience"]),
                threshold=float(spec.options["threshold"]),
                min_lr=float(spec.options["floor"]) * self._rate,
            )

    def state(self) -> dict[str, Any]:
        """Give what a plateau remembers, as plain values; the other kinds remember nothing."""
        if self._plateau is None:
            return {}
        return {name: self._plateau.state_dict()[name] for name in _REMEMBERED}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over what a plateau remembered."""
        if self._plateau is not None:
            # The rate itself stands in the optimiser's groups, which the plateau shares.
            best, *counts = (state[name] for name in _REMEMBERED)
            whole = dict(zip(_REMEMBERED[1:], map(int, counts), strict=True))
            self._plateau.load_state_dict({"best": float(best), **whole})

    @property
    def rate(self) -> float:
        """The rate in use."""
        return float(self._groups[0]["lr"])

    def is_still(self, step: int) -> bool:
        """Tell whether the rate stays as it is from a step on, until the epoch is over."""
        return not self._moving and step >= self._warm

    def before_step(self, step: int) -> None:
        """Set the rate of a step counted from 0 over the whole run."""
        if self._moving or step < self._warm:
            factor = rate_factor(self._spec.kind, self._spec.options, step, self._steps_per_epoch, self._epochs)
            for group in self._groups:
                group["lr"] = self._rate * factor

    def after_epoch(self, value: float, steps_done: int) -> None:
        """Hear the monitored value; a plateau waits until the warm-up is over."""
        if self._plateau is not None and steps_done >= self._warm:
            self._plateau.step(value)
