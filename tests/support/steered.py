"""A small drawing that is trained for a while through a studio, and what waits for it."""

import time
from contextlib import suppress

import httpx

from inkcap.drawing import Drawing, to_text
from inkcap.recipes import recipe_from_json
from inkcap.recipes.text import FORMAT, VERSION

DATA = {"name": "moons", "options": {"n": 200}}
PATIENCE = 60


def drawn(name="steered"):
    drawing = Drawing(name)
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("h", "1D-tanh", dimension=8)
    drawing.then("y", "1D-softmax", dimension=2)
    drawing.wear("h", "dropout", probability=0.2)
    return drawing


def wide(neurons):
    """A drawing with two capsules of so many neurons, whose weights fill a memory."""
    drawing = Drawing("wide")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("h", "1D-tanh", dimension=neurons)
    drawing.then("i", "1D-tanh", dimension=neurons)
    drawing.then("y", "1D-softmax", dimension=2)
    return drawing


def add(client, drawing):
    answer = client.post("/api/drawings", json={"name": drawing.name, "text": to_text(drawing)})
    return answer.json()["id"]


def await_run(client, run, *states, epoch=0, patience=PATIENCE):
    """Wait until a run stands so and has come so far."""
    until = time.monotonic() + patience
    while True:
        row = next(one for one in client.get("/api/runs").json() if one["id"] == run)
        if row["state"] in states and row["epoch"] >= epoch:
            return row
        assert row["state"] not in ("failed", "damaged"), row
        assert time.monotonic() < until, row
        time.sleep(0.05)


def begin_training(client, drawing, recipe, patience=900):
    """Start a training and wait until it learns, on a machine that lets it wait for minutes too; give its row."""
    before = {row["id"] for row in client.get("/api/runs").json()}
    with suppress(httpx.ReadTimeout):
        status, told = post(client, f"/api/drawings/{drawing}/train", data=DATA, recipe=recipe)
        assert status == 200 or "it goes on" in told, told
    until = time.monotonic() + patience
    while True:
        new = [row for row in client.get("/api/runs").json() if row["id"] not in before]
        if new and new[0]["epoch"] >= 1:
            return new[0]
        assert time.monotonic() < until, new
        time.sleep(0.1)


def post(client, path, **body):
    answer = client.post(path, json=body)
    return answer.status_code, answer.json().get("detail", "") if answer.status_code != 200 else answer.json()


def recipe_of(recipe):
    return recipe_from_json({"format": FORMAT, "version": VERSION, **recipe, "data": DATA}, "recipe")
