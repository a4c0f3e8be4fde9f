"""What is asked and answered about exports and imports."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from inkcap.exchange.forms import ENDINGS
from inkcap.studio.models import Asked, Told


def _known(form: str) -> str:
    if form not in ENDINGS:
        raise ValueError(f"{form[:40]!r} is not one of {', '.join(ENDINGS)}")
    return form


class ExportForm(Told):
    """A form in which a drawing goes out: its name, the end of its file, its title, and whether it is a figure."""

    name: str
    ending: str
    title: str
    figure: bool


class FigureLooks(Asked):
    """How a figure looks."""

    font: str = Field(default="", max_length=80)
    width: str = Field(default="", max_length=20)
    monochrome: bool = False
    labels: bool = True
    opened: bool = False
    compact: bool = False
    direction: Literal["right", "down"] = "right"


class ExportRequest(FigureLooks):
    """An export: the form, a run or the drawing's own file of weights, and for figures how they look."""

    to: Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": list(ENDINGS)})]
    run: str | None = Field(default=None, max_length=200)
    train: bool = False


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


class WithoutSymbol(Told):
    """An operator of an imported model that has no symbol: the node, why, and the opaque capsule that stands for it."""

    node: str
    operator: str
    reason: str
    capsule: str


class ImportMade(Told):
    """A model that became a drawing: what came, how far it is from the model, and what has no symbol."""

    id: str
    name: str
    weights: str | None
    """The file of its weights in the workspace."""
    capsules: int
    connections: int
    parameters: int
    difference: float | None
    unproven: str
    """Why there is no difference, where there is none."""
    missing: list[WithoutSymbol]


class DrawingWeights(Told):
    """The file of weights that lies beside a drawing, by its name in the workspace, where there is one."""

    file: str | None
