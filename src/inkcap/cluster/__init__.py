"""More than one process, and more than one machine: training and other work over Ray, which only this package knows."""

from inkcap.cluster.errors import ClusterError
from inkcap.cluster.joining import Cluster, joined, needs_ray

__all__ = ["Cluster", "ClusterError", "joined", "needs_ray"]
