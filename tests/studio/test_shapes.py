"""What the server describes is what it tells: the page's types are made from the description."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from serving import Server, Tab

from inkcap.drawing import make_group
from inkcap.studio.app import create_app
from inkcap.studio.catalogue import catalogue
from inkcap.studio.messages import TOLD
from inkcap.studio.record_shapes import DrawingFile
from inkcap.studio.shapes import Catalogue, Layout, Report
from inkcap.zoo import draw


def assert_described(shape: type, told: object) -> None:
    """Hold something against its shape; nothing may be changed by the reading, and nothing be left out."""
    read = TypeAdapter(shape).validate_python(told)
    assert json.loads(json.dumps(read)) == json.loads(json.dumps(told))


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> dict:
    return create_app(tmp_path_factory.mktemp("workspace"), 1, token="x" * 43).openapi()


def test_every_answer_in_json_has_its_model(described: dict) -> None:
    tensors = "/api/drawings/{id}/step"
    for path, methods in described["paths"].items():
        for answer in methods.values():
            content = answer["responses"]["200"].get("content", {})
            schema = content.get("application/json", {}).get("schema")
            if schema and path != tensors:
                assert "$ref" in {**schema, **schema.get("items", {})}, f"{path} answers something that has no model"


def test_every_message_is_described(described: dict) -> None:
    schemas = described["components"]["schemas"]
    for type, shape in TOLD.items():
        assert schemas[shape.__name__]["properties"]["type"]["const"] == type
    for name in ("Hello", "EditMessage", "CommandMessage", "FileAnswer", "Patch", "DrawingFile", "Report"):
        assert name in schemas


def test_the_catalogue_is_as_described() -> None:
    assert_described(Catalogue, catalogue())


def test_what_a_tab_hears_is_as_described(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    with Server(workspace) as server:
        _listen(server)


def _listen(server: Server) -> None:
    drawing = draw("mlp")
    make_group(drawing, ["b", "c"], "pair")
    drawing.move("a", 1, 2)
    with server.client() as client:
        id = client.post("/api/drawings", json={"name": "shapes", "text": drawing.to_text()}).json()["id"]
        report, layout = (client.get(f"/api/drawings/{id}/{what}").json() for what in ("report", "layout"))
        past = client.get(f"/api/drawings/{id}/at/0").json()["document"]
    for shape, told in ((Layout, layout), (DrawingFile, past)):
        assert_described(shape, told)
    TypeAdapter(Report).validate_python(report)
    with Tab(server, id) as tab:
        heard = [tab.state, tab.command("remove", ids=["d"]), tab.hear("report"), tab.hear("saved")]
        heard += [tab.command("remove", ids=7), tab.command("undo")]
        tab.say({"type": "ping"})
        heard.append(tab.hear("pong"))
    for message in heard:
        TypeAdapter(TOLD[message["type"]]).validate_python(message)
    assert heard[0]["document"]["groups"][0]["id"] == "pair"
