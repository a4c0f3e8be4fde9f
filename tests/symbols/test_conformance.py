"""One suite over the whole catalogue; it names no symbol."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from drawn import draw_capsule, draw_connection, draw_part

from inkcap.drawing import Drawing, from_text
from inkcap.engine import (
    FORMS,
    REFERENCE,
    TORCH,
    build,
    initialise,
    named_states,
    run_backwards,
    run_on_numpy,
    run_on_torch,
    weights_of,
)
from inkcap.network import RULES, check
from inkcap.operations import VOCABULARY
from inkcap.program import lower_to_steps
from inkcap.structures import FLOATING
from inkcap.symbols import CAPSULES, CONNECTIONS, MAIN_PORT, PARTS, CapsuleSymbol, ConnectionSymbol, PartSymbol

SYMBOLS = [*CAPSULES.values(), *CONNECTIONS.values(), *PARTS.values()]
BATCH = 3


def drawing_of(symbol, case) -> Drawing:
    if isinstance(symbol, PartSymbol):
        return draw_part(symbol, case)
    return draw_capsule(symbol, case) if isinstance(symbol, CapsuleSymbol) else draw_connection(symbol, case)


SAMPLES = [
    pytest.param(symbol, case, id=f"{symbol.id}-{i}") for symbol in SYMBOLS for i, case in enumerate(symbol.samples)
]
BOTH_MODES = pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
REFUSALS = [
    pytest.param(symbol, case, id=f"{symbol.id}-{case.rule}-{i}")
    for symbol in SYMBOLS
    for i, case in enumerate(symbol.refusals)
]


def values_of(program, seed: int = 0, spread: float = 1.0) -> dict[int, torch.Tensor]:
    """Random inputs and weights for a program, distinct and away from kinks and ties."""
    generator = torch.Generator().manual_seed(seed)
    incoming = set(program.inputs.values())
    states = set(program.states.values())
    values = {}
    for traced in program.trace.inputs:
        shape = (BATCH, *traced.shape) if traced.number in incoming else traced.shape
        count = int(np.prod(shape))
        numbers = (torch.randperm(count, generator=generator) - count / 2 + 0.37) / max(count, 4) * 4 * spread
        if traced.number in states:
            numbers = numbers.abs() + 0.5  # a running variance is positive
        if traced.dtype not in FLOATING:
            numbers = numbers.abs()  # whole numbers may pick: 0, 1 or 2
        values[traced.number] = numbers.reshape(shape).to(getattr(torch, traced.dtype))
    return values


def stored_in(program, module) -> dict[int, torch.Tensor]:
    """What a module stores, under the numbers of a program."""
    numbers = {**program.weights, **program.states}
    return {numbers[name]: weight for name, weight in weights_of(module).items()}


def test_every_operation_is_whole() -> None:
    assert set(VOCABULARY) == set(TORCH) == set(REFERENCE) == set(FORMS)


@pytest.mark.parametrize("symbol", SYMBOLS, ids=lambda s: s.id)
def test_a_record_is_complete(symbol) -> None:
    # What stands for something unknown has nothing to compute: the check refuses it wherever it stands.
    assert symbol.samples or symbol.id == "opaque"
    assert symbol.refusals
    assert symbol.version >= 1
    assert symbol.title
    assert symbol.tooltip.endswith(".") or ":" in symbol.tooltip
    assert symbol.formula
    declared = symbol.attributes if not isinstance(symbol, CapsuleSymbol) else symbol.attributes(max(symbol.ranks))
    for attribute in declared:
        assert attribute.help.endswith("."), attribute.name
        assert attribute.schema()["description"] == attribute.help
        if attribute.default is not None:
            assert attribute.parse(attribute.default) == attribute.default
    names = [attribute.name for attribute in declared]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("symbol", [*CAPSULES.values(), *PARTS.values()], ids=lambda s: s.id)
def test_a_glyph_is_drawn_inside_its_box(symbol) -> None:
    path = symbol.glyph.path
    assert re.fullmatch(r"[MLHVCAZmlhvcaz0-9.\s-]+", path)
    assert path.startswith("M")
    assert all(abs(float(number)) <= 1 for number in re.findall(r"-?\d*\.?\d+", path))
    assert re.fullmatch(r"#[0-9a-f]{6}", symbol.glyph.ink)
    assert re.fullmatch(r"#[0-9a-f]{6}", symbol.glyph.wash)
    cases = symbol.samples or symbol.refusals
    assert {rank for case in cases for rank in [len(case.shape) - (len(case.shape) > 1)]} == set(symbol.ranks)


@pytest.mark.parametrize("symbol", CAPSULES.values(), ids=lambda s: s.id)
def test_ports_are_named_and_told(symbol) -> None:
    names = [port.name for port in symbol.ports]
    assert names[0] == MAIN_PORT
    assert len(set(names)) == len(names)
    for port in symbol.ports:
        assert port.help.endswith(".")
        assert port.kind != "gathers" or all(port.rank(rank) > 0 for rank in symbol.ranks)
    for case in symbol.samples:
        ports = {port.partition(".")[0] for port in (MAIN_PORT, *case.ports)}
        assert [name for name in names if name in ports or not symbol.port(name).open] == [
            name for name in names if name in ports
        ]
        assert ports <= set(names)
        capsule = check(drawing_of(symbol, case)).capsules["y"]
        assert capsule.output.rank == symbol.output_rank(capsule.rank)
        # What is given by name must not meet: ports, parameters, and the bias beside them.
        assert not set(capsule.parameters) & {*names, "bias"}
    if len(names) > 1:
        assert "no-input" in {case.rule for case in symbol.refusals}


def test_marks_are_one_sign() -> None:
    assert all(len(symbol.mark) == 1 for symbol in CONNECTIONS.values())


@pytest.mark.parametrize(("symbol", "case"), SAMPLES)
def test_structure_rule_is_the_shape_of_forward(symbol, case) -> None:
    report = check(drawing_of(symbol, case))
    assert report.well_formed, report.diagnostics
    program = lower_to_steps(report.network)
    computed = run_on_torch(program.trace.steps, values_of(program))
    for id, number in program.outputs.items():
        assert tuple(computed[number].shape) == (BATCH, *report.capsules[id].output.sizes)
        assert str(computed[number].dtype) == f"torch.{report.capsules[id].output.dtype}"
    for step in program.trace.steps:
        assert tuple(computed[step.target].shape)[-len(step.shape) :] == step.shape or step.shape == ()


@BOTH_MODES
@pytest.mark.parametrize(("symbol", "case"), SAMPLES)
def test_torch_is_the_numpy_reference(symbol, case, training) -> None:
    program = lower_to_steps(check(drawing_of(symbol, case)).network, training=training)
    values = values_of(program)
    by_torch = run_on_torch(program.trace.steps, values)
    # Each library draws masks of its own: NumPy is given torch's.
    masks = {s.target: by_torch[s.target] for s in program.trace.steps if training and s.operation.drawn}
    by_numpy = run_on_numpy(program.trace.steps, {n: v.numpy() for n, v in (values | masks).items()})
    for step in program.trace.steps:
        np.testing.assert_allclose(by_torch[step.target].numpy(), by_numpy[step.target], rtol=1e-6, atol=1e-12)


@BOTH_MODES
@pytest.mark.parametrize(("symbol", "case"), SAMPLES)
def test_printed_module_is_the_program(symbol, case, training) -> None:
    """In training too: from the same seed both draw the same masks, and both leave the same states."""
    network = check(drawing_of(symbol, case)).network
    program = lower_to_steps(network, training=training)
    module = build(network).train(training)
    initialise(module, network, 0)
    values = values_of(program) | stored_in(program, module)
    torch.manual_seed(5)
    result = module(*(values[n] for n in program.inputs.values()))
    torch.manual_seed(5)
    computed = run_on_torch(program.trace.steps, values)
    torch.testing.assert_close(result, computed[program.outputs["y"]])
    assert program.moved.keys() == program.states.keys()
    for name, state in named_states(module).items():
        torch.testing.assert_close(state, computed[program.moved[name]])


def has_slopes(symbol, case) -> bool:
    if isinstance(symbol, ConnectionSymbol) and symbol.picks:
        return True
    return case.dtype in FLOATING and "cast" not in case.attributes


@BOTH_MODES
@pytest.mark.parametrize(("symbol", "case"), [s for s in SAMPLES if has_slopes(*s.values)])
def test_backward_is_autograd_is_differences(symbol, case, training) -> None:
    program = lower_to_steps(check(drawing_of(symbol, case)).network, training=training)
    values = values_of(program)
    ends = [program.outputs["y"], *program.moved.values()]
    computed = run_on_torch(program.trace.steps, values)
    # What is drawn or chosen without a slope stays as it is.
    masks = {s.target: computed[s.target] for s in program.trace.steps if s.operation.drawn or s.operation.still}
    generator = torch.Generator().manual_seed(1)
    slopes = {n: torch.randn(computed[n].shape, generator=generator, dtype=torch.float64) for n in ends}

    def loss(changed: dict[int, torch.Tensor]) -> torch.Tensor:
        found = run_on_torch(program.trace.steps, changed | masks | picking)
        return sum((found[n] * slope).sum() for n, slope in slopes.items())

    ours = run_backwards(program.trace.steps, computed, slopes)
    # Whole numbers pick, and have no slope.
    values = {n: v for n, v in values.items() if v.is_floating_point()}
    picking = {n: v for n, v in computed.items() if not v.is_floating_point()}
    leaves = {n: v.clone().requires_grad_() for n, v in values.items()}
    total = loss(leaves)
    # A step function has no slope for autograd to follow: its gradient is zero everywhere.
    follows = total.requires_grad
    theirs = torch.autograd.grad(total, list(leaves.values()), allow_unused=True) if follows else [None] * len(leaves)
    for (number, value), gradient in zip(values.items(), theirs, strict=True):
        mine = ours.get(number, torch.zeros_like(value))
        expected = torch.zeros_like(value) if gradient is None else gradient
        torch.testing.assert_close(mine, expected, rtol=1e-9, atol=1e-11)
        step = 1e-6
        flat = value.flatten()
        for i in range(flat.numel()):
            moved = []
            for sign in (1, -1):
                shifted = flat.clone()
                shifted[i] += sign * step
                moved.append(loss({**values, number: shifted.reshape(value.shape)}))
            difference = (moved[0] - moved[1]) / (2 * step)
            assert abs(float(difference - mine.flatten()[i])) < 1e-6 * max(1, abs(float(difference)))


@pytest.mark.parametrize(("symbol", "case"), SAMPLES)
def test_a_drawing_goes_through_the_file(symbol, case) -> None:
    drawing = drawing_of(symbol, case)
    text = drawing.to_text()
    assert from_text(text) == drawing
    assert from_text(text).to_text() == text


@pytest.mark.parametrize(("symbol", "case"), REFUSALS)
def test_what_must_be_refused_is_refused(symbol, case) -> None:
    assert case.rule in RULES
    drawing = drawing_of(symbol, case)
    report = check(drawing)
    found = [d for d in report.errors if d.rule == case.rule]
    assert found, [d.rule for d in report.errors]
    assert found[0].message
    assert found[0].where


@pytest.mark.parametrize(("symbol", "case"), REFUSALS)
def test_a_proposed_edit_mends(symbol, case) -> None:
    drawing = drawing_of(symbol, case)
    before = drawing.to_text()
    for diagnostic in check(drawing).errors:
        if diagnostic.fix is None:
            continue
        drawing.apply(diagnostic.fix)
        left = [(d.rule, d.where) for d in check(drawing).errors]
        assert (diagnostic.rule, diagnostic.where) not in left
        drawing.undo()
        assert drawing.to_text() == before


@pytest.mark.parametrize(("symbol", "case"), SAMPLES)
def test_batch_of_one_and_many_agree(symbol, case) -> None:
    """No operation mixes samples: what a batch gives is what its samples give alone."""
    program = lower_to_steps(check(drawing_of(symbol, case)).network)
    values = values_of(program)
    whole = run_on_torch(program.trace.steps, values)[program.outputs["y"]]
    for i in range(BATCH):
        one = {n: (v[i : i + 1] if n in program.inputs.values() else v) for n, v in values.items()}
        torch.testing.assert_close(run_on_torch(program.trace.steps, one)[program.outputs["y"]][0], whole[i])
