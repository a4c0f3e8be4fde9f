"""The mathematics of the paper by the studio's routes: rules that are offered, derivations, walks, comparisons."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkcap.drawing import Drawing
from inkcap.studio.commands import command_of
from inkcap.studio.growing import graph_of, offers_of
from inkcap.studio.ledger import Refused
from inkcap.studio.routes.history import comparison_of
from inkcap.theory import Graph, RuleError, derive, offers


def grown(*rules: tuple[str, list[str]]) -> Drawing:
    drawing = Drawing("grown")
    for rule, chosen in rules:
        command_of("grow", {"rule": rule, "chosen": chosen})(drawing)
    return drawing


def whys(drawing: Drawing, *chosen: str) -> dict[str, str]:
    found, refused = offers_of(drawing, chosen)
    assert not refused
    return {offer.rule: offer.why for offer in found}


def test_the_four_rules_make_the_network_of_figure_10():
    drawing = grown(
        ("variable", []), ("variable", []), ("neuron", ["x1"]), ("neuron", ["x2"]), ("convergence", ["h1", "h2"])
    )
    assert [(c.id, c.symbol, c.rank) for c in drawing.capsules.values()] == [
        ("x1", "data", 0), ("x2", "data", 0), ("h1", "relu", 0), ("h2", "relu", 0), ("h3", "relu", 0),
    ]  # fmt: skip
    assert {c.symbol for c in drawing.connections.values()} == {"amplifying"}
    assert derive(graph_of(drawing)).counts() == {"variable": 2, "neuron": 2, "convergence": 1}


def test_what_a_rule_forbids_is_said_before_it_is_tried():
    drawing = grown(("variable", []), ("variable", []), ("neuron", ["x1"]))
    nothing = whys(drawing)
    assert nothing["variable"] == ""
    assert "one variable at least" in nothing["neuron"]
    assert "N is empty" in nothing["growth"]
    assert "K = 0" in nothing["convergence"]
    taken = whys(drawing, "x1")
    assert "x1 is no variable of X = {x2}" in taken["neuron"]
    assert (taken["growth"], taken["convergence"]) == ("", "")
    apart = whys(drawing, "h1", "x2")
    assert "it has no x2" in apart["growth"]
    assert apart["convergence"] == ""
    with pytest.raises(Refused, match="it has no x2"):
        command_of("grow", {"rule": "growth", "chosen": ["h1", "x2"]})(drawing)
    with pytest.raises(Refused, match="no activation function 'maximum'"):
        command_of("grow", {"rule": "growth", "chosen": ["h1"], "function": "maximum"})(drawing)


def test_drawings_that_no_rule_makes_are_refused_with_the_reason():
    capsules = Drawing("capsules")
    capsules.add("a", "1D-data", dimension=3)
    assert "a is none" in offers_of(capsules, [])[1]
    lonely = Drawing("lonely")
    lonely.add("h", "relu neuron")
    assert "nothing enters the neuron h" in offers_of(lonely, [])[1]
    assert "there is no vertex zz" in offers_of(Drawing("empty"), ["zz"])[1]
    with pytest.raises(RuleError, match="there is no vertex b"):
        offers(Graph(("a",), ()), ["b"], "h")


@given(st.data())
def test_whatever_is_offered_can_be_derived_in_the_end(data):
    drawing = grown(("variable", []))
    for _ in range(data.draw(st.integers(1, 7))):
        chosen = data.draw(st.lists(st.sampled_from([*drawing.capsules]), unique=True, max_size=3))
        found, refused = offers_of(drawing, chosen)
        assert not refused
        offer = data.draw(st.sampled_from([one for one in found if not one.why]))
        command_of("grow", {"rule": offer.rule, "chosen": chosen})(drawing)
    for part in graph_of(drawing).parts():
        edges = tuple(edge for edge in graph_of(drawing).edges if edge[0] in part)
        assert len(derive(Graph(part, edges))) == len(part)


@pytest.fixture
def drawing(ask):
    """Return a function that makes a drawing of a text and gives its address."""

    def make(drawing: Drawing) -> str:
        answer = ask("/api/drawings", "POST", json={"name": drawing.name, "text": drawing.to_text()})
        return f"/api/drawings/{answer.json()['id']}"

    return make


def test_rules_and_refused_derivations_are_answers_not_errors(ask, drawing):
    of = drawing(grown(("variable", []), ("variable", [])))
    told = ask(f"{of}/rules", "POST", json={"chosen": ["x1", "x2"]}).json()
    assert [(offer["rule"], bool(offer["why"])) for offer in told["offers"]] == [
        ("variable", False), ("neuron", False), ("growth", True), ("convergence", False),
    ]  # fmt: skip
    assert told["functions"][0] == "relu"
    derived = ask(f"{of}/derivation").json()
    assert derived["steps"] == []
    assert "in 2 parts" in derived["refused"]


def test_networks_are_listed_from_any_place_and_too_many_classes_are_refused(ask):
    first = ask("/api/enumeration?n=2&m=3").json()
    assert (first["count"], len(first["networks"])) == (105, 60)
    rest = ask("/api/enumeration?n=2&m=3&start=60").json()
    assert len(rest["networks"]) == 45
    assert rest["networks"][-1]["inputs"] == ["x1", "x2"]
    assert ["h2", "h3"] in rest["networks"][-1]["edges"]
    assert ask("/api/enumeration?n=2&m=3&up_to=isomorphism&rules=all").json()["count"] == 158
    assert "too many" in ask("/api/enumeration?n=6&m=5&up_to=isomorphism").json()["refused"]


def test_a_walk_in_short_tells_small_tensors_whole_and_large_ones_by_a_strip(ask, drawing):
    small = Drawing("small")
    small.add("a", "1D-data", dimension=40)
    small.then("b", "1D-relu", dimension=2)
    of = drawing(small)
    told = ask(f"{of}/step", "POST", json={"most": 16, "seed": 3}).json()
    a, b = (one["Y"] for one in told["forward"])
    assert (a["shape"], a["values"], len(a["strip"])) == ([40], None, 32)
    assert max(map(abs, a["strip"])) == pytest.approx(max(-a["least"], a["greatest"]))
    assert len(b["values"]) == 2
    assert [(u["letter"], u["owners"], u["update"]["shape"]) for u in told["updates"]] == [
        ("W", ["a-b"], [2, 40]), ("B", ["b"], [2]),
    ]  # fmt: skip
    assert (told["inputs"], told["outputs"], told["targets"]["b"]["shape"]) == (["a"], ["b"], [2])
    whole = ask(f"{of}/step", "POST", json={"seed": 3}).json()
    assert whole["forward"][1]["Y"] == b["values"]


def test_a_comparison_has_both_states_their_places_and_the_structures_that_follow():
    before = Drawing("small")
    before.add("a", "1D-data", dimension=4)
    before.then("b", "1D-relu", dimension=3)
    before.then("c", "1D-softmax", dimension=2)
    before.move("c", 500, 40)
    after = before.copy()
    after.remove("c")
    after.change("b", dimension=5)
    after.then("d", "1D-tanh", dimension=2)
    told = comparison_of(before, after)
    assert sorted(thing.id for thing in told.added) == ["b-d", "d"]
    assert sorted(thing.id for thing in told.removed) == ["b-c", "c"]
    assert [thing.id for thing in told.changed] == ["b"]
    assert set(told.layout["positions"]) == set("abcd")
    assert told.layout["positions"]["c"] == (500, 40)
    assert told.structures == {"a-b": ("3×4", "5×4"), "b": ("3", "5")}
    assert [c["id"] for c in told.before["capsules"]] == ["a", "b", "c"]
    assert told.parameters == (23, 37)


def test_ghosts_that_do_not_go_together_with_the_rest_cost_no_comparison():
    before = Drawing("one")
    before.add("a", "1D-data", dimension=4)
    before.then("b", "1D-relu", dimension=3)
    after = Drawing("two")
    after.add("b", "1D-data", dimension=4)
    after.then("a", "1D-relu", dimension=3)
    told = comparison_of(before, after)
    assert set(told.layout["positions"]) == {"a", "b"}
