"""Sweeps in the studio: what can be varied, a real one started, stopped and gone on with, its best values taken."""

import time

import pytest

from inkcap.drawing import Drawing, from_text, to_text
from inkcap.recipes import DataSpec, Recipe, recipe_from_json
from inkcap.sweeps import Trial, find_sweep, read_space
from inkcap.sweeps.record import SweepLog, open_sweep
from inkcap.sweeps.running import begin_sweep, plan_sweep


def drawn():
    drawing = Drawing("small")
    drawing.add("x", "1D-data", dimension=4)
    drawing.then("a", "1D-tanh", dimension=4)
    drawing.then("y", "1D-softmax", dimension=3)
    return drawing


@pytest.fixture
def id(ask):
    return ask("/api/drawings", "POST", json={"name": "small", "text": to_text(drawn())}).json()["id"]


def written(workspace, source="", method="grid"):
    """A sweep with a record, three of whose four trials have ended."""
    varied = {"recipe.optimiser.rate": [0.001, 0.1], "drawing.a.dimension": [3, 5]}
    space = read_space(varied, drawn(), Recipe(DataSpec("iris"), epochs=2))
    sweep = begin_sweep(workspace, plan_sweep(space, workspace, method=method, name="tried", source=source), space)
    log = SweepLog(sweep)
    log.sweep("running")
    for number, value in ((1, 0.4), (2, 0.2), (3, 0.9)):
        told = {"epochs": 2, "value": value, "best_epoch": 2, "monitor": "val_loss", "scores": {"val_loss": value}}
        log.trial(Trial(number, sweep.trials[number].values, "done", run=f"small-iris-000{number}", **told))
    log.close()
    return open_sweep(sweep.path)


def test_everything_that_can_be_varied_is_listed_once(ask, id):
    places = ask(f"/api/drawings/{id}/places", "POST", json={"data": "iris"}).json()
    paths = [place["path"] for place in places]
    assert len(paths) == len(set(paths))
    assert {"recipe.optimiser.rate", "recipe.batch", "drawing.a.dimension", "drawing.a.symbol"} <= set(paths)
    assert "recipe.threads" not in paths
    rate = next(place for place in places if place["path"] == "recipe.optimiser.rate")
    assert (rate["kind"], rate["minimum"], rate["maximum"]) == ("number", 0, 1000)


def test_a_sweep_is_told_with_its_best_trial_first(ask, id, tmp_path):
    written(tmp_path, id)
    (row,) = ask("/api/sweeps").json()
    assert (row["name"], row["drawing"], row["state"], row["trials"], row["ended"]) == ("tried", id, "running", 4, 3)
    assert (row["best"], row["value"], row["monitor"]) == (2, 0.2, "val_loss")
    told = ask("/api/sweeps/tried").json()
    assert [trial["number"] for trial in told["rows"]] == [2, 1, 3, 4]
    assert told["rows"][0]["values"] == {"recipe.optimiser.rate": 0.001, "drawing.a.dimension": 5}
    assert told["space"] == {"recipe.optimiser.rate": [0.001, 0.1], "drawing.a.dimension": [3, 5]}
    assert ask("/api/sweeps/other").status_code == 404
    assert ask("/api/sweeps/..%2Ftried").status_code in (403, 404)


def test_the_values_of_a_trial_are_one_edit_of_the_drawing_as_it_is_now(ask, id, tmp_path):
    written(tmp_path, id)
    taken = ask("/api/sweeps/tried/take", "POST", json={"trial": 2}).json()
    assert taken["drawing"] == id
    assert taken["edit"]["patches"] == [
        {
            "put": "capsule",
            "id": "a",
            "record": {"id": "a", "symbol": "tanh", "rank": 1, "attributes": {"dimension": 5}},
        }
    ]
    chosen = recipe_from_json(taken["recipe"])
    assert (chosen.optimiser.rate, chosen.epochs, chosen.threads) == (0.001, 2, 0)
    assert ask("/api/sweeps/tried/take", "POST", json={"trial": 9}).status_code == 404


def test_without_its_drawing_nothing_is_taken(ask, tmp_path):
    written(tmp_path, "gone")
    answer = ask("/api/sweeps/tried/take", "POST", json={"trial": 2})
    assert answer.status_code == 404
    assert "is not there any more" in answer.json()["detail"]


def test_a_deleted_sweep_comes_back(ask, tmp_path):
    sweep = written(tmp_path)
    answer = ask("/api/sweeps/tried/delete", "POST", json={})
    assert (answer.status_code, "stop it before" in answer.json()["detail"]) == (409, True)
    log = SweepLog(sweep)
    log.sweep("stopped")
    log.close()
    undo = ask("/api/sweeps/tried/delete", "POST", json={}).json()["undo"]
    assert ask("/api/sweeps").json() == []
    assert ask("/api/sweeps/tried/undelete", "POST", json={"undo": undo}).json() == {"sweep": "tried"}
    assert find_sweep(tmp_path, "tried").trials[2].value == 0.2


def test_the_drawings_that_a_sweep_keeps_are_not_listed_among_those_of_the_workspace(ask, id, tmp_path):
    sweep = written(tmp_path)
    kept = sweep.trial_folder(1) / "drawing.inkcap.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(sweep.drawing().to_text())
    assert [row["id"] for row in ask("/api/workspace").json()["drawings"]] == [id]


def test_a_damaged_sweep_is_listed_and_can_be_deleted(ask, tmp_path):
    sweep = written(tmp_path)
    (sweep.path / "sweep.json").write_text("{")
    (row,) = ask("/api/sweeps").json()
    assert (row["state"], "sweep.json" in row["reason"]) == ("damaged", True)
    assert ask("/api/sweeps/tried/delete", "POST", json={}).status_code == 200
    assert ask("/api/sweeps").json() == []


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"space": {}}, "nothing is varied"),
        ({"space": {"drawing.q.dimension": [1]}}, "there is no such place"),
        ({"space": {"recipe.batch": [0]}}, "recipe.batch[0]: 0 is not possible here"),
        ({"space": {"recipe.batch": [1]}, "method": "halving"}, "leaves the epochs open"),
    ],
)
def test_a_mistake_is_told_before_a_process_starts(ask, id, tmp_path, asked, told):
    answer = ask(f"/api/drawings/{id}/sweep", "POST", json={"data": "iris", **asked})
    assert (answer.status_code, told in answer.json()["detail"]) == (409, True)
    assert not (tmp_path / "sweeps").exists()


def test_a_sweep_is_started_stopped_and_gone_on_with(ask, id, tmp_path):
    space = {"recipe.batch": [1, 60]}
    asked = {"data": "iris", "recipe": {"epochs": 3000}, "space": space, "at_once": 1}
    name = ask(f"/api/drawings/{id}/sweep", "POST", json=asked).json()["sweep"]
    assert name == "small-iris-sweep-01"
    wait(lambda: any(trial.run for trial in find_sweep(tmp_path, name).trials.values()))
    (row,) = ask("/api/runs").json()
    assert row["sweep"] == f"{name}/1"
    assert ask(f"/api/sweeps/{name}/stop", "POST", json={}).status_code == 200
    wait(lambda: find_sweep(tmp_path, name).state == "stopped")
    (row,) = ask("/api/runs").json()
    assert row["state"] == "interrupted"
    assert ask(f"/api/sweeps/{name}/stop", "POST", json={}).status_code == 409
    assert ask(f"/api/sweeps/{name}/resume", "POST", json={}).status_code == 200
    assert find_sweep(tmp_path, name).state == "running"
    assert ask(f"/api/sweeps/{name}/resume", "POST", json={}).status_code == 409
    ask(f"/api/sweeps/{name}/stop", "POST", json={})
    wait(lambda: find_sweep(tmp_path, name).state == "stopped")
    assert from_text((tmp_path / "sweeps" / name / "drawing.inkcap.json").read_text()).name == "small"


def wait(there, seconds=120):
    limit = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_a_sweep_over_data_fetches_from_no_url(ask, id):
    varied = {"recipe.data.name": ["iris", "s3://bucket/data.csv"]}
    answer = ask(f"/api/drawings/{id}/sweep", "POST", json={"data": "iris", "space": varied})
    assert answer.status_code == 409
    assert "fetches nothing from URLs" in answer.text
