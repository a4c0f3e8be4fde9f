"""The zoo on the command line: the list, the search, a drawing in a file, and what is wrong in words."""

from __future__ import annotations

import json

import pytest

from inkcap.drawing import load_drawing
from inkcap.network import check
from inkcap.zoo import NETWORKS, draw


def test_the_list_names_every_network_with_its_costs(run) -> None:
    answer = run("zoo")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert len(lines) == len(NETWORKS) + 2
    assert [line.split()[0] for line in lines[1:-1]] == list(NETWORKS)
    row = next(line for line in lines if line.startswith("vgg16 "))
    for word in (" vgg ", "138 357 544", "15 470 264 320", " 23 ", " 22"):
        assert word in row
    assert max(map(len, lines)) <= 165


def test_a_word_narrows_the_list(run) -> None:
    assert [line.split()[0] for line in run("zoo", "--search", "LENET").out.splitlines()[1:-1]] == [
        name for name in NETWORKS if "lenet" in name
    ]
    assert "dqn_nature_A18" in run("zoo", "--search", "Mnih").out
    nothing = run("zoo", "--search", "zzz")
    assert (nothing.code, len(nothing.out.splitlines())) == (0, 1)


def test_the_list_as_json(run) -> None:
    found = {one["name"]: one for one in json.loads(run("zoo", "--json").out)["networks"]}
    assert found.keys() == NETWORKS.keys()
    vgg = found["vgg16"]
    assert (vgg["parameters"], vgg["multiply_adds"]) == (138_357_544, 15_470_264_320)
    assert (vgg["capsules"], vgg["connections"], vgg["inputs"], vgg["outputs"]) == (23, 22, 1, 1)
    assert (vgg["kind"], vgg["aliases"], vgg["input"], vgg["classes"]) == ("layered", ["vgg"], [224, 224, 3], 1000)
    assert vgg["reference"]["year"] == 2014


def test_a_network_is_written_with_other_classes_and_input(run, tmp_path) -> None:
    answer = run("zoo", "lenet", "--classes", "7", "--input", "32x32", "-o", "small.inkcap.json")
    assert answer.code == 0
    assert "next: inkcap check small.inkcap.json" in answer.out
    report = check(load_drawing(tmp_path / "small.inkcap.json"))
    assert report.capsules["h"].output.shape == (7,)
    assert report.capsules["a"].output.shape == (1, 32, 32)
    answer = run("zoo", "vgg", "--json")
    assert json.loads(answer.out)["file"] == "vgg16.inkcap.json"
    assert load_drawing(tmp_path / "vgg16.inkcap.json") == draw("vgg16")
    again = run("zoo", "vgg")
    assert again.code == 2
    assert "there is a file already" in again.err
    assert run("zoo", "vgg", "--force").code == 0


BAD = [
    ("zoo lenett", "there is no network 'lenett'; did you mean lenet?"),
    ("zoo nothing-like-it-at-all", "'inkcap zoo' lists"),
    ("zoo figure-15 --classes 3", "figure-15 has no number of classes to choose"),
    ("zoo mp_neuron --input 3", "mp_neuron has no size of the input to choose"),
    ("zoo lenet --input 3x", "'3x' is no size"),
    ("zoo lenet --input -3", "'-3' is no size"),
    ("zoo mlp --input 3x3", "sizes such as 2, not 3×3"),
    ("zoo vgg --input 8x8", "[window-too-large]"),
    ("zoo lenet --classes 0", "at least 1, not 0"),
    ("zoo lenet -o .", "this is a folder"),
    ("zoo lenet --search vgg", "give one of the two"),
    ("zoo --classes 3", "give its name too"),
    ("new x --from lenett", "did you mean lenet?"),
]


@pytest.mark.parametrize(("command", "told"), BAD, ids=[command for command, _ in BAD])
def test_what_cannot_be_is_told_in_one_line(run, tmp_path, command, told) -> None:
    answer = run(*command.split())
    assert answer.code == 2
    assert told in answer.err
    assert len(answer.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_new_starts_from_any_network_of_the_zoo(run, tmp_path) -> None:
    assert run("new", "mine", "--from", "dqn").code == 0
    assert check(load_drawing(tmp_path / "mine.inkcap.json")).parameters == 1_693_362
