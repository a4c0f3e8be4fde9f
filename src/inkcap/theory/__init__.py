"""Theory: graphs and what the paper's Section 2 says of them."""

from inkcap.theory.computation import ComputationalGraph, ComputationError, Vertex
from inkcap.theory.graphs import Classification, Graph, Witness, classify

__all__ = ["Classification", "ComputationError", "ComputationalGraph", "Graph", "Vertex", "Witness", "classify"]
