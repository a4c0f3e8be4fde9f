"""The websocket of a tab: its messages in, and out what everyone is told."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import Any, cast

from fastapi import WebSocket, WebSocketDisconnect
from pydantic import ValidationError

from inkcap.drawing import Edit
from inkcap.drawing.codec import decode
from inkcap.structures.errors import InkcapError
from inkcap.studio.commands import command_of
from inkcap.studio.hub import Hub
from inkcap.studio.ledger import Refused
from inkcap.studio.live import Live, Message, Tab
from inkcap.studio.messages import MESSAGES, CommandMessage, EditMessage, FileAnswer, Hello, Ping
from inkcap.studio.policy import too_many_parts
from inkcap.studio.shortage import why

log = logging.getLogger(__name__)

GONE = 4404
"""The code with which a socket is closed whose drawing is not there."""
BAD = 4400
PATIENCE = 20.0
"""Seconds that a tab may take nothing of what it is told; then it is let go, and comes back for the whole state."""


async def serve_tab(hub: Hub, id: str, socket: WebSocket) -> None:
    """Serve one tab until it goes."""
    await socket.accept()
    try:
        hello = Hello.model_validate(_decoded(await _heard(socket)))
        live = await hub.live(id)
    except (ValidationError, KeyError):
        await _close(socket, BAD, "the first message must be a hello with a client of 8 to 64 letters")
        return
    except InkcapError as error:
        await _close(socket, GONE, str(error))
        return
    except WebSocketDisconnect:
        return
    with suppress(InkcapError):
        # When it was opened is not worth more than opening it, where there is no room to write it down.
        await asyncio.to_thread(hub.store.touch, id)
    tab = await live.join(hello.client)
    tasks = [asyncio.create_task(work) for work in (_send(socket, tab), _listen(socket, live, tab))]
    try:
        # Whichever ends first ends the other: who does not read any more is let go, though nobody hung up.
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        live.leave(tab)
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError, TimeoutError):
                await task


async def _send(socket: WebSocket, tab: Tab) -> None:
    while (message := await tab.outbox.get()) is not None:
        text = _text(message)
        async with asyncio.timeout(PATIENCE):
            await socket.send_text(text)
    await _close(socket, 1012, "come back for the whole state")


_written: list[tuple[Message, str]] = []
"""The message that was put into text last: what many tabs are told, they are told one right after another."""


def _text(message: Message) -> str:
    if _written and _written[0][0] is message:
        return _written[0][1]
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A whole state is one tab's alone, and not worth its memory.
    _written[:] = [(message, text)] if message["type"] != "state" else []
    return text


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    with suppress(RuntimeError, WebSocketDisconnect):
        # A reason has 123 bytes at most.
        await socket.close(code, reason.encode()[:120].decode(errors="ignore"))


async def _listen(socket: WebSocket, live: Live, tab: Tab) -> None:
    while True:
        heard = await _heard(socket)
        number: int | None = None
        try:
            value = _decoded(heard)
            number = _number(value)
            await _obey(live, tab, MESSAGES.validate_python(value))
        except ValidationError as error:
            first = error.errors()[-1]
            place = ".".join(map(str, first["loc"]))
            tab.tell({"type": "rejected", "number": number, "message": f"{place}: {first['msg']}"})
        except (WebSocketDisconnect, asyncio.CancelledError):
            raise
        except Exception as error:
            # A fault of ours must not end the tab: it would come back and send the same again, for ever.
            if not isinstance(error, InkcapError):
                log.exception("A message to %s failed", live.id)
            tab.tell({"type": "rejected", "number": number, "message": why(error)})


async def _heard(socket: WebSocket) -> str | None:
    """Wait for a message, and give its text; nothing for one of bytes."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message["code"], message.get("reason"))
    return cast("str | None", message.get("text"))


def _decoded(text: str | None) -> Any:
    if text is None:
        raise Refused("messages are texts, and this one was bytes")
    if wrong := too_many_parts(text.count("{") + text.count("["), text.count(":")):
        raise Refused(wrong)
    return decode(text)


def _number(value: Any) -> int | None:
    given = cast("dict[str, Any]", value).get("number") if isinstance(value, dict) else None
    return given if type(given) is int else None


async def _obey(live: Live, tab: Tab, message: EditMessage | CommandMessage | FileAnswer | Ping) -> None:
    if isinstance(message, EditMessage):
        await live.edit(tab.client, message.number, Edit.from_json(message.edit), message.base)
    elif isinstance(message, CommandMessage):
        if message.command in ("undo", "redo"):
            if message.arguments:
                raise Refused(f"{message.command} has no arguments")
            await (live.undo if message.command == "undo" else live.redo)(tab.client, message.number)
        else:
            await live.command(tab.client, message.number, command_of(message.command, message.arguments))
    elif isinstance(message, FileAnswer):
        await (live.accept_file(tab.client) if message.type == "accept-file" else live.keep_ours())
    else:
        tab.tell({"type": "pong"})
