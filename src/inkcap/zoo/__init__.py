"""The zoo: known networks as drawings."""

from inkcap.zoo.figures import NETWORKS, UnknownNetwork, draw, lenet_figure_21, mlp

__all__ = ["NETWORKS", "UnknownNetwork", "draw", "lenet_figure_21", "mlp"]
