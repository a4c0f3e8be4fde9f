"""Golden numbers of what capsules wear and connections drop: batch norm, dropout, dropconnect."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from inkcap.drawing import Drawing
from inkcap.engine import build, initialise, load_weights, run_backwards, run_on_torch, weights_of
from inkcap.network import check
from inkcap.program import lower_to_steps

FLOAT = torch.float64


def worn(part: str, size: int = 1, **attributes) -> Drawing:
    drawing = Drawing("worn", "float64")
    drawing.add("x", "1D-data", dimension=size)
    drawing.then("y", f"1D-{part}", "transfer", **attributes)
    return drawing


def close(result: torch.Tensor, expected, tolerance: float = 1e-14) -> None:
    np.testing.assert_allclose(result.detach().numpy(), np.array(expected), rtol=0, atol=tolerance)


BATCH_NORM = (-2.1832708399378538, -0.394423613312618, 1.394423613312618, 3.1832708399378538)
COLUMN = torch.tensor([[1.0], [2.0], [3.0], [4.0]], dtype=FLOAT)
STATES = {"y.batch-norm.mean": 0.0, "y.batch-norm.variance": 1.0}


def test_batch_norm_of_one_to_four_in_the_module() -> None:
    network = check(worn("batch-norm")).network
    module = build(network)
    stored = {"y.batch-norm.scale": 2.0, "y.batch-norm.shift": 0.5, **STATES}
    load_weights(module, {name: torch.tensor([value], dtype=FLOAT) for name, value in stored.items()})
    module.train()
    close(module(COLUMN).flatten(), BATCH_NORM, 1e-13)
    after = weights_of(module)
    close(after["y.batch-norm.mean"], [0.25])
    close(after["y.batch-norm.variance"], [1.0666666666666667])
    module.eval()
    close(module(COLUMN).flatten(), [2 * (x - 0.25) / (1.0666666666666667 + 1e-5) ** 0.5 + 0.5 for x in (1, 2, 3, 4)])
    close(weights_of(module)["y.batch-norm.mean"], [0.25])


def test_batch_norm_of_one_to_four_by_its_steps_and_backwards() -> None:
    program = lower_to_steps(check(worn("batch-norm")).network, training=True)
    numbers = {**program.weights, **program.states}
    given = {"y.batch-norm.scale": 2.0, "y.batch-norm.shift": 0.5, **STATES}
    values = {numbers[name]: torch.tensor([value], dtype=FLOAT) for name, value in given.items()}
    values[program.inputs["x"]] = COLUMN
    computed = run_on_torch(program.trace.steps, values)
    close(computed[program.outputs["y"]].flatten(), BATCH_NORM, 1e-13)
    close(computed[program.moved["y.batch-norm.mean"]], [0.25])
    close(computed[program.moved["y.batch-norm.variance"]], [1.0666666666666667])
    slope = torch.tensor([[1.0], [0.0], [0.0], [0.0]], dtype=FLOAT)
    back = run_backwards(program.trace.steps, computed, {program.outputs["y"]: slope})
    expected = [0.5366606077860684, -0.7155367440505952, -0.17888686926202277, 0.3577630055265496]
    close(back[program.inputs["x"]].flatten(), expected, 1e-13)
    close(back[program.weights["y.batch-norm.scale"]], [-1.3416354199689269], 1e-13)
    close(back[program.weights["y.batch-norm.shift"]], [1.0])


def test_dropout_by_a_given_mask() -> None:
    """Inverted dropout: what is kept is doubled in training, and evaluation changes nothing."""
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]], dtype=FLOAT)
    for training, expected in ((True, (2, 0, 6, 8)), (False, (1, 2, 3, 4))):
        program = lower_to_steps(check(worn("dropout", 4)).network, training=training)
        (mask,) = [step for step in program.trace.steps if step.operation.name == "random_mask"]
        drawn = {mask.target: torch.tensor([[2.0, 0.0, 2.0, 2.0]], dtype=FLOAT)} if training else {}
        computed = run_on_torch(program.trace.steps, {program.inputs["x"]: x, **drawn})
        close(computed[program.outputs["y"]][0], expected)


def dropconnected() -> Drawing:
    drawing = Drawing("dropconnect", "float64")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("y", "1D-identical", "full", dimension=2, bias="none", dropconnect=0.5)
    return drawing


def test_dropconnect_by_a_given_mask_and_its_mean() -> None:
    weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=FLOAT)
    ones = torch.ones(1, 2, dtype=FLOAT)
    for training, expected in ((True, (1, 7)), (False, (1.5, 3.5))):
        program = lower_to_steps(check(dropconnected()).network, training=training)
        (mask,) = [step for step in program.trace.steps if step.operation.name == "random_mask"]
        drawn = {mask.target: torch.tensor([[1.0, 0.0], [1.0, 1.0]], dtype=FLOAT)} if training else {}
        values = {program.inputs["x"]: ones, program.weights["x-y.weight"]: weight, **drawn}
        close(run_on_torch(program.trace.steps, values)[program.outputs["y"]][0], expected)


def test_dropconnect_draws_one_mask_for_a_batch_and_has_these_moments() -> None:
    network = check(dropconnected()).network
    module = build(network)
    load_weights(module, {"x-y.weight": torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=FLOAT)})
    torch.manual_seed(0)
    module.train()
    drawn = torch.cat([module(torch.ones(1, 2, dtype=FLOAT)) for _ in range(20_000)]).detach()
    close(drawn.mean(0), (1.5, 3.5), 0.05)
    close(drawn.var(0), (1.25, 6.25), 0.15)
    whole = module(torch.ones(50, 2, dtype=FLOAT))
    assert bool((whole == whole[0]).all())
    close(module.eval()(torch.ones(1, 2, dtype=FLOAT))[0], (1.5, 3.5))


@pytest.mark.parametrize(
    ("bias", "expected"),
    [
        # resnet18: conv1 is relu+bn, 9408 weights and 128 of bias and norm.
        (None, 9408 + 128),
        # vgg11_bn keeps the convolution's bias too: three numbers a channel.
        ("channel", 9408 + 192),
    ],
)
def test_a_normalised_capsule_has_no_bias_unless_it_states_one(bias: str | None, expected: int) -> None:
    drawing = Drawing("first")
    drawing.add("data", "2D-data", height=224, width=224, channels=3)
    drawing.then("conv1", "2D-relu", kernels=64, kernel=7, stride=2, padding=3, bias=bias)
    drawing.wear("conv1", "batch-norm")
    report = check(drawing)
    assert (report.parameters, report.frozen_parameters) == (expected, 0)
    assert report.capsules["conv1"].total_input.sizes == (64, 112, 112)
    assert sum(state.structure.elements for state in report.network.states.values()) == 128
    assert report.multiply_adds == 118_013_952


def test_a_residual_block_of_resnet18_counts_as_in_its_table() -> None:
    drawing = Drawing("block", "float64")
    drawing.add("x", "2D-data", height=6, width=6, channels=64)
    drawing.then("a", "2D-relu", kernels=64, kernel=3, padding=1)
    drawing.then("b", "2D-identical", kernels=64, kernel=3, padding=1)
    drawing.wear("a", "batch-norm")
    drawing.wear("b", "batch-norm")
    drawing.then("sum", "2D-relu", "transfer")
    drawing.connect("x", "sum", "transfer")
    report = check(drawing)
    assert report.parameters == 2 * 36_992
    module = build(report.network)
    initialise(module, report.network, 0)
    module.train()
    assert module(torch.randn(2, 64, 6, 6, dtype=FLOAT)).shape == (2, 64, 6, 6)
