"""The studio over real drawing files, with the real loader and the real check."""

from inkcap.drawing import Drawing, save_drawing
from inkcap.studio.workspace import list_drawings


def perceptron(width: int) -> Drawing:
    """A data capsule of four numbers, fully connected to three outputs; the matrix has the given width."""
    drawing = Drawing("tiny")
    drawing.add("a", "1D-data", dimension=4)
    drawing.add("b", "1D-softmax", dimension=3)
    drawing.connect("a", "b", "full", height=3, width=width)
    return drawing


def test_a_well_formed_drawing_a_faulty_one_and_a_broken_file(tmp_path):
    save_drawing(perceptron(width=4), tmp_path / "fits.inkcap.json")
    save_drawing(perceptron(width=5), tmp_path / "off.inkcap.json")
    (tmp_path / "torn.inkcap.json").write_text('{"format": 1, "na', encoding="utf-8")
    fits, off, torn = list_drawings(tmp_path).drawings

    assert fits.summary is not None, fits.error
    assert fits.summary.well_formed
    assert (fits.summary.kind, fits.summary.capsules, fits.summary.connections) == ("layered", 2, 1)
    assert fits.summary.parameters == 3 * 4 + 3
    assert fits.summary.multiply_adds == 3 * 4

    assert off.summary is not None, off.error
    assert not off.summary.well_formed
    assert "5" in "".join(diagnostic.message for diagnostic in off.summary.diagnostics)

    assert torn.summary is None
    assert torn.error is not None
    assert "torn.inkcap.json" in torn.error
    assert "The check of" not in torn.error  # the loader explained it: the check did not stumble over it
