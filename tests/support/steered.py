"""A small drawing that is trained for a while through a studio, and what waits for it."""

import time

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


def post(client, path, **body):
    answer = client.post(path, json=body)
    return answer.status_code, answer.json().get("detail", "") if answer.status_code != 200 else answer.json()


def recipe_of(recipe):
    return recipe_from_json({"format": FORMAT, "version": VERSION, **recipe, "data": DATA}, "recipe")
