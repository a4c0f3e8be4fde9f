"""Running a sweep: trials are proposed, trained some at once, compared, and the record always says how it stands."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from inkcap.network.memory import Memory
from inkcap.recipes import Recipe, RunFolder, layout
from inkcap.recipes.liveness import held
from inkcap.recipes.measures import more_is_better
from inkcap.recipes.runfolder import KILLED
from inkcap.recipes.steering import GOING
from inkcap.structures.errors import InkcapError
from inkcap.sweeps.errors import SweepError
from inkcap.sweeps.halving import promoted, rung_epochs
from inkcap.sweeps.processes import RunFinder, harvest, never_began, prepare, words_of
from inkcap.sweeps.proposals import MOST_TRIALS, grid_points, guided_points, random_points
from inkcap.sweeps.record import (
    METHODS,
    Sweep,
    SweepLog,
    SweepPlan,
    SweepState,
    Trial,
    check_name,
    create_sweep,
    free_name,
    open_sweep,
)
from inkcap.sweeps.sites import Here, Live, Site
from inkcap.sweeps.space import Point, Space

LOOK_EVERY = 0.1
USUAL_TRIALS = 20
USUAL_FACTOR = 3
MOST_RESTARTS = 3
"""How often a trial is begun again whose machine was lost."""


class SweepListener:
    """Hears what happens; each method does nothing until a subclass says otherwise."""

    def on_start(self, sweep: Sweep, trials: list[Trial]) -> None:
        """Hear that the sweep begins, or goes on, with these trials."""

    def on_trial(self, trial: Trial) -> None:
        """Hear how a trial stands."""

    def on_rung(self, epochs: int, going: tuple[int, ...], compared: int) -> None:
        """Hear which trials go on after so many epochs, of how many."""

    def on_stop(self) -> None:
        """Hear that the trials are asked to stop."""


def plan_sweep(
    space: Space,
    workspace: Path,
    *,
    method: str = "grid",
    trials: int | None = None,
    at_once: int | None = None,
    factor: int = USUAL_FACTOR,
    seed: int = 0,
    name: str | None = None,
    source: str = "",
    site: Site | None = None,
) -> SweepPlan:
    """Choose what is left open, and refuse what cannot be before anything is written."""
    if method not in METHODS:
        raise SweepError(f"--method: there is no {method!r}; there are {', '.join(METHODS)}.")
    if method == "grid" and trials is not None:
        raise SweepError(f"--trials: a grid tries all its {space.grid_size()} points; leave it out, or take random.")
    count = space.grid_size() if method == "grid" else trials or USUAL_TRIALS
    if not 1 <= count <= MOST_TRIALS:
        raise SweepError(f"{count} trials: give from 1 to {MOST_TRIALS}; fewer values, or random with --trials N.")
    if not 2 <= factor <= 100:
        raise SweepError(f"--factor: one of {factor} goes on; give a whole number from 2 to 100.")
    if method == "halving":
        rung_epochs(space.recipe.epochs, count, factor)
        if "recipe.epochs" in space.varied:
            raise SweepError("recipe.epochs: halving itself decides about the epochs; leave it out of the space.")
    site, wanted = site or Here(), space.recipe.threads or 1
    many = at_once or max(1, min(site.room(wanted), site.most, count))
    site.check(many, wanted)
    threads = space.recipe.threads or site.threads(many)
    data = space.recipe.data.name
    chosen = check_name(name) if name else free_name(workspace, space.drawing.name, data)
    return SweepPlan(chosen, space.drawing.name, method, space.to_json(), count, seed, factor, many, threads,
                     source=source)  # fmt: skip


def begin_sweep(workspace: Path, plan: SweepPlan, space: Space) -> Sweep:
    """Write a sweep with all that is known to be tried; a space without one possible point is refused."""
    points = first_points(space, plan)
    refusals = _refusals(space, points)
    if all(refusals):
        raise SweepError(f"none of the {len(points)} points can be trained; the first: {refusals[0]}")
    sweep = create_sweep(workspace, plan, space)
    log = SweepLog(sweep)
    try:
        log.proposed(_proposed(1, points, refusals))
    finally:
        log.close()
    return open_sweep(sweep.path)


def first_points(space: Space, plan: SweepPlan) -> list[Point]:
    """Give what is tried first: everything, unless what comes out decides about the rest."""
    if plan.method == "grid":
        return grid_points(space)
    if plan.method == "guided":
        return _guided(space, plan, {})
    return random_points(space, plan.trials, plan.seed)


def _guided(space: Space, plan: SweepPlan, trials: dict[int, Trial]) -> list[Point]:
    known = [(trial.values, trial.value) for trial in trials.values()]
    count = min(plan.at_once, plan.trials - len(known))
    direction = "maximize" if highest(space.recipe) else "minimize"
    return guided_points(space, count, plan.trials, plan.seed, known, direction) if count > 0 else []


def highest(recipe: Recipe) -> bool:
    """Tell whether more is better of what decides."""
    return more_is_better(recipe.monitor)


def _refusals(space: Space, points: list[Point]) -> list[str]:
    memory = Memory()
    return [space.refusal(point, memory) for point in points]


def _proposed(first: int, points: list[Point], refusals: list[str]) -> list[Trial]:
    return [
        Trial(number, dict(point), "impossible" if refusal else "waiting", refusal)
        for number, (point, refusal) in enumerate(zip(points, refusals, strict=True), start=first)
    ]


class Runner:
    """One process that takes a sweep to its end, or as far as it is let."""

    def __init__(
        self,
        sweep: Sweep,
        workspace: Path,
        listener: SweepListener | None = None,
        at_once: int | None = None,
        site: Site | None = None,
    ) -> None:
        """Stand where the record says."""
        self.site, self.losses = site or Here(), Counter[int]()
        self.sweep, self.workspace, self.listener = sweep, workspace.resolve(), listener or SweepListener()
        self.plan, self.space = sweep.plan, sweep.space()
        self.at_once = at_once or min(self.plan.at_once, max(1, self.site.room(self.plan.threads)))
        self.site.check(self.at_once, self.plan.threads)
        self.trials: dict[int, Trial] = {}
        self.live: dict[int, Live] = {}
        self.runs = RunFinder(self.workspace)
        self.wish = 0
        """How often it was asked to stop."""

    def run(self) -> Sweep:
        """Go on until nothing is left to try, or until asked to stop, and give the sweep as it stands then."""
        name = self.plan.name
        with held(self.sweep.path, SweepError(f"{name}: another process runs this sweep already; wait for its end.")):
            # Another process may have gone on with it, and ended, since it was opened.
            self.sweep = open_sweep(self.sweep.path)
            self.trials = dict(self.sweep.trials)
            self.decided = self.sweep.decided
            self.log = SweepLog(self.sweep)
            try:
                self.log.sweep("running")
                if not self.trials:
                    self._propose(first_points(self.space, self.plan))
                halving, total = self.plan.method == "halving", len(self.trials)
                self.rungs = rung_epochs(self.space.recipe.epochs, total, self.plan.factor) if halving else ()
                with self._listening():
                    self._take_up()
                    self.listener.on_start(self.sweep, list(self.trials.values()))
                    state = self._go()
                self.log.sweep(state, "" if state == "finished" else "stopped on request")
            finally:
                self.log.close()
        return open_sweep(self.sweep.path)

    def _go(self) -> SweepState:
        while True:
            self._drive()
            if self.wish:
                return "stopped"
            if not self._advance():
                return "finished"

    def _take_up(self) -> None:
        """Take over what an earlier process left: runs that still go on, and those that ended meanwhile."""
        for trial in list(self.trials.values()):
            if trial.state == "interrupted":
                late = bool(self.rungs) and trial.rung < self.decided
                reason = "its rung was decided without it" if late else ""
                self._put(replace(trial, state="stopped" if late else "waiting", reason=reason))
            elif trial.state == "running":
                run = self.runs.find(self.sweep.tag(trial.number))
                live = self._left(run) or self.site.find(trial.pid, trial.process)
                if live is not None:
                    self.live[trial.number] = live
                elif run is None:
                    self._put(replace(trial, state="waiting", pid=0, process=""))
                else:
                    self._ended(trial, again=True)

    def _drive(self) -> None:
        """Train what waits, as many at once as may be, until nothing does."""
        while True:
            for number, live in list(self.live.items()):
                self._note_run(self.trials[number])
                if live.ended():
                    del self.live[number]
                    self._let_go(self.trials[number], live)
                elif self.wish:
                    live.stop()
            if self.wish > 1 or (self.wish and not self.live):
                return
            waiting = [trial for trial in self.trials.values() if trial.state == "waiting"]
            if not self.wish:
                for trial in waiting[: max(0, self.at_once - len(self.live))]:
                    self._begin(trial)
            if not self.live and not any(trial.state == "waiting" for trial in self.trials.values()):
                return
            time.sleep(LOOK_EVERY)

    def _begin(self, trial: Trial) -> None:
        run = self.runs.find(self.sweep.tag(trial.number))
        left = self._left(run)
        if run is not None and left is None and never_began(run):
            run.remove()
            run = None
        trial = replace(trial, run=run.id if run is not None else "")
        if run is not None and run.record.state == "finished":
            self._ended(trial)
            return
        if left is not None:
            # Its process was started by a sweep that was killed before it could write that down.
            self._adopt(trial, left)
            return
        try:
            drawing, recipe = self.space.apply(trial.values)
            prepare(self.sweep, trial, drawing, replace(recipe, threads=self.plan.threads))
            live = self.site.start(self.sweep, trial, self.workspace, self._until(trial))
        except InkcapError as problem:
            self._put(replace(trial, state="impossible", reason=str(problem)))
            return
        except OSError as problem:
            raise SweepError(
                f"trial {trial.number} could not be started ({problem.strerror}); mend it, and go on with --resume."
            ) from None
        self._adopt(trial, live)

    def _adopt(self, trial: Trial, live: Live) -> None:
        """Write that a process trains a trial, and follow it."""
        self.live[trial.number] = live
        self._put(replace(trial, state="running", reason="", pid=live.pid, process=live.mark))

    def _left(self, run: RunFolder | None) -> Live | None:
        """Find the process that still writes a run, if there is one."""
        going = run is not None and run.record.state in GOING
        return self.site.find(run.record.pid, run.record.process) if run is not None and going else None

    def _let_go(self, trial: Trial, live: Live) -> None:
        """Write what came of a trial whose process has ended; where its machine was lost, it goes on elsewhere."""
        if not live.lost():
            self._ended(trial, again=not live.own)
            return
        left = self._left(self.runs.find(self.sweep.tag(trial.number)))
        if left is not None:
            # It saves what it has learnt, and is waited for.
            self.live[trial.number] = left
            return
        self.losses[trial.number] += 1
        self._ended(trial, again=self.losses[trial.number] <= MOST_RESTARTS)

    def _until(self, trial: Trial) -> int | None:
        """Give the epoch after which a trial is compared; none when it is to have all."""
        last = not self.rungs or trial.rung >= len(self.rungs) - 1
        return None if last else self.rungs[trial.rung]

    def _note_run(self, trial: Trial) -> None:
        """Write which run a trial is, as soon as there is one."""
        if not trial.run:
            run = self.runs.find(self.sweep.tag(trial.number))
            if run is not None:
                self._put(replace(trial, run=run.id))

    def _ended(self, trial: Trial, *, again: bool = False) -> None:
        """Write what came of a trial; one that was cut short waits, where it may be gone on with."""
        run = self.runs.find(self.sweep.tag(trial.number))
        if run is not None and run.record.state in GOING:
            # Killed on another machine, from which nobody sees that.
            run = run.update(state="interrupted", reason=KILLED, finished=layout.now())
        until = self._until(trial)
        found = harvest(trial, run, words_of(self.sweep, trial), until)
        if found.state == "reached" and until is None:
            found = replace(found, state="done")
        cut = found.state == "interrupted" or (run is None and (bool(self.wish) or again))
        if cut and (self.wish or again):
            found = replace(found, state="waiting", reason="")
        self._put(found)

    def _advance(self) -> bool:
        """Decide the rung that all have reached, or propose what is next; tell whether there is anything to do."""
        if self.plan.method == "guided":
            return self._propose(_guided(self.space, self.plan, self.trials))
        rung = self.decided
        reached = [trial for trial in self.trials.values() if trial.state == "reached" and trial.rung == rung]
        if not reached:
            return False
        values = [(trial.number, trial.value) for trial in reached]
        going = promoted(values, self.plan.factor, highest=highest(self.space.recipe))
        self.log.rung(rung, going)
        self.sweep = open_sweep(self.sweep.path)
        self.trials, self.decided = dict(self.sweep.trials), self.sweep.decided
        self.listener.on_rung(self.rungs[rung], going, len(reached))
        return bool(going)

    def _propose(self, points: list[Point]) -> bool:
        """Add trials, if there are any."""
        if points:
            found = _proposed(len(self.trials) + 1, points, _refusals(self.space, points))
            self.log.proposed(found)
            self.trials.update({trial.number: trial for trial in found})
        return bool(points)

    def _put(self, trial: Trial) -> None:
        self.log.trial(trial)
        self.trials[trial.number] = trial
        self.listener.on_trial(trial)

    @contextmanager
    def _listening(self) -> Generator[None]:
        """Turn SIGINT and SIGTERM into a wish to stop; a second one leaves the trials to themselves."""

        def handle(number: int, frame: FrameType | None) -> None:
            self.wish += 1
            if self.wish == 1:
                self.listener.on_stop()

        before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, previous in before.items():
                signal.signal(number, previous)
