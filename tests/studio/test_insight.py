"""Looking into runs through the studio: every answer is of its model, and whatever is wrong is one sentence."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from httpx import ASGITransport, AsyncClient, Response
from PIL import Image

from inkcap.cli import main
from inkcap.drawing import Drawing
from inkcap.network import check
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe, layout
from inkcap.recipes.frames import list_frames
from inkcap.studio import create_app, trainings
from inkcap.studio.insight_models import RunSignals
from inkcap.studio.routes.insight import MODELS
from inkcap.studio.run_list import run_id
from inkcap.training import train

PORT, TOKEN = 8765, "t" * 43
BEARER = {"authorization": f"Bearer {TOKEN}"}


def _digits() -> Drawing:
    drawing = Drawing("digits")
    drawing.add("a", "2D-data", height=8, width=8, channels=1)
    drawing.then("b", "2D-relu", "convolution", kernels=4, kernel=3)
    drawing.then("f", "1D-identical", "reshaping")
    drawing.then("h", "1D-softmax", "full", dimension=10)
    return drawing


def _moons() -> Drawing:
    drawing = Drawing("moons")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("h", "1D-tanh", dimension=8)
    drawing.then("y", "1D-softmax", dimension=2)
    return drawing


def _neuron() -> Drawing:
    drawing = Drawing("neuron")
    for name in ("u", "v"):
        drawing.add(name, "0D-data")
    drawing.add("y", "0D-sigmoid")
    for name in ("u", "v"):
        drawing.connect(name, "y")
    return drawing


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A workspace with runs: of pictures and of points with signals, of neurons in columns, and one without signals."""
    folder = tmp_path_factory.mktemp("insight")
    adam = OptimiserSpec("adam", 0.02)
    common: dict[str, Any] = {"epochs": 2, "batch": 32, "optimiser": adam}
    moons = DataSpec("moons", {"n": 80})
    made = {
        "digits": train(_digits(), Recipe(DataSpec("digits"), **common, signals=True), folder),
        "moons": train(_moons(), Recipe(moons, **common, signals=True), folder),
        "neuron": train(_neuron(), Recipe(moons, **common), folder),
        "off": train(_moons(), Recipe(moons, **common), folder),
    }
    return folder, {name: run_id(result.run.id) for name, result in made.items()}


Question = tuple[str, str, dict[str, Any]]


def _ask_all(folder: Path, questions: list[Question]) -> list[tuple[Response, float]]:
    """Ask one studio everything, so that its inspector stays as it does for a person."""

    async def all_of_them() -> list[tuple[Response, float]]:
        app = create_app(folder, PORT, TOKEN)
        base, told = f"http://127.0.0.1:{PORT}", []
        transport = ASGITransport(app, raise_app_exceptions=False)
        async with AsyncClient(transport=transport, base_url=base, headers=BEARER, timeout=120) as client:
            for method, path, options in questions:
                begun = time.perf_counter()
                told.append((await client.request(method, f"/api/runs/{path}", **options), time.perf_counter() - begun))
        await app.state.hub.stop()
        return told

    return asyncio.run(all_of_them())


def _get(path: str) -> Question:
    return "GET", path, {}


def _post(path: str, **asked: Any) -> Question:
    return "POST", path, {"json": asked}


def test_every_answer_is_of_its_model(runs: tuple[Path, dict[str, str]]) -> None:
    folder, ids = runs
    digits, moons, neuron = ids["digits"], ids["moons"], ids["neuron"]
    stroke = np.zeros((40, 60))
    stroke[5:35, 28:33] = 1.0
    stream = io.BytesIO()
    Image.fromarray((255 - 255 * stroke).astype(np.uint8)).save(stream, "PNG")
    image = base64.b64encode(stream.getvalue()).decode()
    asked: list[tuple[str, Question]] = [
        *(("values", _get(f"{digits}/values?item={item}&epoch=1")) for item in ("a", "b", "f", "h", "a-b", "f-h")),
        ("values", _get(f"{moons}/values?item=h")),
        ("examples", _get(f"{digits}/examples?first=3&count=5")),
        ("examples", _get(f"{moons}/examples?part=training&only=wrong&epoch=0")),
        ("answer", _post(f"{digits}/answer", example={"part": "validation", "number": 3})),
        ("answer", _post(f"{digits}/answer", picture={"rows": stroke.tolist()}, epoch=2)),
        ("answer", _post(f"{digits}/answer", image=image)),
        ("answer", _post(f"{moons}/answer", values=[0.5, 0.25])),
        ("answer", _post(f"{neuron}/answer", values=[0.5, 0.25])),
        ("confusion", _get(f"{digits}/confusion?epoch=2&worst=3")),
        ("confusion", _get(f"{neuron}/confusion?part=training")),
        ("surface", _get(f"{moons}/surface?cells=16")),
        ("surface", _get(f"{neuron}/surface?cells=8")),
    ]
    told = _ask_all(folder, [question for _, question in asked])
    for (about, (_, path, _)), (answer, _) in zip(asked, told, strict=True):
        assert answer.status_code == 200, (path, answer.text)
        given = answer.json()
        # Every name that is told is one of the model, and nothing is lost on the way.
        assert MODELS[about].model_validate(given).model_dump(mode="json", by_alias=True).keys() == given.keys(), path
    drawn, from_file = told[10][0].json(), told[11][0].json()
    assert drawn["answers"][0]["classes"][0]["name"] == from_file["answers"][0]["classes"][0]["name"]
    assert np.abs(np.array(drawn["fed"]["rows"]) - np.array(from_file["fed"]["rows"])).max() < 0.02
    # After the first, an answer takes a blink.
    assert sorted(seconds for _, seconds in told)[len(told) // 2] < 1.0


def test_signals_are_told_without_the_inspector(runs: tuple[Path, dict[str, str]]) -> None:
    folder, ids = runs
    told = {
        id: a.json()
        for id, (a, _) in zip(ids, _ask_all(folder, [_get(f"{i}/signals") for i in ids.values()]), strict=True)
    }
    signals = RunSignals.model_validate(told["digits"])
    assert (signals.epochs, signals.frames, signals.batch, signals.why) == ([0, 1, 2], [0, 1, 2], 32, None)
    assert list(signals.capsules) == ["a", "b", "f", "h"]
    assert list(signals.connections) == ["a-b", "f-h"]
    assert signals.connections["a-b"].update[0] is None
    assert all(value > 0 for value in signals.connections["a-b"].update[1:] if value is not None)
    assert all(len(course) == 3 for course in signals.capsules["b"].model_dump().values())
    assert "columns" in told["neuron"]["why"]
    assert "trained without signals" in told["off"]["why"]
    # The weights of its best and its last epoch can be looked at all the same.
    assert told["off"]["frames"][-1] == 2


def _on_the_command_line(folder: Path, *words: str) -> str:
    """Give what a command complains of."""
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()) as told,
        contextlib.suppress(SystemExit),
    ):
        patch.setattr("sys.argv", ["inkcap", *words, "--workspace", str(folder)])
        main()
    return told.getvalue()


def test_damaged_signals_are_told_with_those_before_them(
    runs: tuple[Path, dict[str, str]],
) -> None:
    folder, ids = runs
    (log,) = (path / layout.SIGNALS for path in (folder / "runs").iterdir() if run_id(path.name) == ids["digits"])
    content = log.read_bytes()
    for damaged, words in (
        (content[:-9], "line 3 is not whole"),
        (content.replace(b'"seq":2', b'"seq":7'), "line 2 has a wrong check sum"),
        (content[: content.index(b"\n") + 1], "only 1 of 3 lines"),
    ):
        try:
            log.write_bytes(damaged)
            ((answer, _),) = _ask_all(folder, [_get(f"{ids['digits']}/signals")])
            told = _on_the_command_line(folder, "signals", log.parent.name)
        finally:
            log.write_bytes(content)
        signals = RunSignals.model_validate(answer.json())
        assert signals.epochs == list(range(len(signals.epochs)))
        assert words in signals.note
        assert words in told


@pytest.mark.parametrize(
    ("run", "question", "status", "words"),
    [
        ("digits", _get("values?item=zz"), 409, "no capsule or connection 'zz'"),
        ("digits", _get("values?item=b&epoch=9"), 409, "choose one of 0, 1, 2"),
        ("digits", _get("values?item=b&epoch=-1"), 422, "epoch"),
        ("digits", _get("values"), 422, "item"),
        ("neuron", _get("values?item=y"), 409, "neurons run in columns"),
        ("digits", _get("examples?part=test"), 409, "no test part"),
        ("digits", _get("examples?part=none"), 422, "part"),
        ("digits", _get("examples?count=1000"), 422, "count"),
        ("digits", _get("surface"), 409, "two input numbers alone"),
        ("digits", _get("confusion?output=b"), 409, "no output 'b'; it has h"),
        ("digits", _post("answer"), 409, "ask about one sample"),
        ("digits", _post("answer", picture={"rows": []}), 422, "rows"),
        ("digits", _post("answer", picture={"rows": [[0.0] * 513]}), 422, "rows"),
        ("digits", _post("answer", picture={"rows": [[0.0, 1.0], [0.0]]}), 409, "differ in length"),
        ("digits", _post("answer", image="????"), 409, "base64"),
        ("digits", _post("answer", values=[1.0]), 409, "takes 64 numbers, not 1"),
        ("moons", _post("answer", picture={"rows": [[1.0]]}), 409, "takes 2 numbers, not pictures"),
        ("digits", _post("answer", example={"part": "validation", "number": -1}), 422, "number"),
        ("none", _get("signals"), 404, "no such run"),
        ("none", _get("values?item=b"), 404, "no such run"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    runs: tuple[Path, dict[str, str]], inspector: Any, run: str, question: Question, status: int, words: str
) -> None:
    method, path, options = question
    answer = inspector(method, f"{runs[1].get(run, 'f' * 16)}/{path}", options)
    assert answer.status_code == status, answer.text
    assert words in answer.json()["detail"]
    assert "Traceback" not in answer.text


@pytest.fixture(scope="module")
def inspector(runs: tuple[Path, dict[str, str]]) -> Any:
    """Ask one studio for all tests of this module: torch is loaded once."""
    loop = asyncio.new_event_loop()
    app = create_app(runs[0], PORT, TOKEN)
    transport = ASGITransport(app, raise_app_exceptions=False)
    client = AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}", headers=BEARER, timeout=120)

    def send(method: str, path: str, options: dict[str, Any]) -> Response:
        return loop.run_until_complete(client.request(method, f"/api/runs/{path}", **options))

    yield send
    loop.run_until_complete(client.aclose())
    loop.run_until_complete(app.state.hub.stop())
    loop.close()


def test_a_damaged_run_and_changed_data_are_said(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("u,v,k\n" + "\n".join(f"{i % 5},{i % 7},{'ab'[i % 2]}" for i in range(40)))
    run = train(_moons(), Recipe(DataSpec("t.csv"), epochs=1, signals=True), tmp_path).run
    id, frame = run_id(run.id), list_frames(run.path)[1]
    frame.write_bytes(frame.read_bytes()[:-2])
    ((damaged, _),) = _ask_all(tmp_path, [_get(f"{id}/values?item=h&epoch=1")])
    assert (damaged.status_code, "changed or damaged" in damaged.text) == (409, True)
    (tmp_path / "t.csv").write_text("u,v,k\n" + "\n".join(f"{i % 5},{i % 6},{'ab'[i % 2]}" for i in range(40)))
    (run.path / layout.DATA).touch()
    ((changed, _),) = _ask_all(tmp_path, [_get(f"{id}/values?item=h&epoch=0")])
    assert (changed.status_code, "has changed since" in changed.text) == (409, True)


def test_signals_are_usual_in_the_studio_but_for_neurons_in_columns(ask: Any) -> None:
    assert trainings.as_usual({"epochs": 1}, check(_moons()).network) == {"epochs": 1, "signals": True}
    assert trainings.as_usual({"signals": False}, check(_moons()).network) == {"signals": False}
    assert trainings.as_usual({"epochs": 1}, check(_neuron()).network) == {"epochs": 1}
    fields = {field["name"]: field for field in ask("/api/recipes/fields").json()["recipe"]}
    assert fields["signals"]["default"] is True
