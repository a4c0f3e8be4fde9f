"""Commands between capsules and neurons: what they write, what they prove, what they refuse."""

from __future__ import annotations

import torch
from safetensors.torch import load_file, save_file

from inkcap import check, load_drawing
from inkcap.engine import build, initialise, weights_of


def test_expand_and_contract_the_mlp(run) -> None:
    run("new", "mlp")
    made = run("expand", "mlp.inkcap.json")
    assert made.code == 0, made.err
    assert "wrote mlp-plain.inkcap.json: 14 neurons, 44 connections, 56 parameters; outputs differ by" in made.out
    assert run("check", "mlp-plain.inkcap.json").code == 0
    back = run("contract", "mlp-plain.inkcap.json")
    assert back.code == 0, back.err
    assert "wrote mlp-capsules.inkcap.json: 4 capsules, 3 connections, 56 parameters; outputs differ by" in back.out
    network = check(load_drawing("mlp-capsules.inkcap.json")).network
    module = build(network)
    initialise(module, network, 0)
    stored = load_file("mlp-capsules.safetensors")
    assert all(torch.equal(stored[name], value) for name, value in weights_of(module).items())


def test_columns_and_weights_of_a_file(run) -> None:
    run("new", "lenet-digits")
    network = check(load_drawing("lenet-digits.inkcap.json")).network
    module = build(network)
    initialise(module, network, 7)
    save_file(weights_of(module), "seven.safetensors")
    made = run("expand", "lenet-digits.inkcap.json", "--weights", "seven.safetensors", "-o", "block.inkcap.json")
    assert made.code == 0, made.err
    assert "4 298 neurons, 254 592 connections, 53 002 parameters" in made.out
    plain = load_drawing("block.inkcap.json").plain
    assert plain is not None
    kernel = weights_of(module)["a-b.weight"].flatten().tolist()
    assert set(plain.weight[:1000]) <= set(kernel)
    back = run("contract", "block.inkcap.json", "-o", "caps.inkcap.json", "--weights", "caps.safetensors")
    assert back.code == 0, back.err
    assert "12 capsules, 13 connections, 53 002 parameters" in back.out
    assert run("check", "caps.inkcap.json").code == 0
    run("new", "mlp")
    assert run("expand", "mlp.inkcap.json", "--columns").code == 0
    assert load_drawing("mlp-plain.inkcap.json").plain is not None


def test_what_is_refused(run) -> None:
    run("new", "mlp")
    run("expand", "mlp.inkcap.json")
    again = run("expand", "mlp.inkcap.json")
    assert again.code == 2
    assert "mlp-plain.inkcap.json: there is a file already; choose another name or give --force" in again.err
    assert run("expand", "mlp.inkcap.json", "--force").code == 0
    wrong = run("contract", "mlp.inkcap.json")
    assert wrong.code == 2
    assert "the capsule a is no plain neuron but a 1D-data" in wrong.err
    assert run("expand", "nothing.inkcap.json").code == 2
    both = run("expand", "mlp.inkcap.json", "--force", "--run", "r", "--weights", "w.safetensors")
    assert both.code == 2
    assert "give one of the two" in both.err
    save_file({"a-b.weight": torch.zeros(6, 2)}, "few.safetensors")
    few = run("expand", "mlp.inkcap.json", "--force", "--weights", "few.safetensors")
    assert few.code == 2
    assert "the weights do not fit the network: b.bias needs the shape (6,), it is missing" in few.err
