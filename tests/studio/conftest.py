"""A workspace, an application over it, and checks that answer what a test tells them to."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from inkcap.studio import create_app, workspace

PORT = 8765
Ask = Callable[..., httpx.Response]

GOOD: dict[str, Any] = {
    "well_formed": True,
    "kind": "layered",
    "capsules": 8,
    "connections": 7,
    "inputs": ["a"],
    "outputs": ["h"],
    "depth": 7,
    "parameters": 582026,
    "frozen_parameters": 0,
    "multiply_adds": 4267008,
    "structures": {},
    "diagnostics": [],
}


@dataclass
class Checks:
    """Stands in for loading and checking: what each file name gives, and how often it was asked."""

    reports: dict[str, Mapping[str, Any] | Exception] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def load(self, path: Path) -> str:
        self.asked.append(path.name)
        answer = self.reports.get(path.name, GOOD)
        if isinstance(answer, Exception):
            raise answer
        return path.name

    def check(self, drawing: str) -> "Report":
        return Report(self.reports.get(drawing, GOOD))


@dataclass
class Report:
    answer: Any

    def to_json(self) -> Any:
        return self.answer


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Checks:
    stand_in = Checks()
    monkeypatch.setattr(workspace, "load_drawing", stand_in.load)
    monkeypatch.setattr(workspace, "check", stand_in.check)
    workspace._summary.cache_clear()
    return stand_in


@pytest.fixture
def app(tmp_path: Path, checks: Checks) -> FastAPI:
    return create_app(tmp_path, PORT)


@pytest.fixture
def ask(app: FastAPI) -> Ask:
    """Return a function that sends one request to the application and gives its answer."""

    def send(path: str = "/", method: str = "GET", **options: Any) -> httpx.Response:
        async def one() -> httpx.Response:
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}") as client:
                return await client.request(method, path, **options)

        return asyncio.run(one())

    return send
