"""Large drawings: listed without their checks, laid out at once, painted from columns, told by few words."""

import base64
import time
from array import array

import pytest

from inkcap.drawing import Capsule, Connection, Drawing, Edit, Plain, Put, save_drawing
from inkcap.network import Memory, check
from inkcap.studio.columns import in_columns, layer_by_layer
from inkcap.studio.live import document_of
from inkcap.studio.neurons import told_edit
from inkcap.studio.reports import KINDS, Telling, items_of, packed
from inkcap.studio.sketches import small_picture
from inkcap.studio.store import Store
from inkcap.studio.summaries import Summaries
from inkcap.zoo import draw

NETWORKS = ["lenet", "mlp", "resnet18", "capsnet-digits", "figure-16"]


def plain(count: int = 6) -> Plain:
    """Two data neurons, and each further one is entered by the two before it."""
    ends = [(i - k, i) for i in range(2, count) for k in (2, 1)]
    symbols = ("data", "data", *["sigmoid"] * (count - 2))
    back, front = tuple(a for a, _ in ends), tuple(b for _, b in ends)
    return Plain(symbols, (0.5,) * count, back, front, tuple(0.25 * i for i in range(len(ends))))


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_packed_is_what_is_told(name):
    items = Telling().items(check(draw(name), Memory()))
    told = packed(items)
    opened = {kind: {id: told["alike"][number] for id, number in told["structures"][kind].items()} for kind in KINDS}
    assert opened == items_of(check(draw(name)))


def test_things_that_are_alike_are_told_once():
    drawing = Drawing("chain")
    drawing.add("c0", "2D-data", height=8, width=8, channels=16)
    for i in range(1, 300):
        drawing.add(f"c{i}", "2D-relu")
        drawing.connect(f"c{i - 1}", f"c{i}", "convolution", kernels=16, kernel=3, padding=1)
    told = packed(Telling().items(check(drawing, Memory())))
    assert len(told["structures"]["capsules"]) == 300
    # The data, what enters from it and what enters from its like: a capsule and a connection each.
    assert len(told["alike"]) == 5


def test_alike_is_not_the_same():
    """Attributes, ties, worn parts and ports make a difference; names do not."""
    drawing = Drawing("alike")
    drawing.add("x", "1D-data", dimension=4)
    for name, attributes in {"a": {}, "b": {}, "c": {"bias": "none"}}.items():
        drawing.add(name, "1D-relu", dimension=4, **attributes)
        drawing.connect("x", name, "full")
    drawing.wear("b", "batch-norm")
    drawing.apply(Edit("tie", (Put(Connection("x-a", "full", "x", "a", tie="w")),)))
    quick, whole = check(drawing, Memory()), check(drawing)
    assert quick.to_json() == whole.to_json()
    assert list(quick.weights) == list(whole.weights)


def test_a_list_never_waits_for_checks(tmp_path):
    for i in range(40):
        save_drawing(draw("lenet"), tmp_path / f"{i:02}.inkcap.json")
    (tmp_path / "bad.inkcap.json").write_text("{", encoding="utf-8")
    ids = {path.name: path.name for path in tmp_path.glob("*.json")}
    store = Store(tmp_path)
    summaries = Summaries(tmp_path, store)
    start = time.perf_counter()
    first = summaries.tell(ids, patience=0.0)
    assert time.perf_counter() - start < 1
    assert not all(one.counted for one in first)
    found = first
    while not all(one.counted for one in found):
        assert time.perf_counter() - start < 60
        found = summaries.tell(ids)
    told = {one.id: one for one in found}
    assert told["00.inkcap.json"].parameters == 582_026
    assert not told["bad.inkcap.json"].well_formed
    assert "bad.inkcap.json" in (told["bad.inkcap.json"].error or "")
    summaries.stop()
    again = Summaries(tmp_path, store)
    assert all(one.counted for one in again.tell(ids, patience=0.0))
    save_drawing(draw("mlp"), tmp_path / "00.inkcap.json")
    changed = {one.id: one for one in again.tell(ids, patience=20)}["00.inkcap.json"]
    assert changed.counted
    assert changed.parameters != 582_026
    again.stop()
    store.close()


def test_columns_give_every_vertex_a_place_of_its_own_on_a_page():
    levels = [0] * 784 + [1] * 128 + [2] * 10 + [-1] * 3
    places = in_columns(levels, 44.0)
    assert len(set(places)) == len(levels)
    wide, high = (max(p[axis] for p in places) - min(p[axis] for p in places) for axis in (0, 1))
    assert 0.8 < wide / high < 3
    assert max(x for x, _ in places[:784]) < min(x for x, _ in places[784:912])
    assert max(x for x, _ in places[:922]) < min(x for x, _ in places[922:])


def test_a_cycle_is_laid_out_too():
    places = layer_by_layer(["a", "b", "c"], [("a", "b"), ("b", "c"), ("c", "b")], 10.0)
    assert len(set(places.values())) == 3
    assert places["a"][0] < places["b"][0]


def floats(text: str, kind: str = "f") -> list[float]:
    found = array(kind)
    found.frombytes(base64.b64decode(text))
    return list(found)


def test_neurons_in_columns_are_told_to_who_paints_them(ask, tmp_path):
    drawing = Drawing("block")
    drawing.apply(Edit("draw", (Put(plain()),)))
    save_drawing(drawing, tmp_path / "block.inkcap.json")
    id = ask("/api/workspace").json()["drawings"][0]["id"]
    told = ask(f"/api/drawings/{id}/neurons").json()
    assert (told["count"], told["connections"], told["lines"], told["stride"]) == (6, 8, 8, 1)
    assert [told["symbols"][int(i)] for i in floats(told["symbol"], "B")] == ["data", "data", *["sigmoid"] * 4]
    assert floats(told["back"], "I") == list(plain().back)
    assert floats(told["weight"])[1] == 0.25
    assert len(floats(told["places"])) == 12
    one = ask(f"/api/drawings/{id}/neurons/3").json()
    assert (one["name"], one["symbol"], one["bias"], one["enters"], one["leaves"]) == ("n3", "sigmoid", 0.5, 2, 2)
    assert [line["neuron"] for line in one["entering"]] == [1, 2]
    missing = ask(f"/api/drawings/{id}/neurons/6")
    assert missing.status_code == 409
    assert "0 to 5" in missing.json()["detail"]


def test_documents_and_edits_tell_a_block_by_its_numbers():
    drawing = Drawing("block")
    edit = Edit("draw", (Put(plain()), Put(Capsule("a", "data", 1, {"dimension": 3}))))
    drawing.apply(edit)
    assert document_of(drawing)["plain"] == {"neurons": 6, "connections": 8}
    assert told_edit(edit)["patches"][0]["record"] == {"neurons": 6, "connections": 8}
    assert told_edit(edit)["patches"][1]["record"]["symbol"] == "data"


@pytest.mark.parametrize("dark", [False, True])
def test_large_drawings_are_sketched(dark):
    drawing = Drawing("block")
    drawing.apply(Edit("draw", (Put(plain(500)),)))
    svg = small_picture(drawing, dark)
    assert svg.count("<path") == 3
    assert svg.count("h0") == 500
    assert "h0" not in small_picture(draw("lenet"), dark)


def test_one_capsule_is_opened_or_the_reason_told(ask, tmp_path):
    save_drawing(draw("lenet"), tmp_path / "lenet.inkcap.json")
    id = ask("/api/workspace").json()["drawings"][0]["id"]
    refused = ask(f"/api/drawings/{id}/expand?capsule=a", "POST", json={}).json()
    assert refused["id"] is None
    assert "nothing enters a" in refused["why"]
    made = ask(f"/api/drawings/{id}/expand?capsule=h", "POST", json={}).json()["id"]
    told = ask(f"/api/drawings/{made}/neurons").json()
    assert told["connections"] == 512 * 10
    again = ask(f"/api/drawings/{made}/expand", "POST", json={})
    assert "already" in again.json()["why"]
