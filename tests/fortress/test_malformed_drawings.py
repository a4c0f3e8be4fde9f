"""S4: malformed drawings, by grammar and by damage, into all that reads one: refused with their place, or whole."""

from __future__ import annotations

import ast
import asyncio
import json
import random
import re
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
import torch
from malformed import Case, bombs, malformed, malformed_command, malformed_edit, real_documents
from serving import Server, Tab
from studio_asked import asking
from timing import least

from inkcap.drawing import Drawing, DrawingError, Edit, from_text, limits, load_drawing, save_drawing
from inkcap.drawing.files import from_bytes
from inkcap.drawing.picture_scene import PictureError
from inkcap.engine import build, initialise, source_of
from inkcap.network import Report, check
from inkcap.network.picture import picture_of
from inkcap.recipes import DataSpec, Recipe
from inkcap.structures import InkcapError
from inkcap.studio.commands import COMMANDS, command_of
from inkcap.studio.following import begin
from inkcap.studio.growing import graph_of
from inkcap.studio.ledger import Ledger
from inkcap.studio.store import Store
from inkcap.theory import derive
from inkcap.training.needs import estimate_before

EACH = 1.0
"""Seconds of the processor that one case may take, up to a thousand capsules and connections with all groups opened."""
PER_THING = 0.001
"""Seconds for each capsule and each connection beyond: a drawing may have 20,000 and 60,000."""
PER_MEGABYTE = 2.0
"""Seconds for each megabyte of the file, which is read three times here and written twice."""
FEW_WEIGHTS = 200_000
PRINTED_EVERY = 5
FIELD = r"format|name|dtype|capsules|connections|groups|uses|notes|plain|positions"
PLACE = re.compile(
    r"line (?P<line>\d+), column \d+: |the file\b|not text in UTF-8 \(byte \d+\)"
    rf"|(?P<path>(?:{FIELD})(?:\[\d+\])?[^:]*): "
    r"|(?P<unknown>\w+)(?:\[\d+\]|\.)?[^: ]*: "
    r"|(?:capsule|connection|group|use) (?P<thing>[\w-]+)[:, ]"
)


def names_its_place(message: str, content: bytes) -> bool:
    """Tell whether a refusal begins with a place, and the file has that place."""
    found = PLACE.match(message)
    if found is None:
        return False
    text = content.decode("utf-8", "replace")
    if found["line"]:
        return int(found["line"]) <= text.count("\n") + 1
    if found["thing"]:
        return json.dumps(found["thing"])[1:-1] in text or found["thing"] in text
    if found["unknown"]:
        # A key that no drawing has, and this file has all the same.
        return found["unknown"] in json.loads(text)
    return not found["path"] or _is_there(found["path"], json.loads(text))


def _is_there(path: str, document: object) -> bool:
    """Follow a place such as ``capsules[3].wears[0].part``; its last step may be what is missing."""
    *steps, _ = re.findall(r"[^.\[\]]+", path)
    for step in steps:
        try:
            document = document[int(step) if isinstance(document, list) else step]  # pyright: ignore
        except (KeyError, IndexError, ValueError, TypeError):
            return False
    return True


class Judge:
    """Puts drawings through reading, writing, checking and, some of them, computing; says what must never happen."""

    def __init__(self, *, steps_every: int) -> None:
        self.counts: Counter[str] = Counter()
        self.longest, self.longest_large = 0.0, (0.0, 0)
        self.steps_every = steps_every

    def try_file(self, case: Case) -> None:
        start = time.process_time()
        refused, report = self._read(case)
        self._timed(time.process_time() - start, report, case)
        self.counts["accepted" if report else "refused"] += 1
        if report is None:
            assert names_its_place(refused, case.content), f"{case.kind} {case.number}: {refused}"
        elif report.well_formed:
            self.counts["well_formed"] += 1
            if self.counts["well_formed"] % self.steps_every == 0 and report.parameters < FEW_WEIGHTS:
                self.counts["stepped"] += take_a_step(report)

    @property
    def times(self) -> dict[str, int]:
        """The longest case up to a thousand capsules and connections, the longest beyond, and how many that had."""
        seconds, size = self.longest_large
        return {"longest_ms": round(1000 * self.longest), "longest_large_ms": round(1000 * seconds), "of_size": size}

    def _read(self, case: Case) -> tuple[str, Report | None]:
        try:
            drawing = from_bytes(case.content)
        except InkcapError as error:
            return str(error), None
        return "", self._use(drawing)

    def _use(self, drawing: Drawing) -> Report:
        text = drawing.to_text()
        assert from_text(text) == drawing
        assert from_text(text).to_text() == text
        report = check(drawing)
        json.dumps(report.to_json(), allow_nan=False)
        for diagnostic in report.errors:
            # Neurons in columns have numbers for names, which stand in the message.
            assert diagnostic.where or diagnostic.rule == "empty" or drawing.plain is not None, diagnostic
        for diagnostic in report.errors[:2]:
            if diagnostic.fix:
                drawing.apply(diagnostic.fix)
                drawing.undo()
        self._show(report)
        return report

    def _show(self, report: Report) -> None:
        """Ask of a drawing what the studio asks: its picture, its memory, its derivation, its program."""
        number = self.counts["accepted"]
        opened, direction = bool(number % 2), "down" if number % 4 > 1 else "right"
        try:
            assert picture_of(report, opened=opened, direction=direction).startswith("<svg")
        except PictureError:
            self.counts["not_drawn"] += 1
        estimate_before(report, Recipe(DataSpec("any")))
        if report.drawing.plain is None:
            with suppress(InkcapError):
                derive(graph_of(report.drawing))
        if report.well_formed and number % PRINTED_EVERY == 0 and size_of(report) <= 1000:
            ast.parse(source_of(report.network))

    def _timed(self, seconds: float, report: Report | None, case: Case) -> None:
        size = size_of(report)
        allowed = allowed_for(size) + PER_MEGABYTE * len(case.content) / 1e6
        if seconds >= allowed:
            seconds = least(lambda: self._read(case), allowed)
        if size <= 1000:
            self.longest = max(self.longest, seconds)
        else:
            self.longest_large = max(self.longest_large, (seconds, size))
        assert seconds < allowed, f"{case.kind} {case.number}: {seconds:.1f} s for {size} capsules and connections"


def size_of(report: Report | None) -> int:
    """Count the capsules and connections, with all groups opened."""
    return len(report.drawing.capsules) + len(report.drawing.connections) if report else 0


def allowed_for(size: int) -> float:
    """Give the seconds of the processor for so many capsules and connections."""
    return EACH + PER_THING * max(size - 1000, 0)


def take_a_step(report: Report) -> bool:
    """Compile a network, send two samples through it and back; tell whether there was a slope to follow."""
    network = report.network
    if report.multiply_adds + report.activation_bytes() > 50 * FEW_WEIGHTS:
        return False
    module = build(network)
    initialise(module, network, 0)
    inputs = [network.capsules[id].output for id in network.inputs]
    made = module(*(torch.zeros((2, *s.sizes), dtype=getattr(torch, s.dtype)) for s in inputs if s is not None))
    outputs = made if isinstance(made, tuple) else (made,)
    loss = sum(output.double().sum() for output in outputs)
    if not isinstance(loss, torch.Tensor) or not loss.requires_grad:
        return False
    loss.backward()
    return True


def test_the_judge_sees_an_error_without_a_place_and_one_that_points_elsewhere() -> None:
    content = b'{"format": 1,\n "capsules": [{"id": "a"}]}'
    assert names_its_place("capsules[0].rank: must be a number", content)
    assert names_its_place("line 2, column 3: not JSON", content)
    assert names_its_place("capsule a: the id is taken", content)
    assert not names_its_place("something is wrong", content)
    assert not names_its_place("capsules[1].wears[0].part: is unknown", content)
    assert not names_its_place("line 9, column 1: not JSON", content)
    assert not names_its_place("capsule zz: the id is taken", content)


def try_files(count: int, tally, steps_every: int) -> None:
    judge = Judge(steps_every=steps_every)
    for case in malformed(count):
        judge.try_file(case)
    counts = judge.counts
    assert counts["accepted"] > count // 20 < counts["refused"]
    assert counts["stepped"] > 3
    tally("S4", cases=count, **counts, **judge.times)


def test_malformed_files_are_refused_with_their_place_or_read_whole(tally) -> None:
    try_files(900, tally, steps_every=12)


@pytest.mark.soak
def test_a_hundred_thousand_malformed_files_are_refused_with_their_place_or_read_whole(tally) -> None:
    try_files(100_000, tally, steps_every=20)


def test_bombs_are_known_before_they_go_off(tally) -> None:
    judge = Judge(steps_every=1)
    for name, content in bombs().items():
        judge.try_file(Case(name, 0, content))
    tally("S4", bombs=len(bombs()), **judge.times)


# Edits and commands ----------------------------------------------------------------------------------------------


def ledger_of(folder: Path, text: str) -> tuple[Store, Ledger]:
    """Open one of the real drawings with a log."""
    path = folder / "d.inkcap.json"
    save_drawing(from_text(text), path)
    store = Store(folder)
    id = store.id_of(path.name)
    begin(store, id, path)
    return store, Ledger(store, id)


def edit_at_random(ledger: Ledger, luck: random.Random, number: int) -> None:
    """Send one edit or one command, as the socket of a tab does after it was decoded."""
    document = json.loads(ledger.drawing.to_text())
    if luck.random() < 0.5:
        ledger.apply("c" * 8, number, Edit.from_json(malformed_edit(luck, document)), max(ledger.seq - 2, 0))
    elif luck.random() < 0.1:
        (ledger.undo if luck.random() < 0.5 else ledger.redo)("c" * 8, number)
    else:
        ledger.run("c" * 8, number, command_of(*malformed_command(luck, document, COMMANDS)))


def try_edits(count: int, folder: Path, tally) -> None:
    counts: Counter[str] = Counter()
    longest = 0.0
    drawings = [
        text for name, text in real_documents() if name in ("rows", "nested", "branches", "tied", "mlp", "lenet")
    ]
    for round_number, start in enumerate(range(0, count, 250)):
        place = folder / str(round_number)
        place.mkdir()
        store, ledger = ledger_of(place, drawings[round_number % len(drawings)])
        size = 0
        try:
            for number in range(start + 1, start + 251):
                luck = random.Random(f"S4 edit {number}")  # noqa: S311
                before, began = ledger.drawing.to_text(), time.process_time()
                refused = None
                try:
                    edit_at_random(ledger, luck, number)
                except InkcapError as error:
                    refused = str(error)
                counts["accepted" if refused is None else "refused"] += 1
                if refused is not None:
                    assert refused.strip()
                    assert ledger.drawing.to_text() == before, f"edit {number} was refused and changed something"
                else:
                    assert from_text(ledger.drawing.to_text()) == ledger.drawing, f"edit {number}"
                    report = check(ledger.drawing)
                    json.dumps(report.to_json(), allow_nan=False)
                    # One that is refused has looked at as much as the one before has left.
                    size = max(size, size_of(report))
                seconds = time.process_time() - began
                longest = max(longest, seconds if size <= 1000 else 0.0)
                # An edit may make ten thousand of a group: what is large may take its time.
                assert seconds < allowed_for(size), (
                    f"edit {number}: {seconds:.1f} s for {size} capsules and connections"
                )
            replayed = Ledger(store, ledger.id).drawing
            assert replayed == ledger.drawing
        finally:
            store.close()
    assert counts["accepted"] > count // 20 < counts["refused"]
    tally("S4", edits=count, **counts, longest_ms=round(1000 * longest))


def test_malformed_edits_and_commands_change_nothing_or_leave_a_whole_drawing(tmp_path, tally) -> None:
    try_edits(1_000, tmp_path, tally)


@pytest.mark.soak
def test_fifty_thousand_malformed_edits_and_commands(tmp_path, tally) -> None:
    try_edits(50_000, tmp_path, tally)


# The studio ------------------------------------------------------------------------------------------------------


async def ask_at_random(count: int, workspace: Path) -> Counter[int]:
    """Bring drawings as text; look at those that were taken in every way the canvas does, and go back in time."""
    answers: Counter[int] = Counter()
    async with asking(workspace) as (_, client):

        async def ask(method: str, path: str, case: Case, **options: object) -> httpx.Response:
            answer = await client.request(method, path, **options)  # pyright: ignore
            answers[answer.status_code] += 1
            assert answer.status_code < 500, f"{method} {path}: {case.kind} {case.number}"
            if answer.status_code >= 400:
                assert answer.json()["detail"].strip()
            return answer

        for case in malformed(count, "S4 studio"):
            body = {"name": "x", "text": case.content.decode("utf-8", "replace")}
            made = await ask("POST", "/api/drawings", case, json=body)
            if made.status_code != 200:
                assert names_its_place(made.json()["detail"], body["text"].encode()), made.text
                continue
            place = f"/api/drawings/{made.json()['id']}"
            ways = ("report", "layout", "file", "picture.svg", "history", "at/0", "compare?a=0&b=0", "derivation")
            for way in ways if answers[200] < 100 else (ways[case.number % len(ways)],):
                await ask("GET", f"{place}/{way}", case)
            await ask("POST", f"{place}/restore", case, json={"seq": random.Random(case.number).randint(0, 3)})  # noqa: S311
            await ask("POST", f"{place}/delete", case, json={})
    return answers


def try_studio(count: int, workspace: Path, tally) -> None:
    answers = asyncio.run(ask_at_random(count, workspace))
    assert answers[200] > count // 20 < answers[409]
    tally("S4", studio_texts=count, **{f"answered_{code}": n for code, n in sorted(answers.items())})


def test_the_studio_answers_malformed_texts_with_one_sentence(tmp_path, tally) -> None:
    try_studio(150, tmp_path, tally)


@pytest.mark.soak
def test_the_studio_answers_twenty_thousand_malformed_texts(tmp_path, tally) -> None:
    try_studio(20_000, tmp_path, tally)


def test_a_tab_that_sends_anything_but_messages_is_answered_and_stays(tmp_path) -> None:
    with Server(tmp_path) as server:
        with server.client() as client:
            id = client.post("/api/drawings", json={"name": "x"}).json()["id"]
        luck = random.Random("S4 tab")  # noqa: S311
        with Tab(server, id) as tab:
            for junk in (b"\x00\xff", "", "[", "[" * 5000, "null", '{"type": NaN}', '{"type": "edit", "number": 1}',
                         json.dumps({"type": "edit", "number": 1, "edit": {"label": [], "patches": 3}})):  # fmt: skip
                tab.socket.send(junk)
                assert tab.hear("rejected")["message"]
            for number in range(40):
                edit = malformed_edit(luck, {})
                try:
                    text = json.dumps({"type": "edit", "number": number + 1, "edit": edit}, allow_nan=False)
                except ValueError:
                    continue
                tab.socket.send(text.encode("utf-8", "replace").decode())
                heard = tab.hear("applied", "rejected")
                assert "its log says why" not in heard.get("message", ""), text
        server.stop()


# Limits ----------------------------------------------------------------------------------------------------------


def drawn(**sections: object) -> str:
    return json.dumps({"format": 1, "name": "x", "capsules": [], "connections": [], **sections})


def neurons(count: int) -> list[dict[str, object]]:
    return [{"id": f"c{i}", "symbol": "relu", "rank": 0} for i in range(count)]


def lines(count: int) -> list[dict[str, object]]:
    return [{"id": f"l{i}", "symbol": "amplifying", "back": "c0", "front": "c1"} for i in range(count)]


def columns(count: int) -> str:
    column = ",".join(["0"] * count)
    names = ('"back"', '"front"', '"weight"')
    block = '{"symbol":["data"],"bias":[0],' + ",".join(f"{name}:[{column}]" for name in names) + "}"
    return drawn()[:-1] + f', "plain": {block}}}'


def biased(bias: int) -> str:
    return drawn(plain={"symbol": ["data"], "bias": [bias], "back": [], "front": [], "weight": []})


def padded(length: int) -> str:
    return drawn() + " " * (length - len(drawn()))


BOUNDARIES = {
    "FILE_BYTES": (limits.FILE_BYTES, padded, "larger than 16 MiB"),
    "CAPSULES": (limits.CAPSULES, lambda n: drawn(capsules=neurons(n)), "capsules: has 20001 entries"),
    "CONNECTIONS": (
        limits.CONNECTIONS,
        lambda n: drawn(capsules=neurons(2), connections=lines(n)),
        "connections: has 60001 entries",
    ),
    "JSON_DEPTH": (limits.JSON_DEPTH, lambda n: "[" * n + "]" * n, "nested deeper than 64"),
    "NAME_LENGTH": (limits.NAME_LENGTH, lambda n: drawn(name="n" * n), "name: has 201 characters"),
    "TEXT_LENGTH": (
        limits.TEXT_LENGTH,
        lambda n: drawn(notes=[{"id": "n", "text": "n" * n}]),
        r"notes\[0\].text: has 20001 characters",
    ),
    "LARGEST_INTEGER": (limits.LARGEST_INTEGER, biased, "larger than 2"),
    "SHEET": (limits.SHEET, lambda n: drawn(positions={"a": [n, -n]}), "positions.a: must lie within 100000000"),
    "PLAIN_CONNECTIONS": (limits.PLAIN_CONNECTIONS, columns, "plain.back: has 5000001 entries"),
}
COSTLY = {"PLAIN_CONNECTIONS", "CONNECTIONS"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.soak] if n in COSTLY else []) for n in BOUNDARIES])
def test_a_limit_lets_in_what_is_just_within_and_refuses_what_is_just_beyond(name: str) -> None:
    most, make, message = BOUNDARIES[name]
    assert most == getattr(limits, name)
    if name == "JSON_DEPTH":
        # So deep nothing is a drawing; within the limit that is what is told.
        with pytest.raises(DrawingError, match="one JSON object"):
            from_text(make(most))
    else:
        from_text(make(most))
    with pytest.raises(DrawingError, match=message):
        from_text(make(most + 1))


def test_groups_nest_as_deep_as_the_limit_and_no_deeper() -> None:
    def chain(depth: int) -> Report:
        inner = [{"id": f"g{i}", "uses": [{"id": "u", "group": f"g{i + 1}"}]} for i in range(depth - 1)]
        last = {"id": f"g{depth - 1}", "capsules": [{"id": "a", "symbol": "relu", "rank": 0}]}
        return check(from_text(drawn(groups=[*inner, last], uses=[{"id": "u", "group": "g0"}])))

    assert "group-explodes" not in {d.rule for d in chain(limits.GROUP_DEPTH).errors}
    (told,) = [d for d in chain(limits.GROUP_DEPTH + 1).errors if d.rule == "group-explodes"]
    assert told.where == ("u",)
    assert "33 deep, 32 are allowed" in told.message


def test_a_file_with_columns_may_be_sixteen_times_as_large_and_no_larger(tmp_path) -> None:
    path = tmp_path / "x.inkcap.json"
    with open(path, "wb") as file:
        file.truncate(limits.PLAIN_FILE_BYTES + 1)
    with pytest.raises(DrawingError, match=f"{limits.PLAIN_FILE_BYTES + 1} bytes, {limits.PLAIN_FILE_BYTES} are"):
        load_drawing(path)
    path.write_text(columns(2) + " " * limits.FILE_BYTES)
    assert load_drawing(path).plain is not None
