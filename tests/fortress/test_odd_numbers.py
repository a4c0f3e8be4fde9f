"""R12. Numbers that are none, or barely one: every answer is strict JSON, nothing fails, and the capsule is named."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from odd_numbers import FLOATS, NO_NUMBERS, ODD, TOKENS, NotStrict, numeric_places, strict, with_token

from inkcap.drawing import Drawing, to_text
from inkcap.recipes import DataSpec, LossSpec, MetricWriter, OptimiserSpec, Recipe, RunFolder, layout
from inkcap.structures.errors import RunFailure
from inkcap.studio import create_app
from inkcap.studio.app import Studio
from inkcap.training import train

PORT, TOKEN = 8765, "t" * 43
COMPUTING = (
    *("train", "sweep", "export", "preview", "answer", "values", "examples", "confusion", "surface", "places"),
    *("code", "data", "carried", "step", "expand", "resume", "zoo"),
)
"""The last words of routes that start a process: the quick part asks them only what no process is started for."""
BREAKS = ("exp(x*x+1000)", "log(-1-x*x)", "sqrt(-1-x*x)", "1/(x-x)")
"""Functions whose values are never finite, whatever comes in."""
SEEDS = tuple((place, function) for place in "abc" for function in BREAKS)
"""Twelve models: which capsule breaks, and how."""


def drawn(broken: str = "", function: str = "") -> Drawing:
    drawing = Drawing("odd")
    drawing.add("x", "1D-data", dimension=2)
    for id in "abc":
        if id == broken:
            drawing.then(id, "1D-expression", dimension=4, expression=function)
        else:
            drawing.then(id, "1D-gelu", dimension=4)
    drawing.then("y", "1D-identical", dimension=1)
    return drawing


def recipe(**changes: Any) -> Recipe:
    usual = {"batch": 4, "epochs": 1, "validation": 0.0, "threads": 1, "losses": (LossSpec(kind="mean-squared-error"),)}
    return Recipe(DataSpec("t.csv", normalise="none"), **{**usual, **changes})


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a table, a drawing, and a run that has measured every odd number."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "t.csv").write_text("u,v,y\n" + "".join(f"{i % 7}.5,{i % 5},{i % 3}.25\n" for i in range(40)))
    (folder / "odd.inkcap.json").write_text(to_text(drawn()))
    run = RunFolder.create(folder, "odd", "t")
    run.write_text(layout.DRAWING, to_text(drawn()))
    run.write_recipe(replace(recipe(), optimiser=OptimiserSpec("sgd", 5e-324)))
    run.write_json(layout.ENVIRONMENT, {})
    run.write_json(layout.DATA, {"split": {"training_samples": 40}})
    run = run.update(state="running")
    for log in (layout.METRICS, layout.SIGNALS):
        with MetricWriter(run.path / log) as writer:
            for step, value in enumerate(FLOATS, 1):
                kinds = {f"{kind}/{id}": value for kind in ("output", "delta", "dead", "weight") for id in "xabcy"}
                measured = {"loss": value, "rate": value, "val_loss": value, "val_accuracy": value}
                writer.write("epoch", step, step, kinds if log == layout.SIGNALS else measured)
    # A summary that another program wrote leniently: Python writes NaN unless it is told not to.
    values = {"loss": FLOATS[0], "val_loss": FLOATS[1], "val_accuracy": FLOATS[2], "rate": FLOATS[6]}
    summary = {"epochs": 10, "steps": 10, "values": values, "best_epoch": FLOATS[0], "best_value": FLOATS[1]}
    summary |= {"monitor": "loss", "seconds": FLOATS[1], "state": "finished", "pace": {"data_wait": FLOATS[0]}}
    (run.path / layout.SUMMARY).write_text(json.dumps(summary))
    run.update(state="finished", reason="", finished=layout.now())
    return folder


@pytest.mark.parametrize(("place", "function"), SEEDS)
def test_the_capsule_where_it_breaks_is_named(workspace: Path, place: str, function: str) -> None:
    with pytest.raises(RunFailure) as caught:
        train(drawn(place, function), recipe(), workspace)
    words = str(caught.value)
    assert "at step 1 of the run" in words
    assert f"the output of the capsule {place} is the first that is not finite" in words, words


@pytest.fixture
def app(workspace: Path) -> Iterator[Studio]:
    app = create_app(workspace, PORT, TOKEN)
    yield app
    app.state.hub.close()


async def ask_all(app: Studio, computing: bool, tokens: tuple[str, ...]) -> list[tuple[str, httpx.Response]]:
    """Ask every route that answers, and every place that takes a number for each odd one."""
    answers: list[tuple[str, httpx.Response]] = []
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(
        transport=transport, base_url=f"http://127.0.0.1:{PORT}", headers=headers, timeout=120
    ) as client:
        # Ids of what is there, so that requests come as far as their numbers.
        drawing = (await client.get("/api/workspace")).json()["drawings"][0]["id"]
        rows = (await client.get("/api/runs")).json()
        # The one that was written by hand, and one that was trained until it broke.
        runs = [*(row["id"] for row in rows if row["state"] == "finished"), rows[0]["id"]][:2]

        def filled(path: str, run: str) -> str:
            known = {"/runs/{id}": f"/runs/{run}", "/drawings/{id}": f"/drawings/{drawing}"}
            for one, other in known.items():
                path = path.replace(one, other)
            return path.replace("{item}", "a").replace("{name}", "odd").replace("{seq}", "0").replace("{token}", "0")

        async def ask(method: str, path: str, **more: Any) -> None:
            answers.append((f"{method} {path} {more}", await client.request(method.upper(), path, **more)))

        schema = app.openapi()
        for path, operations in schema["paths"].items():
            if "get" in operations and (computing or not path.endswith(COMPUTING)):
                for run in runs if "/runs/{id}" in path else runs[:1]:
                    await ask("get", filled(path, run), params={"runs": ",".join(runs[:8]), "other": runs[0]})
        for method, path, query, body in numeric_places(schema):
            slow = path.endswith(COMPUTING)
            for token in NO_NUMBERS if slow and not computing else tokens:
                asked = with_token(filled(path, runs[0]), token)
                given = {name: token if value == ODD else value for name, value in query.items()}
                content = {"content": with_token(body, token), "headers": {"content-type": "application/json"}}
                await ask(method, asked, params=given, **(content if body else {}))
        hub = app.state.hub
        if hub._watcher is not None:
            hub._watcher.cancel()
            hub._watcher = None
        for id in list(hub._live):
            async with hub.closed(id):
                pass
        for helper in (hub.helper, hub.inspector):
            await helper.stop()
    return answers


@pytest.mark.parametrize(
    ("computing", "tokens"),
    [
        pytest.param(False, TOKENS, id="quick"),
        pytest.param(True, TOKENS, id="full", marks=pytest.mark.soak),
    ],
)
def test_every_answer_is_strict_json_and_none_fails(app: Studio, tally, computing: bool, tokens: Any) -> None:
    answers = asyncio.run(ask_all(app, computing, tokens))
    texts: list[str] = []
    for asked, answer in answers:
        assert answer.status_code < 500, (asked, answer.text[:300])
        if answer.headers.get("content-type", "").startswith("application/json"):
            try:
                strict(answer.content)
            except ValueError as error:
                raise NotStrict(f"{asked}: {error}") from error
            texts.append(answer.text)
    read_by_javascript(texts)
    refused = sum(answer.status_code >= 400 for _, answer in answers)
    tally("R12", requests=len(answers), refused=refused, failed=0, strict_json=len(texts))
    assert len(texts) > 300


def read_by_javascript(texts: list[str]) -> None:
    """Let JSON.parse read what Python took for JSON, where there is a Node."""
    if (node := shutil.which("node")) is not None:
        code = "let n=0;for(const t of require('fs').readFileSync(0,'utf8').split('\\u0000')){JSON.parse(t);n++}"
        done = subprocess.run(
            [node, "-e", f"{code};console.log(n)"], input="\0".join(texts), text=True, capture_output=True, check=False
        )
        assert done.stdout.strip() == str(len(texts)), done.stderr[-500:]


def test_commands_print_strict_json(workspace: Path, run) -> None:
    answer = run("runs", "--workspace", workspace, "--json")
    assert answer.code == 0, answer.err
    assert len(strict(answer.out)["runs"]) >= 1


@pytest.mark.parametrize("text", ['{"a": NaN}', "[Infinity]", "[-Infinity]", "[1e999]", "[1,]"])
def test_a_lenient_text_is_noticed(text: str) -> None:
    with pytest.raises((NotStrict, ValueError)):
        strict(text)
