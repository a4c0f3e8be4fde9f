"""The routes over HTTP: the start screen, pictures, history, mathematics, data and runs."""

import time

import pytest

from inkcap.drawing import Drawing, from_text, save_drawing
from inkcap.studio.curves import thinned
from inkcap.studio.mathematics import translate
from inkcap.symbols import CAPSULES, CONNECTIONS, PARTS
from inkcap.zoo import NETWORKS, draw


@pytest.fixture
def lenet(ask) -> str:
    return ask("/api/drawings", "POST", json={"name": "LeNet", "zoo": "lenet"}).json()["id"]


def test_the_catalogue_has_every_symbol_with_all_that_the_front_end_needs(ask):
    told = ask("/api/catalogue").json()
    for name, table in (("capsules", CAPSULES), ("connections", CONNECTIONS), ("parts", PARTS)):
        assert [entry["id"] for entry in told[name]] == list(table)
    families = {family["id"] for family in told["families"]}
    for capsule in told["capsules"]:
        assert capsule["family"] in families
        assert list(capsule["faces"]) == [str(rank) for rank in capsule["ranks"]]
    assert all(connection["sign"] for connection in told["connections"])


def test_the_workspace_lists_good_faulty_and_broken_files(ask, tmp_path):
    assert ask("/api/workspace").json()["drawings"] == []
    faulty = Drawing("tiny")
    faulty.add("a", "1D-data", dimension=4)
    faulty.add("b", "1D-softmax", dimension=3)
    faulty.connect("a", "b", "full", height=3, width=5)
    (tmp_path / "sub").mkdir()
    save_drawing(faulty, tmp_path / "sub" / "off.inkcap.json")
    save_drawing(draw("lenet"), tmp_path / "good.inkcap.json")
    (tmp_path / "torn.inkcap.json").write_text('{"format": 1, "na', encoding="utf-8")
    (tmp_path / ".hidden.inkcap.json").write_text("{}", encoding="utf-8")
    (tmp_path / "link.inkcap.json").symlink_to(tmp_path / "good.inkcap.json")
    listed = ask("/api/workspace").json()["drawings"]
    assert [entry["path"] for entry in listed] == ["good.inkcap.json", "torn.inkcap.json", "sub/off.inkcap.json"]
    good, torn, off = listed
    assert (good["name"], good["parameters"], good["well_formed"]) == ("LeNet", 582026, True)
    assert (off["well_formed"], off["error"]) == (False, None)
    assert "torn.inkcap.json" in torn["error"]
    assert str(tmp_path) not in torn["error"]
    assert ask(f"/api/drawings/{torn['id']}/file").status_code == 409
    again = ask("/api/workspace").json()["drawings"]
    assert [entry["id"] for entry in again] == [entry["id"] for entry in listed]
    assert len({entry["id"] for entry in listed}) == 3


def test_the_zoo_is_listed_searched_drawn_and_opened(ask):
    entries = ask("/api/zoo").json()
    assert entries[0]["name"] == "lenet-digits"
    assert sorted(entry["name"] for entry in entries) == sorted(NETWORKS)
    while any(entry["parameters"] is None for entry in entries):
        time.sleep(0.05)
        entries = ask("/api/zoo").json()
    (lenet,) = (entry for entry in entries if "lenet" in (entry["name"], *entry["aliases"]))
    assert (lenet["parameters"], lenet["kind"]) == (582026, "layered")
    found = ask("/api/zoo?search=LeNet digits").json()
    assert "lenet-digits" in {name for entry in found for name in (entry["name"], *entry["aliases"])}
    assert len(found) < len(entries)
    assert ask("/api/zoo/lenet/picture.svg").text.startswith("<svg")
    assert ask("/api/zoo/nothing/picture.svg").status_code in (404, 409)
    for name in ("mlp", "capsnet"):
        id = ask("/api/drawings", "POST", json={"name": name, "zoo": name}).json()["id"]
        assert from_text(ask(f"/api/drawings/{id}/file").text).capsules == draw(name).capsules


@pytest.mark.parametrize(
    "name", ["../../x", "/etc/passwd", "..\\x", "C:\\x", "a/../../b", "CON", "name.", ".", "日本", "nul"]
)
def test_whatever_a_drawing_is_called_its_file_stays_in_the_workspace(ask, tmp_path, name):
    id = ask("/api/drawings", "POST", json={"name": name}).json()["id"]
    ask(f"/api/drawings/{id}/rename", "POST", json={"name": name * 3})
    ask(f"/api/drawings/{id}/duplicate", "POST", json={})
    files = [path for path in tmp_path.rglob("*.inkcap.json") if ".inkcap" not in path.relative_to(tmp_path).parts[:-1]]
    assert [path.parent for path in files] == [tmp_path, tmp_path]
    assert not (tmp_path.parent / "x.inkcap.json").exists()
    # Names that some systems keep for devices are no names of files.
    assert not {path.name.split(".")[0].lower() for path in files} & {"con", "nul"}


def test_a_drawing_is_renamed_duplicated_deleted_and_brought_back(ask, tmp_path, lenet):
    assert ask(f"/api/drawings/{lenet}/rename", "POST", json={"name": "My net"}).status_code == 200
    assert (tmp_path / "My net.inkcap.json").is_file()
    assert not (tmp_path / "LeNet.inkcap.json").exists()
    copy = ask(f"/api/drawings/{lenet}/duplicate", "POST", json={}).json()["id"]
    assert from_text(ask(f"/api/drawings/{copy}/file").text).name == "My net copy"
    undo = ask(f"/api/drawings/{lenet}/delete", "POST", json={}).json()
    assert not (tmp_path / "My net.inkcap.json").exists()
    assert ask(f"/api/drawings/{lenet}/file").status_code == 404
    (tmp_path / "My net.inkcap.json").write_text(draw("mlp").to_text(), encoding="utf-8")
    assert ask("/api/undelete", "POST", json=undo).json() == {"id": lenet}
    assert (tmp_path / "My net-2.inkcap.json").is_file()
    assert len(from_text(ask(f"/api/drawings/{lenet}/file").text).capsules) == 8
    assert ask("/api/undelete", "POST", json=undo).status_code == 404
    assert [past["label"] for past in ask(f"/api/drawings/{lenet}/history").json()] == ["name it My net"]


def test_pictures_report_layout_and_proposal(ask, lenet):
    of = f"/api/drawings/{lenet}"
    assert ask(f"{of}/picture.svg?dark=1&down=1").text.startswith("<svg")
    assert ask(f"{of}/picture.png").content[:4] == b"\x89PNG"
    report = ask(f"{of}/report").json()
    assert report["structures"]["connections"]["a-b"]["weight_text"] == "32@5×5×1"
    assert set(ask(f"{of}/layout").json()["positions"]) == set("abcdefgh")
    assert ask(f"{of}/proposal?back=e&front=f").json()["symbol"] == "reshaping"
    assert ask(f"{of}/proposal?back=e&front=zz").status_code == 409
    file = ask(f"{of}/file")
    assert file.headers["content-disposition"] == "attachment; filename*=UTF-8''LeNet.inkcap.json"


def test_history_restores_and_compares_by_meaning(ask, lenet):
    of = f"/api/drawings/{lenet}"
    ask(f"{of}/rename", "POST", json={"name": "Other"})
    past = ask(f"{of}/history").json()
    assert [(line["seq"], line["kind"]) for line in past] == [(1, "edit")]
    assert ask(f"{of}/at/0").json()["document"]["name"] == "LeNet"
    assert ask(f"{of}/at/2").status_code == 409
    compared = ask(f"{of}/compare?a=0&b=1").json()
    assert [(thing["kind"], thing["before"]["name"], thing["after"]["name"]) for thing in compared["changed"]] == [
        ("meta", "LeNet", "Other")
    ]
    assert (compared["added"], compared["removed"], compared["parameters"]) == ([], [], [582026, 582026])
    assert ask(f"{of}/restore", "POST", json={"seq": 0}).json() == {"seq": 2}
    assert ask(f"{of}/at/2").json() == ask(f"{of}/at/0").json()
    assert ask(f"{of}/restore", "POST", json={"seq": 0}).status_code == 409


def test_derivation_mathematics_and_enumeration(ask, lenet):
    of = f"/api/drawings/{lenet}"
    steps = ask(f"{of}/derivation").json()["steps"]
    assert [step["vertices"] for step in steps] == [[letter] for letter in "abcdefgh"]
    assert steps[1]["edges"] == [["a", "b"]]
    told = ask(f"{of}/mathematics/g").json()
    assert told["U"] == r"U^{\text{g}} = W^{\text{f-g}} \times Y^{\text{f}} + B^{\text{g}}"
    slope = r"\left([U > 0] + \alpha \cdot [U < 0]\right) \circ "
    behind = r"\left(W^{\text{g-h}}\right)^{\top} \times \delta^{\text{h}}"
    assert told["delta"] == rf"\delta^{{\text{{g}}}} = {slope}{behind}"
    assert ask(f"{of}/mathematics/a").json()["delta"].startswith(r"\delta^{\text{a}} = \left(W^{\text{a-b}}\right)")
    assert "Delta" in ask(f"{of}/mathematics/f-g").json()["update"]
    assert not any(ask(f"{of}/mathematics/zz").json().values())
    counted = ask("/api/enumeration?n=2&m=2").json()
    assert (counted["count"], len(counted["networks"])) == (7, 7)
    assert counted["networks"][0]["svg"].startswith("<svg")
    assert ask("/api/enumeration?n=0&m=2").status_code == 422


def test_every_formula_is_translated_without_a_rest_that_katex_cannot_read():
    for symbol in (*CAPSULES.values(), *CONNECTIONS.values(), *PARTS.values()):
        text = translate(symbol.formula)
        assert text.count("{") == text.count("}"), text
        assert not set(text) & set("∗×·−∘Σ‖∼≥⌊⌋…²ᵀ√αβγδεθλμσ"), text


def test_code_steps_neurons_and_data_come_from_the_helper(ask):
    id = ask("/api/drawings", "POST", json={"name": "m", "zoo": "mlp"}).json()["id"]
    assert "nn.Module" in ask(f"/api/drawings/{id}/code", timeout=120).json()["source"]
    broken = ask("/api/drawings", "POST", json={"name": "empty"}).json()["id"]
    refused = ask(f"/api/drawings/{broken}/code")
    assert refused.status_code == 409
    assert "[empty]" in refused.json()["detail"]
    walk = ask(f"/api/drawings/{id}/step", "POST", json={"inputs": {"a": [1, 2]}, "rate": 0.1}).json()
    assert walk["forward"][0]["Y"] == [1, 2]
    assert walk["loss"]["after"] < walk["loss"]["before"]
    wrong = ask(f"/api/drawings/{id}/step", "POST", json={"inputs": {"q": [1]}})
    assert (wrong.status_code, "no 'q'" in wrong.json()["detail"]) == (409, True)
    plain = ask(f"/api/drawings/{id}/expand", "POST", json={}).json()["id"]
    assert ask(f"/api/drawings/{plain}/report").json()["capsules"] == 14
    preview = ask("/api/data/preview", "POST", json={"name": "digits"}).json()
    assert (preview["count"], preview["problem"]) == (1797, None)
    assert ask("/api/data/preview", "POST", json={"name": "nothing"}).status_code == 409


def test_uploads_stay_in_their_folder(ask, tmp_path):
    kind = {"content-type": "application/octet-stream"}
    answer = ask("/api/data/upload?name=x.csv", "POST", content=b"a,b\n1,2\n", headers=kind)
    assert answer.json() == {"name": "data/x.csv", "bytes": 8}
    assert (tmp_path / "data" / "x.csv").read_bytes() == b"a,b\n1,2\n"
    assert ask("/api/data/upload?name=x.csv", "POST", content=b"1", headers=kind).status_code == 409
    for name in ("../x.csv", "a/b.csv", ".x.csv", "x.exe", "x.csv ", "", "x" * 99 + ".csv", "C:\\x.csv", "x\x00.csv"):
        answer = ask("/api/data/upload", "POST", params={"name": name}, content=b"1", headers=kind)
        assert answer.status_code in (409, 422), name
    for folder in ("..", "a/../..", "/etc", "a//b"):
        answer = ask("/api/data/upload", "POST", params={"name": "y.csv", "folder": folder}, content=b"1", headers=kind)
        assert answer.status_code == 409, folder
    assert ask("/api/data/upload?name=e.csv", "POST", content=b"", headers=kind).status_code == 409
    assert sorted(path.name for path in (tmp_path / "data").rglob("*")) == ["x.csv"]


def test_a_run_is_started_followed_and_kept(ask, tmp_path):
    id = ask("/api/drawings", "POST", json={"name": "Net", "zoo": "lenet-digits"}).json()["id"]
    fields = ask("/api/recipes/fields").json()
    assert "epochs" in [field["name"] for field in fields["recipe"]]
    refused = ask(f"/api/drawings/{id}/train", "POST", json={"data": "digits", "recipe": {"epochs": -1}})
    assert (refused.status_code, "epochs" in refused.json()["detail"]) == (409, True)
    refused = ask(f"/api/drawings/{id}/train", "POST", json={"data": "iris"}, timeout=120)
    assert refused.status_code == 409
    assert "Traceback" not in refused.json()["detail"]
    recipe = {"epochs": 2, "optimiser": {"kind": "adam", "rate": 0.001}}
    run = ask(f"/api/drawings/{id}/train", "POST", json={"data": "digits", "recipe": recipe}, timeout=120).json()["run"]
    for _ in range(600):
        (row,) = ask(f"/api/runs?drawing={id}").json()
        if row["state"] == "finished":
            break
        time.sleep(0.1)
    assert (row["id"], row["epoch"], row["epochs"]) == (run, 2, 2)
    detail = ask(f"/api/runs/{run}").json()
    assert detail["series"]["val_accuracy"][-1][1] > 0.8
    assert detail["summary"]["values"]
    assert detail["recipe"]["optimiser"]["kind"] == "adam"
    assert ask(f"/api/runs/{run}/stop", "POST", json={}).status_code == 409
    assert ask("/api/runs/0123456789abcdef").status_code == 404
    assert ask("/api/runs?drawing=other").json() == []


def test_a_curve_that_is_thinned_out_keeps_its_spikes():
    curve = [(float(i), float(i == 777)) for i in range(10_000)]
    thin = thinned(curve, 500)
    assert len(thin) <= 502
    assert (777.0, 1.0) in thin
    assert (thin[0][0], thin[-1][0]) == (0.0, 9999.0)


def test_the_api_describes_itself(ask):
    described = ask("/api/openapi.json").json()
    assert "/api/drawings/{id}/compare" in described["paths"]
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert operation["description"], (path, method)
