"""Run folders: one for each run, readable while they grow, and one clear error when they are not whole."""

import json
import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkcap.recipes import DataSpec, Recipe, RunFolder, RunFolderError, RunRecord, find_run, layout, list_runs
from inkcap.recipes.layout import parse_run, run_name, slug
from inkcap.recipes.runfolder import sha256_of
from inkcap.structures.atomic import write_atomic


def _whole(workspace: Path, state: str = "finished") -> RunFolder:
    run = RunFolder.create(workspace, "lenet", "digits")
    run.write_text(layout.DRAWING, "{}\n")
    run.write_recipe(Recipe(DataSpec("digits")))
    run.write_json(layout.ENVIRONMENT, {"torch": "0"})
    run.write_json(layout.DATA, {"classes": ["a", "b"]})
    (run.path / layout.WEIGHTS).write_bytes(b"weights")
    seal = sha256_of(run.path / layout.WEIGHTS)
    return run.update(state=state, finished=layout.now(), weights_sha256=seal)


def test_runs_are_counted_up_and_found(tmp_path: Path) -> None:
    first, second = _whole(tmp_path), _whole(tmp_path)
    assert (first.id, second.id) == ("lenet-digits-0001", "lenet-digits-0002")
    assert RunFolder.create(tmp_path, "other", "digits").id == "other-digits-0001"
    runs, damaged = list_runs(tmp_path)
    assert [run.id for run in runs] == ["lenet-digits-0001", "lenet-digits-0002", "other-digits-0001"]
    assert damaged == ()
    assert find_run(tmp_path, "lenet-digits-0002").record == second.record
    assert find_run(tmp_path, first.path).id == first.id
    with pytest.raises(RunFolderError, match=r"nothing.*lenet-digits-0002"):
        find_run(tmp_path, "nothing")
    with pytest.raises(RunFolderError):
        find_run(tmp_path, "../runs/lenet-digits-0009")
    assert list_runs(tmp_path / "empty") == ((), ())


def test_a_run_gives_back_what_was_written(tmp_path: Path) -> None:
    run = RunFolder.open(_whole(tmp_path).path)
    assert run.record.state == "finished"
    assert run.recipe() == Recipe(DataSpec("digits"))
    assert run.environment() == {"torch": "0"}
    assert run.data() == {"classes": ["a", "b"]}
    assert run.summary() == {}
    assert run.metrics().records == ()
    assert run.drawing_text() == "{}\n"
    assert run.weights_file("last") == run.weights_file("best") == run.path / layout.WEIGHTS


def _create(workspace: str, count: int) -> list[str]:
    return [RunFolder.create(workspace, "a", "b").id for _ in range(count)]


def test_processes_never_share_a_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        found = pool.starmap(_create, [(str(tmp_path), 8)] * 3)
    ids = [name for part in found for name in part]
    assert sorted(ids) == [f"a-b-{number:04d}" for number in range(1, 25)]


def test_a_number_taken_meanwhile_is_left_to_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "next_number", lambda *_: 1)
    assert _create(str(tmp_path), 3) == ["a-b-0001", "a-b-0002", "a-b-0003"]


def test_a_changed_weight_file_is_noticed(tmp_path: Path) -> None:
    run = _whole(tmp_path)
    (run.path / layout.WEIGHTS).write_bytes(b"Weights")
    with pytest.raises(RunFolderError, match=r"weights\.safetensors.*check sum"):
        run.weights_file("last")
    (run.path / layout.WEIGHTS).unlink()
    with pytest.raises(RunFolderError, match="missing"):
        run.weights_file("last")


def test_a_killed_run_gives_the_weights_that_it_left(tmp_path: Path) -> None:
    run = _whole(tmp_path).update(state="running", weights_sha256="")
    assert run.weights_file().name == layout.WEIGHTS
    (run.path / layout.WEIGHTS).unlink()
    with pytest.raises(RunFolderError, match="running and has no weights"):
        run.weights_file()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (layout.RUN, None, "holds no run.json"),
        (layout.RUN, b"", "not JSON"),
        (layout.RUN, b"\xff\xfe\x00", "run.json"),
        (layout.RUN, b"[]", "not an object"),
        (layout.RUN, b"{}", "no run of Inkcap"),
        (layout.RUN, b'{"format": "inkcap-run", "version": 9}', "version 9"),
        (layout.RUN, b'{"format": "inkcap-run", "version": 1}', "missing"),
        (layout.DRAWING, None, "drawing.inkcap.json is missing"),
        (layout.RECIPE, None, "recipe.json is missing"),
    ],
)
def test_a_damaged_folder_gets_one_clear_error(tmp_path: Path, name: str, content: bytes | None, words: str) -> None:
    run = _whole(tmp_path)
    (run.path / name).unlink()
    if content is not None:
        (run.path / name).write_bytes(content)
    with pytest.raises(RunFolderError) as caught:
        RunFolder.open(run.path)
    assert words in str(caught.value)
    assert run.id in str(caught.value)
    assert [item.path for item in list_runs(tmp_path)[1]] == [run.path]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("state", "done"),
        ("pid", -1),
        ("pid", True),
        ("pid", "1"),
        ("created", "yesterday"),
        ("weights_sha256", "ABC"),
        ("id", "../../x-0001"),
        ("id", "x"),
        ("reason", None),
        ("surplus", 1),
    ],
)
def test_run_json_is_strict(key: str, value: object) -> None:
    plain = json.loads(RunRecord("a-b-0001", "a").to_text())
    with pytest.raises(RunFolderError, match=r"place"):
        parse_run(json.dumps(plain | {key: value}), "place")


def test_a_run_from_before_there_were_check_sums_is_read_and_stays_what_it_is(tmp_path: Path) -> None:
    run = _whole(tmp_path)
    assert run.record.version == 2
    (run.path / layout.DATA).write_text('{"classes": ["a", "b"]}')
    with pytest.raises(RunFolderError, match=r"lenet-digits-0001/data\.json: the check sum is not that of the content"):
        run.data()
    plain = {**json.loads((run.path / layout.RUN).read_text()), "version": 1}
    del plain["check"], plain["job"], plain["sweep"], plain["process"]
    (run.path / layout.RUN).write_text(json.dumps(plain))
    old = RunFolder.open(run.path)
    assert old.data() == {"classes": ["a", "b"]}
    old.update(reason="gone on with")
    assert RunFolder.open(run.path).data() == {"classes": ["a", "b"]}
    (run.path / layout.RUN).write_text(json.dumps({**plain, "version": 2}))
    with pytest.raises(RunFolderError, match=r"run\.json: the check sum is not that of the content"):
        RunFolder.open(run.path)


@given(st.text(), st.text(), st.integers(1, 10**6))
def test_every_name_gives_an_id_that_can_be_read_back(drawing: str, data: str, number: int) -> None:
    name = run_name(drawing, data, number)
    assert parse_run(RunRecord(name, "a").to_text(), "run.json").id == name
    assert len(name) < 100


def test_names_of_paths_are_short() -> None:
    assert slug("some/folder/my cats.inkcap.json", "x") == "my-cats"
    assert slug("///", "x") == "x"


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomic(path, "old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_atomic(path, "new")
    assert [item.name for item in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "old"
