"""What is asked and answered about exports."""

from typing import Literal

from pydantic import Field

from inkcap.studio.models import Asked, Told

ExportForm = Literal["svg", "png", "pdf", "tikz", "torch", "keras", "onnx", "safetensors"]


class ExportRequest(Asked):
    """An export: the form, a run whose weights go along, and for figures how they look."""

    to: ExportForm
    run: str | None = Field(default=None, max_length=200)
    train: bool = False
    font: str = Field(default="", max_length=80)
    width: str = Field(default="", max_length=20)
    monochrome: bool = False
    labels: bool = True
    opened: bool = False
    compact: bool = False
    direction: Literal["right", "down"] = "right"


class ExportedFile(Told):
    """A file of an export."""

    name: str
    bytes: int


class ExportMade(Told):
    """An export that was made: where its files are fetched, how it was proven, what a person should know."""

    token: str
    files: list[ExportedFile]
    told: str
    notes: list[str]
