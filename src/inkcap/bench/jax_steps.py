"""A training step in plain JAX: forward, loss, gradients and update as one compiled function."""

from __future__ import annotations

from typing import Any

from inkcap.bench.cases import MOMENTUM, RATE, RECONSTRUCTION, Case, Work
from inkcap.bench.jax_networks import NETWORKS, Array, Scope, jax, jnp
from inkcap.bench.workload import Workload


def jitted(case: Case, work: Work) -> Workload:
    """The step compiled by ``jax.jit``, which gives its old state back to be written over."""
    network = NETWORKS[case.family]
    samples, classes = case.samples()
    x = jnp.asarray(samples.transpose(0, 2, 3, 1) if samples.ndim == 4 else samples)
    y = jnp.asarray(classes)
    with_label = case.family == "capsnet"
    given = (x, y) if with_label and work == "training" else (x,)
    first = Scope(jax.random.key(0))
    jax.block_until_ready(network(case, first, *given))
    parameters, states = first.parameters, first.states
    count = sum(leaf.size for leaf in jax.tree.leaves(parameters))
    if work == "inference":
        return _inference(case, parameters, states, x, count)

    def loss_of(parameters: Any, states: Any, key: Array) -> tuple[Array, Any]:
        scope = Scope(key, parameters, states)
        found = network(case, scope, *given)
        return (_capsule_loss(found, x, y) if with_label else _cross_entropy(found, y)), scope.after

    @_donating
    def step(parameters: Any, velocity: Any, states: Any, key: Array) -> tuple[Any, Any, Any, Array, Array]:
        key, used = jax.random.split(key)
        (loss, after), gradient = jax.value_and_grad(loss_of, has_aux=True)(parameters, states, used)
        velocity = jax.tree.map(_faster, velocity, gradient)
        parameters = jax.tree.map(_moved, parameters, velocity)
        return parameters, velocity, after, key, loss

    held = [parameters, jax.tree.map(jnp.zeros_like, parameters), states, jax.random.key(1)]

    def run(steps: int) -> Any:
        loss = None
        for _ in range(steps):
            *held[:], loss = step(*held)
        return jax.block_until_ready(loss)

    return Workload(run, count)


def _faster(velocity: Array, gradient: Array) -> Array:
    return MOMENTUM * velocity + gradient


def _moved(parameter: Array, velocity: Array) -> Array:
    return parameter - RATE * velocity


def _donating(function: Any) -> Any:
    return jax.jit(function, donate_argnums=(0, 1, 2))


def _inference(case: Case, parameters: Any, states: Any, x: Array, count: int) -> Workload:
    def forward(parameters: Any, states: Any, x: Array) -> Any:
        return NETWORKS[case.family](case, Scope(None, parameters, states, training=False), x)

    answer = jax.jit(forward)

    def run(steps: int) -> Any:
        last = None
        for _ in range(steps):
            last = answer(parameters, states, x)
        return jax.block_until_ready(last)

    return Workload(run, count)


def _cross_entropy(logits: Array, y: Array) -> Array:
    chances = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(chances, y[:, None], 1).mean()


def _capsule_loss(found: tuple[Array, Array], x: Array, y: Array) -> Array:
    length, drawn = found
    right = jax.nn.one_hot(y, 10)
    short, long = jax.nn.relu(0.9 - length) ** 2, jax.nn.relu(length - 0.1) ** 2
    margin = (right * short + 0.5 * (1 - right) * long).sum(1).mean()
    return margin + RECONSTRUCTION * ((drawn - x.reshape(drawn.shape)) ** 2).mean()
