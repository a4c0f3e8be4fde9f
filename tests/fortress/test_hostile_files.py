"""S2: hostile names into everything that a file is named by: nothing outside of the workspace is read or written."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hostile_files import SECRET, Watch, hostile_files, outside, planted
from studio_asked import asking

from inkcap.cli import helper
from inkcap.recipes.layout import slug
from inkcap.studio.app import Studio
from inkcap.studio.helper import HelperError
from inkcap.studio.uploads import UploadError, check_inside, checked_name
from inkcap.studio.workspace import DEVICES, is_device, safe_stem

WATCH = Watch()
Ask = Callable[..., Any]
CSV = {"content-type": "application/octet-stream"}


def is_fine(name: str) -> bool:
    """Tell whether a file's name is one on every system, and nothing but a name."""
    plain = not re.search(r'[\x00-\x1f\x7f/\\:*?"<>|]', name) and name not in ("", ".", "..")
    return plain and not name.endswith((".", " ")) and len(os.fsencode(name)) <= 255 and not is_device(name)


def requests(id: str, name: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Give every way to bring a name to the studio: in a body, in a query, as a part of a path."""
    text = name.encode("utf-8", "replace").decode()
    part = quote(name.encode("utf-8", "surrogatepass"), safe="") or "%20"
    query = quote(name.encode("utf-8", "surrogatepass"), safe="")
    named = json.dumps({"format": 1, "name": text, "capsules": [], "connections": []})
    drawing = f"/api/drawings/{id}"
    spec = {"data": text, "recipe": {"init_from": "x"}}
    return [
        ("POST", "/api/drawings", {"json": {"name": text}}),
        ("POST", "/api/drawings", {"json": {"name": "x", "text": named}}),
        ("POST", "/api/drawings", {"json": {"name": "x", "zoo": text}}),
        ("POST", f"{drawing}/rename", {"json": {"name": text}}),
        ("POST", f"/api/data/upload?name={query}", {"content": b"a,y\n1,2\n", "headers": CSV}),
        ("POST", f"/api/data/upload?name=x.csv&folder={query}", {"content": b"a,y\n1,2\n", "headers": CSV}),
        ("POST", "/api/data/preview", {"json": {"name": text}}),
        ("POST", "/api/data/preview", {"json": {"name": f"own.csv,{text}"}}),
        ("POST", f"{drawing}/places", {"json": spec}),
        ("POST", f"{drawing}/places", {"json": {"data": "iris", "recipe": {"init_from": text}}}),
        ("POST", "/api/undelete", {"json": {"undo": text}}),
        ("POST", f"/api/runs/{part}/undelete", {"json": {"undo": text}}),
        ("POST", f"/api/sweeps/{part}/undelete", {"json": {"undo": text}}),
        ("POST", f"/api/runs/{part}/notes", {"json": {"note": "x", "tags": []}}),
        ("POST", f"/api/runs/{part}/delete", {"json": {}}),
        ("POST", f"/api/sweeps/{part}/delete", {"json": {}}),
        ("POST", f"/api/sweeps/{part}/stop", {"json": {}}),
        ("POST", f"/api/drawings/{part}/duplicate", {"json": {}}),
        ("POST", f"/api/drawings/{part}/delete", {"json": {}}),
        ("GET", f"/api/drawings/{part}/file", {}),
        ("GET", f"/api/drawings/{part}/picture.svg?small=true", {}),
        ("GET", f"/api/drawings/{part}/weights", {}),
        ("GET", f"{drawing}/layout?group={query}", {}),
        ("GET", f"/api/exports/{part}/{part}", {}),
        ("GET", f"/api/exports/{'0' * 32}/{part}", {}),
        ("GET", f"/api/zoo/{part}/picture.svg", {}),
        ("GET", f"/api/runs/{part}", {}),
        ("GET", f"/api/runs/{'0' * 16}/compare?other={query}", {}),
        ("GET", f"/api/curves?runs={query}", {}),
        ("GET", f"/api/sweeps/{part}", {}),
        ("GET", f"/static/{part}", {}),
        ("GET", "/api/workspace", {}),
        ("GET", "/api/runs", {}),
        ("GET", "/api/sweeps", {}),
        ("GET", "/api/data", {}),
        ("GET", f"{drawing}/file", {}),
    ]


class Asker:
    """Asks the studio and judges each answer."""

    def __init__(self, app: Studio, client: httpx.AsyncClient) -> None:
        self.client, self.app = client, app
        self.statuses: Counter[int] = Counter()
        hub = app.state.hub
        hub.helper.ask = self._in_this_process

    @staticmethod
    async def _in_this_process(what: str, **given: Any) -> dict[str, Any]:
        # The helper's own answers, in this process: the watch sees only what happens here.
        told = json.loads(helper._written(helper.answer(json.dumps({"what": what, **given}))))
        if "error" in told:
            raise HelperError(told["error"])
        return told

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            found = await self.client.request(method, path, **options)
        except httpx.InvalidURL:
            return httpx.Response(400)
        self.statuses[found.status_code] += 1
        what = f"{method} {path[:200]} {str(options.get('json', ''))[:300]}"
        assert found.status_code < 500, what
        assert SECRET not in found.text, what
        disposition = found.headers.get("content-disposition", "")
        assert re.fullmatch(r"(attachment; filename\*=UTF-8''[\w.~%!-]+)?", disposition), disposition
        return found


async def ask_by_names(count: int, every: int, work: Path, part: int) -> Counter[int]:
    """Send each name to some of the places, in turn; with as many parts as turns all places see every curated name."""
    async with asking(work) as (app, client):
        asker = Asker(app, client)
        # Everything that is imported late is imported now: it is no part of what a name does.
        for method, path, options in requests((await _fresh(asker)), "own.csv"):
            await asker.ask(method, path, **options)
        WATCH.work, WATCH.on = os.path.realpath(work), True
        try:
            for number, name in hostile_files(count, f"S2 {part}"):
                if number % 40 == 0:
                    id = await _fresh(asker)
                ways = requests(id, name)
                for way in range((number + part) % every, len(ways), every):
                    method, path, options = ways[way]
                    await asker.ask(method, path, **options)
                    if path.endswith("/rename"):
                        await asker.ask("GET", f"/api/drawings/{id}/file")
        finally:
            WATCH.on = False
        return asker.statuses


async def _fresh(asker: Asker) -> str:
    """Make a drawing, and take away those that were made: the list of a thousand is not what is tried here."""
    work = asker.app.state.hub.workspace
    for path in list(work.iterdir()):
        assert path.name.startswith((".", "odd-")) or is_fine(path.name), path
        if path.name.endswith(".inkcap.json") and not path.is_symlink() and "odd-" not in path.name:
            path.unlink()
    return (await asker.ask("POST", "/api/drawings", json={"name": "x"})).json()["id"]


def try_names(count: int, every: int, tmp_path: Path, tally, part: int = 0) -> None:
    work = planted(tmp_path)
    before = outside(tmp_path, work)
    WATCH.touched.clear()
    WATCH.events = 0
    statuses = asyncio.run(ask_by_names(count, every, work, part))
    assert not WATCH.touched, "\n".join(WATCH.touched[:20])
    assert WATCH.events > count
    assert outside(tmp_path, work) == before
    for folder, folders, files in os.walk(work / "data"):
        for name in (*folders, *files):
            assert "odd-" in name or is_fine(name), (folder, name)
    told = {f"answered_{code}": number for code, number in sorted(statuses.items())}
    tally("S2", names=count, requests=sum(statuses.values()), files_touched=WATCH.events, **told)


def test_hostile_names_lead_nowhere(tmp_path, tally) -> None:
    try_names(300, 12, tmp_path, tally)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_a_hundred_thousand_hostile_names_lead_nowhere(part, tmp_path, tally) -> None:
    try_names(10_000, 9, tmp_path, tally, part)


def test_the_watch_sees_a_file_outside(tmp_path) -> None:
    work = planted(tmp_path)
    WATCH.work, WATCH.on = os.path.realpath(work), True
    WATCH.touched.clear()
    try:
        (work / "own.csv").read_bytes()
        assert WATCH.touched == []
        (work / "link.csv").read_bytes()
        (work / ".." / "secret.txt").read_bytes()
        (tmp_path / "new").mkdir()
        os.replace(work / "own.csv", work / "linked" / "own.csv")
    finally:
        WATCH.on = False
    assert len(WATCH.touched) == 4


# Names that become files -------------------------------------------------------------------------------------


def name_files(count: int, work: Path, tally) -> None:
    taken = 0
    whole = os.path.realpath(work)
    for _, name in hostile_files(count, "S2 made"):
        stem = safe_stem(name.encode("utf-8", "replace").decode())
        assert is_fine(stem), (name, stem)
        assert is_fine(f"{stem}-99.inkcap.json"), (name, stem)
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}", slug(name, "x")), name
        for check, made in ((checked_name, lambda n: work / "data" / n), (None, lambda n: work / n.strip())):
            try:
                check(name) if check else check_inside(name, work)
            except UploadError:
                continue
            taken += 1
            for part in name.split(",") if check is None else [name]:
                real = os.path.realpath(made(part))
                assert real == whole or real.startswith(f"{whole}/"), (name, real)
            assert check is None or is_fine(name), name
    tally("S2", names_made=count, taken=taken)


def test_names_that_become_files_are_names_and_no_more(tmp_path, tally) -> None:
    name_files(3_000, planted(tmp_path), tally)


@pytest.mark.soak
def test_a_hundred_thousand_names_that_become_files(tmp_path, tally) -> None:
    name_files(100_000, planted(tmp_path), tally)


def test_devices_are_known_in_every_spelling() -> None:
    for device in sorted(DEVICES):
        for name in (device, device.upper(), f"{device}.csv", f"{device} .csv", f"{device}."):
            assert is_device(name), name
    assert is_device("COM¹.csv")
    assert not is_device("console.csv")
