"""Steps in Keras 3 on one of its backends, which the environment of the process chooses.

On torch and tensorflow a step is ``train_on_batch``, which was measured to be as fast as ``fit``. On jax that carries
every weight out of the compiled step and in again, so a step is the loop that Keras documents for jax: one compiled
function of the model's state.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np

from inkcap.bench.cases import MOMENTUM, RATE, RECONSTRUCTION, Case, Work
from inkcap.bench.workload import Workload, repeated


def keras_model(case: Case, work: Work) -> Workload:
    """Compile the model, and train it on the batch."""
    assert work == "training"
    keras: Any = import_module("keras")
    if keras.backend.backend() == "torch":
        keras.config.set_image_data_format("channels_first")
    networks = import_module("inkcap.bench.keras_networks")
    x, y = case.samples()
    if x.ndim == 4 and keras.config.image_data_format() == "channels_last":
        x = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    model = networks.model(case)
    inputs, targets, losses, weights = x, y, keras.losses.SparseCategoricalCrossentropy(from_logits=True), None
    if case.family == "capsnet":
        label = np.eye(10, dtype=np.float32)[y]
        inputs, targets = [x, label], [label, x.reshape(len(x), -1)]
        losses, weights = [_margin(keras.ops), "mse"], [1.0, RECONSTRUCTION]
    optimiser = keras.optimizers.SGD(RATE, MOMENTUM)
    model.compile(optimiser, losses, loss_weights=weights)
    shapes: list[tuple[int, ...]] = [tuple(weight.shape) for weight in model.trainable_weights]
    learning = sum(map(math.prod, shapes))
    if keras.backend.backend() == "jax":
        return _stateless(model, optimiser, inputs, targets, learning)
    return repeated(lambda: model.train_on_batch(inputs, targets), learning)


def _margin(ops: Any) -> Any:
    def loss(right: Any, length: Any) -> Any:
        short, long = ops.square(ops.relu(0.9 - length)), ops.square(ops.relu(length - 0.1))
        return ops.sum(right * short + 0.5 * (1 - right) * long, -1)

    return loss


def _stateless(model: Any, optimiser: Any, inputs: Any, targets: Any, learning: int) -> Workload:
    jax: Any = import_module("jax")
    optimiser.build(model.trainable_variables)
    given, wanted = jax.tree.map(jax.numpy.asarray, (inputs, targets))

    def loss_of(trainable: Any, rest: Any) -> Any:
        found, rest = model.stateless_call(trainable, rest, given, training=True)
        return model.compute_loss(given, wanted, found), rest

    def take(trainable: Any, rest: Any, memory: Any) -> Any:
        (loss, rest), gradients = jax.value_and_grad(loss_of, has_aux=True)(trainable, rest)
        trainable, memory = optimiser.stateless_apply(memory, gradients, trainable)
        return trainable, rest, memory, loss

    step = jax.jit(take, donate_argnums=(0, 1, 2))
    variables = (model.trainable_variables, model.non_trainable_variables, optimiser.variables)
    held = [[jax.numpy.array(variable.value) for variable in part] for part in variables]

    def run(steps: int) -> Any:
        loss = None
        for _ in range(steps):
            *held[:], loss = step(*held)
        return jax.block_until_ready(loss)

    return Workload(run, learning)
