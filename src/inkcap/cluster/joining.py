"""Joining a Ray: one that is started here, on loopback and for this process alone, or one at an address."""

import importlib.util
import ipaddress
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from inkcap.cluster.errors import ClusterError
from inkcap.cluster.processes import guarded_folder

_MODE, _TOKEN, _TOKEN_FILE = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
_NICENESS = "RAY_worker_niceness"
_SETTINGS = {_MODE: "token", "RAY_USAGE_STATS_ENABLED": "0", "RAY_TRAIN_V2_ENABLED": "1"}
_LOOPBACK = "127.0.0.1"
_KNOCKING = 5.0
_ASKING = 15.0
_SETTLING = 5.0
"""Seconds until room counts as taken: that of a run that has just ended is free a moment later."""

_NEEDLESS = ("start_api_server", "start_log_monitor", "start_monitor")
"""What a Ray for one process has no use for: web pages, logs sent around, more machines; each is a process to start."""

_STRANGER = """
import os, sys
from ray._raylet import AuthenticationTokenLoader, Config, GcsClient
from ray.exceptions import AuthenticationError
try:
    GcsClient(address=sys.argv[1])
    sys.exit(7)
except AuthenticationError:
    pass
os.environ["RAY_AUTH_MODE"] = "token"
Config.initialize("")
AuthenticationTokenLoader.instance().reset_cache()
try:
    GcsClient(address=sys.argv[1])
except AuthenticationError:
    sys.exit(8)
"""
"""Asks first as one who has no token, then with the one that is here; tells by its end who was let in."""
_OPEN_TO_ALL, _WRONG_TOKEN = 7, 8


@dataclass(frozen=True)
class Cluster:
    """The machines that this process has joined."""

    address: str
    own: bool
    """Whether it was started here, and ends with this process."""
    local: str
    """Where this machine's part of it listens."""
    folder: Path
    """For what is of no use afterwards."""

    @property
    def alone(self) -> bool:
        """Whether this machine is the only one."""
        return _is_loopback(self.address)

    def machines(self) -> list[Mapping[str, float]]:
        """Give what each machine has in all, by the names of Ray: CPU, GPU, memory."""
        import ray

        nodes = cast("list[dict[str, Any]]", ray.nodes())
        return [dict(node["Resources"]) for node in nodes if node["Alive"]]

    def room(self, *, gpus: float = 0, cpus_each: float = 1) -> int:
        """Count the workers of so much each that there is room for while nobody else is at work."""
        return sum(_room(machine, cpus_each, gpus) for machine in self.machines())

    @property
    def cpus(self) -> int:
        """The processors of all machines."""
        return int(sum(machine.get("CPU", 0.0) for machine in self.machines()))

    @property
    def gpus(self) -> int:
        """The GPUs of all machines."""
        return int(sum(machine.get("GPU", 0.0) for machine in self.machines()))

    def share(self, workers: int) -> int:
        """Give how many processors each of so many workers can have; 1 where there are too few."""
        machines = self.machines()
        most = int(max((machine.get("CPU", 0.0) for machine in machines), default=1))
        fits = (each for each in range(most, 1, -1) if sum(_room(m, each, 0) for m in machines) >= workers)
        return next(fits, 1)

    def require(self, workers: int, *, gpus: float = 0, cpus_each: float = 1) -> None:
        """Raise if there is no room for so many workers with so much each, and say what there is."""
        machines = self.machines()
        each, there = _check_room(workers, machines, "this machine" if self.own else self.address, cpus_each, gpus)
        until = time.monotonic() + _SETTLING
        while (free := sum(_room(machine, cpus_each, gpus) for machine in self._free())) < workers:
            if time.monotonic() > until:
                raise ClusterError(
                    f"{self.address}: {workers} workers of {each} were asked for, and only {free} can begin now: "
                    f"others are at work ({there}); wait for their end, or give fewer workers."
                )
            time.sleep(0.2)

    def missing(self) -> str:
        """Say which of the processes that this one depends on is gone; nothing when all are there."""
        if not _listens(self.address):
            return f"the head of the cluster at {self.address} is gone"
        return "" if _listens(self.local) else "what Ray runs on this machine is gone"

    def _free(self) -> list[Mapping[str, float]]:
        from ray._private.state import available_resources_per_node

        free = cast("dict[str, dict[str, float]]", available_resources_per_node())
        return list(free.values())


def _room(machine: Mapping[str, float], cpus: float, gpus: float) -> int:
    by_cpus = int(machine.get("CPU", 0.0) / cpus) if cpus else sys.maxsize
    return min(by_cpus, int(machine.get("GPU", 0.0) / gpus)) if gpus else by_cpus


def _check_room(
    workers: int, machines: Sequence[Mapping[str, float]], where: str, cpus: float = 1, gpus: float = 0
) -> tuple[str, str]:
    """Raise if machines could never have room for so many workers; give in words what each takes, and what there is."""
    room = sum(_room(machine, cpus, gpus) for machine in machines)
    each = f"{cpus:g} CPU" + (f" and {gpus:g} GPU" if gpus else "") + " each"
    sums = [f"{sum(machine.get(name, 0.0) for machine in machines):g} {name}" for name in ("CPU", "GPU")]
    there = f"{len(machines)} machine{'s' if len(machines) != 1 else ''} with {' and '.join(sums)}"
    if room < workers:
        fewer = f"give --workers {room}, or join more machines" if room else "join machines that have more"
        raise ClusterError(
            f"{where}: {workers} workers of {each} were asked for, and there is room for {room} ({there}); {fewer}."
        )
    return each, there


def needs_ray(what: str = "--workers and --cluster") -> None:
    """Raise where Ray is not installed, and say how to get it."""
    found = None
    with suppress(ImportError):
        found = importlib.util.find_spec("ray")
    if found is None:
        raise ClusterError(f"{what} need Ray, which is not installed: pip install 'inkcap[cluster]'")


@contextmanager
def joined(address: str = "", *, exposed: bool = False, workers: int = 0) -> Generator[Cluster]:
    """Join the Ray at an address, or start one that ends with this process.

    One that is started here listens on loopback alone, to those who know its token, which is drawn for it. The one at
    an address has to ask for a token, too; where it is not on this machine alone, `exposed` says that this is meant.
    For more `workers` than this machine has processors none is started.
    Variables and signals are as they were afterwards.
    """
    needs_ray()
    if exposed and not address:
        raise ClusterError("--expose goes with --cluster ADDRESS: what is started here listens on loopback alone.")
    local = not address or _is_loopback(address)
    if address:
        _check_address(address, exposed=exposed)
    own: dict[str, str | None] = {} if address else {_TOKEN: secrets.token_hex(32), "RAY_REDIS_ADDRESS": None}
    if not address:
        _check_processors(workers)
        # Workers are as important as the command would be by itself; Ray's own would wait for everything else.
        own[_NICENESS] = os.environ.get(_NICENESS, "0")
    # Ray takes the address that others reach for its own, loopback or not, unless it is told that there are no others.
    alone = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"} if local else {}
    with variables({**_SETTINGS, **alone, **own}), _mannered(local, own=not address):
        if address:
            _check_guarded(address)
        _check_free()
        with _at(address) if address else _started() as cluster:
            yield cluster


def _check_processors(workers: int) -> None:
    """Raise where this machine alone could never have room for so many workers."""
    from ray._private.accelerators import get_accelerator_manager_for_resource
    from ray._private.utils import get_num_cpus

    gpus: Any = get_accelerator_manager_for_resource("GPU")
    _check_room(workers, [{"CPU": get_num_cpus(), "GPU": gpus.get_current_node_num_accelerators()}], "this machine")


@contextmanager
def _started() -> Generator[Cluster]:
    """Start a Ray for this process."""
    with guarded_folder() as folder:
        try:
            options = {"address": "local", "include_dashboard": False, "_temp_dir": str(folder)}
            found = _connect(options, "Ray could not be started here")
            if not _is_loopback(found):
                raise ClusterError(f"Ray listens on {found} instead of {_LOOPBACK}, so it was ended again.")
            yield Cluster(found, own=True, local=_local(), folder=folder)
        finally:
            _disconnect()


@contextmanager
def _at(address: str) -> Generator[Cluster]:
    """Connect to the Ray at an address."""
    with TemporaryDirectory(prefix="inkcap-", ignore_cleanup_errors=True) as folder:
        try:
            found = _connect({"address": address}, f"{address}: the cluster could not be joined")
            yield Cluster(found, own=False, local=_local(), folder=Path(folder))
        finally:
            _disconnect()


def _connect(options: Mapping[str, Any], failure: str) -> str:
    """Connect this process, and give the address; Ray's words on a failure are put in one line."""
    import ray
    from ray import _raylet

    # Ray reads its settings when it is imported, which may have been before, and another token may have been in use.
    known: Any = vars(_raylet)
    known["Config"].initialize("")
    known["AuthenticationTokenLoader"].instance().reset_cache()
    try:
        with _signals_kept():
            context: Any = ray.init(log_to_driver=False, logging_level=logging.CRITICAL, **options)
    except Exception as problem:
        words = str(problem).strip().splitlines() or [type(problem).__name__]
        raise ClusterError(f"{failure} ({words[0][:300]}).") from None
    return str(context.address_info["gcs_address"])


def _local() -> str:
    """Give where the machine's own part of Ray listens."""
    import ray

    here = ray.get_runtime_context().get_node_id()
    nodes = cast("list[dict[str, Any]]", ray.nodes())
    (own,) = [node for node in nodes if node["NodeID"] == here]
    return f"{own['NodeManagerAddress']}:{own['NodeManagerPort']}"


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCKING).close()
    except OSError:
        return False
    return True


def _check_free() -> None:
    import ray

    if ray.is_initialized():
        raise ClusterError("this process has joined a Ray already; leave it first, or begin another process.")


def _disconnect() -> None:
    import ray

    with _signals_kept():
        ray.shutdown()


def _is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_address(address: str, *, exposed: bool) -> None:
    """Raise unless an address can be joined: well formed, meant, with a token at hand, and answering."""
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not (port.isascii() and port.isdigit()):
        raise ClusterError(f"--cluster {address}: an address is HOST:PORT, such as 10.0.0.1:6379.")
    if not exposed and not _is_loopback(address):
        raise ClusterError(
            f"--cluster {address}: the cluster is reached over a network; give --expose too, if only machines "
            "that you trust are in it."
        )
    default = Path.home() / ".ray" / "auth_token"
    if not (os.environ.get(_TOKEN) or Path(os.environ.get(_TOKEN_FILE) or default).is_file()):
        raise ClusterError(
            f"--cluster {address}: there is no token for it here; put that of its head into {_TOKEN} or {default}."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCKING).close()
    except (OSError, OverflowError) as problem:
        words = getattr(problem, "strerror", None) or str(problem)
        raise ClusterError(
            f"--cluster {address}: nothing answers there ({words}); start its head: ray start --head --port {port}."
        ) from None


def _check_guarded(address: str) -> None:
    """Raise if the Ray at an address lets anyone in, who could run what they like on its machines, or not this one."""
    try:
        asked = subprocess.run(  # noqa: S603
            [sys.executable, "-c", _STRANGER, address],
            env={**os.environ, _MODE: "disabled"},
            capture_output=True,
            timeout=_ASKING,
            check=False,
        )
        code = asked.returncode
    except subprocess.TimeoutExpired:
        code = -1
    if code == _OPEN_TO_ALL:
        raise ClusterError(
            f"--cluster {address}: the cluster asks for no token, so anyone could use it; start it with {_MODE}=token."
        )
    if code == _WRONG_TOKEN:
        raise ClusterError(f"--cluster {address}: the token here is not that of the cluster; copy it from its head.")
    if code:
        raise ClusterError(f"--cluster {address}: what listens there does not answer as a Ray does.")


@contextmanager
def variables(wanted: Mapping[str, str | None]) -> Generator[None]:
    """Set variables of the environment for a while, or take them away; those that Ray sets go with them."""
    before = _of_ray()
    _set(wanted)
    try:
        yield
    finally:
        _set({**dict.fromkeys(_of_ray()), **before})


def _of_ray() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("RAY_") or name == "PYTHONBREAKPOINT"}


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def _mannered(alone: bool, *, own: bool) -> Generator[None]:
    """Let Ray take loopback for its address where it is alone, and keep its words on lost workers to itself.

    One of this process's own starts nothing that is not needed, either. For none of these has it a setting that counts
    once it was imported.
    """
    from ray._private import node, ray_constants, worker

    def hush(*_: Any, **__: Any) -> None:
        """Print nothing, start nothing: what has to be said is said by whoever trains."""

    places: tuple[tuple[Any, str, Any], ...] = (
        (ray_constants, "ENABLE_RAY_CLUSTER", not alone),
        (worker, "print_to_stdstream", hush),
        *((node.Node, name, hush) for name in _NEEDLESS if own),
    )
    before = [getattr(place, name) for place, name, _ in places]
    for place, name, value in places:
        setattr(place, name, value)
    try:
        yield
    finally:
        for (place, name, _), value in zip(places, before, strict=True):
            setattr(place, name, value)


@contextmanager
def _signals_kept() -> Generator[None]:
    """Put back what SIGTERM means: Ray takes it for itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
