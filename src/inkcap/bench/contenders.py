"""Who is measured: how each makes its workload, what has to be installed for it, and in which environment it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from inkcap.bench.cases import Case, Work
from inkcap.bench.errors import BenchError
from inkcap.recipes.apart import WAITING, roomy_environment
from inkcap.structures.errors import nearest

ENVIRONMENT: Mapping[str, str] = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(8 << 30),
    "MALLOC_MMAP_THRESHOLD_": str(4 << 30),
    "MALLOC_TOP_PAD_": str(64 << 20),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    **WAITING,
}
"""What a process of Inkcap that trains has: glibc keeps what it was given, otherwise large blocks go back to the system
in every step, and come again; threads stay awake between operations."""
SPINNING: Mapping[str, str] = {"OMP_WAIT_POLICY": "", "GOMP_SPINCOUNT": ""}
"""Nothing is said about waiting, as in a process that a person starts."""

INSTALL = "pip install 'inkcap[bench]'"


@dataclass(frozen=True)
class Contender:
    """Someone who takes the steps of a case."""

    name: str
    title: str
    factory: str
    """The module and function that make the workload."""
    needs: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    works: tuple[Work, ...] = ("training", "inference")
    families: tuple[str, ...] | None = None
    """The families that it takes; None: all that are drawn."""

    def takes(self, case: Case, work: Work) -> bool:
        """Tell whether it is in this case."""
        fits = case.family != "dag" if self.families is None else case.family in self.families
        return fits and work in self.works

    @property
    def missing(self) -> list[str]:
        """The packages that it needs and that are not installed."""
        return [package for package in self.needs if find_spec(package) is None]


def _keras(backend: str, *needs: str) -> Contender:
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3"} if backend == "tensorflow" else {}
    title = f"Keras 3 on {backend}"
    factory = "inkcap.bench.keras_steps:keras_model"
    environment = {"KERAS_BACKEND": backend, **quiet}
    return Contender(f"keras-{backend}", title, factory, ("keras", *needs), environment, works=("training",))


def _ours(engine: str, families: tuple[str, ...] | None = None) -> Contender:
    name = "inkcap" if engine == "auto" else f"inkcap-{engine}"
    title = "Inkcap" if engine == "auto" else f"Inkcap, {engine}"
    # Engines are told from each other in training only.
    works: tuple[Work, ...] = ("training", "inference") if engine == "auto" else ("training",)
    factory = "inkcap.bench.ours:inkcap"
    # As the studio and the command line start a training.
    return Contender(name, title, factory, (), {**WAITING, **roomy_environment()}, {"engine": engine}, works, families)


EAGER = Contender("eager", "PyTorch, eager", "inkcap.bench.torch_steps:eager")
TRAINING: tuple[Work, ...] = ("training",)
INFERENCE: tuple[Work, ...] = ("inference",)
GRAPH = ("dag",)
DRAWN = ("mlp", "chain", "lenet", "alexnet", "googlenet", "densenet", "resnet18", "capsnet")

_ALL = (
    EAGER,
    Contender("favoured", "PyTorch, channels-last and fused optimiser", "inkcap.bench.torch_steps:favoured"),
    Contender("spinning", "PyTorch, eager, waiting as by default", EAGER.factory, environment=SPINNING),
    Contender("eager-here", "PyTorch, eager, in Inkcap's environment", EAGER.factory, environment=ENVIRONMENT),
    Contender(
        "favoured-here", "PyTorch, channels-last and fused optimiser, in Inkcap's environment",
        "inkcap.bench.torch_steps:favoured", environment=ENVIRONMENT,
    ),
    Contender("compiled", "PyTorch, torch.compile", "inkcap.bench.torch_steps:compiled"),
    Contender(
        "onnxruntime",
        "ONNX Runtime",
        "inkcap.bench.torch_steps:onnxruntime",
        ("onnxruntime", "onnxscript"),
        works=INFERENCE,
    ),
    _keras("torch"),
    _keras("jax", "jax"),
    _keras("tensorflow", "tensorflow"),
    Contender("jax", "JAX, jit", "inkcap.bench.jax_steps:jitted", ("jax",), works=TRAINING),
    Contender(
        "torch-gather", "PyTorch by level, gather", "inkcap.bench.plain_peers:by_torch",
        options={"how": "gather"}, families=GRAPH,
    ),
    Contender(
        "torch-csr", "PyTorch by level, CSR", "inkcap.bench.plain_peers:by_torch",
        options={"how": "sparse"}, families=GRAPH,
    ),
    Contender("scipy", "SciPy by level, CSR", "inkcap.bench.plain_peers:by_scipy", ("scipy",), families=GRAPH),
    Contender(
        "neat", "neat-python", "inkcap.bench.plain_peers:by_neat", ("neat",), works=INFERENCE, families=GRAPH
    ),
    _ours("auto", (*DRAWN, *GRAPH)),
    _ours("eager"),
    _ours("explicit"),
    _ours("compiled"),
    _ours("plain", ("mlp",)),
)  # fmt: skip

CONTENDERS: Mapping[str, Contender] = {contender.name: contender for contender in _ALL}
"""Everyone by name."""


def reference_of(case: Case) -> Contender:
    """Tell against whom a case is measured: eager PyTorch written by hand."""
    return CONTENDERS["torch-gather"] if case.family == "dag" else EAGER


def find_contender(name: str) -> Contender:
    """Find a contender by its name."""
    if name not in CONTENDERS:
        near = nearest(name, CONTENDERS, 1, 0.5)
        told = f"did you mean {near[0]}?" if near else "'inkcap bench --list' tells who there is"
        raise BenchError(f"there is no contender {name!r}; {told}")
    return CONTENDERS[name]


def environment_for(contender: Contender, threads: int) -> dict[str, str]:
    """Give the environment of a contender's process, before its interpreter starts."""
    inherited = {key: value for key, value in os.environ.items() if key not in ENVIRONMENT}
    # Threads that spin while they wait would take the processor from the contender whose turn is next.
    shared = {"OMP_WAIT_POLICY": "passive", "PYTHONWARNINGS": "ignore"}
    counts = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), str(threads))
    given = {**inherited, **shared, **counts, **contender.environment}
    return {name: value for name, value in given.items() if value}


def installed(contenders: Sequence[Contender]) -> tuple[list[Contender], dict[str, list[str]]]:
    """Part those who can run from those whose packages are missing."""
    missing = {contender.name: contender.missing for contender in contenders if contender.missing}
    return [contender for contender in contenders if contender.name not in missing], missing
