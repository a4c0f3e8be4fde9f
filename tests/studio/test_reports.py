"""Reports: only what has changed is told, and soon."""

import time

from inkcap.drawing import Capsule, Drawing, Edit, Put
from inkcap.network import Memory, check
from inkcap.studio.reports import Telling, change_of, items_of, outline_of


def chain(count: int) -> Drawing:
    drawing = Drawing("chain")
    drawing.add("c0", "2D-data", height=32, width=32, channels=3)
    for i in range(1, count):
        drawing.add(f"c{i}", "2D-relu")
        drawing.connect(f"c{i - 1}", f"c{i}", "convolution", kernels=16, kernel=3, padding=1)
    return drawing


def test_a_report_after_an_edit_says_what_the_edit_reached():
    drawing, memory, telling = chain(30), Memory(), Telling()
    old = telling.items(check(drawing, memory))
    drawing.apply(Edit("x", (Put(Capsule("c7", "tanh", 2)),)))
    drawing.remove("c29")
    report = check(drawing, memory)
    new = telling.items(report)
    assert new == items_of(check(drawing))
    changed, gone = change_of(old, new)
    assert {kind: list(things) for kind, things in changed.items()} == {
        "capsules": ["c7"], "connections": [], "uses": []
    }  # fmt: skip
    assert gone == {"capsules": ["c29"], "connections": ["c28-c29"], "uses": []}


def test_an_edit_is_answered_soon():
    """Time of the processor, not of the clock: others may be at work on the same machine."""
    for count, allowed in ((200, 0.050), (2_000, 0.150)):
        drawing, memory, telling = chain(count), Memory(), Telling()
        old = telling.items(check(drawing, memory))
        spent: list[float] = []
        for symbol in ("tanh", "relu", "tanh", "relu", "tanh"):
            drawing = drawing.copy()
            start = time.process_time()
            drawing.apply(Edit("x", (Put(Capsule(f"c{count // 2}", symbol, 2)),)))
            report = check(drawing, memory)
            outline_of(report)
            new = telling.items(report)
            change_of(old, new)
            spent.append(time.process_time() - start)
            old = new
        assert min(spent) < allowed, spent
