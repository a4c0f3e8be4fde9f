"""Two real workers over Ray: the same run as by one process, whatever happens to them."""

import asyncio
import math
import os
import secrets
import shutil
import signal
import time

import pytest
from processes import LOOPBACKS, wait_for
from together import EPOCHS, Hearing, Killing, curve, learnt, small_drawing, small_recipe, whole, workers_of

from inkcap.cluster import ClusterError
from inkcap.cluster.mailbox import MOST_RESTARTS, Mailbox, Mistake
from inkcap.cluster.training import resume_together, train_together
from inkcap.recipes import RunFolder, list_runs
from inkcap.remote import at
from inkcap.structures import InkcapError
from inkcap.structures.errors import RunFailure
from inkcap.training import StopRequest, resume, train

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
"""Ray warns of what it does itself."""


def test_two_workers_follow_the_curve_of_one_process(undisturbed, tmp_path):
    result, heard = undisturbed
    alone = train(small_drawing(), small_recipe(workers=1), tmp_path)
    assert result.state == "finished"
    assert (result.epochs, result.steps) == (alone.epochs, alone.steps)
    pairs = list(zip(curve(result.run), curve(alone.run), strict=True))
    assert len(pairs) > EPOCHS
    for ours, theirs in pairs:
        assert ours[:3] == theirs[:3]
        for name, value in ours[3].items():
            assert math.isclose(value, theirs[3][name], abs_tol=1e-6), (ours[:3], name)
    assert [event.epoch for event in heard.epochs] == list(range(1, EPOCHS + 1))
    assert [event.run for event in heard.starts] == [result.run.id]
    assert heard.steps
    assert [(event.state, event.epochs) for event in heard.ends] == [("finished", EPOCHS)]
    record = RunFolder.open(result.run.path).record
    assert record.state == "finished"
    assert result.run.environment()["workers"] == 2


def test_workers_of_one_machine_open_nothing_to_others(undisturbed):
    assert undisturbed[1].open
    assert undisturbed[1].open <= LOOPBACKS


class Stopping(Hearing):
    """Stops a training after some epochs."""

    def __init__(self, stop):
        super().__init__()
        self.stop = stop

    def on_epoch(self, event):
        super().on_epoch(event)
        if event.epoch >= 5:
            self.stop.stop("enough for now")


@pytest.mark.soak
def test_a_run_of_two_workers_is_stopped_and_goes_on_in_one_process_which_is_told(cluster, undisturbed, tmp_path):
    stop = StopRequest()
    first = train_together(small_drawing(), small_recipe(), tmp_path, Stopping(stop), cluster=cluster, stop=stop)
    assert first.run.recipe().workers == 2
    second = resume(first.run, tmp_path)
    assert second.state == "finished"
    assert any("not to the same bits" in note and "workers" in note for note in second.notes), second.notes
    ours, theirs = curve(second.run), curve(undisturbed[0].run)
    assert [line for line in ours if line[2] <= first.steps] == [line for line in theirs if line[2] <= first.steps]
    assert math.isclose(ours[-1][3]["loss"], theirs[-1][3]["loss"], abs_tol=1e-6)


def test_killed_workers_start_again_and_come_to_the_same_bits(cluster, undisturbed, tmp_path):
    _survives(cluster, undisturbed[0], tmp_path, kills=3)


@pytest.mark.soak
def test_twenty_killed_workers_start_again_and_come_to_the_same_bits(cluster, undisturbed, tmp_path):
    for number in range(5):
        _survives(cluster, undisturbed[0], tmp_path / str(number), kills=4, seed=number)


def _survives(cluster, undisturbed, folder, kills, seed=None):
    seed = secrets.randbits(32) if seed is None else seed
    print("seed", seed)
    killing = Killing(kills, seed)
    result = train_together(small_drawing(), small_recipe(), folder, killing, cluster=cluster)
    assert killing.killed == kills
    assert result.state == "finished"
    assert learnt(result.run) == learnt(undisturbed.run)
    assert curve(result.run) == curve(undisturbed.run)
    assert whole(result.run)
    runs, damaged = list_runs(folder)
    assert [run.id for run in runs] == [result.run.id]
    assert not damaged
    assert len(killing.starts) == 1
    assert len(killing.ends) == 1


@pytest.mark.soak
def test_a_users_mistake_is_one_clear_error_and_leaves_no_run(cluster, tmp_path):
    with pytest.raises(InkcapError, match=r"recipe\.batch: 2 workers cannot share a batch of 1") as caught:
        train_together(small_drawing(), small_recipe(batch=1), tmp_path, cluster=cluster)
    assert "\n" not in str(caught.value)
    assert list_runs(tmp_path) == ((), ())


def test_more_workers_than_there_is_room_for_are_refused_in_seconds(cluster, tmp_path):
    begun = time.monotonic()
    with pytest.raises(ClusterError, match=r"1000 workers of 1 CPU each were asked for, and there is room for \d+ \("):
        train_together(small_drawing(), small_recipe(workers=1000, batch=2000), tmp_path, cluster=cluster)
    assert time.monotonic() - begun < 10


def test_workers_that_come_to_nothing_are_given_up():
    async def life():
        mailbox = Mailbox()
        assert await mailbox.begin(-1) == 1
        starts = [await mailbox.begin(7) for _ in range(1 + MOST_RESTARTS)]
        assert starts == [2, 3, 4, 5]
        # A checkpoint came in between.
        assert await mailbox.begin(8) == 6
        found = []
        for _ in range(1 + MOST_RESTARTS):
            await mailbox.lost("worker 2 of 2: no such file.")
            await mailbox.ended("worker 1: it was killed")
            found.append(await mailbox.begin(8))
        assert found == [7, 8, 9, 0]
        return await mailbox.take(1)

    *_, last = asyncio.run(life())
    assert last == Mistake(
        "the workers ended 4 times before the next checkpoint (worker 2 of 2: no such file).", failed=True
    )


def test_workers_that_never_begin_are_given_up():
    async def life():
        mailbox = Mailbox()
        assert await mailbox.begin(-1) == 1
        for _ in range(MOST_RESTARTS):
            await mailbox.ended("worker 1: it was killed")
        assert await mailbox.begin(-1) == 2
        for _ in range(1 + MOST_RESTARTS):
            assert not await mailbox.closed(0)
            await mailbox.ended("worker 2: ModuleNotFoundError: No module named 'inkcap'")
        assert await mailbox.closed(0)
        assert await mailbox.begin(-1) == 0
        return await mailbox.take(1)

    *_, last = asyncio.run(life())
    assert last.words == (
        "the workers ended 4 times before they could begin (worker 2: ModuleNotFoundError: No module named 'inkcap')."
    )


class Felling(Hearing):
    """Kills a worker as soon as each of their starts is heard of."""

    def __init__(self):
        super().__init__()
        self.felled = 0

    def on_start(self, event):
        super().on_start(event)
        self._fell()

    def on_pause(self, event):
        super().on_pause(event)
        self._fell()

    def _fell(self):
        os.kill(workers_of(os.getpid())[0], signal.SIGKILL)
        self.felled += 1


@pytest.mark.soak
def test_workers_that_are_killed_again_and_again_are_given_up_and_the_run_can_go_on(cluster, undisturbed, tmp_path):
    felling = Felling()
    # No checkpoint comes in between.
    recipe = small_recipe(checkpoint=3600.0, epochs=100_000)
    with pytest.raises(RunFailure) as caught:
        train_together(small_drawing(), recipe, tmp_path, felling, cluster=cluster)
    assert felling.felled == 1 + MOST_RESTARTS
    (run,), _ = list_runs(tmp_path)
    assert str(caught.value) == (
        f"{run.id}: the workers ended 4 times before the next checkpoint (worker 1: it was killed, or its machine is "
        f"lost); what was learnt until the last one is kept: inkcap resume {run.id}."
    )
    assert (run.record.state, run.record.reason) == ("interrupted", str(caught.value))
    assert [event.state for event in felling.ends] == ["failed"]
    wait_for(lambda: not workers_of(os.getpid()))
    more = resume_together(run, tmp_path, cluster=cluster, stop=StopRequest(until=2))
    assert (more.state, more.epochs) == ("interrupted", 2)
    theirs = curve(undisturbed[0].run)
    assert curve(more.run) == theirs[: len(curve(more.run))]


@pytest.mark.soak
def test_workers_that_never_begin_are_given_up_instead_of_being_started_for_ever(cluster, tmp_path, monkeypatch):
    def fall(config):
        """Take the place of a worker's part, and end like one whose machine lacks something."""
        raise ModuleNotFoundError("No module named 'inkcap'")

    monkeypatch.setattr("inkcap.cluster.training.work", fall)
    with pytest.raises(RunFailure) as caught:
        train_together(small_drawing(), small_recipe(), tmp_path, cluster=cluster)
    assert str(caught.value) == (
        "the workers ended 4 times before they could begin (worker 1: ModuleNotFoundError: No module named 'inkcap')."
    )
    assert list_runs(tmp_path) == ((), ())


def test_workers_that_are_stopped_keep_a_run_in_storage_and_others_go_on_with_it(cluster, undisturbed, tmp_path):
    url, stop = f"file://{tmp_path}/store", StopRequest()
    (tmp_path / "store").mkdir()
    first = train_together(small_drawing(), small_recipe(), url, Stopping(stop), cluster=cluster, stop=stop)
    assert (first.state, first.reason) == ("interrupted", "enough for now")
    assert 5 <= first.epochs < EPOCHS
    # What the first workers had on their machine is gone.
    shutil.rmtree(first.run.path)
    with at(url) as place:
        run = place.run_to_resume(first.run.id)
        result = resume_together(run, url, cluster=cluster)
    assert (result.state, result.epochs) == ("finished", EPOCHS)
    with at(url) as place:
        assert learnt(place.run(first.run.id)) == learnt(undisturbed[0].run)
