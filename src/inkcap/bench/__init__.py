"""The benchmark: Inkcap's steps beside those of others, in turn, as ratios to eager PyTorch written by hand."""

from inkcap.bench.cases import NETWORKS, Case, find_case
from inkcap.bench.contenders import CONTENDERS, Contender
from inkcap.bench.errors import BenchError
from inkcap.bench.records import Options, Result, join, read
from inkcap.bench.running import run

__all__ = [
    "CONTENDERS",
    "NETWORKS",
    "BenchError",
    "Case",
    "Contender",
    "Options",
    "Result",
    "find_case",
    "join",
    "read",
    "run",
]
