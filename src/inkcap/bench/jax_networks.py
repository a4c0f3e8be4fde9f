"""The networks in plain JAX, as functions of their parameters; images are channels-last, as XLA likes them on CPUs.

A network is one function that is run twice: once by itself, to make its parameters, and then inside what is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from inkcap.bench.cases import Case

jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")
lax: Any = import_module("jax.lax")
Array = Any
LAYOUT = ("NHWC", "HWIO", "NHWC")


class Scope:
    """Parameters and running means by name, made at the first use and read at every other."""

    def __init__(self, key: Array, parameters: Any = None, states: Any = None, training: bool = True) -> None:
        self.made = parameters is None
        self.key, self.training = key, training
        self.parameters: dict[str, Any] = {} if parameters is None else parameters
        self.states: dict[str, Any] = {} if states is None else states
        self.after: dict[str, Any] = {}

    def next_key(self) -> Array:
        """Give randomness that is used for nothing else."""
        self.key, given = jax.random.split(self.key)
        return given

    def weight(self, name: str, shape: tuple[int, ...], inputs: int) -> Array:
        """Give a weight, which starts as uniform numbers below the root of its inputs."""
        if self.made:
            bound = inputs**-0.5
            self.parameters[name] = jax.random.uniform(self.next_key(), shape, minval=-bound, maxval=bound)
        return self.parameters[name]

    def full(self, name: str, x: Array, outputs: int) -> Array:
        """A full layer with biases."""
        inputs = x.shape[-1]
        return x @ self.weight(f"{name}.w", (inputs, outputs), inputs) + self.weight(f"{name}.b", (outputs,), inputs)

    def conv(
        self, name: str, x: Array, kernels: int, kernel: int, stride: int = 1, padding: int = 0, bias: bool = True
    ) -> Array:
        """A convolution."""
        inputs = kernel * kernel * x.shape[-1]
        w = self.weight(f"{name}.w", (kernel, kernel, x.shape[-1], kernels), inputs)
        pads = [(padding, padding)] * 2
        y = lax.conv_general_dilated(x, w, (stride, stride), pads, dimension_numbers=LAYOUT)
        return y + self.weight(f"{name}.b", (kernels,), inputs) if bias else y

    def norm(self, name: str, x: Array, epsilon: float = 1e-5) -> Array:
        """Batch norm, whose running mean and variance follow those of the batch by a tenth."""
        channels = x.shape[-1]
        if self.made:
            self.parameters[f"{name}.g"], self.parameters[f"{name}.b"] = jnp.ones(channels), jnp.zeros(channels)
            self.states[f"{name}.mean"], self.states[f"{name}.var"] = jnp.zeros(channels), jnp.ones(channels)
        mean, var = self.states[f"{name}.mean"], self.states[f"{name}.var"]
        if self.training:
            here, spread = x.mean((0, 1, 2)), x.var((0, 1, 2))
            count = x.shape[0] * x.shape[1] * x.shape[2]
            self.after[f"{name}.mean"] = 0.9 * mean + 0.1 * here
            self.after[f"{name}.var"] = 0.9 * var + 0.1 * spread * (count / max(count - 1, 1))
            mean, var = here, spread
        scale = self.parameters[f"{name}.g"] * lax.rsqrt(var + epsilon)
        return (x - mean) * scale + self.parameters[f"{name}.b"]

    def dropout(self, x: Array, probability: float) -> Array:
        """Set some numbers to zero while learning."""
        if not self.training or self.made:
            return x
        kept = jax.random.bernoulli(self.next_key(), 1 - probability, x.shape)
        return jnp.where(kept, x / (1 - probability), 0)


def relu(x: Array) -> Array:
    """The larger of a number and zero."""
    return jax.nn.relu(x)


def _pool(x: Array, window: int, stride: int, low: int = 0, ceil: bool = False) -> Array:
    pads = [(0, 0)]
    for size in x.shape[1:3]:
        over = (-(size + 2 * low - window)) % stride if ceil else 0
        pads.append((low, low + over))
    pads.append((0, 0))
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, window, window, 1), (1, stride, stride, 1), pads)


def mlp(case: Case, scope: Scope, x: Array) -> Array:
    """A multilayer perceptron."""
    for number, size in enumerate(case.sizes[1:], 1):
        x = scope.full(f"fc{number}", x, size)
        if number < len(case.sizes) - 1:
            x = relu(x)
    return x


def lenet(_: Case, scope: Scope, x: Array) -> Array:
    """LeNet."""
    x = _pool(relu(scope.conv("conv1", x, 32, 5)), 2, 2)
    x = _pool(relu(scope.conv("conv2", x, 64, 5)), 2, 2)
    return scope.full("fc2", relu(scope.full("fc1", x.reshape(x.shape[0], -1), 512)), 10)


def alexnet(_: Case, scope: Scope, x: Array) -> Array:
    """AlexNet of one tower."""
    x = _pool(relu(scope.conv("conv1", x, 64, 11, 4, 2)), 3, 2)
    x = _pool(relu(scope.conv("conv2", x, 192, 5, 1, 2)), 3, 2)
    x = relu(scope.conv("conv3", x, 384, 3, 1, 1))
    x = relu(scope.conv("conv4", x, 256, 3, 1, 1))
    x = _pool(relu(scope.conv("conv5", x, 256, 3, 1, 1)), 3, 2).reshape(x.shape[0], -1)
    for name in ("fc6", "fc7"):
        x = scope.dropout(relu(scope.full(name, x, 4096)), 0.5)
    return scope.full("fc8", x, 10)


INCEPTIONS = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}


def googlenet(_: Case, scope: Scope, x: Array) -> Array:
    """GoogLeNet with batch norm."""

    def block(name: str, x: Array, kernels: int, kernel: int, stride: int = 1) -> Array:
        y = scope.conv(name, x, kernels, kernel, stride, kernel // 2, bias=False)
        return relu(scope.norm(f"{name}.norm", y, 1e-3))

    x = _pool(block("conv1", x, 64, 7, 2), 3, 2, ceil=True)
    x = _pool(block("conv3", block("conv2", x, 64, 1), 192, 3), 3, 2, ceil=True)
    for m, (ones, reduce3, threes, reduce5, fives, pooled) in INCEPTIONS.items():
        three = block(f"{m}.three", block(f"{m}.reduce3", x, reduce3, 1), threes, 3)
        five = block(f"{m}.five", block(f"{m}.reduce5", x, reduce5, 1), fives, 3)
        branches = (block(f"{m}.one", x, ones, 1), three, five, block(f"{m}.pool", _pool(x, 3, 1, 1), pooled, 1))
        x = jnp.concatenate(branches, -1)
        if m in ("3b", "4e"):
            x = _pool(x, 3 if m == "3b" else 2, 2, ceil=True)
    return scope.full("fc", scope.dropout(x.mean((1, 2)), 0.2), 10)


def resnet18(_: Case, scope: Scope, x: Array) -> Array:
    """ResNet of 18 layers."""
    x = relu(scope.norm("bn", scope.conv("conv", x, 64, 7, 2, 3, bias=False)))
    x = _pool(x, 3, 2, 1)
    for stage, width in enumerate((64, 128, 256, 512)):
        for number in range(2):
            name, stride = f"{stage}.{number}", 2 if stage and not number else 1
            y = relu(scope.norm(f"{name}.bn1", scope.conv(f"{name}.a", x, width, 3, stride, 1, bias=False)))
            y = scope.norm(f"{name}.bn2", scope.conv(f"{name}.b", y, width, 3, 1, 1, bias=False))
            if stride > 1:
                x = scope.norm(f"{name}.bn3", scope.conv(f"{name}.c", x, width, 1, stride, bias=False))
            x = relu(x + y)
    return scope.full("fc", x.mean((1, 2)), 10)


def densenet(_: Case, scope: Scope, x: Array) -> Array:
    """DenseNet of 121 layers."""
    x = _pool(relu(scope.norm("bn", scope.conv("conv", x, 64, 7, 2, 3, bias=False))), 3, 2, 1)
    for block, layers in enumerate((6, 12, 24, 16)):
        for number in range(layers):
            name = f"{block}.{number}"
            y = scope.conv(f"{name}.a", relu(scope.norm(f"{name}.bn1", x)), 128, 1, bias=False)
            y = scope.conv(f"{name}.b", relu(scope.norm(f"{name}.bn2", y)), 32, 3, 1, 1, bias=False)
            x = jnp.concatenate((x, y), -1)
        x = relu(scope.norm(f"{block}.bn", x))
        if block < 3:
            x = scope.conv(f"{block}.t", x, x.shape[-1] // 2, 1, bias=False)
            b, h, w, c = x.shape
            x = x.reshape(b, h // 2, 2, w // 2, 2, c).mean((2, 4))
    return scope.full("fc", x.mean((1, 2)), 10)


def squash(s: Array) -> Array:
    """Shorten vectors to less than 1."""
    squared = (s * s).sum(-1, keepdims=True)
    return s * (jnp.sqrt(squared) / (1 + squared))


def capsnet(_: Case, scope: Scope, x: Array, label: Array | None = None) -> tuple[Array, Array]:
    """CapsNet and its decoder; channels-last, a capsule's 8 numbers lie side by side already."""
    x = relu(scope.conv("conv1", x, 256, 9))
    u = squash(scope.conv("primary", x, 256, 9, 2).reshape(x.shape[0], 1152, 8))
    votes = jnp.einsum("ijba,zia->zijb", scope.weight("votes", (1152, 10, 16, 8), 8), u)
    logits, v = jnp.zeros(votes.shape[:3]), jnp.zeros(())
    for turn in range(3):
        if turn:
            logits = logits + jnp.einsum("zijb,zjb->zij", votes, v)
        v = squash(jnp.einsum("zij,zijb->zjb", jax.nn.softmax(logits, 2), votes))
    length = jnp.sqrt((v * v).sum(-1))
    chosen = length.argmax(1) if label is None else label
    y = (v * jax.nn.one_hot(chosen, 10)[..., None]).reshape(x.shape[0], 160)
    y = relu(scope.full("dec2", relu(scope.full("dec1", y, 512)), 1024))
    return length, jax.nn.sigmoid(scope.full("dec3", y, 784))


NETWORKS: Mapping[str, Callable[..., Any]] = {
    "mlp": mlp,
    "lenet": lenet,
    "alexnet": alexnet,
    "googlenet": googlenet,
    "resnet18": resnet18,
    "densenet": densenet,
    "capsnet": capsnet,
}
