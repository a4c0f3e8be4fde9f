"""Pictures: valid SVG that stands alone, the same every time, in which hostile text stays text."""

from __future__ import annotations

import io
import math
import re
import time
from collections import Counter
from xml.etree import ElementTree as Xml

import pytest
from PIL import Image
from small_zoo import each_network

from inkcap.drawing import (
    Capsule,
    Drawing,
    Edit,
    Group,
    Layout,
    PictureError,
    Plain,
    Put,
    Use,
    draw_svg,
    limits,
    svg_to_png,
)
from inkcap.drawing.glyphs import SIGNS, form_of
from inkcap.drawing.layout import Direction
from inkcap.drawing.picture import layout_of
from inkcap.drawing.picture_badges import with_badges
from inkcap.drawing.picture_png import with_carried_font
from inkcap.drawing.picture_scene import WEIGHT_SIZE, Scene, Shown, scene_of_drawing
from inkcap.drawing.picture_text import clean, shorten, width_of
from inkcap.network import check
from inkcap.symbols import CAPSULES, CONNECTIONS
from inkcap.zoo import draw, picture_of

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "\"><script>alert(1)</script>&amp;'\n]]><!--"


def tree(svg: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(element.tag, tuple(element.attrib)) for element in Xml.fromstring(svg).iter()]  # noqa: S314


def named(name: str) -> Drawing:
    drawing = draw("lenet")
    for id in ("a", "f"):
        old = drawing.capsules[id]
        drawing.apply(Edit("label", (Put(Capsule(id, old.symbol, old.rank, old.attributes, (), name)),)))
    return drawing


def scene_of(drawing: Drawing) -> Scene:
    report = check(drawing)
    structures = {id: str(c.output.shape) for id, c in report.capsules.items() if c.output}
    return scene_of_drawing(drawing, structures, dict.fromkeys(drawing.connections, "512×1024"), {}, Shown())


@pytest.mark.parametrize("name", each_network())
def test_every_network_of_the_zoo_becomes_the_same_valid_picture_twice(name):
    svg = picture_of(check(draw(name)))
    assert svg == picture_of(check(draw(name)))
    root = Xml.fromstring(svg)  # noqa: S314
    assert root.tag == f"{SVG}svg"
    assert root.get("version") == "1.1"
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert not root.findall(f".//{SVG}script")
    assert not re.search(r"https?://(?!www\.w3\.org/)", svg)
    for reference in re.findall(r'(?:url\(#|href="#)([\w-]+)', svg):
        assert f'id="{reference}"' in svg


def test_hostile_names_change_no_element():
    plain, hostile = draw_svg(named("name")), draw_svg(named(HOSTILE))
    assert tree(plain) == tree(hostile)
    titles = [t.text or "" for t in Xml.fromstring(hostile).iter(f"{SVG}title")]  # noqa: S314
    assert any("<script>alert(1)</script>" in text for text in titles)
    assert "<script" not in hostile


def test_hostile_structures_weights_flaws_and_captions_stay_text():
    ids = dict.fromkeys("abcdefgh", HOSTILE)
    lines = dict.fromkeys(draw("lenet").connections, HOSTILE)
    svg = draw_svg(draw("lenet"), None, ids, lines, flaws={**ids, **lines}, caption=HOSTILE)
    assert Xml.fromstring(svg).tag == f"{SVG}svg"  # noqa: S314
    assert "<script" not in svg


def test_text_that_xml_cannot_hold_is_replaced():
    assert clean("a\x00b\ud800c\nd\te") == "a\ufffdb\ufffdc d e"


def test_a_long_name_is_shortened_and_whole_in_the_title():
    long = ("a very long name that no capsule has room for " * 4)[:179]
    svg = draw_svg(named(long))
    texts = [t.text or "" for t in Xml.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314
    assert any(text.endswith("…") and len(text) < 30 for text in texts)
    assert long in svg
    assert shorten("short", 100, 12) == "short"


@pytest.mark.parametrize("direction", ["right", "down"])
@pytest.mark.parametrize("name", each_network())
def test_lines_end_at_their_capsules_and_text_lies_on_none(name: str, direction: Direction):
    scene = scene_of(draw(name))
    layout = layout_of(scene, direction)
    glyphs = []
    for id, node in scene.nodes.items():
        (x, y), form = layout.positions[id], form_of(node.shape, direction)
        glyphs.append((x - form.half_width, y - form.above, x + form.right, y + form.half_height))
    for route in with_badges(scene, layout, direction):
        for end, point in ((route.link.back, route.pieces[0].start), (route.link.front, route.pieces[-1].end)):
            (x, y), form = layout.positions[end], form_of(scene.nodes[end].shape, direction)
            assert math.dist((x, y), point) <= max(form.right, form.above) + 3
        if route.label:
            x, y = route.label
            half = width_of(route.link.label, WEIGHT_SIZE) / 2
            box = (x - half, y - 9, x + half, y + 3)
            assert not [g for g in glyphs if g[0] < box[2] and box[0] < g[2] and g[1] < box[3] and box[1] < g[3]]
    assert all(route.badge for route in with_badges(scene, layout, direction) if route.link.sign)


def test_every_sign_of_the_catalogue_is_drawn_without_a_font():
    assert {record.mark for record in CONNECTIONS.values()} <= set(SIGNS)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_face_of_the_catalogue_can_be_drawn(theme):
    drawing = Drawing("faces")
    for symbol, record in CAPSULES.items():
        for rank in record.ranks:
            drawing.apply(Edit("add", (Put(Capsule(f"{symbol}{rank}", symbol, rank)),)))
    svg = draw_svg(drawing, theme=theme)
    faces = {(r.glyph, rank) for r in CAPSULES.values() for rank in r.ranks}
    assert len(set(re.findall(rf'id="({theme}-(?:circle|pill|stack|volume)-\w+)"', svg))) == len(faces)


def test_the_options_take_away_what_they_say():
    drawing, words = draw("lenet"), lambda svg: {t.text for t in Xml.fromstring(svg).iter(f"{SVG}text")}  # noqa: S314
    labels, weights = {"b": "24×24×32"}, {"a-b": "32@5×5"}
    whole = words(draw_svg(drawing, None, labels, weights))
    assert {"a", "2D-data", "24×24×32", "32@5×5"} <= whole
    assert words(draw_svg(drawing, None, labels, weights, show_labels=False)) == {"24×24×32"}
    assert words(draw_svg(drawing, None, labels, weights, show_structures=False)) == whole - {"24×24×32", "32@5×5"}
    assert "-sign-" in draw_svg(drawing)
    assert "-sign-" not in draw_svg(drawing, show_badges=False)


def test_what_is_wrong_is_red():
    drawing = draw("lenet")
    drawing.change("g", dimension=99)
    drawing.change("f-g", height=98)
    svg = picture_of(check(drawing))
    assert "#c8382d" in svg
    assert "#c8382d" not in picture_of(check(draw("lenet")))


def test_a_drawing_with_a_cycle_a_loop_and_an_empty_drawing_are_drawn():
    drawing = draw("mlp")
    drawing.connect("c", "b", "full")
    drawing.connect("b", "b", "transfer")
    assert picture_of(check(drawing)).count("<path") > 4
    assert Xml.fromstring(draw_svg(Drawing("empty"))).tag == f"{SVG}svg"  # noqa: S314


def test_what_lies_at_the_corners_of_the_sheet_is_drawn_with_its_texts_in_no_time():
    drawing = Drawing("far")
    for number, symbol in enumerate(("1D-data", "1D-tanh", "1D-tanh", "1D-softmax")):
        drawing.add(f"n{number}", symbol, dimension=3)
        drawing.move(f"n{number}", *(limits.SHEET if bit else -limits.SHEET for bit in (number & 1, number & 2)))
    for back, front in ((0, 1), (1, 2), (0, 3), (2, 3)):
        drawing.connect(f"n{back}", f"n{front}", "full")
    start = time.process_time()
    svg = draw_svg(drawing, weight_labels=dict.fromkeys(drawing.connections, "3×3"))
    # As many points of its lines as it is long would be more than any memory holds.
    assert time.process_time() - start < 10
    assert svg.count(">3×3<") == 4


def test_neurons_are_circles_with_lines_that_have_arrows_only_where_stated():
    drawing = Drawing("plain")
    drawing.add("x", "data neuron")
    drawing.add("h", "ReLU neuron")
    drawing.connect("x", "h", "amplifying", strength=2.5, arrow=False)
    svg = draw_svg(drawing)
    assert "marker-end" not in svg
    assert ">2.5<" in svg
    drawing.change("x-h", arrow=True)
    assert "marker-end" in draw_svg(drawing)


def test_neurons_that_are_bound_to_nothing_or_entered_where_they_read_are_drawn_all_the_same():
    drawing = Drawing("half")
    drawing.add("x", "1D-data", dimension=2)
    neurons = ("data", "data", "relu")
    bound = Plain(
        neurons, (0.0,) * 3, (2, 0), (1, 1), (1.0, 2.0), reads={"x": (0, 2), "gone": (2, 1)}, writes={"lost": (2, 1)}
    )
    drawing.apply(Edit("plain", (Put(bound),)))
    scene = scene_of_drawing(drawing, {}, {}, {}, Shown())
    assert set(scene.nodes) == {"x", "plain:2"}
    assert {(link.back, link.front) for link in scene.links} == {("plain:2", "x"), ("x", "x")}
    assert draw_svg(drawing).startswith("<svg")


def test_groups_and_plain_neurons_are_drawn_and_too_many_are_refused():
    drawing = Drawing("parts")
    drawing.apply(Edit("group", (Put(Group("block", {}, (), (), (), {}, {})), Put(Use("u", "block", {}, 3)))))
    drawing.apply(Edit("plain", (Put(Plain(("data", "relu"), (0.0, 0.0), (0,), (1,), (0.5,))),)))
    svg = draw_svg(drawing)
    assert "block ×3" in svg
    assert ">0.5<" in svg
    many = 3000
    drawing.apply(Edit("plain", (Put(Plain(("data",) * many, (0.0,) * many, (), (), ())),)))
    with pytest.raises(PictureError, match="3000"):
        draw_svg(drawing)


def test_a_large_drawing_stays_small_and_keeps_its_names_in_titles():
    drawing = Drawing("large")
    drawing.add("n0", "1D-data", dimension=2)
    for i in range(1, 800):
        drawing.then(f"n{i}", "1D-relu", "transfer")
    svg = draw_svg(drawing)
    assert len(svg) < 400_000
    assert "<text" not in svg
    assert "n799: 1D-ReLU" in svg


def test_a_layout_of_another_drawing_is_refused():
    with pytest.raises(PictureError, match="'a'"):
        draw_svg(draw("mlp"), Layout({}, {}, 10, 10))


@pytest.mark.parametrize("scale", [0, -1, 21, float("nan")])
def test_a_scale_that_makes_no_sense_is_refused(scale):
    with pytest.raises(PictureError, match="scale"):
        draw_svg(draw("mlp"), scale=scale)


def opened(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGB")


def test_a_png_has_the_size_of_its_svg_times_the_scale_and_is_not_blank():
    svg = draw_svg(draw("lenet"))
    head = Xml.fromstring(svg)  # noqa: S314
    image = opened(svg_to_png(svg, 1.5))
    for side, name in zip(image.size, ("width", "height"), strict=True):
        assert abs(side - 1.5 * float(head.get(name, "0"))) <= 1.5
    colours = Counter(image.get_flattened_data())
    assert len(colours) > 50
    assert colours.most_common(1)[0][0] == (0xFA, 0xF9, 0xF5)


def test_a_machine_without_fonts_still_writes_text():
    with_text, without = draw_svg(draw("mlp")), draw_svg(draw("mlp"), show_labels=False)
    ink = [sum(pixel == (0x1D, 0x21, 0x30) for pixel in opened(with_carried_font(s, 2)).get_flattened_data())
           for s in (with_text, without)]  # fmt: skip
    assert ink[0] > ink[1]


def test_what_cannot_be_a_png_is_refused():
    with pytest.raises(PictureError, match="12000"):
        svg_to_png(draw_svg(draw("mlp")), 1000)
    with pytest.raises(PictureError, match="cannot be turned"):
        svg_to_png("not an svg")
    sheet = '<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{0}"></svg>'
    with pytest.raises(PictureError, match="the PNG would have 8010×8010 pixels, 64000000 are allowed"):
        svg_to_png(sheet.format(801), 10)
    assert opened(svg_to_png(sheet.format(800), 10)).size == (8000, 8000)
