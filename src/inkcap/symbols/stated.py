"""What every capsule states of itself: its sizes, its data type, its bias; and every connection of its weight."""

from __future__ import annotations

from functools import cache

from inkcap.structures import AXES
from inkcap.symbols.attributes import Attribute

SIZE_HELP = {
    "dimension": ("M", "Number of elements of the vector (dimension M)."),
    "depth": ("D", "Number of layers of the volume (depth D)."),
    "height": ("M", "Number of rows of each matrix (height M)."),
    "width": ("N", "Number of columns of each matrix (width N)."),
    "channels": ("d", "Number of matrices in the array (channel number d)."),
}


@cache
def size_attributes(rank: int) -> tuple[Attribute, ...]:
    """Give the attributes that state the size of a capsule's total input, by rank; the paper's M, N, d."""
    return tuple(
        Attribute(name, "size", SIZE_HELP[name][1], inferred=True, letter=SIZE_HELP[name][0]) for name in AXES[rank]
    )


DTYPE_ATTRIBUTE = Attribute(
    "dtype", "dtype", "Data type T of the numbers; the drawing's own when left empty.", inferred=True, letter="T"
)
BIAS_ATTRIBUTE = Attribute(
    "bias",
    "choice",
    "Bias B: none, one number per channel, one per element of an item, or one per element. Left empty, a capsule that "
    "some weighted connection enters gets one per channel (2D, 3D), per element of an item where the connection works "
    "item by item, or per element (neuron, 1D); any other gets none.",
    inferred=True,
    letter="B",
    choices=("none", "channel", "item", "full"),
)
NEURON_BIAS_ATTRIBUTE = Attribute("b", "number", "Bias b with which the neuron starts.", default=0, letter="b")

INITIALISER_ATTRIBUTE = Attribute(
    "initialiser",
    "choice",
    "How the weight starts: 'auto' is 'he' into a rectifier (ReLU and its kin) and 'uniform' into any other; 'he' is "
    "normal with variance 2/inputs, 'glorot' is uniform by inputs and outputs, 'uniform' is ±1/√inputs, 'normal' has "
    "deviation 0.01.",
    default="auto",
    choices=("auto", "uniform", "he", "glorot", "normal", "zeros", "ones"),
)
TRAINABLE_ATTRIBUTE = Attribute("trainable", "flag", "Whether training changes the weight.", default=True)
DROPCONNECT_ATTRIBUTE = Attribute(
    "dropconnect",
    "number",
    "Probability p with which dropconnect sets a number of the weight to zero, drawn anew for every batch in training; "
    "in evaluation the weight counts 1−p.",
    default=0,
    minimum=0,
    maximum=0.99,
    letter="p",
)
WEIGHT_ATTRIBUTES = (TRAINABLE_ATTRIBUTE, DROPCONNECT_ATTRIBUTE)
"""What every connection with a weight states of it."""
