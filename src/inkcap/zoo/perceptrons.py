"""Networks of full connections: neurons and perceptrons, multilayer perceptrons, deep autoencoders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data
from inkcap.zoo.record import KnownNetwork, Reference, Sizes


def mcculloch_pitts(inputs: int = 2) -> Drawing:
    """The neuron of McCulloch and Pitts as an AND: it fires when all its inputs do."""
    drawing = Drawing("McCulloch-Pitts neuron")
    senses = [drawing.add(f"x{i}", "data neuron") for i in range(1, inputs + 1)]
    drawing.add("y", "step neuron", b=0.5 - inputs)
    for sense in senses:
        drawing.connect(sense, "y", "amplifying", strength=1.0, trainable=False)
    return drawing


def perceptron(input: Sizes = (400,), classes: int = 1) -> Drawing:
    """Rosenblatt's perceptron: a field of photocells, and units that respond when their weighted sum is positive."""
    drawing = Drawing("Perceptron")
    add_data(drawing, "photocells", input)
    drawing.then("response", "1D-step", "full", dimension=classes)
    return drawing


def mlp(sizes: tuple[int, ...], name: str, dtype: str = "float32", last: str = "identical") -> Drawing:
    """Draw a multilayer perceptron: data, ReLU capsules, and one last capsule, joined by full connections."""
    drawing = Drawing(name, dtype)
    drawing.add("a", "1D-data", dimension=sizes[0])
    letters = "bcdefghijklmnopqrstuvwxyz"
    for letter, size in zip(letters, sizes[1:-1], strict=False):
        drawing.then(letter, "1D-relu", "full", dimension=size)
    drawing.then(letters[len(sizes) - 2], f"1D-{last}", "full", dimension=sizes[-1])
    return drawing


def mlp_figure_1(input: Sizes = (5,), classes: int = 4) -> Drawing:
    """The MLP of Figure 1: 5-7-7-7-4."""
    return mlp((*input, 7, 7, 7, classes), "MLP of Figure 1")


def mlp_figure_20(input: Sizes = (2,), classes: int = 2) -> Drawing:
    """The capsuled MLP of Figure 20: 2-6-4-2."""
    return mlp((*input, 6, 4, classes), "MLP")


def speech_network(
    input: Sizes = (429,), classes: int = 9304, hidden: Sequence[int] = (2048,) * 7, name: str = "CD-DNN"
) -> Drawing:
    """Seven layers of sigmoids from 11 frames of 39 features to the senones of speech."""
    drawing = Drawing(name)
    add_data(drawing, "X", input)
    for number, size in enumerate(hidden, 1):
        drawing.then(f"H{number}", "1D-sigmoid", "full", dimension=size)
    drawing.then("O", "1D-softmax", "full", dimension=classes)
    return drawing


def autoencoder(input: Sizes, encoder: Sequence[int], name: str, last: str = "sigmoid") -> Drawing:
    """A deep autoencoder, unrolled: logistic capsules down to a linear code and back up to the input's size."""
    drawing = Drawing(name)
    add_data(drawing, "X", input)
    sizes = (*input, *encoder)
    for number, size in enumerate(encoder, 1):
        code = number == len(encoder)
        drawing.then(f"enc{number}", f"1D-{'identical' if code else 'sigmoid'}", "full", dimension=size)
    for number, (_, size) in enumerate(pairwise(reversed(sizes)), 1):
        end = number == len(encoder)
        drawing.then(f"dec{number}", f"1D-{last if end else 'sigmoid'}", "full", dimension=size)
    return drawing


LI_SHAN = Reference(
    "Li and Shan", 2019, "A Capsule-unified Framework of Deep Neural Networks for Graphical Programming"
)
HINTON_SALAKHUTDINOV = Reference(
    "Hinton and Salakhutdinov", 2006, "Reducing the Dimensionality of Data with Neural Networks"
)


def _autoencoder(name: str, what: str, alias: str, input: int, *encoder: int, last: str = "sigmoid") -> KnownNetwork:
    # A code is made for data of one size: neither the input nor classes can be chosen.
    text = f"deep autoencoder of {what}"
    draw = partial(autoencoder, (input,), encoder, f"Autoencoder of {what}", last)
    return KnownNetwork(name, text, HINTON_SALAKHUTDINOV, draw, aliases=(alias,))


NETWORKS = (
    KnownNetwork(
        "mp_neuron",
        "neuron that fires when all its inputs do",
        Reference("McCulloch and Pitts", 1943, "A Logical Calculus of the Ideas Immanent in Nervous Activity"),
        mcculloch_pitts,
    ),
    KnownNetwork(
        "perceptron",
        "perceptron of a field of 20×20 photocells",
        Reference(
            "Rosenblatt",
            1958,
            "The Perceptron: A Probabilistic Model for Information Storage and Organization in the Brain",
        ),
        perceptron,
        (400,),
        1,
    ),
    KnownNetwork("mlp_fig1_5-7-7-7-4", "MLP of Figure 1", LI_SHAN, mlp_figure_1, (5,), 4, ("mlp-figure-1",)),
    KnownNetwork("mlp_fig20_2-6-4-2", "MLP of Figure 20", LI_SHAN, mlp_figure_20, (2,), 2, ("mlp",)),
    KnownNetwork(
        "seide2011_cd-dnn_429-7x2048-9304",
        "CD-DNN for speech",
        Reference(
            "Seide, Li and Yu", 2011, "Conversational Speech Transcription Using Context-Dependent Deep Neural Networks"
        ),
        speech_network,
        (429,),
        9304,
        ("cd-dnn",),
    ),
    _autoencoder("deepae_mnist_784-1000-500-250-30", "digits", "autoencoder", 784, 1000, 500, 250, 30),
    _autoencoder(
        "deepae_curves_784-400-200-100-50-25-6", "curves", "autoencoder-curves", 784, 400, 200, 100, 50, 25, 6
    ),
    # Faces are grey levels around zero, not strokes between 0 and 1: their last capsule is linear.
    _autoencoder(
        "deepae_faces_625-2000-1000-500-30", "faces", "autoencoder-faces", 625, 2000, 1000, 500, 30, last="identical"
    ),
)
