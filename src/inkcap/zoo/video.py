"""Networks for videos: the 3D convolutional network of Ji and others."""

from __future__ import annotations

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

FRAMES: Sizes = (7, 60, 40, 1)
FILTERS = {"gray": "gray", "gradx": "gradient-x", "grady": "gradient-y", "flowx": "change", "flowy": "change"}
"""What is made of the frames before anything is learnt; the change between frames stands in for optical flow."""


def feature_set() -> Drawing:
    """Two convolutions over space and time with subsampling after each; the second has three kernels of its own."""
    body = Drawing("set")
    body.add("x", "3D-identical")
    body.then("C2", "3D-tanh", "convolution", kernels=1, kernel=[3, 7, 7])
    body.then("S3", "3D-downsampling", "transfer", kind="sum", window=[1, 2, 2], coefficient="map")
    for number in (1, 2, 3):
        body.add(f"C4-{number}", "3D-tanh")
        body.connect("S3", f"C4-{number}", "convolution", kernels=1, kernel=[3, 7, 6])
        body.then(f"S5-{number}", "3D-downsampling", "transfer", kind="sum", window=[1, 3, 3], coefficient="map")
    return body


def video_network(classes: int = 3, input: Sizes = FRAMES) -> Drawing:
    """The network of Ji and others for human actions: five streams of seven frames, two sets of features each."""
    drawing = Drawing("3D CNN")
    drawing.define("set", feature_set(), inputs={"in": "x"}, outputs={f"s{n}": f"S5-{n}" for n in (1, 2, 3)})
    add_data(drawing, "frames", input)
    # Every map of every end has biases of its own in every kernel, so that the capsule needs none.
    drawing.add("C6", "1D-tanh", dimension=128, bias="none")
    for stream, filter in FILTERS.items():
        drawing.add(f"H1-{stream}", "3D-identical")
        drawing.connect("frames", f"H1-{stream}", "hardwired", filter=filter)
        for letter in ("a", "b"):
            use = drawing.add(f"{stream}-{letter}", "set")
            drawing.connect(f"H1-{stream}", use)
            for end in ("s1", "s2", "s3"):
                drawing.connect(use, "C6", "convolution", output=end, map_bias=True)
    drawing.add("out", "1D-softmax", dimension=classes, bias="none")
    drawing.connect("C6", "out", "full")
    return drawing


NETWORKS = (
    KnownNetwork(
        "3dcnn_ji",
        "3D CNN for human actions",
        Reference("Ji, Xu, Yang and Yu", 2013, "3D Convolutional Neural Networks for Human Action Recognition"),
        video_network,
        FRAMES,
        3,
        ("3dcnn",),
    ),
)
