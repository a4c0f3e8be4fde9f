"""A whole benchmark: every network with everyone who is in it, the machine's limits beside them, and growth."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import metadata

from inkcap.bench.cases import NETWORKS, Case, Costs, costs_of, find_case
from inkcap.bench.contenders import CONTENDERS, Contender, find_contender, installed, reference_of
from inkcap.bench.errors import BenchError
from inkcap.bench.growth import measure_growth
from inkcap.bench.limits import Limits
from inkcap.bench.measuring import SPREAD, Figure, Quartiles, Turns, figure_of, take_turns
from inkcap.bench.processes import Lost, Process, Ready
from inkcap.bench.records import CaseResult, Options, Result, Row
from inkcap.bench.table import heading, lines_of

Say = Callable[[str], None]
QUICK = ("mlp",)
QUICK_CONTENDERS = ("favoured", "inkcap", "inkcap-explicit")
PACKAGES = ("torch", "onnxruntime", "keras", "jax", "tensorflow", "tensorflow-cpu", "scipy", "neat-python", "numpy")


@dataclass
class _Taking:
    options: Options
    threads: int
    say: Say
    missing: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


def run(options: Options, say: Say = lambda line: None) -> Result:
    """Run a benchmark; ``say`` is told every line as soon as it is known."""
    threads = options.threads or _cores()
    load = _load()
    names = options.networks or (QUICK if options.quick else tuple(NETWORKS))
    cases = [find_case(name) for name in names]
    chosen = [find_contender(name) for name in options.contenders or (QUICK_CONTENDERS if options.quick else ())]
    taking = _Taking(options, threads, say)
    with ExitStack() as stack:
        limits = None
        if options.limits:
            limits = Limits(threads)
            stack.callback(limits.close)
        results = [_measure(case, chosen or list(CONTENDERS.values()), taking, limits) for case in cases]
    growth = measure_growth(options, threads, say) if options.growth else ()
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    versions = _versions()
    measured = tuple(result for result in results if result is not None)
    return Result(
        options.work, date, kind_of_machine(), threads, options.rounds, versions, taking.missing, measured, growth, load
    )


@dataclass
class _Prepared:
    """Those whose processes are ready, and why others are not."""

    processes: dict[str, Process] = field(default_factory=dict[str, Process])
    ready: dict[str, Ready] = field(default_factory=dict[str, Ready])
    lost: dict[str, str] = field(default_factory=dict[str, str])


def _measure(case: Case, contenders: Sequence[Contender], taking: _Taking, limits: Limits | None) -> CaseResult | None:
    options, work = taking.options, taking.options.work
    reference = reference_of(case)
    if not reference.takes(case, work):
        return None
    able, missing = installed([c for c in contenders if c.takes(case, work) and c.name != reference.name])
    taking.missing |= missing
    costs = costs_of(case)
    entered = (reference, *able)
    taking.say(f"{heading(case.title, case.batch)}: {len(entered)} contenders are prepared")
    with ExitStack() as stack:
        prepared = _prepare(case, costs, entered, taking, stack)
        if reference.name in prepared.lost:
            raise BenchError(f"{case.title}: the reference cannot run: {prepared.lost[reference.name]}")
        steps = {name: max(1, round(options.seconds / told.step)) for name, told in prepared.ready.items()}
        if limits is not None:
            limits.begin()
        try:
            turns = take_turns(
                {name: process for name, process in prepared.processes.items() if name != reference.name},
                prepared.processes[reference.name],
                steps,
                steps[reference.name],
                options.rounds,
                lose=lambda _, error: str(error),
                between=None if limits is None else limits.measure,
            )
        except Lost as error:
            raise BenchError(f"{case.title}: the reference or the limits broke off: {error}") from None
    prepared.lost |= turns.lost
    result = _result(case, costs, entered, prepared, turns, taking, limits)
    for line in lines_of(result):
        taking.say(line)
    return result


def _prepare(case: Case, costs: Costs, entered: Sequence[Contender], taking: _Taking, stack: ExitStack) -> _Prepared:
    """Start the processes, one after another: a contender that compiles is alone on the machine."""
    prepared = _Prepared()
    for contender in entered:
        process = Process(contender, [_name(case)], taking.options.work, taking.threads)
        stack.callback(process.close)
        try:
            told = process.ready()
            if told.parameters not in (None, costs.parameters):
                raise Lost(f"has {told.parameters} parameters, the drawing {costs.parameters}: not the same network")
        except Lost as error:
            prepared.lost[contender.name] = str(error)
        else:
            prepared.processes[contender.name], prepared.ready[contender.name] = process, told
    return prepared


def _result(
    case: Case,
    costs: Costs,
    entered: Sequence[Contender],
    prepared: _Prepared,
    turns: Turns,
    taking: _Taking,
    limits: Limits | None,
) -> CaseResult:
    operations = costs.operations(case.batch, taking.options.work)
    peak, band = (None, None) if limits is None else (limits.gigaflops(), limits.gigabytes())
    own = Quartiles.of(turns.reference)
    figures = {entered[0].name: Figure(Quartiles(1, 1, 1), own, own.spread > SPREAD)} | {
        name: figure_of(samples, taking.options.rounds)
        for name, samples in turns.samples.items()
        if name not in prepared.lost
    }

    def row(contender: Contender) -> Row:
        figure = figures.get(contender.name)
        if figure is None:
            return Row(contender.name, contender.title, reason=prepared.lost[contender.name])
        share = None if peak is None else operations / figure.seconds.median / 1e9 / peak
        return Row(contender.name, contender.title, figure, share, prepared.ready[contender.name].first)

    rows = tuple(row(contender) for contender in entered)
    noisy = own.spread > SPREAD
    return CaseResult(
        _name(case), case.title, case.batch, costs.parameters, operations, rows, peak, band, _load(), noisy
    )


def _name(case: Case) -> str:
    return next((name for name, known in NETWORKS.items() if known is case), case.name)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _load() -> float | None:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package).split("+")[0]
        except metadata.PackageNotFoundError:
            continue
    return found


def kind_of_machine() -> str:
    """Tell what kind of machine this is, without its name: cores, kind of processor, widest vectors, system."""
    cores = _cores()
    flags = ""
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            text = file.read()
        known = (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("asimd", "NEON"))
        flags = next((f" with {shown}" for flag, shown in known if f" {flag}" in text), "")
    return f"{cores} core{'s' if cores > 1 else ''} of {platform.machine()}{flags}, {platform.system()}"
