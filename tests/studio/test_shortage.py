"""Where memory runs out: it is told in the words of a shortage, and what was refused is not done behind one's back."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from serving import place
from steered import drawn
from wires import PORT, TOKEN, Reader, client_of, kill

from inkcap.drawing import to_text
from inkcap.studio import create_app
from inkcap.studio.ledger import Ledger
from inkcap.studio.shortage import FAULT, NO_MEMORY, THREADS


def no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_the_studio_has_its_threads_before_memory_runs_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, met = create_app(tmp_path, PORT, TOKEN), threading.Barrier(THREADS)

    async def work() -> list[int]:
        async with app.router.lifespan_context(app):
            with monkeypatch.context() as patched:
                patched.setattr(threading.Thread, "start", no_thread)
                return await asyncio.gather(*(asyncio.to_thread(met.wait, 20) for _ in range(THREADS)))

    assert sorted(asyncio.run(work())) == list(range(THREADS))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError(), NO_MEMORY),
        (RuntimeError("can't start new thread"), NO_MEMORY),
        (RuntimeError("a mistake of ours"), FAULT),
    ],
)
def test_an_edit_that_fails_is_told_why_and_stays_refused(
    error: Exception, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    async def work() -> list[dict[str, Any] | None]:
        app = create_app(tmp_path, PORT, TOKEN)
        async with client_of(app) as client:
            made = await client.post("/api/drawings", json={"name": "d", "text": to_text(drawn("d"))})
        tab = Reader(app, made.json()["id"], "client-0001")
        await tab.join()
        message = {"type": "edit", "number": 1, "edit": {"label": "move", "patches": [place("x", 1, 2)]}}
        with monkeypatch.context() as patched:
            patched.setattr(Ledger, "apply", fail)
            answers = [await tab.ask(message)]
        # The same once more, when there is memory again, and then the next.
        answers += [await tab.ask(message), await tab.ask({**message, "number": 2})]
        await kill(app)
        return answers

    said = [(answer["type"], answer.get("message")) for answer in asyncio.run(work()) if answer is not None]
    assert said == [("rejected", told), ("rejected", told), ("applied", None)]
