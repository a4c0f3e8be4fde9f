"""Matrix capsules: the worked example of EM routing, the published counts, votes by hand, and routing in float32."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from inkcap.drawing import Drawing
from inkcap.engine import REFERENCE, TORCH, build, initialise, load_weights, run_on_torch, source_of, weights_of
from inkcap.network import check
from inkcap.program import lower_to_steps
from inkcap.recipes import LossSpec
from inkcap.training.facts import CapsuleFacts
from inkcap.training.losses import loss_function
from inkcap.zoo import draw
from inkcap.zoo.matrix_capsules import emcaps

FLOAT = torch.float64
# Three children with their votes for two parents, and their activations.
VOTES = [[1, 0, 0.2, 0.9, 1], [0, 1, 1, 1, 0.5], [0, 2, 0.5, 0.5, 0.8]]
MEANS = {
    1: [0.4347826086956522, 0.9130434782608696, 0.47826086956521746, 0.782608695652174],
    3: [0.027547322732205764, 1.1795115185031895, 0.3731600652269659, 0.7531329746039254],
}
ACTIVATIONS = {1: [0.8757957923851545, 0.9846204158764559], 3: [0.9988547248707759, 0.9999999975786367]}
COEFFICIENTS = [
    [0.06592944005828218, 0.9340705599417177],
    [0.3946947130042581, 0.6053052869957418],
    [0.0932306563426942, 0.9067693436573058],
]


def by_torch(name: str, values: list[torch.Tensor], **attributes) -> np.ndarray:
    return TORCH[name].compute(values, attributes).numpy()


def by_numpy(name: str, values: list[torch.Tensor], **attributes) -> np.ndarray:
    return REFERENCE[name]([value.numpy() for value in values], attributes)


@pytest.mark.parametrize("run", [by_torch, by_numpy])
def test_the_worked_example_of_em_routing(run) -> None:
    u = torch.tensor([VOTES], dtype=FLOAT)[..., None]
    betas = [torch.zeros(2, dtype=FLOAT), torch.ones(2, dtype=FLOAT)]
    for rounds, means in MEANS.items():
        *rising, last = (1.0, 2.0, 3.0)[:rounds]
        r = torch.from_numpy(run("em_coefficients", [u, *betas], inverse_temperatures=tuple(rising), epsilon=1e-4))
        y = run("em_parents", [u, r, *betas], inverse_temperature=last, epsilon=1e-4)
        np.testing.assert_allclose(y.flatten(), means + ACTIVATIONS[rounds], rtol=0, atol=1e-14)
    after = run("em_coefficients", [u, *betas], inverse_temperatures=(1.0,), epsilon=1e-4)
    np.testing.assert_allclose(after[0, ..., 0], COEFFICIENTS, rtol=0, atol=1e-14)


def test_the_first_round_of_the_worked_example_in_a_drawing() -> None:
    drawing = Drawing("worked", "float64")
    drawing.add("x", "2D-data", channels=3, height=5, width=1)
    drawing.then("y", "2D-em-routing", "transfer", pose=2, iterations=1, inverse_temperature=2, decay=0.5)
    module = build(check(drawing).network)
    load_weights(module, {"y.beta_u": torch.zeros(2, dtype=FLOAT), "y.beta_a": torch.ones(2, dtype=FLOAT)})
    found = module(torch.tensor([VOTES], dtype=FLOAT)[..., None])
    np.testing.assert_allclose(found.detach()[0].numpy(), MEANS[1] + ACTIVATIONS[1], rtol=0, atol=1e-14)


def test_the_published_counts() -> None:
    report = check(draw("emcaps"))
    assert (report.parameters, report.multiply_adds) == (68_754, 7_428_608)
    assert (len(report.capsules), len(report.connections), report.classification.kind) == (6, 5, "layered")
    sizes = {id: sum(math.prod(w.structure.sizes) for w in c.weights.values()) for id, c in report.connections.items()}
    assert list(sizes.values()) == [3_200, 8_704, 18_432, 36_864, 1_280]
    assert [c.multiply_adds for c in report.connections.values()] == [627_200, 1_705_984, 2_654_208, 2_359_296, 81_920]
    shapes = [c.output.sizes for c in report.capsules.values()]
    assert shapes[2:] == [(136, 14, 14), (272, 6, 6), (272, 4, 4), (85,)]
    assert check(emcaps(input=(32, 32, 1))).parameters == 67_154
    large = check(emcaps(32, 32, 32, 32))
    assert (large.parameters, large.multiply_adds) == (317_194, 34_560_256)


def test_a_vote_is_the_pose_times_the_matrix_of_its_place_and_type() -> None:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(1, 34, 3, 3, generator=generator, dtype=FLOAT)
    w = torch.randn(8, 3, 4, 4, generator=generator, dtype=FLOAT)
    u = by_torch("matrix_vote", [x, w], kernel=(2, 2), stride=(1, 1), padding=(0, 0))
    assert u.shape == (1, 8, 49, 2, 2)
    # The second type at the kernel's place (1, 0), for the parent 2, at the position (0, 1).
    pose = x[0, 16:32, 1, 1].reshape(4, 4)
    np.testing.assert_allclose(u[0, 6, 32:48, 0, 1].reshape(4, 4), pose @ w[6, 2], atol=1e-12)
    assert u[0, 6, 48, 0, 1] == x[0, 33, 1, 1]


def test_votes_for_classes_know_their_place() -> None:
    x = torch.zeros(1, 17, 2, 4, dtype=FLOAT)
    u = by_torch("class_vote", [x, torch.ones(1, 1, 4, 4, dtype=FLOAT)])
    votes = u[0, :, :16, 0].reshape(2, 4, 4, 4)
    assert votes[1, 2, 0, 3] == 0.75
    assert votes[1, 2, 1, 3] == 0.625
    assert np.count_nonzero(votes) == 2 * 8


def test_children_that_agree_wake_their_parent_and_all_that_is_extreme_stays_finite() -> None:
    """In float32: equal votes, a parent that nobody takes, children that are off, votes far apart."""
    betas = [torch.zeros(2), torch.zeros(2)]
    u = torch.full((4, 6, 33, 1, 1), 0.5)
    u[1, :, -1] = 0
    u[2, :, 16:32] = torch.linspace(-1e4, 1e4, 6)[:, None, None, None]
    u[3] *= 1e4
    u.requires_grad_()
    attributes = {"epsilon": 1e-4}
    r = TORCH["em_coefficients"].compute([u, *betas], {"inverse_temperatures": (1.0, 2.0), **attributes})
    y = TORCH["em_parents"].compute([u, r, *betas], {"inverse_temperature": 3.0, **attributes})
    y.sum().backward()
    assert bool(torch.isfinite(y).all())
    assert bool(torch.isfinite(u.grad).all())
    np.testing.assert_allclose(r.detach().sum(2), 1, atol=1e-6)
    assert y[2, 32].item() > 0.99
    assert y[2, 33].item() == pytest.approx(0.5, abs=1e-4)


def test_the_coefficients_are_a_value_of_the_trace_and_a_line_of_the_module() -> None:
    network = check(draw("emcaps-digits")).network
    program = lower_to_steps(network)
    module = build(network)
    initialise(module, network, 0)
    values = {program.weights[name]: weight for name, weight in weights_of(module).items()}
    values[program.inputs["image"]] = torch.rand(2, 1, 8, 8)
    computed = run_on_torch(program.trace.steps, values)
    found = {program.owners[s.target]: s for s in program.trace.steps if s.operation.name == "em_coefficients"}
    assert set(found) == {"conv_caps", "class_caps"}
    for step in found.values():
        np.testing.assert_allclose(computed[step.target].sum(2), 1, atol=1e-6)
    source = source_of(network)
    assert "conv_caps_coefficients = em_coefficients(conv_caps_total, " in source
    assert source.count("def em_maximise(") == 1
    assert "inkcap" not in source


def test_a_short_training_lowers_the_loss() -> None:
    network = check(draw("emcaps-digits")).network
    module = build(network)
    initialise(module, network, 0)
    generator = torch.Generator().manual_seed(0)
    images, labels = torch.rand(8, 1, 8, 8, generator=generator), torch.arange(8)
    loss_of = loss_function(LossSpec("class_caps", "spread"), CapsuleFacts("class_caps", "em-routing", (10,)))
    optimiser = torch.optim.Adam(module.parameters(), 0.01)
    losses = []
    for _ in range(8):
        optimiser.zero_grad()
        loss = loss_of(module(images), labels)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.95 * losses[0]
