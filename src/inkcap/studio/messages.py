"""The messages of the live connection, both ways, as OpenAPI and the page's types know them."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.json_schema import models_json_schema
from typing_extensions import TypedDict

from inkcap.studio.record_shapes import DrawingFile, Edit
from inkcap.studio.shapes import Layout, Report

LARGEST_NUMBER = 2**53


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Hello(_Strict):
    """The first message of a tab."""

    type: Literal["hello"]
    client: str = Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")
    seen: int | None = None


class EditMessage(_Strict):
    """An edit that a tab has made."""

    type: Literal["edit"]
    number: int = Field(ge=1, le=LARGEST_NUMBER)
    edit: dict[str, Any]
    base: int | None = Field(default=None, ge=0)


class CommandMessage(_Strict):
    """A change that the server is to make."""

    type: Literal["command"]
    number: int = Field(ge=1, le=LARGEST_NUMBER)
    command: str
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])
    base: int | None = Field(default=None, ge=0)


class FileAnswer(_Strict):
    """What to do about a file that was changed outside."""

    type: Literal["accept-file", "keep-ours"]


class Ping(_Strict):
    """Asks whether anyone is there."""

    type: Literal["ping"]


MESSAGES: TypeAdapter[EditMessage | CommandMessage | FileAnswer | Ping] = TypeAdapter(
    EditMessage | CommandMessage | FileAnswer | Ping
)


class StateMessage(TypedDict):
    """The whole state, the first that a tab is told."""

    type: Literal["state"]
    seq: int
    document: DrawingFile
    report: Report | None
    report_seq: int
    layout: Layout | None
    clients: int
    acknowledged: int
    can_undo: str | None
    can_redo: str | None


class AppliedMessage(TypedDict):
    """An edit that is on the disk, of this tab or another."""

    type: Literal["applied"]
    seq: int
    client: str
    number: int | None
    edit: Edit
    label: str
    kind: str
    made: list[str]
    can_undo: NotRequired[str | None]
    can_redo: NotRequired[str | None]


class RejectedMessage(TypedDict):
    """An edit or command that changed nothing, and why."""

    type: Literal["rejected"]
    number: int | None
    message: str


class ReportMessage(TypedDict):
    """What the check says after edits."""

    type: Literal["report"]
    seq: int
    report: Report
    layout: Layout | None


class FileMessage(TypedDict):
    """The drawing's file was changed outside of the studio: readably, so that it cannot be read, or it is gone."""

    type: Literal["file"]
    change: Literal["outside", "broken", "gone"]
    message: str
    edit: NotRequired[Edit]


class UnsavedMessage(TypedDict):
    """The file cannot be written; the edits are safe in the log."""

    type: Literal["unsaved"]
    message: str


class SavedMessage(TypedDict):
    """The file has this state."""

    type: Literal["saved"]
    seq: int


class ClientsMessage(TypedDict):
    """How many look at the drawing."""

    type: Literal["clients"]
    clients: int


class PongMessage(TypedDict):
    """Someone is there."""

    type: Literal["pong"]


TOLD: dict[str, type[Any]] = {
    "state": StateMessage,
    "applied": AppliedMessage,
    "rejected": RejectedMessage,
    "report": ReportMessage,
    "file": FileMessage,
    "unsaved": UnsavedMessage,
    "saved": SavedMessage,
    "clients": ClientsMessage,
    "pong": PongMessage,
}
ASKED: tuple[type[BaseModel], ...] = (Hello, EditMessage, CommandMessage, FileAnswer, Ping)


def message_schemas() -> dict[str, Any]:
    """Describe all messages as schemas of OpenAPI, by their names."""
    template = "#/components/schemas/{model}"
    _, asked = models_json_schema([(model, "validation") for model in ASKED], ref_template=template)
    told = TypeAdapter.json_schemas(
        [(shape.__name__, "serialization", TypeAdapter(shape)) for shape in TOLD.values()], ref_template=template
    )[1]
    return {**asked["$defs"], **told["$defs"]}
