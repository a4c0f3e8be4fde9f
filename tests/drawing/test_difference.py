"""The difference of two drawings leads from the one to the other, whatever they are."""

from hypothesis import given
from hypothesis import strategies as st

from inkcap.drawing import Drawing, Edit, Meta, Position, Put, difference
from inkcap.drawing.records import Capsule, Connection, Note

NAMES = ("a", "b", "c", "d", "e")


@st.composite
def drawings(draw) -> Drawing:
    ids = draw(st.permutations(NAMES))[: draw(st.integers(0, 5))]
    puts = [Put(Meta(draw(st.sampled_from(["one", "two"]))))]
    puts += [Put(Capsule(id, draw(st.sampled_from(["relu", "identical"])), 1)) for id in ids]
    if len(ids) > 1:
        pairs = draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=5, unique=True))
        puts += [Put(Connection(f"{a}-{b}", "full", a, b)) for a, b in pairs]
    puts += [Put(Position(id, draw(st.integers(0, 3)), 1)) for id in ids if draw(st.booleans())]
    puts += [Put(Note(f"n-{id}", draw(st.sampled_from(["x", "y"])))) for id in ids if draw(st.booleans())]
    drawing = Drawing()
    drawing.apply(Edit("make", tuple(puts)))
    return drawing


@given(drawings(), drawings())
def test_it_leads_from_one_to_the_other_and_back(one, other):
    start = one.copy()
    inverse = one.perform(difference(one, other, "become the other"))
    assert one == other
    assert one.to_text() == other.to_text()
    one.perform(inverse)
    assert one == start


@given(drawings())
def test_equal_drawings_have_none(drawing):
    assert difference(drawing, drawing.copy(), "nothing").patches == ()
