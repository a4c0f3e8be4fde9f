"""Training: the kernels take torch's steps, fall, and repeat to the bit."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from inkcap.engine.plain import LOSSES, RULES, Columns, PlainError, PlainModule, PlainNetwork, PlainTrainer, UpdateRule

CRITERIA = {
    "mean-squared-error": functional.mse_loss,
    "cross-entropy": functional.cross_entropy,
    "binary-cross-entropy": functional.binary_cross_entropy_with_logits,
}
OPTIMISERS = {
    "sgd": lambda p: torch.optim.SGD(p, 0.05),
    "momentum": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, 0.05),
}


def task(network, loss, samples=100):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((samples, network.inputs.size))
    if loss == "cross-entropy":
        return x, rng.integers(0, network.outputs.size, samples)
    return x, rng.random((samples, network.outputs.size))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("drawn", ["random", "tied", "kernels", "contracted"])
def test_steps_are_those_of_torch(draw_random, draw_layered, loss, rule, drawn):
    layered = drawn in ("kernels", "contracted")
    smooth = ("tanh", "sigmoid", "identical")
    columns = (
        draw_layered((5, 7, 6, 3), hidden="tanh")
        if layered
        else draw_random(6, 80, 6, 4, ties=7 if drawn == "tied" else 0, symbols=smooth)
    )
    symbols = np.array(columns.symbol)
    sinks = np.setdiff1d(np.flatnonzero(symbols != "data"), columns.back)
    symbols[sinks] = "identical"
    columns = Columns(symbols, columns.bias, columns.back, columns.front, columns.weight, columns.tie)
    network = PlainNetwork(columns)
    x, target = task(network, loss)
    contract = drawn == "contracted" if layered else None
    trainer = PlainTrainer(
        network,
        loss,
        UpdateRule(rule, 0.05),
        batch=32,
        dtype=np.float64,
        contract=contract,  # pyright: ignore
    )
    assert trainer.contracted == (drawn == "contracted")
    module = PlainModule(network, dtype=torch.float64)
    optimiser = OPTIMISERS[rule](module.parameters())
    order = np.concatenate([np.random.default_rng(epoch).permutation(100) for epoch in range(3)])
    expected = []
    for rows in np.split(order, range(32, order.size, 32)):
        optimiser.zero_grad()
        error = CRITERIA[loss](module(torch.from_numpy(x[rows])), torch.from_numpy(target[rows]))
        error.backward()
        optimiser.step()
        expected.append(error.item())
    losses = np.concatenate([trainer.train_steps(x, target, part) for part in (order[:64], order[64:])])
    np.testing.assert_allclose(losses, expected, rtol=1e-9)
    np.testing.assert_allclose(trainer.weight, module.weight.detach().numpy(), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(trainer.bias, module.bias.detach().numpy(), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(trainer.forward(x), module(torch.from_numpy(x)).detach().numpy(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("contract", [False, True])
def test_binary_cross_entropy_takes_sigmoid_outputs_before_their_sigmoid(draw_layered, contract):
    trainers = []
    for last in ("identical", "sigmoid"):
        network = PlainNetwork(draw_layered((3, 8, 2), last=last))
        trainers.append(PlainTrainer(network, "binary-cross-entropy", batch=16, contract=contract))
        x, target = task(network, "binary-cross-entropy")
    first, second = (trainer.train_steps(x, target) for trainer in trainers)
    assert (first == second).all()
    assert (trainers[0].weight == trainers[1].weight).all()
    np.testing.assert_allclose(trainers[1].forward(x), 1 / (1 + np.exp(-trainers[0].forward(x))), rtol=1e-5)


def test_sigmoid_outputs_that_others_use_or_that_are_mixed_are_refused():
    chain = Columns(["data", "sigmoid", "identical"], [0, 0, 0], [0, 1], [1, 2], [1.0, 1.0])
    with pytest.raises(PlainError, match="the sigmoid output 1 is used by other neurons"):
        PlainTrainer(PlainNetwork(chain, outputs=[1, 2]), "binary-cross-entropy")
    pair = Columns(["data", "sigmoid", "identical"], [0, 0, 0], [0, 0], [1, 2], [1.0, 1.0])
    with pytest.raises(PlainError, match="neuron 2 is not"):
        PlainTrainer(PlainNetwork(pair), "binary-cross-entropy")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_tiny_network_learns_exclusive_or(draw_layered, dtype):
    network = PlainNetwork(draw_layered((2, 8, 2), seed=3))
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype)
    y = np.array([0, 1, 1, 0])
    trainer = PlainTrainer(network, "cross-entropy", UpdateRule("adam", 0.02), batch=4, dtype=dtype)
    losses = trainer.train_steps(x, y, np.tile(np.arange(4), 1000))
    assert losses.shape == (1000,)
    assert losses[0] > 0.3
    assert losses[-1] < 0.01
    assert trainer.forward(x).argmax(1).tolist() == [0, 1, 1, 0]


def big(draw_random, threads):
    network = PlainNetwork(draw_random(8, 1500, 40, 20, ties=30, symbols=("relu", "tanh")))
    x, target = task(network, "mean-squared-error", 400)
    trainer = PlainTrainer(network, "mean-squared-error", UpdateRule("adam", 0.01), batch=128, threads=threads)
    order = np.random.default_rng(5).permutation(400)
    return np.concatenate([trainer.train_steps(x, target, order) for _ in range(5)]), trainer


def test_the_loss_falls_and_every_bit_repeats_on_any_number_of_threads(draw_random):
    losses, trainer = big(draw_random, 1)
    assert losses[-4:].mean() < 0.7 * losses[:4].mean()
    for threads in (1, 2, 4):
        again, other = big(draw_random, threads)
        assert (again == losses).all()
        assert (other.weight == trainer.weight).all()
        assert (other.bias == trainer.bias).all()


def test_training_leaves_the_network_as_it_was(draw_layered):
    network = PlainNetwork(draw_layered((3, 4, 2)))
    before = network.weight.copy()
    x, y = task(network, "cross-entropy")
    trainer = PlainTrainer(network, "cross-entropy", UpdateRule("sgd", 0.1))
    trainer.train_steps(x, y)
    assert (network.weight == before).all()
    assert (trainer.weight != before).any()
    with pytest.raises(ValueError, match="read-only"):
        network.weight[0] = 1


def test_what_does_not_fit_is_refused(draw_layered):
    network = PlainNetwork(draw_layered((3, 4, 2)))
    x = np.zeros((10, 3))
    with pytest.raises(PlainError, match="there is no loss 'margin'"):
        PlainTrainer(network, "margin")
    with pytest.raises(PlainError, match="PlainModule"):
        PlainTrainer(network, "cross-entropy", UpdateRule("adamw"))  # pyright: ignore
    with pytest.raises(PlainError, match="float16 is not computed"):
        PlainTrainer(network, "cross-entropy", dtype=np.float16)
    with pytest.raises(PlainError, match="0 samples are no batch"):
        PlainTrainer(network, "cross-entropy", batch=0)
    trainer = PlainTrainer(network, "cross-entropy")
    with pytest.raises(PlainError, match="classes must be from 0 to 1"):
        trainer.train_steps(x, np.full(10, 2))
    with pytest.raises(PlainError, match="needs 10 class numbers"):
        trainer.train_steps(x, np.zeros(10))
    with pytest.raises(PlainError, match="numbers of samples, from 0 to 9"):
        trainer.train_steps(x, np.zeros(10, int), np.array([10]))
    with pytest.raises(PlainError, match=r"needs \(10, 2\)"):
        PlainTrainer(network, "mean-squared-error").train_steps(x, np.zeros((10, 3)))
    assert trainer.train_steps(x[:0], np.zeros(0, int)).size == 0
