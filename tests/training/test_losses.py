"""Losses by golden values, from the right side of an activation, finite for inputs of any size."""

import math

import numpy as np
import pytest
import torch

from inkcap.recipes import LOSSES, DataSpec, LossSpec, Recipe
from inkcap.training.errors import TrainingError
from inkcap.training.facts import CapsuleFacts, NetworkFacts
from inkcap.training.losses import loss_function, to_probabilities, total_loss, wanted_returns
from inkcap.training.scores import OutputScore
from inkcap.training.targets import encode_target, target_kind


def _facts(*outputs: CapsuleFacts) -> NetworkFacts:
    return NetworkFacts((CapsuleFacts("x", "identical", (2,)),), outputs)


def _recipe(*losses: LossSpec) -> Recipe:
    return Recipe(DataSpec("digits"), losses=losses)


def _value(kind: str, value: list[object], target: list[object], shape: tuple[int, ...], **options: float) -> float:
    output = CapsuleFacts("h", "identical", shape)
    loss = loss_function(LossSpec("h", kind, 1.0, options), output)
    return float(loss(torch.tensor(value, dtype=torch.float32), torch.tensor(target)))


def test_golden_values() -> None:
    # −log softmax((0, log 3))₁ = −log 3/4
    assert _value("cross-entropy", [[0.0, math.log(3)]], [1], (2,)) == pytest.approx(math.log(4 / 3), rel=1e-6)
    smooth = 0.9 * math.log(4 / 3) + 0.1 * (math.log(4 / 3) + math.log(4)) / 2
    assert _value("cross-entropy", [[0.0, math.log(3)]], [1], (2,), label_smoothing=0.1) == pytest.approx(smooth)
    assert _value("mean-squared-error", [[1.0, 4.0]], [[0.0, 2.0]], (2,)) == pytest.approx(2.5)
    # (½·1² + 2·(3 − ½·2))/2: the third number is not asked for, so it has no part in the mean.
    huber = _value("huber", [[1.0, 5.0, 9.0]], [[0.0, 2.0, math.nan]], (3,), edge=2.0)
    assert huber == pytest.approx((0.5 + 4.0) / 2)
    # −log σ(log 3) = log 4/3, −log(1 − σ(0)) = log 2
    binary = _value("binary-cross-entropy", [[math.log(3), 0.0]], [[1.0, 0.0]], (2,))
    assert binary == pytest.approx((math.log(4 / 3) + math.log(2)) / 2)
    # (0.9 − 0.5)² + 0.5·(0.4 − 0.1)² + 0.5·0, and for the second sample 0 + 0.5·0.8² + 0
    margin = _value("margin", [[0.5, 0.4, 0.1], [0.9, 0.9, 0.0]], [0, 1], (3,))
    assert margin == pytest.approx(((0.16 + 0.045) + 0.5 * 0.64) / 2)
    assert _value("margin", [[0.5, 0.4]], [0], (2,), upper=0.6, lower=0.2, share=1.0) == pytest.approx(0.05)
    # leads of 0.1 and 0.4: (0.9 − 0.1)² + (0.9 − 0.4)²; leads of 0 and 0.9: 0.9² + 0
    spread = _value("spread", [[0.5, 0.4, 0.1], [0.9, 0.9, 0.0]], [0, 1], (3,))
    assert spread == pytest.approx(((0.64 + 0.25) + 0.81) / 2)
    assert _value("spread", [[0.5, 0.4, 0.1]], [1], (3,), margin=0.2) == pytest.approx(0.09)


def test_logits_come_from_the_total_input_and_never_twice() -> None:
    facts = _facts(
        CapsuleFacts("s", "softmax", (3,)),
        CapsuleFacts("i", "identical", (3,)),
        CapsuleFacts("g", "sigmoid", (1,)),
        CapsuleFacts("m", "softmax", (3,)),
        CapsuleFacts("t", "tanh", (1,)),
    )
    recipe = _recipe(
        LossSpec("s", "cross-entropy"),
        LossSpec("i", "cross-entropy"),
        LossSpec("g", "binary-cross-entropy"),
        LossSpec("m", "mean-squared-error"),
        LossSpec("t", "binary-cross-entropy"),
    )
    assert wanted_returns(facts, recipe) == {"s": "U", "i": "Y", "g": "U", "m": "Y", "t": "Y"}
    value = torch.tensor([[0.0, math.log(3), -1e30]])
    assert to_probabilities(value, facts.outputs[1], "cross-entropy")[0].tolist() == pytest.approx([0.25, 0.75, 0])
    assert to_probabilities(value, facts.outputs[0], "cross-entropy") is value
    assert to_probabilities(torch.zeros(1, 1), facts.outputs[4], "binary-cross-entropy").item() == 0.5
    assert to_probabilities(torch.zeros(1, 1), facts.outputs[2], "binary-cross-entropy").item() == 0.0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
# Boxes, cells, masks and neighbours have targets of their own kinds, and tests of their own.
@pytest.mark.parametrize("kind", [kind for kind in LOSSES if kind not in ("boxes", "yolo", "masks", "triplet")])
def test_large_inputs_stay_finite(kind: str, dtype: str) -> None:
    output = CapsuleFacts("h", "identical", (2,), dtype)
    loss = loss_function(LossSpec("h", kind), output)
    value = torch.tensor([[1e4, -1e4], [-1e4, 1e4]], dtype=getattr(torch, dtype), requires_grad=True)
    target = encode_target(np.array([0, 0]), output, kind, "y")
    found = loss(value, target)
    found.backward()
    assert math.isfinite(found.item())
    assert value.grad is not None
    assert bool(torch.isfinite(value.grad).all())


def test_a_class_for_each_position() -> None:
    output = CapsuleFacts("h", "softmax", (3, 2, 2))
    labels = np.arange(8).reshape(2, 2, 2) % 3
    target = encode_target(labels, output, "cross-entropy", "y")
    logits = torch.zeros(2, 3, 2, 2)
    assert float(loss_function(LossSpec("h", "cross-entropy"), output)(logits, target)) == pytest.approx(math.log(3))
    logits = torch.nn.functional.one_hot(torch.from_numpy(labels), 3).movedim(-1, 1) * 50.0
    assert float(loss_function(LossSpec("h", "cross-entropy"), output)(logits, target)) < 1e-6
    score = OutputScore(output, "cross-entropy", "classes")
    score.add(logits, target)
    assert score.value() == 1.0
    narrow = CapsuleFacts("h", "softmax", (3, 1, 1))
    target = encode_target(np.array([2]), narrow, "cross-entropy", "y")
    found = loss_function(LossSpec("h", "cross-entropy"), narrow)(torch.zeros(1, 3, 1, 1), target)
    assert float(found) == pytest.approx(math.log(3))


def test_the_total_is_the_weighted_sum() -> None:
    facts = _facts(CapsuleFacts("a", "identical", (1,)), CapsuleFacts("b", "identical", (1,)))
    values, targets = [torch.tensor([[2.0]]), torch.tensor([[3.0]])], [torch.zeros(1, 1), torch.zeros(1, 1)]
    recipe = _recipe(LossSpec("b", "mean-squared-error", 0.5), LossSpec("a", "mean-squared-error", 2.0))
    assert float(total_loss(facts, recipe)(values, targets)) == pytest.approx(2 * 4 + 0.5 * 9)
    recipe = _recipe(LossSpec("a", "mean-squared-error"), LossSpec("b", "mean-squared-error", 0.0))
    assert float(total_loss(facts, recipe)(values, targets)) == 4.0


def test_targets_take_the_form_that_the_loss_wants() -> None:
    three, one = CapsuleFacts("h", "identical", (3,)), CapsuleFacts("h", "identical", ())
    labels = np.array([0, 2])
    assert target_kind(labels, three) == "classes"
    assert target_kind(np.array([0, 1]), one) == "bits"
    assert target_kind(np.array([0, 2]), one) == "classes"
    assert target_kind(np.array([[0, 1, 1]]), three) == "bits"
    assert target_kind(np.array([0.5]), one) == "numbers"
    assert encode_target(labels, three, "mean-squared-error", "y").tolist() == [[1, 0, 0], [0, 0, 1]]
    assert encode_target(np.array([0, 1]), one, "binary-cross-entropy", "y").tolist() == [0, 1]
    assert encode_target(np.array([[1.5], [2.5]], dtype=np.float32), one, "mean-squared-error", "y").shape == (2,)


@pytest.mark.parametrize(
    ("values", "shape", "kind", "words"),
    [
        (np.array([0, 3]), (3,), "cross-entropy", "0 to 3.*'h' of 3 knows 0 to 2.*4 neurons"),
        (np.array([0, -1]), (3,), "cross-entropy", "-1 to 0"),
        (np.array([0, 1]), (1,), "cross-entropy", "needs a neuron for each class"),
        (np.array([0.5]), (3,), "margin", "needs classes"),
        (np.array([0, 1]), (3, 2, 2), "cross-entropy", "labels of shape"),
        (np.zeros((2, 4)), (3,), "mean-squared-error", "4 values.*'h' of 3 has 3"),
        (np.array([0, 1]), (3, 2, 2), "margin", "one length for each class"),
        (np.array([0, 1]), (3, 2, 2), "spread", "one activation for each class"),
    ],
)
def test_a_target_that_does_not_fit_is_named(values: object, shape: tuple[int, ...], kind: str, words: str) -> None:
    with pytest.raises(TrainingError, match=words):
        encode_target(values, CapsuleFacts("h", "identical", shape), kind, "y")  # type: ignore[arg-type]


def test_scores_count_over_batches() -> None:
    score = OutputScore(CapsuleFacts("h", "identical", (2,)), "cross-entropy", "classes")
    score.add(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1]))
    score.add(torch.tensor([[0.0, 1.0]]), torch.tensor([1]))
    assert score.value() == pytest.approx(2 / 3)
    error = OutputScore(CapsuleFacts("h", "identical", ()), "mean-squared-error", "numbers")
    error.add(torch.tensor([1.0, 4.0]), torch.tensor([0.0, 0.0]))
    error.add(torch.tensor([1.0]), torch.tensor([0.0]))
    assert error.value() == pytest.approx(2.0)
    asked = OutputScore(CapsuleFacts("h", "identical", (2,)), "huber", "numbers")
    asked.add(torch.tensor([[1.0, 4.0]]), torch.tensor([[math.nan, 1.0]]))
    assert asked.value() == 3.0
    bits = OutputScore(CapsuleFacts("h", "sigmoid", (2,)), "binary-cross-entropy", "bits")
    bits.add(torch.tensor([[0.3, -0.3]]), torch.tensor([[1.0, 1.0]]))
    assert bits.value() == 0.5
