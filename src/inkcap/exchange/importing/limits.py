"""Limits of what is imported, in one place: a model that a person has never meets them, a bomb always does."""

FILE_BYTES = 2**31 - 1
"""An ONNX file: what protobuf can hold."""
NODES = 50_000
DEPTH = 32
"""Graphs inside of graphs."""
DIMENSIONS = 2**40
"""Numbers of one tensor, counted before anything is allocated."""
STATED_BYTES = 2**31
"""Numbers that a model states by one value and a shape."""
FOLDED = 4096
"""Numbers on which the importer computes itself: shapes, not weights."""
MEMORY_BYTES = 2**31
CPU_SECONDS = 20
WALL_SECONDS = 30
OUTPUT_BYTES = 2**30
"""What the limited process may write."""
OPEN_FILES = 64
WEIGHTS = ".weights.safetensors"
"""The end of a file of weights under their names in the drawing; an export has its own beside it."""
