"""What was once wrong and must not come back."""

from __future__ import annotations

import json
import os

import pytest
import torch

from inkcap.drawing import Drawing, DrawingError, from_text, load_drawing
from inkcap.engine import build, initialise, weights_of
from inkcap.network import check
from inkcap.zoo import draw


def test_a_tie_named_like_a_connection_shares_nothing_with_it() -> None:
    drawing = Drawing("x")
    drawing.add("a", "1D-data", dimension=4)
    drawing.add("b", "1D-relu", dimension=4)
    drawing.connect("a", "b", id="k")
    drawing.add("c", "1D-relu", dimension=4)
    drawing.connect("b", "c", id="z", tie="k")
    report = check(drawing)
    assert report.parameters == 2 * 16 + 8
    assert len(weights_of(build(report.network))) == 4


def test_tied_connections_agree_on_training() -> None:
    drawing = Drawing("x")
    drawing.add("a", "1D-data", dimension=4)
    drawing.add("b", "1D-relu", dimension=4)
    drawing.add("c", "1D-relu", dimension=4)
    drawing.connect("a", "b", tie="t")
    drawing.connect("b", "c", tie="t", trainable=False)
    assert [d.rule for d in check(drawing).errors] == ["tie-mismatch"]


@pytest.mark.parametrize("rank", [0, 1])
def test_what_has_no_channels_takes_one_number_an_element(rank: int) -> None:
    drawing = Drawing("x")
    face = "neuron" if rank == 0 else "1D"
    sizes = {} if rank == 0 else {"dimension": 3}
    drawing.add("a", "data neuron" if face == "neuron" else "1D-data", **sizes)
    drawing.add("b", "relu neuron" if face == "neuron" else "1D-relu", bias="channel")
    drawing.connect("a", "b", "scale", per="channel")
    network = check(drawing).network
    module = build(network)
    initialise(module, network, 0)
    assert module(torch.ones(2, *(3,) * rank)).shape == (2, *(3,) * rank)


def test_a_rank_is_a_whole_number() -> None:
    document = json.loads(draw("mlp").to_text())
    document["capsules"][0]["rank"] = 1.0
    with pytest.raises(DrawingError, match=r"capsules\[0\].rank"):
        from_text(json.dumps(document))


def test_a_cycle_over_parallel_connections_is_cut_whole() -> None:
    drawing = draw("mlp")
    drawing.connect("c", "b", "full")
    drawing.connect("c", "b", "full")
    [cycle] = [d for d in check(drawing).errors if d.rule == "cycle"]
    drawing.apply(cycle.fix)
    assert check(drawing).well_formed


def test_no_resize_is_proposed_that_breaks_another_connection() -> None:
    drawing = Drawing("x")
    drawing.add("a", "2D-data", height=4, width=3, channels=2)
    drawing.add("c", "2D-softmax", height=5)
    drawing.connect("a", "c", "convolution", kernel=1, stride=(2, 1))
    drawing.connect("a", "c", "convolution", kernels=2, kernel=3, stride=2)
    for _ in range(6):
        fixes = [d.fix for d in check(drawing).errors if d.fix]
        if not fixes:
            break
        drawing.apply(fixes[0])
    assert not [d for d in check(drawing).errors if d.fix]


@pytest.mark.parametrize("name", ["a\nb", "a\x9bb", "a\u202eb", "a\x7f"])
def test_names_hold_nothing_unseen(name: str) -> None:
    with pytest.raises(DrawingError, match="no one can see"):
        Drawing(name)


def test_then_goes_on_after_undo_and_remove() -> None:
    drawing = Drawing("x")
    drawing.add("a", "1D-data", dimension=4)
    drawing.then("b", "1D-relu", dimension=3)
    drawing.undo()
    drawing.then("c", "1D-relu", dimension=2)
    assert drawing.connections["a-c"]
    drawing.remove("c")
    drawing.then("d", "1D-relu", dimension=2)
    assert drawing.connections["a-d"]


def test_python_draws_nothing_that_cannot_be_read_back() -> None:
    drawing = draw("mlp")
    before = drawing.to_text()
    for wrong in (
        lambda: drawing.connect("a", "b", tie="bad tie!"),
        lambda: drawing.move("a", float("nan"), 0),
        lambda: drawing.move("a", "x", 2),
        lambda: drawing.move("nope", 1, 2),
    ):
        with pytest.raises(DrawingError):
            wrong()
        assert drawing.to_text() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no named pipes")
def test_special_files_are_refused_at_once(tmp_path) -> None:
    os.mkfifo(tmp_path / "x.inkcap.json")
    with pytest.raises(DrawingError, match="no ordinary file"):
        load_drawing(tmp_path / "x.inkcap.json")
