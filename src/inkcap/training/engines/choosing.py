"""Choice by measurement: a few steps of each way to compute, on copies, before the first step of the run.

Whether measuring is worth its time is decided by how much there is to do, as the drawing and the recipe tell it, not
by a clock: short runs begin at once, and always the same way.
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from inkcap.engine import named_weights
from inkcap.engine.rewrites import TRACEABLE, USUAL
from inkcap.network import Network, Report
from inkcap.training.engines.choice import AS_DRAWN, CHANNELS_LAST, Choice
from inkcap.training.engines.compiling import COMPILING, NO_COMPILER, Compiled, CompileFailure, has_compiler
from inkcap.training.engines.many import FEW_CONNECTIONS, neurons_of
from inkcap.training.engines.remembered import keep_choice, key_of, recall_choice
from inkcap.training.engines.steppers import CompiledStepper, lay_out, make_stepper, whole_batch
from inkcap.training.facts import NetworkFacts
from inkcap.training.optimisers import NARROW, make_optimiser
from inkcap.training.session import Course

WORTH_KERNELS = 10.0
"""Seconds of work from which on loading the kernels of plain neurons pays."""
WORTH_MEASURING = 30.0
"""Seconds of work from which on a few of them go into finding the fastest way."""
COMPILING_SECONDS = 2.5
"""What compiling takes for every capsule and connection, by a usual processor."""
WORTH_COMPILING = 10.0
"""How many times as long as compiling a run must be before compiling is tried: it may gain a tenth, or nothing."""
_LEAD = 1.03
"""Only what is clearly faster than eager is taken instead of it."""
_ROUNDS = 5
_SLOT = 0.15

Batch = tuple[Sequence[Tensor], Sequence[Tensor]]


@dataclass(frozen=True)
class Chosen:
    """A choice, what was compiled for it, and what is to be said about it."""

    choice: Choice
    compiled: Compiled | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """What is to be trained, and on how many threads at most; `threads_given` ones are not for us to choose."""

    network: Network
    facts: NetworkFacts
    report: Report
    course: Course
    threads: int
    threads_given: bool = False
    tell: Callable[[str], None] = lambda words: None

    @property
    def work(self) -> float:
        """The seconds that eager steps might take in all, by a usual processor: for deciding, not for telling."""
        course = self.course
        step = 40e-6 * self._size + 6 * self.report.multiply_adds * whole_batch(course) / 4e10
        return step * course.training.steps * course.recipe.epochs

    @property
    def _size(self) -> int:
        return len(self.report.capsules) + len(self.report.connections)

    @property
    def worth_compiling(self) -> bool:
        """Tell whether the run is long enough for its step to be compiled."""
        return self.work >= WORTH_COMPILING * COMPILING_SECONDS * self._size


def choose(case: Case) -> Chosen:
    """Choose how to compute: what the recipe says, what was found before, or what is fastest now."""
    wanted = case.course.recipe.engine
    if case.course.recipe.recompute:
        return _recomputing(case)
    eager = Choice("eager", AS_DRAWN, case.threads)
    if wanted in ("auto", "plain") and (wanted == "plain" or case.work >= WORTH_KERNELS):
        if neurons_of(case.network, case.facts, case.course) is not None:
            return Chosen(replace(eager, engine="plain"))
        if wanted == "plain":
            return Chosen(eager, notes=(_NOT_PLAIN,))
    if case.network.plain is not None:
        return Chosen(eager)
    if wanted == "compiled":
        return _compiled_as_told(case)
    if wanted == "explicit":
        return Chosen(replace(eager, engine="explicit", rewrites=USUAL))
    if wanted == "eager" or _cannot_be_chosen(case):
        return Chosen(eager)
    if case.work < WORTH_MEASURING:
        return Chosen(eager)
    key = key_of(case.network, case.facts, case.course, [case.threads, case.threads_given, case.worth_compiling])
    known = recall_choice(key)
    if known is not None:
        return Chosen(known)
    case.tell("finding the fastest way to compute")
    chosen = _fastest(case)
    keep_choice(key, chosen.choice)
    return chosen


def _recomputing(case: Case) -> Chosen:
    """Choose what computes groups twice: planned steps, which are compiled only where that is asked for."""
    if case.network.plain is not None:
        return Chosen(Choice("eager", AS_DRAWN, case.threads), notes=(_IN_COLUMNS,))
    if case.course.recipe.engine == "compiled" and not _cannot_be_chosen(case):
        return _compiled_as_told(case)
    return Chosen(Choice("explicit", AS_DRAWN, case.threads, USUAL))


def _cannot_be_chosen(case: Case) -> bool:
    """Tell where eager is the only way: played samples, weights of 16 bits, devices without double precision."""
    course = case.course
    narrow = any(parameter.dtype in NARROW for parameter in course.parameters)
    return course.play is not None or narrow or course.training.device.type == "mps"


def _compiled_as_told(case: Case) -> Chosen:
    choice = Choice("compiled", AS_DRAWN, case.threads, TRACEABLE)
    explicit = replace(choice, engine="explicit")
    if _cannot_be_chosen(case):
        return Chosen(Choice("eager", AS_DRAWN, case.threads), notes=(_UNFIT,))
    if case.course.training.device.type == "cpu" and not has_compiler():
        return Chosen(explicit, notes=(NO_COMPILER,))
    case.tell(COMPILING)
    batch = _first_batch(case.course)
    try:
        layouts = (AS_DRAWN, CHANNELS_LAST) if _has_pictures(case.course) else (AS_DRAWN,)
        trials = [Trial(case, replace(choice, layout=layout), batch) for layout in layouts]
        for trial in trials:
            trial.warm()
    except CompileFailure as problem:
        return Chosen(explicit, notes=(f"{problem}; its steps are computed one by one.",))
    best = trials[0] if len(trials) == 1 else _best(trials)
    return Chosen(best.choice, best.compiled)


_NOT_PLAIN = (
    f"The engine plain is for small networks of neurons, up to {FEW_CONNECTIONS:,} connections, with sgd, momentum or "
    "adam and one usual loss, none of it clipped, frozen or decayed; the steps are eager."
)
_IN_COLUMNS = "Neurons in columns keep one number each, and nothing of them is computed twice."
_UNFIT = "This run cannot be compiled: its samples are played, or its weights have 16 bits; the steps are eager."


class Trial:
    """A way to compute, tried on copies of the weights."""

    def __init__(self, case: Case, choice: Choice, batch: Batch) -> None:
        course = case.course
        module = copy.deepcopy(course.module)
        lay_out(module, choice.layout)
        names = {id(p): name for name, p in named_weights(course.module).items()}
        own = named_weights(module)
        parameters = [own[names[id(p)]] for p in course.parameters]
        optimiser = make_optimiser(course.recipe.optimiser, parameters)
        trial = replace(course, module=module, parameters=parameters)
        self.choice, self._batch, self._device = choice, batch, course.training.device
        self._take = make_stepper(choice, case.network, case.facts, trial, optimiser)
        self.seconds: list[float] = []
        self._calls = 1

    @property
    def compiled(self) -> Compiled | None:
        """What was compiled, if anything was."""
        inner: Any = getattr(self._take, "inner", self._take)
        return inner.compiled if isinstance(inner, CompiledStepper) else None

    def warm(self) -> None:
        """Take the first steps, which compile, and find how many fit into a slot."""
        torch.set_num_threads(self.choice.threads)
        self._take(*self._batch)
        self._wait()
        begun = time.perf_counter()
        self._take(*self._batch)
        self._wait()
        self._calls = max(1, round(_SLOT / max(time.perf_counter() - begun, 1e-6)))

    def slot(self) -> None:
        """Take as many steps as fit into a slot, by the clock."""
        torch.set_num_threads(self.choice.threads)
        begun = time.perf_counter()
        for _ in range(self._calls):
            self._take(*self._batch)
        self._wait()
        self.seconds.append((time.perf_counter() - begun) / self._calls)

    def _wait(self) -> None:
        """Wait for the device: elsewhere than on the processor a call returns before its work is done."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        elif self._device.type == "mps":
            torch.mps.synchronize()

    @property
    def median(self) -> float:
        """Seconds of a step."""
        return statistics.median(self.seconds)


def _race(trials: Sequence[Trial]) -> None:
    """Let trials take turns, so that whatever slows the machine down slows all of them down."""
    for turn in range(_ROUNDS):
        for trial in trials if turn % 2 == 0 else reversed(trials):
            trial.slot()


def _best(trials: Sequence[Trial]) -> Trial:
    for trial in trials:
        trial.seconds.clear()
    _race(trials)
    return min(trials, key=lambda trial: trial.median)


def _fastest(case: Case) -> Chosen:
    """Find the fastest way: first engine and layout, then threads, then compiled, each against the best so far."""
    before = torch.get_num_threads()
    notes: tuple[str, ...] = ()
    batch = _first_batch(case.course)
    devices = [case.course.training.device] if case.course.training.device.type == "cuda" else []
    try:
        with torch.random.fork_rng(devices=devices):
            eager = Trial(case, Choice("eager", AS_DRAWN, case.threads), batch)
            eager.warm()
            trials = [eager, *_warmed(case, _ways(case), batch)]
            best = _best(trials)
            if case.threads > 1 and not case.threads_given:
                alone = [*_warmed(case, [replace(best.choice, threads=1)], batch)]
                best = _best([best, *alone])
            if case.worth_compiling:
                case.tell(COMPILING)
                compiled = replace(best.choice, engine="compiled", rewrites=TRACEABLE)
                candidates = [*_warmed(case, [compiled], batch)]
                if not candidates and not has_compiler():
                    notes = (NO_COMPILER,)
                best = _best([best, *candidates])
            if best is not eager:
                _best([eager, best])
                if eager.median < best.median * _LEAD:
                    best = eager
    finally:
        torch.set_num_threads(before)
    return Chosen(best.choice, best.compiled, notes)


def _ways(case: Case) -> Iterator[Choice]:
    eager = Choice("eager", AS_DRAWN, case.threads)
    explicit = Choice("explicit", AS_DRAWN, case.threads, USUAL)
    yield explicit
    if _has_pictures(case.course):
        yield replace(eager, layout=CHANNELS_LAST)
        yield replace(explicit, layout=CHANNELS_LAST)


def _warmed(case: Case, choices: Sequence[Choice] | Iterator[Choice], batch: Batch) -> Iterator[Trial]:
    """Give the trials that work; a way that does not work here is none."""
    for choice in choices:
        try:
            trial = Trial(case, choice, batch)
            trial.warm()
        except (CompileFailure, RuntimeError, NotImplementedError):
            continue
        yield trial


def _has_pictures(course: Course) -> bool:
    return any(parameter.ndim == 4 for parameter in course.module.parameters())


def _first_batch(course: Course) -> Batch:
    return next(course.training.shuffled(course.order(1), 1))
