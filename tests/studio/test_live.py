"""Tabs over real sockets: they see each other, lose nothing when the server is killed, and never overwrite a file."""

import contextlib
import json
import os
import random
import signal
import time
import traceback

import pytest
from serving import Server, Tab, place
from websockets.exceptions import ConnectionClosed

from inkcap.drawing import Edit, Position, from_text, load_drawing, save_drawing
from inkcap.studio.following import Follower, begin
from inkcap.studio.ledger import Ledger
from inkcap.studio.store import Store
from inkcap.zoo import draw


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    workspace = tmp_path_factory.mktemp("live") / "work"
    workspace.mkdir()
    with Server(workspace) as server:
        server.workspace = workspace
        yield server


@pytest.fixture
def drawing(server):
    with server.client() as client:
        return client.post("/api/drawings", json={"name": "LeNet", "zoo": "lenet"}).json()["id"]


def path_of(server, id):
    with server.client() as client:
        found = client.get("/api/workspace").json()["drawings"]
    return server.workspace / next(entry["path"] for entry in found if entry["id"] == id)


def test_two_tabs_see_each_other_and_the_file_follows_within_a_second(server, drawing):
    path = path_of(server, drawing)
    with Tab(server, drawing) as one, Tab(server, drawing) as two:
        assert one.state["document"]["name"] == "LeNet"
        assert one.state["report"]["parameters"] == 582026
        assert one.state["report"]["structures"]["capsules"]["b"]["output"]["text"] == "24×24×32"
        assert set(one.state["layout"]["positions"]) == set("abcdefgh")
        sent = time.monotonic()
        mine = one.edit(place("a", 5, 6), label="move a")
        seen = two.hear("applied")
        for message in (mine, seen):
            assert (message["seq"], message["client"], message["number"]) == (1, one.client, 1)
            assert message["edit"]["patches"] == [place("a", 5, 6)]
        assert (mine["can_undo"], seen["can_undo"]) == ("move a", None)
        two.hear("saved", seq=1)
        assert time.monotonic() - sent < 1.0
        assert load_drawing(path).positions["a"] == Position("a", 5, 6)
        answer = two.command("add", face="1D-relu", at=[9, 9])
        assert answer["made"] == ["i"]
        report = one.hear("report")
        assert not report["report"]["well_formed"]
        assert "no-input" in {d["rule"] for d in report["report"]["diagnostics"]}
        assert two.command("undo")["label"] == "add i"
        assert one.hear("report")["report"]["well_formed"]


def test_a_refused_number_stays_refused_though_it_would_be_accepted_now(server, drawing):
    late = {"put": "position", "id": "new", "record": [1, 1]}
    with Tab(server, drawing) as tab, Tab(server, drawing) as other:
        first = tab.edit({"remove": "capsule", "id": "new"})
        assert first["type"] == "rejected", first
        other.command("add", face="1D-relu", id="new")
        tab.hear("applied")
        # The same frame once more, from a line that was slow; then once more after a later number.
        again = tab.edit({"remove": "capsule", "id": "new"}, number=tab.number)
        assert (again["type"], again["message"]) == ("rejected", first["message"])
        assert tab.edit(late)["type"] == "applied"
        again = tab.edit({"remove": "capsule", "id": "new"}, number=tab.number - 1)
        assert (again["type"], again["message"]) == ("rejected", first["message"])
        with Tab(server, drawing, tab.client) as back:
            assert "new" in {capsule["id"] for capsule in back.state["document"]["capsules"]}


def test_a_repeated_number_is_acknowledged_again_and_applied_once(server, drawing):
    with Tab(server, drawing) as tab:
        first = tab.edit(place("a", 1, 1))
        again = tab.edit(place("a", 2, 2), number=first["number"])
        assert (again["seq"], again["edit"]) == (first["seq"], first["edit"])
        with Tab(server, drawing, tab.client) as back:
            assert back.state["seq"] == first["seq"]
            assert back.state["acknowledged"] == 1
            assert back.state["document"]["positions"]["a"] == [1, 1]


def test_what_is_refused_changes_nothing_and_says_why(server, drawing):
    with Tab(server, drawing) as tab:
        said = [
            tab.edit({"put": "capsule", "id": "x", "record": {"id": "x", "symbol": "rleu", "rank": 1}}),
            tab.edit({"remove": "capsule", "id": "a"}),
            tab.edit(
                {"put": "connection", "id": "q", "record": {"id": "q", "symbol": "full", "back": "a", "front": "?"}}
            ),
            tab.command("dance"),
            tab.command("add"),
            tab.command("undo"),
            tab.command("connect", back="a", front="zz"),
            tab.command("rename", id="a", to="b"),
        ]
        assert [message["type"] for message in said] == ["rejected"] * len(said)
        assert "relu" in said[0]["message"]
        assert "there is no command 'dance'" in said[3]["message"]
        assert "needs the argument 'face'" in said[4]["message"]
        for text in (
            "{",
            "[]",
            '{"type": "edit"}',
            '{"type": "edit", "number": 0, "edit": {}}',
            '{"a": 1, "a": 2}',
            "NaN",
        ):
            tab.socket.send(text)
            assert tab.hear("rejected")["message"]
        tab.say({"type": "ping"})
        assert tab.hear("pong") == {"type": "pong"}
        with Tab(server, drawing) as other:
            assert other.state["seq"] == 0


def test_a_drawing_that_is_not_there_closes_with_a_reason(server):
    with pytest.raises(ConnectionClosed) as error:
        Tab(server, "0123456789abcdef")
    assert error.value.rcvd is not None
    assert error.value.rcvd.code == 4404


def test_a_file_that_git_changed_is_offered_and_taken(server, drawing):
    path = path_of(server, drawing)
    with Tab(server, drawing) as tab:
        tab.edit(place("a", 1, 1))
        tab.hear("saved", seq=1)
        outside = load_drawing(path)
        outside.change("g", dimension=100)
        save_drawing(outside, path)
        offer = tab.hear("file")
        assert (offer["change"], [p["id"] for p in offer["edit"]["patches"]]) == ("outside", ["g"])
        tab.edit(place("b", 2, 2))
        time.sleep(0.6)
        assert load_drawing(path) == outside  # not a byte is written over it while nobody has said what to do
        tab.say({"type": "accept-file"})
        taken = tab.hear("applied", label="changed outside of the studio")
        tab.hear("saved", seq=taken["seq"])
        assert tab.command("undo")["label"] == "changed outside of the studio"


def test_a_file_that_git_changed_is_offered_and_refused(server, drawing):
    path = path_of(server, drawing)
    with Tab(server, drawing) as tab:
        tab.edit(place("a", 1, 1))
        tab.hear("saved", seq=1)
        path.write_text("{ torn", encoding="utf-8")
        offer = tab.hear("file")
        assert offer["change"] == "broken"
        assert "not JSON" in offer["message"]
        tab.say({"type": "accept-file"})
        assert "cannot be read" in tab.hear("rejected")["message"]
        tab.say({"type": "keep-ours"})
        tab.hear("saved")
        assert load_drawing(path).positions["a"] == Position("a", 1, 1)
        kept = list((server.workspace / ".inkcap" / "replaced").iterdir())
        assert "{ torn" in [file.read_text(encoding="utf-8") for file in kept]


def test_a_file_that_changed_while_nobody_looked_is_an_edit_of_the_history(server, drawing):
    with server.client() as client:
        path = path_of(server, drawing)
        changed = draw("lenet")
        changed.change("g", dimension=7)
        save_drawing(changed, path)
        assert load_drawing(path).capsules["g"].attributes["dimension"] == 7
        with Tab(server, drawing) as tab:
            assert {c["id"]: c for c in tab.state["document"]["capsules"]}["g"]["attributes"]["dimension"] == 7
        labels = [past["label"] for past in client.get(f"/api/drawings/{drawing}/history").json()]
        assert labels in ([], ["changed outside of the studio"])  # the log begins with the file where it had none


def addition(number: int) -> dict:
    """An edit that leaves a mark of its own, so that the drawing tells which edits were applied, in order."""
    record = {"id": f"k{number}", "symbol": "relu", "rank": 1}
    return {"label": "add", "patches": [{"put": "capsule", "id": f"k{number}", "record": record}]}


def marks(document) -> list[int]:
    return [int(c["id"][1:]) for c in document["capsules"] if c["id"].startswith("k")]


def test_a_server_killed_again_and_again_loses_nothing_and_applies_nothing_twice(tmp_path):
    workspace = tmp_path / "work"
    workspace.mkdir()
    file = workspace / "d.inkcap.json"
    save_drawing(draw("mlp"), file)
    chance = random.Random(3)  # noqa: S311
    acknowledged: list[int] = []
    number, unsure, client, drawing = 0, None, "client-of-the-test", ""
    for last in (False,) * 5 + (True,):
        with Server(workspace) as server:
            with server.client() as http:
                drawing = http.get("/api/workspace").json()["drawings"][0]["id"]
            tab = Tab(server, drawing, client)
            applied = marks(tab.state["document"])
            assert applied[: len(acknowledged)] == acknowledged  # what was acknowledged is there, in order
            assert len(set(applied)) == len(applied)
            assert set(applied) - set(acknowledged) <= {unsure}  # and nothing but the one whose answer was cut off
            assert tab.state["acknowledged"] == (applied[-1] if applied else 0)
            number = number - 1 if unsure is not None else number  # a tab sends again what was not answered
            for _ in range(chance.randrange(3, 12)):
                number += 1
                tab.say({"type": "edit", "number": number, "edit": addition(number)})
                unsure = number
                if not last and chance.random() < 0.25:
                    time.sleep(chance.random() * 0.01)
                    break
                tab.hear("applied", number=number)
                acknowledged.append(number)
                unsure = None
            if last:
                tab.hear("saved", seq=len(acknowledged))
                assert marks(json.loads(file.read_text(encoding="utf-8"))) == acknowledged
                assert acknowledged == list(range(1, number + 1))
            time.sleep(chance.choice([0, 0, 0.24, 0.3]))  # sometimes in the middle of writing the file
            server.kill()
            from_text(file.read_text(encoding="utf-8"))  # whatever was cut off, the file is a whole drawing
            with contextlib.suppress(ConnectionClosed):
                tab.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="many kills need processes that start at once")
def test_the_log_survives_a_hundred_kills(tmp_path):
    """The same without a socket: a forked process writes and says what it has written until it is shot."""
    file = tmp_path / "d.inkcap.json"
    save_drawing(draw("mlp"), file)
    chance = random.Random(5)  # noqa: S311
    acknowledged: list[int] = []
    for _ in range(100):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            write_until_shot(tmp_path, file, writing)
        os.close(writing)
        first = os.read(reading, 8)
        time.sleep(chance.random() * 0.03)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the child failed before it was shot"
        said = first
        while piece := os.read(reading, 65536):
            said += piece
        os.close(reading)
        acknowledged += [int.from_bytes(said[i : i + 8], "big") for i in range(0, len(said) - 7, 8)]
        # Each child goes on after the last edit in the log; one more than was said may be there, never one less.
        store = Store(tmp_path)
        ledger = Ledger(store, store.id_of(file.name))
        found = [int(id[1:]) for id in ledger.drawing.capsules if id.startswith("k")]
        store.close()
        assert found == list(range(1, len(found) + 1))
        assert len(found) - acknowledged[-1] in (0, 1)
        from_text(file.read_text(encoding="utf-8"))
    assert len(acknowledged) > 100


def write_until_shot(folder, file, writing):
    try:
        store = Store(folder)
        id = store.id_of(file.name)
        begin(store, id, file)
        ledger, follower = Ledger(store, id), Follower(store, id, file)
        number = ledger.acknowledged("child")
        while True:
            number += 1
            ledger.apply("child", number, Edit.from_json(addition(number)))
            os.write(writing, number.to_bytes(8, "big"))
            assert follower.save(ledger.drawing, ledger.seq) is None  # never takes its own file for another's
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def test_what_a_killed_studio_left_half_written_is_taken_away(tmp_path):
    def half(name, old):
        path = tmp_path / name
        path.write_text("{")
        then = time.time() - (3600 if old else 0)
        os.utime(path, (then, then))
        return path

    save_drawing(draw("lenet"), tmp_path / "net [1].inkcap.json")
    Store(tmp_path).close()
    left = [half(".net [1].inkcap.json.0123abcd.tmp", True), half(".inkcap/.zoo.json.0123abcd.tmp", False)]
    # One that another program may be writing at this moment, and what belongs to somebody else.
    others = [half(".net [1].inkcap.json.4567cdef.tmp", False), half(".net 1.inkcap.json.0123abcd.tmp", True)]
    with Server(tmp_path) as server:
        with server.client() as client:
            (row,) = client.get("/api/workspace").json()["drawings"]
        with Tab(server, row["id"]):
            assert [path.exists() for path in left] == [False, False]
            assert [path.exists() for path in others] == [True, True]
