"""The networks in Keras 3, on any of its backends; images lie as the backend likes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from inkcap.bench.cases import Case

keras: Any = import_module("keras")
layers: Any = keras.layers
ops: Any = keras.ops
Node = Any


def _channels() -> int:
    return 1 if keras.config.image_data_format() == "channels_first" else -1


def _pad(x: Node, width: int) -> Node:
    return layers.ZeroPadding2D(width)(x) if width else x


def _conv(x: Node, kernels: int, kernel: int, stride: int = 1, padding: int = 0, bias: bool = True) -> Node:
    # "same" pads as the others do where the stride is 1; elsewhere the border is added first.
    if stride == 1 and padding == kernel // 2:
        return layers.Conv2D(kernels, kernel, padding="same", use_bias=bias)(x)
    return layers.Conv2D(kernels, kernel, stride, use_bias=bias)(_pad(x, padding))


def _norm(x: Node, epsilon: float = 1e-5) -> Node:
    return layers.BatchNormalization(axis=_channels(), momentum=0.9, epsilon=epsilon)(x)


def _relu(x: Node) -> Node:
    return layers.ReLU()(x)


def mlp(case: Case, x: Node) -> Node:
    """A multilayer perceptron."""
    for size in case.sizes[1:-1]:
        x = layers.Dense(size, activation="relu")(x)
    return layers.Dense(case.sizes[-1])(x)


def lenet(_: Case, x: Node) -> Node:
    """LeNet."""
    x = layers.MaxPooling2D()(layers.Conv2D(32, 5, activation="relu")(x))
    x = layers.MaxPooling2D()(layers.Conv2D(64, 5, activation="relu")(x))
    return layers.Dense(10)(layers.Dense(512, activation="relu")(layers.Flatten()(x)))


def alexnet(_: Case, x: Node) -> Node:
    """AlexNet of one tower."""
    x = layers.MaxPooling2D(3, 2)(_relu(_conv(x, 64, 11, 4, 2)))
    x = layers.MaxPooling2D(3, 2)(_relu(_conv(x, 192, 5, 1, 2)))
    x = _relu(_conv(x, 384, 3, 1, 1))
    x = _relu(_conv(x, 256, 3, 1, 1))
    x = layers.Flatten()(layers.MaxPooling2D(3, 2)(_relu(_conv(x, 256, 3, 1, 1))))
    for _number in range(2):
        x = layers.Dropout(0.5)(layers.Dense(4096, activation="relu")(x))
    return layers.Dense(10)(x)


INCEPTIONS = (
    (64, 96, 128, 16, 32, 32),
    (128, 128, 192, 32, 96, 64),
    (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64),
    (128, 128, 256, 24, 64, 64),
    (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128),
    (256, 160, 320, 32, 128, 128),
    (384, 192, 384, 48, 128, 128),
)


def googlenet(_: Case, x: Node) -> Node:
    """GoogLeNet with batch norm; the sizes are even, so that "same" pools as an edge that is rounded up does."""

    def block(x: Node, kernels: int, kernel: int, stride: int = 1) -> Node:
        return _relu(_norm(_conv(x, kernels, kernel, stride, kernel // 2, bias=False), 1e-3))

    x = layers.MaxPooling2D(3, 2, padding="same")(block(x, 64, 7, 2))
    x = layers.MaxPooling2D(3, 2, padding="same")(block(block(x, 64, 1), 192, 3))
    for number, (ones, reduce3, threes, reduce5, fives, pooled) in enumerate(INCEPTIONS):
        three = block(block(x, reduce3, 1), threes, 3)
        five = block(block(x, reduce5, 1), fives, 3)
        pool = block(layers.MaxPooling2D(3, 1, padding="same")(x), pooled, 1)
        x = layers.Concatenate(_channels())([block(x, ones, 1), three, five, pool])
        if number in (1, 6):
            x = layers.MaxPooling2D(3 if number == 1 else 2, 2, padding="same")(x)
    return layers.Dense(10)(layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x)))


def resnet18(_: Case, x: Node) -> Node:
    """ResNet of 18 layers."""
    x = _relu(_norm(_conv(x, 64, 7, 2, 3, bias=False)))
    x = layers.MaxPooling2D(3, 2)(_pad(x, 1))
    for stage, width in enumerate((64, 128, 256, 512)):
        for number in range(2):
            stride = 2 if stage and not number else 1
            y = _relu(_norm(_conv(x, width, 3, stride, 1, bias=False)))
            y = _norm(_conv(y, width, 3, 1, 1, bias=False))
            if stride > 1:
                x = _norm(_conv(x, width, 1, stride, bias=False))
            x = _relu(layers.Add()([x, y]))
    return layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


def densenet(_: Case, x: Node) -> Node:
    """DenseNet of 121 layers."""
    x = layers.MaxPooling2D(3, 2)(_pad(_relu(_norm(_conv(x, 64, 7, 2, 3, bias=False))), 1))
    for block, count in enumerate((6, 12, 24, 16)):
        for _number in range(count):
            y = _conv(_relu(_norm(x)), 128, 1, bias=False)
            y = _conv(_relu(_norm(y)), 32, 3, 1, 1, bias=False)
            x = layers.Concatenate(_channels())([x, y])
        x = _relu(_norm(x))
        if block < 3:
            x = layers.AveragePooling2D(2)(_conv(x, x.shape[_channels()] // 2, 1, bias=False))
    return layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


def squash(s: Node) -> Node:
    """Shorten vectors to less than 1."""
    squared = ops.sum(ops.square(s), -1, keepdims=True)
    return s * (ops.sqrt(squared) / (1 + squared))


class Routing(layers.Layer):
    """Ten capsules of 16 numbers, for which 1152 capsules of 8 vote."""

    def build(self, _: Any) -> None:
        """Make the weights of the votes."""
        self.votes = self.add_weight(shape=(1152, 10, 16, 8), initializer="glorot_uniform")

    def call(self, u: Node) -> Node:
        """Route by agreement, three times."""
        votes = ops.einsum("ijba,zia->zijb", self.votes, u)
        logits, v = ops.zeros_like(votes[..., 0]), ops.zeros_like(votes[:, 0])
        for turn in range(3):
            if turn:
                logits = logits + ops.einsum("zijb,zjb->zij", votes, v)
            v = squash(ops.einsum("zij,zijb->zjb", ops.softmax(logits, 2), votes))
        return v


def _capsnet(x: Node, label: Node) -> list[Node]:
    x = layers.Conv2D(256, 9, activation="relu")(x)
    x = layers.Conv2D(256, 9, 2)(x)
    if _channels() == 1:
        x = layers.Permute((2, 3, 1))(x)
    v = Routing()(squash(layers.Reshape((1152, 8))(x)))
    length = ops.sqrt(ops.sum(ops.square(v), -1))
    y = layers.Flatten()(v * ops.expand_dims(label, -1))
    y = layers.Dense(1024, activation="relu")(layers.Dense(512, activation="relu")(y))
    return [length, layers.Dense(784, activation="sigmoid")(y)]


NETWORKS: Mapping[str, Callable[[Case, Node], Node]] = {
    "mlp": mlp,
    "lenet": lenet,
    "alexnet": alexnet,
    "googlenet": googlenet,
    "resnet18": resnet18,
    "densenet": densenet,
}


def model(case: Case) -> Any:
    """Make the functional model of a case."""
    shape = case.shape
    if len(shape) == 3 and _channels() == -1:
        shape = (*shape[1:], shape[0])
    x = keras.Input(shape)
    if case.family == "capsnet":
        label = keras.Input((10,))
        return keras.Model([x, label], _capsnet(x, label))
    return keras.Model(x, NETWORKS[case.family](case, x))
