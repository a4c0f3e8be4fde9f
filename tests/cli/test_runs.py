"""Training from the command line: the whole path, as a person walks it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from inkcap.recipes.runfolder import RunFolder
from inkcap.recipes.steering import stop
from inkcap.zoo import draw

FAST = ["--epochs", "3", "--seed", "1", "--threads", "1"]


def train(run, *words) -> dict:
    answer = run("train", *words, "--json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def test_the_whole_path_on_the_digits(run, tmp_path) -> None:
    """LeNet of Figure 21 fitted to 8×8 images, with nothing chosen by hand, reaches 98 % on a held-out fifth."""
    run("new", "lenet-digits")
    start = time.perf_counter()
    result = train(run, "lenet-digits.inkcap.json", "--data", "digits")
    seconds = time.perf_counter() - start
    assert result["state"] == "finished"
    assert result["values"]["val_accuracy"] >= 0.98
    assert seconds < 300
    name = result["run"]
    folder = tmp_path / "runs" / name
    found = {path.name for path in folder.iterdir()}
    assert found >= {"run.json", "drawing.inkcap.json", "recipe.json", "environment.json", "data.json", "metrics.jsonl",
                     "weights.safetensors", "best.safetensors", "summary.json"}  # fmt: skip
    measured = run("evaluate", name)
    assert measured.code == 0
    assert "confusion" in measured.out
    report = json.loads(run("evaluate", name, "--json").out)
    assert report["values"]["accuracy"] >= 0.98
    assert np.array(report["outputs"]["h"]["confusion"]).sum() == report["samples"] == 359
    from sklearn.datasets import load_digits

    image = load_digits().images[0].astype(np.uint8)
    np.savez(tmp_path / "one.npz", x=image[None, None])
    answer = run("predict", name, "one.npz")
    assert answer.out.startswith("h: 0 ")
    prediction = json.loads(run("predict", name, "one.npz", "--json").out)
    assert prediction["outputs"]["h"]["best"][0][0]["class"] == "0"
    Image.fromarray(image * 15).save(tmp_path / "one.png")
    assert run("predict", name, "one.png").code == 0
    assert name in run("runs").out
    assert json.loads(run("runs", "--json").out)["runs"][0]["id"] == name


@pytest.mark.parametrize("seed", range(5))
def test_figure_20_separates_the_moons(run, seed) -> None:
    run("new", "mlp")
    result = train(run, "mlp.inkcap.json", "--data", "moons", "--seed", seed, "--threads", 1)
    assert result["values"]["val_accuracy"] >= 0.97


@pytest.mark.skipif("INKCAP_DATA" not in os.environ, reason="the MNIST files are wanted in the folder INKCAP_DATA")
@pytest.mark.parametrize(("epochs", "least"), [(1, 0.97), pytest.param(5, 0.99, marks=pytest.mark.soak)])
def test_lenet_as_printed_on_mnist(run, epochs, least) -> None:
    run("new", "lenet")
    result = train(run, "lenet.inkcap.json", "--data", "mnist", "--epochs", epochs)
    report = json.loads(run("evaluate", result["run"], "--json").out)
    assert (report["part"], report["samples"]) == ("test", 10_000)
    assert report["values"]["accuracy"] >= least


def test_same_seed_same_bits_and_another_seed_others(run, tmp_path) -> None:
    run("new", "mlp")
    found = []
    for seed in (1, 1, 2):
        result = train(run, "mlp.inkcap.json", "--data", "moons", "--epochs", "3", "--seed", seed)
        found.append((tmp_path / "runs" / result["run"] / "weights.safetensors").read_bytes())
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_a_recipe_file_and_options_that_win(run, tmp_path) -> None:
    run("new", "mlp")
    options = """--data moons --option n=200 --optimiser nesterov --rate 0.1 --optimiser-option momentum=0.8
        --schedule cosine --schedule-option warm_up=1 --loss cross-entropy --batch 32 --clip 1 --early-stop 3"""
    first = train(run, "mlp.inkcap.json", *options.split(), *FAST)
    recipe = tmp_path / "runs" / first["run"] / "recipe.json"
    written = json.loads(recipe.read_text())
    assert written["optimiser"]["options"]["momentum"] == 0.8
    assert written["schedule"]["options"]["warm_up"] == 1
    second = train(run, "mlp.inkcap.json", "--recipe", recipe, "--epochs", "2")
    again = json.loads((tmp_path / "runs" / second["run"] / "recipe.json").read_text())
    assert again["epochs"] == 2
    assert again["optimiser"] == written["optimiser"]
    assert again["data"] == written["data"]


def test_init_from_and_freeze_say_what_they_did(run, tmp_path) -> None:
    run("new", "mlp")
    first = train(run, "mlp.inkcap.json", "--data", "moons", *FAST)["run"]
    answer = run(
        "train", "mlp.inkcap.json", "--data", "moons", *FAST, "--init-from", first, "--freeze", "a-b", "--quiet"
    )
    assert answer.code == 0
    assert "a-b.weight" in answer.out
    from safetensors.numpy import load_file

    runs = sorted((tmp_path / "runs").iterdir())
    old, new = (load_file(folder / "weights.safetensors") for folder in runs)
    best = load_file(runs[0] / "best.safetensors")
    # The start is the best of the other run, and what is frozen stays there to the bit.
    assert np.array_equal(best["a-b.weight"], new["a-b.weight"])
    assert not np.array_equal(new["b-c.weight"], old["b-c.weight"])


BAD = [
    ([], "--data"),
    (["--data", "moonz"], "moons"),
    (["--data", "moons", "--epochs", "-1"], "epochs"),
    (["--data", "moons", "--rate", "nan"], "rate"),
    (["--data", "moons", "--optimiser", "adm"], "adam"),
    (["--data", "moons", "--optimiser-option", "momentum=1"], "momentum"),
    (["--data", "moons", "--schedule", "cos"], "cosine"),
    (["--data", "moons", "--loss", "hinge"], "cross-entropy"),
    (["--data", "moons", "--loss", "q=cross-entropy"], "q"),
    (["--data", "moons", "--loss", "cross-entropy*x"], "weight"),
    (["--data", "moons", "--freeze", "zz"], "zz"),
    (["--data", "moons", "--init-from", "nothing"], "nothing"),
    (["--data", "iris"], "4"),
    (["--data", "digits"], "8×8×1"),
    (["--data", "moons", "--validation", "1.5"], "validation"),
    (["--data", "moons", "--device", "tpu"], "device"),
    (["--data", "moons", "--augment", "flip=horizontal"], "flip"),
    (["--data", "moons", "--option", "m=3"], "m"),
    (["--recipe", "none.json"], "none.json"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(w) for w, _ in BAD])
def test_bad_recipes_leave_no_run_behind(run, tmp_path, words, message) -> None:
    run("new", "mlp")
    answer = run("train", "mlp.inkcap.json", *words)
    assert answer.code == 2
    assert message in answer.err
    assert "Traceback" not in answer.err
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())


def test_a_run_that_fails_says_so_with_code_1(run) -> None:
    run("new", "mlp")
    answer = run("train", "mlp.inkcap.json", "--data", "diabetes", "--rate", "1000")
    assert answer.code == 2
    drawing = draw("mlp")
    drawing.change("a", dimension=10)
    drawing.change("d", dimension=1)
    drawing.save("regression.inkcap.json")
    options = ["--data", "diabetes", "--normalise", "none", "--optimiser", "sgd", "--rate", "1000", "--epochs", "5"]
    answer = run("train", "regression.inkcap.json", *options)
    assert answer.code == 1
    assert "lower rate" in answer.err
    assert "Traceback" not in answer.err
    assert "failed" in run("runs").out


def begin_endless(tmp_path: Path, *before: str) -> tuple[subprocess.Popen[str], Path]:
    """Begin a training that only a signal ends; give its process and its log, which has some epochs."""
    draw("mlp").save(tmp_path / "mlp.inkcap.json")
    words = ["-m", "inkcap", "train", "mlp.inkcap.json", "--data", "moons", "--epochs", "100000"]
    command = [*before, sys.executable, *words]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    log = tmp_path / "runs" / "MLP-moons-0001" / "metrics.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (log.exists() and log.read_text().count('"epoch"') > 20):
        time.sleep(0.1)
    return process, log


def test_ctrl_c_keeps_what_was_learnt(tmp_path) -> None:
    process, log = begin_endless(tmp_path)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "kept" in out
    assert json.loads((log.parent / "run.json").read_text())["state"] == "interrupted"
    answer = subprocess.run(
        [sys.executable, "-m", "inkcap", "evaluate", "MLP-moons-0001", "--json"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert json.loads(answer.stdout)["values"]["accuracy"] > 0.5


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells what a process ignores")
def test_a_training_that_a_shell_started_in_the_background_is_stopped_from_outside(tmp_path) -> None:
    process, log = begin_endless(tmp_path, "sh", "-c", 'trap "" INT; exec "$@"', "sh")
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None, "it ignores Ctrl-C, as its shell wanted"
    stop(RunFolder.open(log.parent))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    record = RunFolder.open(log.parent).record
    assert (record.state, record.reason) == ("interrupted", "stopped by SIGTERM")


def test_data_lists_and_looks(run) -> None:
    listed = run("data").out
    for name in ("digits", "moons", "mnist", "csv", "npz", "idx", "images"):
        assert f"  {name}" in listed
    assert json.loads(run("data", "--json").out)["sets"]
    looked = run("data", "digits", "--rows", "1")
    assert "8×8×1" in looked.out
    assert "█" in looked.out
    assert json.loads(run("data", "moons", "--json", "--option", "n=50").out)["count"] == 50


def test_one_damaged_summary_does_not_hide_the_other_runs(run, tmp_path) -> None:
    run("new", "mlp")
    names = [train(run, "mlp.inkcap.json", "--data", "moons", *FAST)["run"] for _ in range(2)]
    for text in ("junk", '{"values": [1]}', '{"values": {"loss": "abc"}}'):
        (tmp_path / "runs" / names[0] / "summary.json").write_text(text)
        answer = run("runs")
        assert answer.code == 0
        assert f"{names[0]:<32} damaged" in answer.out
        assert f"{names[1]:<32} finished" in answer.out
        listed = json.loads(run("runs", "--json").out)
        assert [one["id"] for one in listed["runs"]] == names[1:]
        assert len(listed["damaged"]) == 1


def test_a_workspace_that_is_not_there_is_refused(run, tmp_path) -> None:
    run("new", "mlp")
    for words in (["runs"], ["train", "mlp.inkcap.json", "--data", "moons"]):
        answer = run(*words, "--workspace", "nowhere")
        assert answer.code == 2
        assert "mkdir nowhere" in answer.err
    assert not (tmp_path / "nowhere").exists()


def test_small_words_of_the_command_line(run, tmp_path) -> None:
    run("new", "mlp")
    twice = run("train", "mlp.inkcap.json", "--data", "moons", "--option", "n=50", "--option", "n=60")
    assert twice.code == 2
    assert "given twice" in twice.err
    (tmp_path / "there").mkdir()
    words = ["--data", "moons", "--epochs", 1, "--threads", 1, "--workspace", "there"]
    answer = run("train", "mlp.inkcap.json", *words)
    assert answer.code == 0, answer.err
    assert "1 thread " in answer.out
    assert "\n1 epoch: " in answer.out
    assert "next: inkcap evaluate MLP-moons-0001 --workspace there" in answer.out
    asked = run("predict", "MLP-moons-0001", "-1,2", "--workspace", "there")
    assert asked.code == 0, asked.err
    np.savez(tmp_path / "empty.npz", x=np.zeros((0, 4)), y=np.zeros(0, np.int64))
    empty = run("data", "empty.npz")
    assert empty.code == 2
    assert "(0, 4)" in empty.err


def test_a_closed_reader_does_not_fail_a_training(tmp_path) -> None:
    draw("mlp").save(tmp_path / "mlp.inkcap.json")
    command = [sys.executable, "-m", "inkcap", "train", "mlp.inkcap.json", "--data", "moons", "--epochs", "200"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0, errors
    assert errors == ""
    assert json.loads((tmp_path / "runs" / "MLP-moons-0001" / "run.json").read_text())["state"] == "finished"
