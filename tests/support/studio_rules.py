"""What a studio is asked beside drawing: its past, its checks, data that come in, notes and origins of runs, sweeps."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, consumes, invariant, rule
from kept_actions import _begin_sweep
from steered import drawn
from studio_model import Model, Past

from inkcap.drawing import Drawing, from_text, to_text
from inkcap.network import check
from inkcap.studio.live import document_of
from inkcap.studio.reports import items_of, outline_of
from inkcap.studio.routes.history import MEANT

FILES = ("a.csv", "b.csv", "B.csv", "../c.csv", "con.csv", "a")
GOOD = ("a.csv", "b.csv", "B.csv")
SWEEPS = ("one", "two")
BYTES = {"content-type": "application/octet-stream"}
KNOWN_SETS: list[Any] = []
"""The sets that Inkcap brings."""


def plain(value: Any) -> Any:
    """Give a value as it is after it was sent."""
    return json.loads(json.dumps(value))


def things(drawing: Drawing) -> dict[tuple[str, str], Any]:
    """Give all that means something in a drawing by its kind and id."""
    return {(kind, record.id): record for kind in MEANT for record in drawing.records(kind)}


class Beside:
    """Rules to be mixed into a machine that has `ask`, a model, a folder and an application."""

    model: Model
    app: Any
    folder: Any
    ask: Any
    drawings, runs = Bundle("drawings"), Bundle("runs")
    sweep_bins = Bundle("sweep_bins")

    # Looking --------------------------------------------------------------------------------------------------

    @rule(id=drawings, one=st.floats(0, 1), other=st.floats(0, 1))
    def look_back(self, id: str, one: float, other: float) -> None:
        if id not in self.model.drawings:
            self.ask("GET", f"/api/drawings/{id}/history", 404)
            return
        past = self.model.drawings[id]
        a, b = (round(share * (len(past.states) - 1)) for share in (one, other))
        assert [row["seq"] for row in self.ask("GET", f"/api/drawings/{id}/history")] == [*range(1, len(past.states))]
        before, after = from_text(past.states[a]), from_text(past.states[b])
        assert self.ask("GET", f"/api/drawings/{id}/at/{a}")["document"] == plain(document_of(before))
        told = self.ask("GET", f"/api/drawings/{id}/compare", a=a, b=b)
        old, new = things(before), things(after)
        found = {
            part: {(thing["kind"], thing["id"]) for thing in told[part]} for part in ("added", "removed", "changed")
        }
        assert found == {
            "added": new.keys() - old.keys(),
            "removed": old.keys() - new.keys(),
            "changed": {key for key in old.keys() & new.keys() if old[key] != new[key]},
        }
        self.ask("GET", f"/api/drawings/{id}/at/{len(past.states)}", 409)

    @rule(id=drawings)
    def look_at_report(self, id: str) -> None:
        """What was checked edit by edit is what a check of the whole says."""
        if id in self.model.drawings:
            drawing = self.model.drawings[id].drawing
            report = check(drawing)
            whole = {**outline_of(report), "structures": items_of(report), "partial": False}
            assert self.ask("GET", f"/api/drawings/{id}/report") == plain(whole)
            assert from_text(json.dumps(self.ask("GET", f"/api/drawings/{id}/file"))) == drawing

    # Data -----------------------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(FILES), content=st.binary(min_size=1, max_size=20))
    def bring_data(self, name: str, content: bytes) -> None:
        path = f"data/{name}"
        taken = name in GOOD and path not in self.model.data
        answer = self.ask(
            "POST", "/api/data/upload", 200 if taken else 409, params={"name": name}, headers=BYTES, content=content
        )
        if taken:
            assert answer == {"name": path, "bytes": len(content)}
            self.model.data[path] = content

    @invariant()
    def data_are_those_of_the_model(self) -> None:
        hub = self.app.state.hub
        hub.data_sets = hub.data_sets or list(KNOWN_SETS)
        rows = self.ask("GET", "/api/data")
        # A process of its own tells them, once for all studios of the campaign.
        KNOWN_SETS[:] = hub.data_sets
        assert {row["name"] for row in rows if row["kind"] == "own"} == set(self.model.data)
        for path, content in self.model.data.items():
            assert (self.folder / path).read_bytes() == content

    # Runs -----------------------------------------------------------------------------------------------------

    @rule(
        name=runs,
        note=st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
        tags=st.sets(st.sampled_from("abc")),
    )
    def note_run(self, name: str, note: str, tags: set[str]) -> None:
        there = name in self.model.runs
        id = next((row["id"] for row in self.ask("GET", "/api/runs") if row["name"] == name), "nothing")
        self.ask("POST", f"/api/runs/{id}/notes", 200 if there else 404, note=note, tags=sorted(tags))
        if there:
            self.model.notes[name] = (note, sorted(tags))

    @rule(target=drawings, name=runs)
    def open_again(self, name: str) -> str:
        """The drawing of a run is opened; where it has gone, it is made again from the run's own copy."""
        id = next((row["id"] for row in self.ask("GET", "/api/runs") if row["name"] == name), "nothing")
        if name not in self.model.runs:
            self.ask("POST", f"/api/runs/{id}/again", 404)
            return "gone"
        found = self.ask("POST", f"/api/runs/{id}/again")["id"]
        known = self.model.origins.get(name)
        if known in self.model.drawings:
            assert found == known
            return found
        assert found not in self.model.drawings
        copy = self.model.copies[name]
        self.model.drawings[found] = Past.begin(from_text(copy), from_text(copy).name)
        self.model.origins[name] = found
        return found

    @invariant()
    def runs_are_told_with_their_notes_and_their_drawings(self) -> None:
        for row in self.ask("GET", "/api/runs"):
            assert (row["note"], row["tags"], row["hint"]) == (*self.model.notes.get(row["name"], ("", [])), ""), row
            assert row["drawing"] == self.model.origins.get(row["name"]), row

    # Sweeps ---------------------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(SWEEPS))
    def begin_sweep(self, name: str) -> None:
        """A sweep as one that was started at the command line leaves it when it is killed."""
        if name not in self.model.sweeps:
            _begin_sweep(self.folder, name)
            self.model.sweeps.add(name)

    @rule(target=sweep_bins, name=st.sampled_from(SWEEPS))
    def delete_sweep(self, name: str) -> str:
        if name not in self.model.sweeps:
            self.ask("POST", f"/api/sweeps/{name}/delete", 404)
            return ""
        token = self.ask("POST", f"/api/sweeps/{name}/delete")["undo"]
        self.model.sweeps.remove(name)
        self.model.binned_sweeps[token] = name
        return token

    @rule(token=consumes(sweep_bins))
    def undelete_sweep(self, token: str) -> None:
        name = self.model.binned_sweeps.get(token)
        status = 404 if name is None else 409 if name in self.model.sweeps else 200
        self.ask("POST", "/api/sweeps/any/undelete", status, undo=token or "0" * 32)
        if name is not None and status == 200:
            self.model.sweeps.add(self.model.binned_sweeps.pop(token))

    @invariant()
    def sweeps_are_those_of_the_model(self) -> None:
        rows = self.ask("GET", "/api/sweeps")
        assert {row["name"] for row in rows} == self.model.sweeps
        assert all(row["state"] not in ("running", "damaged") for row in rows)


COPY = to_text(drawn())
"""The drawing of a run that was started at the command line."""
