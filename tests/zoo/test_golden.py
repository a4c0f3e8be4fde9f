"""The zoo against the numbers that are known of its networks, by the checks alone."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from inkcap.network import check
from inkcap.structures import InkcapError
from inkcap.training.facts import facts_of
from inkcap.zoo import NAMES, NETWORKS, draw, find

GOLDEN = Path(__file__).with_name("golden.tsv")
ROWS = {row["network"]: row for row in csv.DictReader(GOLDEN.read_text(encoding="utf-8").splitlines(), delimiter="\t")}

NOT_DRAWN: set[str] = set()
"""Rows of networks that are not drawn yet."""
BOXES = {"yolov1_paper": 7 * 7 * 2 * 5, "yolov1_darknet_cfg": 7 * 7 * 3 * 5}
"""Numbers that an output holds beside those of the classes: boxes of every cell, and how sure they are."""


def test_every_known_row_has_its_network() -> None:
    assert ROWS.keys() - NETWORKS.keys() == NOT_DRAWN


@pytest.mark.parametrize("name", [name for name in ROWS if name not in NOT_DRAWN])
def test_a_network_has_its_known_numbers(name: str) -> None:
    report = check(draw(name))
    assert report.errors == ()
    found = {
        "parameters": report.parameters,
        "frozen": report.frozen_parameters,
        "multiply-adds": report.multiply_adds,
        "capsules": report.capsule_count,
        "connections": report.connection_count,
        "inputs": len(report.inputs),
        "outputs": len(report.outputs),
        "kind": report.classification.kind,
    }
    wanted = {key: ROWS[name][key] for key in found}
    assert {key: str(value) for key, value in found.items() if wanted[key] != "-"} == {
        key: value for key, value in wanted.items() if value != "-"
    }
    if NETWORKS[name].input is not None:
        assert "x".join(map(str, NETWORKS[name].input)) == ROWS[name]["input"]


def test_names_are_told_apart() -> None:
    assert sum(len(known.names) for known in NETWORKS.values()) == len(NAMES)
    for known in NETWORKS.values():
        assert known.title
        assert known.reference.year > 1900
        assert len(known.reference.authors) > 3
        assert len(known.reference.title) >= 10


def test_the_short_names_of_drawings_stay() -> None:
    short = {
        "mlp", "mlp-figure-1", "mlp-figure-22", "cnn", "lenet", "lenet-digits", "figure-15", "figure-16", "figure-25",
        "figure-26", "capsnet", "capsnet-digits", "emcaps", "emcaps-digits", "vgg",
    }  # fmt: skip
    assert short <= NAMES.keys()
    assert find("lenet").name == "lenet_fig21_32-64-512"


@pytest.mark.parametrize("known", NETWORKS.values(), ids=lambda known: known.name)
def test_classes_and_input_may_be_chosen_where_there_are_any(known) -> None:
    chosen = {}
    if known.classes is not None:
        chosen["classes"] = known.classes + 1
    else:
        with pytest.raises(InkcapError, match="no number of classes"):
            draw(known.name, classes=3)
    if known.input is not None:
        chosen["input"] = (*known.input[:-1], known.input[-1] + 1)
    else:
        with pytest.raises(InkcapError, match="no size of the input"):
            draw(known.name, input=(32, 32, 3))
    if not chosen:
        return
    report = check(draw(known.name, **chosen))
    if known.classes is not None:
        sizes = {report.capsules[id].output.elements for id in report.outputs}
        sizes |= {capsule.scores for capsule in facts_of(report.network).outputs if capsule.scores}
        # A network of matrix capsules gives a pose with every class.
        assert any((size - BOXES.get(known.name, 0)) % chosen["classes"] == 0 for size in sizes)
    if known.input is not None:
        entered = {report.capsules[id].output.sizes for id in report.inputs}
        first, *sides = chosen["input"][-1:] + chosen["input"][:-1]
        assert (first, *sides) in entered


@pytest.mark.parametrize("known", NETWORKS.values(), ids=lambda known: known.name)
def test_what_is_chosen_as_it_is_changes_nothing(known) -> None:
    chosen = {"classes": known.classes, "input": known.input}
    assert known.draw(**{key: value for key, value in chosen.items() if value is not None}) == known.draw()


def test_an_input_that_is_too_small_is_told_with_one_that_would_do() -> None:
    with pytest.raises(InkcapError, match=r"vgg16 .*\[window-too-large\].*pool4.*the input 32×32×3 would do"):
        draw("vgg16", input=(8, 8, 3))
    assert check(draw("vgg16", input=(32, 32, 3))).well_formed
    with pytest.raises(InkcapError, match=r"dqn_nature_A18 .*the input 36×36×4 would do"):
        draw("dqn", input=(3, 3, 4))
    with pytest.raises(InkcapError, match=r"sizes such as 28×28×1, not 28×28"):
        draw("lenet", input=(28, 28))
    with pytest.raises(InkcapError, match="at least 1, not 0"):
        draw("lenet", classes=0)


def test_the_neocognitron_has_its_cells() -> None:
    report = check(draw("neocognitron"))
    cells = [report.capsules[id].output.elements for id in ("U0", "U1.S", "U1.C", "U2.S", "U2.C", "U3.S", "U3.C")]
    assert cells == [256, 6144, 2400, 1536, 864, 96, 24]


def test_the_zoo_is_checked_without_torch() -> None:
    program = (
        "import sys; from inkcap.zoo import NETWORKS; from inkcap.network import check\n"
        "assert check(NETWORKS['vgg11'].draw()).parameters == 132_863_336\n"
        "print(sorted({'torch', 'numpy', 'torchvision'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
