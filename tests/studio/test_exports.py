"""Exports of the studio: made by a process of their own, proven, fetched; pictures come back as drawings."""

import base64

import pytest

from inkcap.drawing import from_bytes, from_text
from inkcap.drawing.picture_carried import carry_in_svg
from inkcap.zoo import draw


@pytest.fixture
def lenet(ask) -> str:
    return ask("/api/drawings", "POST", json={"name": "LeNet", "zoo": "lenet-digits"}).json()["id"]


def fetch(ask, made: dict, number: int = 0) -> bytes:
    answer = ask(f"/api/exports/{made['token']}/{made['files'][number]['name']}")
    assert answer.status_code == 200
    assert "attachment" in answer.headers["content-disposition"]
    return answer.content


def test_a_figure_is_made_and_fetched_and_opens_again(ask, lenet) -> None:
    made = ask(f"/api/drawings/{lenet}/export", "POST", json={"to": "svg", "width": "85mm", "compact": True}).json()
    assert "85 mm wide" in made["told"]
    content = fetch(ask, made)
    assert made["files"] == [{"name": "LeNet.svg", "bytes": len(content)}]
    assert from_bytes(content).name == "LeNet"
    picture = base64.b64encode(content).decode()
    id = ask("/api/drawings", "POST", json={"name": "again", "picture": picture}).json()["id"]
    assert from_text(ask(f"/api/drawings/{id}/file").text).capsules == draw("lenet-digits").capsules


def test_a_program_is_proven_by_another_process(ask, lenet) -> None:
    made = ask(f"/api/drawings/{lenet}/export", "POST", json={"to": "torch", "train": True}).json()
    assert "outputs differ by 0" in made["told"]
    assert b"class LeNet" in fetch(ask, made)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"to": "svg", "width": "3mm"}, "from 10 to 2000 mm"),
        ({"to": "svg", "font": "'>"}, "no name of a font"),
        ({"to": "safetensors"}, "run"),
        ({"to": "torch", "run": "../../etc"}, "run"),
        ({"to": "gif"}, "svg"),
        ({"to": "svg", "more": 1}, "more"),
    ],
)
def test_what_cannot_be_made_is_told(ask, lenet, asked, said) -> None:
    answer = ask(f"/api/drawings/{lenet}/export", "POST", json=asked)
    assert answer.status_code in (404, 409, 422)
    assert said in answer.json()["detail"]


@pytest.mark.parametrize("path", ["0" * 32 + "/x.svg", "..%2F..%2Fx/LeNet.svg", "x/..%2F..%2Fstore"])
def test_nothing_else_is_fetched(ask, path) -> None:
    assert ask(f"/api/exports/{path}").status_code in (404, 409)


def test_pictures_of_the_canvas_carry_their_drawing_and_others_are_refused(ask, lenet) -> None:
    of = f"/api/drawings/{lenet}"
    for picture in ("picture.svg?carry=1", "picture.png"):
        assert from_bytes(ask(f"{of}/{picture}").content).name == "LeNet"
    assert "<metadata>" not in ask(f"{of}/picture.svg").text
    bad = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg'/>").decode()
    answer = ask("/api/drawings", "POST", json={"name": "x", "picture": bad})
    assert answer.status_code == 409
    assert "carries no drawing" in answer.json()["detail"]
    assert ask("/api/drawings", "POST", json={"name": "x", "picture": "?"}).status_code == 409
    both = {"name": "x", "zoo": "mlp", "picture": base64.b64encode(carry_in_svg("<svg></svg>", "{}").encode()).decode()}
    assert ask("/api/drawings", "POST", json=both).status_code == 409
