"""How workers meet: over the network as Ray Train arranges it, or without opening anything on a single machine."""

from __future__ import annotations

import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError
from ray.train import UserCallback
from ray.train.torch import TorchConfig, TorchTrainer
from ray.train.torch.config import (
    _set_torch_distributed_env_vars as set_variables,  # pyright: ignore[reportPrivateUsage]
)
from ray.train.torch.config import (
    _setup_torch_process_group as set_up,  # pyright: ignore[reportPrivateUsage]
)
from ray.train.torch.config import (
    _TorchBackend as TorchBackend,  # pyright: ignore[reportPrivateUsage]
)
from ray.train.v2._internal.exceptions import WorkerHealthCheckFailedError, WorkerHealthCheckTimeoutError

from inkcap.training.group.interfaces import speak_by

PATIENCE = 86_400
"""Seconds that workers wait for each other: one that waits for room on a full disk lets the others wait."""


def over_network() -> TorchConfig:
    """Let the workers meet at the address of the first one."""
    return _OverNetwork(timeout_s=PATIENCE)


def on_loopback(folder: Path) -> TorchConfig:
    """Let the workers meet in a file: where they would meet otherwise, a port is open to all, and asks for no token."""
    return _InFile(timeout_s=PATIENCE, folder=str(folder))


def loopback_variables() -> dict[str, str]:
    """Give the variables by which what workers send each other stays on the machine."""
    name = {"linux": "lo", "darwin": "lo0"}.get(sys.platform)
    return {} if name is None else {"GLOO_SOCKET_IFNAME": name, "NCCL_SOCKET_IFNAME": name}


class Trainer(TorchTrainer):
    """Ray's trainer without what serves data sets of its own and clears up after it: each is a process to start."""

    def _create_default_callbacks(self) -> list[Any]:
        made: list[Any] = super()._create_default_callbacks()
        return [each for each in made if type(each).__name__ not in _SPARED]


_LOSSES = (WorkerHealthCheckFailedError, WorkerHealthCheckTimeoutError)
_SPARED = ("DatasetsCallback", "PlacementGroupCleanerCallback")


class Telling(UserCallback):
    """Tells the mailbox that workers ended, and why: those that end before they know of it cannot do it themselves."""

    def __init__(self, mailbox: Any) -> None:
        self._mailbox = mailbox

    def after_exception(self, run_context: Any, worker_exceptions: dict[int, Exception]) -> None:
        """Pass on the first reason that is more than that a worker, or another one, is gone."""
        reasons = sorted(worker_exceptions.items(), key=lambda each: (_is_loss(each[1]), each[0]))
        rank, problem = reasons[0]
        words = "it was killed, or its machine is lost" if _is_loss(problem) else _last_line(problem)
        self._mailbox.ended.remote(f"worker {rank + 1}: {words}")


def _is_loss(problem: Exception) -> bool:
    return isinstance(problem, (RayError, *_LOSSES)) or "another worker is gone" in str(problem)


def _last_line(problem: Exception) -> str:
    """Give the last line of what a worker raised, which Ray gives as it is, or as the text of its traceback."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    return (last if lines[:1] == ["Traceback (most recent call last):"] else f"{type(problem).__name__}: {last}")[:300]


@dataclass
class _OverNetwork(TorchConfig):
    @property
    def backend_cls(self) -> type[TorchBackend]:
        """What sets the process group up."""
        return _NetworkBackend


class _NetworkBackend(TorchBackend):
    def on_start(self, worker_group: Any, backend_config: Any) -> None:
        """Let each worker speak by the address that the cluster knows its machine by."""
        worker_group.execute(_speak_by_own_address)
        super().on_start(worker_group, backend_config)


def _speak_by_own_address() -> None:
    tools: Any = ray.util
    speak_by(str(tools.get_node_ip_address()))


@dataclass
class _InFile(TorchConfig):
    folder: str = ""

    @property
    def backend_cls(self) -> type[TorchBackend]:
        """What sets the process group up."""
        return _FileBackend


class _FileBackend(TorchBackend):
    def on_start(self, worker_group: Any, backend_config: Any) -> None:
        """Let all workers join, each time anew, by a file that only this machine's processes see."""
        gpus = worker_group.get_resources_per_worker().get("GPU", 0)
        worker_group.execute(set_variables)
        world, place = len(worker_group), f"file://{backend_config.folder}/meeting-{secrets.token_hex(8)}"
        joining = [
            worker_group.execute_single_async(
                rank,
                set_up,
                backend="nccl" if gpus else "gloo",
                world_rank=rank,
                world_size=world,
                init_method=place,
                timeout_s=backend_config.timeout_s,
            )
            for rank in range(world)
        ]
        ray.get(joining)
