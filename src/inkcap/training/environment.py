"""Where a run computes: the device, the threads, the flags that make it repeatable, and the record of all that."""

import os
import platform
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from inkcap.recipes.apart import WAITING, waiting
from inkcap.training.engines.choice import Choice
from inkcap.training.errors import TrainingError
from inkcap.training.facts import NetworkFacts

if TYPE_CHECKING:
    import torch

# Each of these can change which kernel runs, or in what order it adds, and so the last bits of a result.
_VARIABLES = (
    "ATEN_CPU_CAPABILITY",
    "CUBLAS_WORKSPACE_CONFIG",
    "DNNL_MAX_CPU_ISA",
    "KMP_AFFINITY",
    "MKL_CBWR",
    "MKL_NUM_THREADS",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "OMP_WAIT_POLICY",
    "ONEDNN_MAX_CPU_ISA",
    "PYTORCH_ENABLE_MPS_FALLBACK",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
)


def prepare_environment() -> None:
    """Set what has to be set before torch is imported; call it first thing in a program."""
    if not any(name in os.environ for name in WAITING):
        os.environ.update(waiting())
    if "WORLD_SIZE" in os.environ:
        # Of weights that no loss depends on, which are looked for in every step, torch tells in every process.
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")


def choose_device(name: str, facts: NetworkFacts) -> "torch.device":
    """Choose where to compute: "auto" takes cuda, then mps, then cpu, whichever is there and knows the types."""
    import torch

    cuda = torch.cuda.is_available()
    mps = torch.backends.mps.is_available()
    doubles = "float64" in facts.dtypes()
    if facts.compiled:
        if name not in ("auto", "cpu"):
            raise TrainingError(f"recipe.device: plain neurons compute on the cpu, not on {name}; give auto or cpu.")
        return torch.device("cpu")
    if name == "auto":
        return torch.device("cuda" if cuda else "mps" if mps and not doubles else "cpu")
    if name == "cuda" and not cuda:
        raise TrainingError("recipe.device: there is no cuda device here that torch can use; give auto or cpu.")
    if name == "mps" and doubles:
        raise TrainingError(
            "recipe.device: mps does not know float64, which the drawing uses; give cpu, or draw with float32."
        )
    if name == "mps" and not mps:
        raise TrainingError("recipe.device: there is no mps device here that torch can use; give auto or cpu.")
    return torch.device(name)


@contextmanager
def steady(seed: int, threads: int, device: "torch.device") -> Generator[int]:
    """Make what follows repeatable: pinned threads, deterministic algorithms, a seed; give back the thread count.

    Everything is as it was afterwards, since a studio or a notebook goes on living after a run.
    """
    import torch

    from inkcap.training.engines.compiling import keep_compiled

    keep_compiled()
    if device.type == "cuda":
        # cuBLAS reads this when it starts; without it torch refuses deterministic matrix products.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.get_num_threads()
    mode = torch.get_deterministic_debug_mode()
    benchmark = torch.backends.cudnn.benchmark
    memory: Any = torch.utils.deterministic
    filling: bool = memory.fill_uninitialized_memory
    pinned = threads or before
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        try:
            torch.set_num_threads(pinned)
            # The plain switch would load the whole compiler, seconds of it, to tell it too; this one does not.
            torch.set_deterministic_debug_mode("error")
            # Filling fresh memory only matters to code that reads it before writing; it would slow every step down.
            memory.fill_uninitialized_memory = False
            torch.backends.cudnn.benchmark = False
            torch.manual_seed(seed)
            yield pinned
        finally:
            torch.set_num_threads(before)
            torch.set_deterministic_debug_mode(mode)
            memory.fill_uninitialized_memory = filling
            torch.backends.cudnn.benchmark = benchmark


@cache
def _version(package: str) -> str:
    # Found by reading a file of the package; a process keeps the one that it has loaded.
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"


def describe_environment(device: "torch.device", choice: Choice) -> dict[str, object]:
    """Record what a run's bits depend on beside the drawing, the recipe and the data."""
    import torch

    device_name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return {
        "python": sys.version.split()[0],
        "inkcap": _version("inkcap"),
        "torch": torch.__version__,
        "numpy": _version("numpy"),
        "safetensors": _version("safetensors"),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": choice.threads,
        **choice.to_json(),
        "interop_threads": torch.get_num_interop_threads(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "mkldnn": torch.backends.mkldnn.is_available(),
        "default_dtype": str(torch.get_default_dtype()),
        "device": device.type,
        "device_name": device_name,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "variables": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
    }
