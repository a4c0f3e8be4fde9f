"""The guide "train on a cluster", line by line, on two machines that are namespaces; a third one only looks."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts import Host, hosts, why_not
from processes import wait_for
from together import curve, learnt

from inkcap.recipes import list_runs

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(bool(why_not()), reason=f"two machines need namespaces: {why_not()}"),
]

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "cluster.md").read_text(encoding="utf-8")
SHARED = "/tmp/shared/"  # noqa: S108
RECIPE = f"--option n=151 --batch 15 --seed 3 --threads {os.cpu_count()}"
"""A worker takes a whole machine, so that each of them has one."""
LONG = 20_000
PATIENCE = 400
PROBE = Path(__file__).parents[1] / "support" / "probing.py"


def guide(beginning: str) -> str:
    """Give the one command of the guide that begins so; its shared folder is that of the machines here."""
    (found,) = {line[2:] for line in GUIDE.splitlines() if line.startswith(f"$ {beginning}")}
    return found.replace("/shared/", SHARED)


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


@pytest.fixture
def machines(shared: Path) -> Iterator[tuple[Host, Host, Host]]:
    with hosts({"first": "10.0.0.1", "second": "10.0.0.2", "third": "10.0.0.3"}, shared) as (first, second, third):
        first.run(guide("python -c"))
        first.run(guide("mkdir -p"))
        yield first, second, third


@pytest.fixture
def clustered(machines: tuple[Host, Host, Host]) -> tuple[Host, Host, Host]:
    """Start a head and a second machine, as the guide does."""
    first, second, third = machines
    first.run(guide("ray get-auth-token"))
    # In the place of ssh and scp.
    shutil.copytree(first.folder / "home" / ".ray", second.folder / "home" / ".ray")
    # Ray's workers would wait for whatever else this machine does.
    for host, line in ((first, "--head"), (second, "--address")):
        host.run(guide(f"RAY_AUTH_MODE=token ray start {line}"), seconds=PATIENCE, RAY_worker_niceness="0")
    return first, second, third


def probe(third: Host, *asked: object) -> dict[str, str]:
    """Ask ports from a machine that does not belong to the others, and give what each of them did."""
    return json.loads(third.run(f"python {PROBE} {json.dumps(json.dumps(asked))}").splitlines()[-1])


def reached(first: Host, second: Host) -> dict[str, str]:
    """Give the places that others may reach, each with the name of whoever listens there."""
    found: dict[str, str] = {}
    for host in (first, second):
        for port, command in host.listening().items():
            found[f"{host.address}:{port}"] = re.split(r" --|\s{2,}", command)[0].rpartition("/")[2]
    return found


def test_two_machines_train_by_ray_as_two_workers_of_one_do_and_let_no_one_in(
    clustered: tuple[Host, Host, Host], shared: Path
) -> None:
    first, second, third = clustered
    # "inkcap train", with something to look at while it trains.
    train = f"{guide('inkcap train moons.inkcap.json --data moons --workers 2 --cluster')} {RECIPE}"
    process, said = first.start(f"{train} --epochs {LONG}")
    wait_for(lambda: f"epoch 3/{LONG}" in said.read_text() or process.poll() is not None, PATIENCE)
    assert process.poll() is None, said.read_text()
    assert [len(host.processes("RayTrainWorker")) for host in (first, second)] == [1, 1]

    doors = reached(first, second)
    told = probe(third, *doors)
    token = (first.folder / "home" / ".ray" / "auth_token").read_text().strip()
    known = probe(third, *doors, token)
    guarded = {door for door in doors if told[door] == "refused"}
    assert "10.0.0.1:6379" in guarded
    assert known["10.0.0.1:6379"] == "let in", "it is the token that is asked for"
    # What asks for nothing are the workers' own connections, and nothing else; some say nothing to a stranger.
    assert {doors[door] for door in doors if told[door] == "let in"} <= {"ray::RayTrainWorker"}, (doors, told)

    (run,) = list_runs(shared / "workspace")[0]
    first.run(f"inkcap pause {run.id} --workspace {SHARED}workspace")
    assert process.wait(PATIENCE) == 0, said.read_text()
    epochs = max(line[1] for line in curve(run)) + 2
    cluster = f"--cluster 10.0.0.1:6379 --expose --workspace {SHARED}workspace"
    assert "to the same bits" in first.run(f"inkcap resume {run.id} --epochs {epochs} {cluster}", seconds=PATIENCE)
    first.run(guide("inkcap evaluate moons-moons-0001"), seconds=PATIENCE)
    for host in (second, first):
        host.run(guide("ray stop"))
        assert host.processes("ray") == []

    first.run(f"inkcap train moons.inkcap.json --data moons {RECIPE} --workers 2 --epochs {epochs}", seconds=PATIENCE)
    compare(shared)


def test_two_machines_train_by_torchrun_as_two_processes_of_one_do(
    machines: tuple[Host, Host, Host], shared: Path
) -> None:
    first, second, third = machines
    lines = [line[2:] for line in GUIDE.splitlines() if line.startswith("$ torchrun --nnodes 2")]
    lines = [f"{line.replace('/shared/', SHARED)} {RECIPE} --epochs 400 --quiet" for line in lines]
    started = [host.start(line) for host, line in zip((first, second), lines, strict=True)]
    wait_for(lambda: list_runs(shared / "workspace")[0] or started[0][0].poll() is not None, PATIENCE)
    assert started[0][0].poll() is None, started[0][1].read_text()
    assert all(host.processes("-m inkcap train") for host in (first, second))
    # PyTorch's meetings ask nobody who they are: the guide says so.
    assert "let in" in probe(third, *reached(first, second)).values()
    for process, said in started:
        assert process.wait(PATIENCE) == 0, said.read_text()
    assert "400 epochs:" in started[0][1].read_text()
    assert "epochs" not in started[1][1].read_text(), "one of them speaks"
    alone = "torchrun --standalone --nproc-per-node 2 -m inkcap train moons.inkcap.json --data moons"
    first.run(f"{alone} {RECIPE} --epochs 400 --quiet", seconds=PATIENCE)
    compare(shared)


def compare(shared: Path) -> None:
    """See that the run of two machines came to the same as that of two processes of one, to the bit."""
    (ours,), (theirs,) = (list_runs(place)[0] for place in (shared / "workspace", shared))
    assert ours.record.state == theirs.record.state == "finished"
    assert curve(ours) == curve(theirs)
    assert learnt(ours) == learnt(theirs)
