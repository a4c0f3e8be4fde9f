"""Whatever is edited, a check that remembers finds what a check of the drawing alone finds.

Work is counted in capsules that are looked at, not in time.
"""

from dataclasses import replace
from unittest import mock

import pytest
from edited import counted, edited, facts_of, merged, started
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inkcap.drawing import Drawing, Edit, Put, Remove
from inkcap.network import Memory, check
from inkcap.network.inference import Inference
from inkcap.network.report import Report
from inkcap.studio.reports import Telling, items_of, outline_of, told_change, told_whole
from inkcap.theory import Graph


def inferred_alone(report: Report) -> None:
    """Compare with one inference over the whole drawing, which knows of no settled capsules."""
    drawing = report.drawing
    if any(c.attributes.get("arrow") is False for c in drawing.connections.values()):
        return
    graph = Graph.of(drawing.capsules, [(c.back, c.front) for c in drawing.connections.values()])
    numbers = {id: i for i, id in enumerate(graph.order)}
    known = Inference(drawing, numbers, tuple(drawing.capsules), list(drawing.connections.values())).run()
    for id, capsule in report.capsules.items():
        for structure, shape in ((capsule.output, known.output[id]), (capsule.total_input, known.total_input[id])):
            assert (structure.shape if structure else None) == (shape if None not in shape else None), id


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@mock.patch("inkcap.studio.reports.SMALL", 0)  # Else small drawings are told in full.
@given(st.randoms(use_true_random=False), st.integers(4, 14), st.sampled_from([0.0, 0.6]))
def test_after_any_edits_a_memory_says_what_a_fresh_check_says(chance, turns, of_groups):
    drawing, memory, telling = started(), Memory(), Telling()
    if not of_groups and chance.random() < 0.5:
        drawing.apply(
            Edit("ungrouped", (Remove("connection", "c-use"), Remove("use", "use"), Remove("group", "block")))
        )
    page: dict | None = None
    items = None
    for turn in range(turns):
        if not edited(drawing, chance, f"x{turn}", of_groups=of_groups):
            continue
        if chance.random() < 0.2:
            continue
        report, fresh = check(drawing.copy(), memory), check(drawing.copy())
        assert facts_of(report) == facts_of(fresh)
        assert counted(report) == counted(fresh)
        assert (report.parameters, report.frozen_parameters, report.multiply_adds) == counted(report)[:3]
        inferred_alone(fresh)
        told = telling.items(report)
        assert told == items_of(fresh)
        page = merged(page, told_change(telling, outline_of(report), told, items))
        assert page == merged(None, told_whole(outline_of(fresh), items_of(fresh)))
        items = told


def chain(count: int) -> Drawing:
    """Convolutions one after another, every fourth with a shortcut."""
    drawing = Drawing("chain")
    drawing.add("c0", "2D-data", height=16, width=16, channels=4)
    for i in range(1, count):
        drawing.add(f"c{i}", "2D-relu")
        drawing.connect(f"c{i - 1}", f"c{i}", "convolution", kernels=4, kernel=3, padding=1)
        if i % 4 == 0:
            drawing.connect(f"c{i - 3}", f"c{i}", "transfer")
    return drawing


EDITS = {
    "a symbol in the middle": lambda d, n: d.apply(Edit("x", (Put(replace(d.capsules[f"c{n // 2}"], symbol="tanh")),))),
    "an attribute of the last": lambda d, n: d.change(f"c{n - 1}", bias="none"),
    "a connection more": lambda d, n: d.connect(f"c{n // 2}", f"c{n // 2 + 2}", "transfer"),
    "a shortcut less": lambda d, n: d.remove(f"c{n // 4 // 4 * 4 - 3}-c{n // 4 // 4 * 4}"),
    "a capsule more": lambda d, n: d.add("alone", "2D-relu"),
    "the last gone": lambda d, n: d.remove(f"c{n - 1}"),
    "a label": lambda d, n: d.apply(Edit("x", (Put(replace(d.capsules["c5"], label="five")),))),
}


@pytest.mark.parametrize("kind", EDITS)
def test_the_work_of_an_edit_does_not_grow_with_the_drawing(kind):
    spent = []
    for count in (40, 160, 640):
        drawing, memory = chain(count), Memory()
        check(drawing, memory)
        assert memory.looked_at == count
        works = []
        EDITS[kind](drawing, count)
        for _ in range(2):
            report = check(drawing.copy(), memory)
            works.append((memory.looked_at, memory.checked_again))
            assert facts_of(report) == facts_of(check(drawing.copy()))
            drawing.undo()
        spent.append(works)
    assert spent[0] == spent[1] == spent[2]
    assert max(max(work) for work in spent[0]) <= 6


def test_a_first_check_looks_at_every_capsule_once():
    for count in (40, 640):
        memory = Memory()
        check(chain(count), memory)
        assert (memory.looked_at, memory.checked_again) == (count, count)


def test_an_edit_at_the_input_stops_where_nothing_changes():
    drawing = Drawing("stops")
    drawing.add("a", "1D-data", dimension=8)
    drawing.add("b", "1D-relu", dimension=4)
    drawing.connect("a", "b", "full")
    for i in range(50):
        drawing.then(f"c{i}", "1D-relu", "full", dimension=4)
    memory = Memory()
    check(drawing, memory)
    drawing.change("a", dimension=9)
    check(drawing, memory)
    # The weight into b is another one; what b gives is not.
    assert memory.looked_at == 2


def test_a_check_that_fails_leaves_nothing_half_remembered(monkeypatch):
    drawing, memory = chain(20), Memory()
    check(drawing, memory)
    drawing.change("c3", bias="none")
    with monkeypatch.context() as broken:
        broken.setattr("inkcap.network.memory.carry_dtypes", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            check(drawing, memory)
    assert facts_of(check(drawing, memory)) == facts_of(check(drawing))


def test_a_proposed_name_is_free_after_every_edit():
    drawing, memory = Drawing("names"), Memory()
    drawing.add("a", "2D-data", height=4, width=4, channels=1)
    drawing.add("b", "1D-relu", dimension=3)
    drawing.connect("a", "b", "full")
    for _ in range(3):
        report = check(drawing.copy(), memory)
        assert report.diagnostics == check(drawing).diagnostics
        names = {p.record.id for d in report.diagnostics if d.fix for p in d.fix.patches if p.record.kind == "capsule"}
        (name,) = names - {"a", "b"}
        assert name not in drawing.capsules
        drawing.add(name, "1D-data", dimension=2)


def test_a_fix_of_what_stands_behind_is_of_its_last_record():
    drawing, memory = Drawing("behind"), Memory()
    drawing.add("a", "1D-data", dimension=4)
    drawing.add("b", "2D-identical")
    drawing.connect("a", "b", "embedding", height=9, width=3)
    check(drawing, memory)
    drawing.apply(Edit("label", (Put(replace(drawing.capsules["a"], label="words")),)))
    report = check(drawing.copy(), memory)
    assert report.diagnostics == check(drawing).diagnostics
    assert [p.record.label for d in report.diagnostics if d.fix for p in d.fix.patches] == ["words"]
