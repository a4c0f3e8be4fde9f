"""Answers of several workers are those of one process, and are there whole or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from PIL import Image
from processes import descendants

from inkcap.cluster import Cluster, ClusterError
from inkcap.cluster.answering import SUMMARY, Question, Worker, answer_all, whole_folder
from inkcap.cluster.columns import table_of
from inkcap.drawing import Drawing
from inkcap.recipes import DataSpec, Recipe, RunFolder
from inkcap.recipes.liveness import mark_of, own_process
from inkcap.training import OutputPrediction, predict, train
from inkcap.training.asking import find_pieces
from inkcap.training.data import DataError, load
from inkcap.training.opened import open_run

TIMES = 40
"""Copies of them, so that there is time to kill a worker."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    drawing = Drawing("pictures")
    drawing.add("a", "2D-data", height=8, width=8, channels=1)
    drawing.then("b", "2D-relu", "convolution", kernels=8, kernel=3)
    drawing.then("c", "1D-identical", "reshaping")
    drawing.then("h", "1D-softmax", "full", dimension=10)
    # One thread, as each worker has: with more, the last bits would differ.
    recipe = Recipe(DataSpec("digits"), epochs=1, threads=1)
    return train(drawing, recipe, tmp_path_factory.mktemp("pictures")).run


def digits() -> np.ndarray:
    return load("digits", {}, Path()).inputs["x"]


def answers(folder: Path) -> dict[str, list]:
    """Read the folder as any reader of Parquet does."""
    return pyarrow.parquet.read_table(folder).sort_by("sample").to_pydict()


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_two_workers_answer_to_the_bit_as_one_process_does_though_one_of_them_is_killed(
    run: RunFolder, cluster: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    many = np.concatenate([digits()] * TIMES)
    np.save(tmp_path / "big.npy", many)
    heard: list[tuple[int, int]] = []
    killed: list[int] = []

    def kill(done: int, total: int) -> None:
        heard.append((done, total))
        if not killed:
            names = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid, _ in descendants(os.getpid())}
            killed.append(next(pid for pid, name in names.items() if b"MapWorker" in name))
            os.kill(killed[0], signal.SIGKILL)

    told = answer_all(run, DataSpec("big.npy"), tmp_path, tmp_path / "out", cluster, workers=2, progress=kill)
    assert killed
    found = answers(tmp_path / "out")
    assert list(found) == ["sample", "h_label", "h_probability"]
    assert found["sample"] == list(range(len(many)))
    whole = predict(run, many).outputs["h"]
    assert whole.labels is not None
    assert found["h_label"] == [str(label) for label in whole.labels]
    np.testing.assert_array_equal(np.float32(found["h_probability"]), whole.values.max(axis=1))
    assert (told.samples, told.workers) == (len(many), 2)
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    assert heard[-1] == (len(many), len(many))
    summary = json.loads((tmp_path / "out" / SUMMARY).read_text())
    assert (summary["run"], summary["samples"], summary["files"]) == (run.id, len(many), told.files)
    assert summary["samples_per_second"] == pytest.approx(len(many) / summary["seconds"])
    assert left_in(tmp_path / "out") == [SUMMARY, *(f"part-{n:05d}.parquet" for n in range(told.files))]
    assert left_in(tmp_path) == ["big.npy", "out"]
    # Ray's own words would spoil what a program reads.
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


@pytest.mark.soak
def test_a_mistake_in_the_data_is_told_in_one_line_and_leaves_nothing(
    run: RunFolder, cluster: Cluster, tmp_path: Path
) -> None:
    images = digits().astype(np.float32)
    images[1234, 0, 2, 2] = np.inf
    np.savez_compressed(tmp_path / "big.npz", x=images)
    errors = os.fstat(2).st_ino
    with pytest.raises(DataError, match=r"big.npz, sample 1234: a value is not a finite number"):
        answer_all(run, DataSpec("big.npz"), tmp_path, tmp_path / "out", cluster, workers=1)
    assert left_in(tmp_path) == ["big.npz"]
    assert os.fstat(2).st_ino == errors, "what follows can be read again"


def test_a_worker_answers_images_by_their_names_and_tells_what_is_wrong_with_a_piece(
    run: RunFolder, tmp_path: Path
) -> None:
    images = digits()[:20].astype(np.float32)
    save_images(tmp_path / "new", images)
    images[12, 0, 2, 2] = np.inf
    np.savez_compressed(tmp_path / "wrong.npz", x=images)
    opened = open_run(run, "best")
    with whole_folder(tmp_path / "out", overwrite=False) as folder:
        told: dict[str, dict[str, list]] = {}
        for number, name in enumerate(("new", "wrong.npz")):
            pieces = find_pieces(opened, DataSpec(name), tmp_path, folder / ".work")
            (piece,) = pieces.cut(64)
            worker = Worker(Question(run.path, "best", "auto", False, 20, pieces, folder, 1))
            told[name] = worker({key: [value] for key, value in {"number": number, **asdict(piece)}.items()})
        assert told["new"] == {"count": [20], "problem": [""]}
        assert "wrong.npz, sample 12: a value is not a finite number" in told["wrong.npz"]["problem"][0]
        assert sorted(path.name for path in folder.glob("*.parquet")) == ["part-00000.parquet"]
        assert answers(folder)["file"] == [f"{number:02d}.png" for number in range(20)]


def save_images(folder: Path, images: np.ndarray) -> None:
    folder.mkdir()
    for number, image in enumerate(images):
        Image.fromarray((image[0] * 15).astype(np.uint8)).save(folder / f"{number:02d}.png")


def test_too_many_workers_are_refused_before_anything_is_read(run: RunFolder, cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="99 workers of 1 CPU each were asked for"):
        answer_all(run, DataSpec("digits"), tmp_path, tmp_path / "out", cluster, workers=99)
    assert left_in(tmp_path) == []


@pytest.mark.soak
def test_the_command_answers_images_by_their_names_and_leaves_answers_that_are_there_alone(
    run: RunFolder, cluster: Cluster, tmp_path: Path
) -> None:
    save_images(tmp_path / "new", digits()[:20])
    words = ["predict", str(run.path), "--data", "new", "--workers", "1", "--cluster", cluster.address]

    def ask(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "inkcap", *words, *more], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )

    first = ask()
    assert first.returncode == 0, first.stderr
    assert first.stderr == ""
    lines = first.stdout.splitlines()
    assert lines[0] == "20 of 20 samples"
    assert lines[1].startswith(f"{run.id} answered 20 samples of new in ")
    folder = tmp_path / "predictions" / f"{run.id}-new"
    found = answers(folder)
    assert list(found) == ["sample", "file", "h_label", "h_probability"]
    assert found["file"] == [f"{number:02d}.png" for number in range(20)]
    again = ask()
    assert (again.returncode, again.stdout) == (2, "")
    assert "the folder is not empty; give --overwrite, or another --out" in again.stderr


def test_a_folder_is_replaced_as_a_whole_and_only_if_it_holds_answers(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with whole_folder(out, overwrite=False) as folder:
        (folder / "a").write_text("first")
        (folder / SUMMARY).write_text("{}")
        assert not out.exists()
    with pytest.raises(ClusterError, match="not empty"), whole_folder(out, overwrite=False):
        pass

    def broken_off() -> None:
        with whole_folder(out, overwrite=True) as folder:
            (folder / "b").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert left_in(out) == [SUMMARY, "a"]
    with whole_folder(out, overwrite=True) as folder:
        (folder / SUMMARY).write_text("{}")
    assert left_in(out) == [SUMMARY]
    (out / SUMMARY).rename(out / "mine.txt")
    with pytest.raises(ClusterError, match="something else than answers"), whole_folder(out, overwrite=True):
        pass
    with pytest.raises(ClusterError, match="this is a file"), whole_folder(out / "mine.txt", overwrite=True):
        pass
    assert left_in(tmp_path) == ["out"]


@pytest.fixture
def dead() -> str:
    """Give the mark of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        return f"{child.pid} {mark_of(child.pid)}"


def leave(folder: Path, owner: str, *files: str) -> None:
    (folder / ".work").mkdir(parents=True)
    (folder / ".work" / "owner").write_text(owner)
    for name in files:
        (folder / name).write_text("{}")


def test_what_a_killed_process_has_left_is_taken_away_and_what_another_writes_is_not(tmp_path: Path, dead: str) -> None:
    leave(tmp_path / ".out.dead.tmp", dead)
    leave(tmp_path / ".out.alive.tmp", f"{os.getpid()} {own_process()}")
    with whole_folder(tmp_path / "out", overwrite=False):
        pass
    assert left_in(tmp_path) == [".out.alive.tmp", "out"]
    assert left_in(tmp_path / "out") == []


def test_older_answers_come_back_where_a_process_was_killed_as_it_replaced_them(tmp_path: Path, dead: str) -> None:
    leave(tmp_path / ".out.dead.tmp", dead, SUMMARY, "new")
    (tmp_path / ".out.dead.old").mkdir()
    (tmp_path / ".out.dead.old" / SUMMARY).write_text("{}")
    with pytest.raises(ClusterError, match="not empty"), whole_folder(tmp_path / "out", overwrite=False):
        pass
    assert left_in(tmp_path) == ["out"]
    assert left_in(tmp_path / "out") == [SUMMARY]
    # A moment later the new ones have their place, and only what is of no use is left.
    leave(tmp_path / "next", dead, SUMMARY, "new")
    (tmp_path / "out").rename(tmp_path / ".next.dead.old")
    with pytest.raises(ClusterError, match="not empty"), whole_folder(tmp_path / "next", overwrite=False):
        pass
    assert left_in(tmp_path) == ["next"]
    assert left_in(tmp_path / "next") == [SUMMARY, "new"]


def test_every_kind_of_answer_has_columns_that_say_what_they_hold() -> None:
    half = np.array([[0.25, 0.75], [0.5, 0.5]], dtype=np.float32)
    labels = np.array([1, 0])
    boxes = np.array([[[1, 0.5, 0, 1, 2, 3], [0, 0, 0, 0, 0, 0]], [[0] * 6, [0] * 6]], dtype=np.float32)
    maps = np.arange(12, dtype=np.int64).reshape(2, 2, 3)
    numbers = np.arange(4, dtype=np.float64).reshape(2, 2)
    outputs = [
        OutputPrediction("a", "classes", "probabilities", half, labels, ("cat", "dog")),
        OutputPrediction("b", "classes", "scores", half, labels, ()),
        OutputPrediction("c", "bits", "probabilities", half[:, :1], np.array([[0], [0]]), ("no", "yes")),
        OutputPrediction("d", "bits", "probabilities", half, labels, ()),
        OutputPrediction("e", "numbers", "numbers", numbers, None, ()),
        OutputPrediction("f", "numbers", "numbers", numbers[:, :1], None, ()),
        OutputPrediction("g", "boxes", "detections", boxes, None, ("nothing", "dog")),
        OutputPrediction("i", "classes", "probabilities", np.zeros((2, 4, 2, 3)), maps, ()),
        OutputPrediction("j", "instances", "instances", maps, None, ()),
    ]
    table = table_of(5, 2, ("x.png", "y.png"), {output.name: output for output in outputs}).to_pydict()
    box = {"label": "dog", "score": 0.5, "x1": 0.0, "y1": 1.0, "x2": 2.0, "y2": 3.0}
    assert table == {
        "sample": [5, 6],
        "file": ["x.png", "y.png"],
        "a_label": ["dog", "cat"],
        "a_probability": [0.75, 0.5],
        "b_label": ["1", "0"],
        "b_score": [0.75, 0.5],
        "c_label": ["no", "no"],
        "c_probability": [0.75, 0.5],
        "d_probabilities": [[0.25, 0.75], [0.5, 0.5]],
        "e_values": [[0.0, 1.0], [2.0, 3.0]],
        "f_value": [0.0, 2.0],
        "g_boxes": [[box], []],
        "i_labels": [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]],
        "j_instances": [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]],
    }
