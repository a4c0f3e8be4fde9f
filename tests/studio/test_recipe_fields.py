"""What the studio tells of recipes before anything starts: what can be used here, and what it would need."""

import pytest

from inkcap.network import check
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe
from inkcap.studio import trainings
from inkcap.training.planning import worker_needs
from inkcap.zoo import draw

COMMAND = "pip install 'inkcap[cluster]'"


@pytest.mark.parametrize(("package", "missing"), [("a_package_that_nobody_has", COMMAND), ("json", "")])
def test_several_workers_are_offered_where_what_starts_them_is_installed(ask, monkeypatch, package, missing):
    monkeypatch.setattr(trainings, "SHARES", package)
    fields = {field["name"]: field["missing"] for field in ask("/api/recipes/fields").json()["recipe"]}
    assert {fields[name] for name in ("workers", "sharded", "joint_norm")} == {missing}
    assert {told for name, told in fields.items() if name not in trainings.SHARED} == {""}


def test_signals_are_usual_but_for_parted_weights():
    network = check(draw("lenet-digits")).network
    assert trainings.as_usual({"workers": 2}, network) == {"workers": 2, "signals": True}
    assert trainings.as_usual({"workers": 2, "sharded": True}, network) == {"workers": 2, "sharded": True}


def test_memory_is_that_of_all_workers_of_this_machine(ask):
    id = ask("/api/drawings", "POST", json={"name": "Net", "zoo": "resnet18"}).json()["id"]
    report = check(draw("resnet18"))

    def needs(**asked) -> dict:
        return ask(f"/api/drawings/{id}/memory", params={"batch": 8, "optimiser": "momentum", **asked}).json()

    for workers, sharded in ((1, False), (2, False), (3, True)):
        spec = OptimiserSpec("momentum")
        recipe = Recipe(DataSpec("any"), optimiser=spec, batch=8, workers=workers, sharded=sharded)
        one, told = worker_needs(report, recipe), needs(workers=workers, sharded=sharded)
        assert told["total"] == workers * one.total
        assert told["total"] == told["weights"] + told["optimiser"] + told["activations"]
        assert "a batch of 8" in told["sizes"]
    # Values inside of the blocks are let go.
    assert needs(recompute=["block", "widen"])["activations"] < needs()["activations"]
    refused = ask(f"/api/drawings/{id}/memory", params={"recompute": ["blok"]})
    assert refused.status_code == 409
    assert "Did you mean 'block'?" in refused.json()["detail"]
    assert ask(f"/api/drawings/{id}/memory", params={"workers": 0}).status_code == 422
