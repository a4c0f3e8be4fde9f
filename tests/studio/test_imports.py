"""Models that come to the studio as bytes: read by a limited process, drawn, with their weights beside them."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import pytest
from foreign import model_of
from serving import Server

from inkcap.drawing import from_text
from inkcap.exchange import export_onnx
from inkcap.exchange.importing.limits import FILE_BYTES
from inkcap.zoo import draw

BYTES = {"content-type": "application/octet-stream"}
WEIGHTS = "Mine.weights.safetensors"


@pytest.fixture(scope="module")
def lenet(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "lenet.onnx"
    export_onnx(draw("lenet-digits"), path)
    return path.read_bytes()


def bring(ask, content: bytes, name: str = "Mine") -> httpx.Response:
    return ask("/api/imports", "POST", params={"name": name}, content=content, headers=BYTES, timeout=120)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_a_model_becomes_a_drawing_with_weights_that_follow_it(ask, lenet, tmp_path) -> None:
    made = bring(ask, lenet).json()
    assert (made["name"], made["weights"], made["parameters"], made["missing"]) == ("Mine", WEIGHTS, 53_002, [])
    assert 0 <= made["difference"] < 1e-5
    assert files(tmp_path) == ["Mine.inkcap.json", WEIGHTS]
    assert not list((tmp_path / ".inkcap" / "imports").iterdir()), "the bytes are not kept"
    of = f"/api/drawings/{made['id']}"
    assert from_text(ask(f"{of}/file").text).name == "Mine"
    assert ask(f"{of}/weights").json() == {"file": WEIGHTS}
    ask(f"{of}/rename", "POST", json={"name": "Yours"})
    assert files(tmp_path) == ["Yours.inkcap.json", "Yours.weights.safetensors"]
    copy = ask(f"{of}/duplicate", "POST", json={}).json()["id"]
    assert ask(f"/api/drawings/{copy}/weights").json() == {"file": "Yours copy.weights.safetensors"}
    undo = ask(f"{of}/delete", "POST", json={}).json()["undo"]
    assert files(tmp_path) == ["Yours copy.inkcap.json", "Yours copy.weights.safetensors"]
    other = ask("/api/drawings", "POST", json={"name": "Yours", "zoo": "mlp"}).json()["id"]
    assert ask(f"/api/drawings/{other}/weights").json() == {"file": None}
    ask("/api/undelete", "POST", json={"undo": undo})
    assert ask(f"{of}/weights").json() == {"file": "Yours-2.weights.safetensors"}
    assert ask(f"/api/drawings/{other}/weights").json() == {"file": None}


def test_an_export_takes_the_weights_of_the_drawing_and_no_other_file(ask, lenet, tmp_path) -> None:
    id = bring(ask, lenet).json()["id"]
    of = f"/api/drawings/{id}/export"
    made = ask(of, "POST", json={"to": "safetensors", "run": WEIGHTS}, timeout=120).json()
    assert "told" in made, made
    (tmp_path / "other.weights.safetensors").write_bytes((tmp_path / WEIGHTS).read_bytes())
    for name in ("other.weights.safetensors", f"../{tmp_path.name}/{WEIGHTS}", str(tmp_path / WEIGHTS)):
        assert ask(of, "POST", json={"to": "safetensors", "run": name}).status_code == 404


def test_what_has_no_symbol_is_told_with_its_capsule(ask) -> None:
    nodes = [("Relu", "x", "a", {}), ("CumSum", ("a", "axis"), "y", {}), ("Relu", "y", "z", {})]
    made = bring(ask, model_of(nodes, {"x": ("n", 4)}, ["z"], {"axis": [1]})).json()
    assert made["difference"] is None
    assert "CumSum" in made["unproven"]
    (missing,) = made["missing"]
    assert missing["operator"] == "CumSum"
    drawing = from_text(ask(f"/api/drawings/{made['id']}/file").text)
    assert drawing.capsules[missing["capsule"]].attributes["operator"] == "CumSum"


def _bomb() -> bytes:
    """A short file whose tensor is said to have 2⁵⁰ numbers."""
    big = [("ConstantOfShape", ("shape",), ("huge",), {}), ("Add", ("x", "huge"), ("y",), {})]
    return model_of(big, {"x": ("n", 4)}, ["y"], {"shape": [1 << 25, 1 << 25]})


def _wide() -> bytes:
    """A model that takes more numbers than there is memory."""
    return model_of([("Relu", "x", "y", {})], {"x": ("n", 4096, 65536, 65536)}, ["y"])


def _outside() -> bytes:
    import onnx

    model = onnx.load_from_string(model_of([("Add", ("x", "w"), "y", {})], {"x": ("n", 4)}, ["y"], {"w": [0.0] * 4}))
    (tensor,) = model.graph.initializer
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.append(onnx.StringStringEntryProto(key="location", value="../../../../etc/hostname"))
    return model.SerializeToString()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lambda: b"\x89PNG no model", "ONNX"),
        (lambda: b"", "empty"),
        (_bomb, "1125899906842624"),
        (_outside, "other file"),
        (_wide, ""),
    ],
    ids=["no model", "empty", "bomb", "outside", "wide"],
)
def test_a_bad_file_gets_one_sentence_and_leaves_nothing(ask, tmp_path, content, said) -> None:
    answer = bring(ask, content())
    detail = answer.json()["detail"]
    print(detail)
    assert answer.status_code == 409
    assert said in detail
    assert "Traceback" not in detail
    assert str(tmp_path) not in detail
    assert files(tmp_path) == []
    assert not list((tmp_path / ".inkcap" / "imports").iterdir())


def test_a_model_of_huge_inputs_is_drawn_and_never_run(ask) -> None:
    made = bring(ask, model_of([("Relu", "x", "y", {})], {"x": ("n", 64, 32768, 32768)}, ["y"])).json()
    assert (made["capsules"], made["difference"]) == (2, None)
    assert str(3 * 64 * 32768**2) in made["unproven"]


def test_nobody_imports_without_the_token_and_nothing_oversize_begins(ask, lenet, tmp_path) -> None:
    bare = {**BYTES, "authorization": ""}
    assert ask("/api/imports?name=x", "POST", content=lenet, headers=bare).status_code == 401
    assert ask("/api/imports?name=x", "POST", json={}).status_code == 415
    assert ask("/api/imports?name=x").status_code == 405
    assert ask("/api/imports?name=", "POST", content=lenet, headers=BYTES).status_code == 422
    too_large = {**BYTES, "content-length": str(FILE_BYTES + 1)}
    answer = ask("/api/imports?name=x", "POST", content=b"", headers=too_large)
    assert (answer.status_code, str(FILE_BYTES) in answer.json()["detail"]) == (413, True)
    assert files(tmp_path) == []


def test_whoever_goes_away_gives_the_import_up(tmp_path, lenet) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    with Server(workspace) as server, server.client() as client:
        with pytest.raises(httpx.ReadTimeout):
            client.post("/api/imports", params={"name": "Mine"}, content=lenet, headers=BYTES, timeout=0.3)
        left = workspace / ".inkcap" / "imports"
        for _ in range(100):
            if not any(left.iterdir()):
                break
            time.sleep(0.1)
        assert not any(left.iterdir())
        assert files(workspace) == []
        assert client.post("/api/imports", params={"name": "Mine"}, content=lenet, headers=BYTES).status_code == 200
        assert files(workspace) == ["Mine.inkcap.json", WEIGHTS]
        code, _, errors = server.stop()
        assert (code, errors) == (0, "")
