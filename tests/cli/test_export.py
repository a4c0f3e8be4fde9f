"""inkcap export, as a person walks it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest
from safetensors.torch import load_file

from inkcap.exchange import NotProven, exporting


def test_a_run_goes_out_and_computes_the_same_without_inkcap(run, tmp_path) -> None:
    run("new", "lenet-digits")
    trained = json.loads(run("train", "lenet-digits.inkcap.json", "--data", "digits", "--epochs", "1", "--json").out)
    answer = run("export", "lenet-digits.inkcap.json", "--to", "torch", "--run", trained["run"], "-o", "lenet.py")
    assert answer.code == 0, answer.err
    assert "outputs differ by 0, gradients of a training step by 0" in answer.out
    assert "wrote lenet.safetensors" in answer.out
    first = next(line for line in (tmp_path / "lenet.py").read_text().split("\n") if line.startswith("class "))
    program = (
        "import sys; sys.modules['inkcap'] = None\n"
        "import torch, lenet, safetensors.torch\n"
        f"model = lenet.{first[6:].split('(')[0]}()\n"
        "print(model.load_state_dict(safetensors.torch.load_file('lenet.safetensors')))\n"
        "print(model.eval()(torch.zeros(2, 1, 8, 8)).sum().item())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "All keys matched" in done.stdout
    assert float(done.stdout.split("\n")[1]) == pytest.approx(2, abs=1e-5)
    words = ["--to", "safetensors", "--run", trained["run"], "-o", "w.safetensors"]
    answer = run("export", "lenet-digits.inkcap.json", *words)
    assert answer.code == 0, answer.err
    both = load_file(tmp_path / "w.safetensors"), load_file(tmp_path / "lenet.safetensors")
    assert both[0].keys() == both[1].keys()
    run("new", "mlp")
    answer = run("export", "mlp.inkcap.json", "--to", "torch", "--run", trained["run"])
    assert answer.code == 2
    assert "do not fit" in answer.err
    assert not (tmp_path / "mlp.py").exists()


def test_what_is_not_proven_leaves_no_file(run, tmp_path, monkeypatch) -> None:
    run("new", "mlp")

    def fail(file: object) -> None:
        raise NotProven("the export was not written: outputs differ")

    monkeypatch.setattr(exporting, "prove_torch", fail)
    answer = run("export", "mlp.inkcap.json", "--to", "torch")
    assert answer.code == 2
    assert answer.err == "inkcap: the export was not written: outputs differ\n"
    assert not (tmp_path / "mlp.py").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--to", "caffe"], "'caffe' is not one of torch, keras, onnx, torch-export, safetensors, svg"),
        (["--to", "onnx", "--train"], "--train belongs to --to torch"),
        (["--to", "safetensors"], "give one by --run"),
        (["--to", "torch", "-o", "mlp.inkcap.json"], "take the place of the drawing"),
        (["--to", "torch", "-o", "."], "this is a folder"),
        (["--to", "torch", "-o", "no/where/mlp.py"], "there is no folder no/where; make it first"),
        (["--to", "svg", "-o", "no/where/mlp.svg"], "there is no folder no/where; make it first"),
        (["--to", "svg", "-o", "."], "this is a folder"),
        (["--to", "torch", "--run", "none-0001"], "there is no such run"),
        (["--to", "torch", "--width", "85mm"], "--width belongs to figures"),
        (["--to", "onnx", "--no-labels"], "--no-labels belongs to figures"),
        (["--to", "svg", "--run", "none-0001"], "--run gives weights, and svg is a figure"),
        (["--to", "svg", "--width", "85"], "'85' is no width: write 85mm"),
        (["--to", "svg", "--width", "5mm"], "from 10 to 2000 mm wide, not 5 mm"),
        (["--to", "svg", "--direction", "up"], "'up' is not one of right, down"),
        (["--to", "svg", "--font", "a<b"], "'a<b' is no name of a font"),
        (["--to", "pdf", "--font", "No such font"], "this machine has no font 'No such font'"),
        (["--to", "png", "--font", "No such font"], "this machine has no font 'No such font'"),
        (["--to", "tikz", "--font", "Times"], "leave the font out"),
        (["--to", "svg", "--open", "--compact"], "opened or compact, not both"),
    ],
)
def test_what_is_refused(run, words: list[str], told: str) -> None:
    run("new", "mlp")
    answer = run("export", "mlp.inkcap.json", *words)
    assert answer.code == 2
    assert told in answer.err


@pytest.mark.parametrize(("to", "name"), [("torch", "mlp.py"), ("svg", "mlp.svg")])
def test_a_file_that_is_there_stays_unless_it_is_said(run, tmp_path, to: str, name: str) -> None:
    run("new", "mlp")
    (tmp_path / name).write_text("mine")
    answer = run("export", "mlp.inkcap.json", "--to", to)
    assert answer.code == 2
    assert f"{name} is there already; name another file with -o, or take its place with --force" in answer.err
    assert (tmp_path / name).read_text() == "mine"
    assert run("export", "mlp.inkcap.json", "--to", to, "--force").code == 0
    assert (tmp_path / name).read_text() != "mine"


@pytest.mark.parametrize(("to", "package", "extra"), [("onnx", "onnxscript", "onnx"), ("keras", "keras", "keras")])
def test_a_package_that_is_not_there_is_named(run, monkeypatch, to: str, package: str, extra: str) -> None:
    run("new", "mlp")
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == package else found(name, *more)
    )
    answer = run("export", "mlp.inkcap.json", "--to", to)
    assert answer.code == 2
    assert f"{package} is not installed; 'pip install inkcap[{extra}]' brings" in answer.err


def test_a_program_of_torch_export_is_written(run, tmp_path) -> None:
    run("new", "mlp")
    answer = run("export", "mlp.inkcap.json", "--to", "torch-export")
    assert answer.code == 0, answer.err
    assert "outputs differ by 0" in answer.out
    assert (tmp_path / "mlp.pt2").is_file()
