"""Plans with and without rewrites, run side by side on the same numbers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from hypothesis import strategies as st
from training_alike import random_batch

from inkcap.drawing import Drawing
from inkcap.engine.losses import half_squares
from inkcap.engine.universal import Plan, Results, Seed, plan
from inkcap.network import Network
from inkcap.program import lower_to_layers, lower_to_steps


def planned(
    network: Network, rewrites: Sequence[str] = (), values: Sequence[str] = (), graded: Sequence[str] = ()
) -> Plan:
    """Plan ½‖Y − T‖² of all outputs: states move, all weights learn; Y and δ of some capsules may be asked for."""
    program = lower_to_steps(network, training=True)
    lowered = lower_to_layers(program)
    floating = [n for name, n in program.weights.items() if network.weights[name].structure.dtype == "float64"]
    return plan(
        lowered,
        [Seed(number, half_squares("mean"), 0.5 + i) for i, number in enumerate(lowered.returned)],
        steps=program.trace.steps,
        values=[*lowered.returned, *program.moved.values(), *(program.outputs[id] for id in values)],
        gradients=[*floating, *(program.total_inputs[id] for id in graded)],
        rewrites=rewrites,
    )


def run_once(
    network: Network,
    planned: Plan,
    seed: int = 0,
    batch: int = 3,
    layout: torch.memory_format = torch.contiguous_format,
) -> Results:
    """Run a plan on random weights, inputs and targets; masks are drawn from the seed, too."""
    generator = torch.Generator().manual_seed(seed)
    program = lower_to_steps(network, training=True)
    stored = {**network.weights, **network.states}
    weights = [
        torch.randn(stored[n].structure.sizes, generator=generator, dtype=torch.float64) / 2
        for n in (*program.weights, *program.states)
    ]
    inputs = list(random_batch(network, network.inputs, seed, batch).values())
    targets = list(random_batch(network, network.outputs, seed + 1, batch).values())
    inputs, weights = ([t.to(memory_format=layout) if t.ndim == 4 else t for t in given] for given in (inputs, weights))
    kept = [[t.clone() for t in given] for given in (inputs, weights, targets)]
    torch.manual_seed(seed)
    with torch.no_grad():
        found = planned.run(inputs, weights, targets)
    for before, after in zip(kept, (inputs, weights, targets), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True)), "a rewrite wrote into what was given"
    return found


def assert_same_results(
    network: Network,
    rewrites: Sequence[str],
    batch: int = 3,
    layout: torch.memory_format = torch.contiguous_format,
    **asked: Sequence[str],
) -> tuple[str, str]:
    """Compare losses, values, moved states and gradients in float64; give the sources without and with rewrites."""
    plain, changed = planned(network, **asked), planned(network, rewrites, **asked)
    for seed in (0, 5):
        ours, theirs = run_once(network, changed, seed, batch, layout), run_once(network, plain, seed, batch)
        torch.testing.assert_close(ours[0], theirs[0], rtol=1e-10, atol=1e-10, equal_nan=True)
        for mine, other in zip(ours[1:], theirs[1:], strict=True):
            for a, b in zip(mine, other, strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    scale = float(b.abs().nan_to_num(0, 0, 0).max()) if b.numel() else 1.0
                    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11 * max(1.0, scale), equal_nan=True)
    return plain.source, changed.source


@st.composite
def branching_drawings(draw: st.DrawFn) -> Drawing:
    """Draw maps with what rewrites look for: siblings, ReLUs before maxima, worn parts, growing concatenations.

    There is also what they must leave alone: ties, other geometries, groups, values that several capsules use.
    """
    drawing = Drawing("branching", "float64")
    drawing.add("x", "2D-data", height=6, width=6, channels=2)
    maps = [drawing.add("h", "2D-identical", bias="none")]
    drawing.connect("x", "h", "convolution", kernels=4, kernel=1)
    last = len(maps)
    for i in range(draw(st.integers(2, 8))):
        name = f"h{i}"
        kind = draw(st.sampled_from(["convolution", "convolution", "convolution", "concatenation", "sum", "product"]))
        if kind == "convolution":
            back = draw(st.sampled_from(maps[-3:]))
            symbol = draw(st.sampled_from(["2D-relu", "2D-relu", "2D-tanh", "2D-identical"]))
            drawing.add(name, symbol, bias=draw(st.sampled_from(["none", "channel"])))
            kernel = draw(st.sampled_from([1, 1, 3]))
            groups = draw(st.sampled_from([1, 1, 1, 2]))
            tie = draw(st.sampled_from(["", "", "", f"tie{kernel}{groups}"]))
            at = {"kernels": 4, "kernel": kernel, "padding": kernel // 2, "flip": draw(st.integers(0, 4)) == 0}
            drawing.connect(back, name, "convolution", tie=tie, **at, groups=groups)
        elif kind == "concatenation":
            parts = maps[: draw(st.integers(2, max(2, len(maps))))]
            narrowed = drawing.add(f"{name}c", draw(st.sampled_from(["2D-relu", "2D-identical"])), bias="none")
            for part in parts if len(parts) > 1 else [*parts, *parts]:
                drawing.connect(part, narrowed, "inject")
            drawing.add(name, "2D-relu", bias="channel")
            drawing.connect(narrowed, name, "convolution", kernels=4, kernel=1)
        else:
            drawing.add(
                name, "2D-relu" if kind == "sum" else "2D-product", **({"bias": "none"} if kind == "sum" else {})
            )
            drawing.connect(maps[-1], name, "transfer")
            other = draw(st.sampled_from(maps))
            drawing.connect(
                other, name, "transfer" if kind == "sum" else "scale", **({} if kind == "sum" else {"port": "by"})
            )
        for part in draw(st.lists(st.sampled_from(["batch-norm", "dropout"]), max_size=1)):
            drawing.wear(name, part)
        maps.append(name)
    for i, back in enumerate(draw(st.lists(st.sampled_from(maps[last:]), min_size=1, max_size=3))):
        drawing.add(f"m{i}", "2D-downsampling", window=draw(st.integers(2, 3)), stride=2, edge="ceil")
        drawing.connect(back, f"m{i}", "transfer")
    return drawing
