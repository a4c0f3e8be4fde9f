"""The forms in which a drawing goes out, in one list for the command line and the studio."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """A form: its name in commands, the end of its file, its title, and whether it is a figure or a program."""

    name: str
    ending: str
    title: str
    figure: bool = False


FORMS = (
    Form("torch", ".py", "PyTorch"),
    Form("keras", ".py", "Keras 3"),
    Form("onnx", ".onnx", "ONNX"),
    Form("safetensors", ".safetensors", "safetensors"),
    Form("svg", ".svg", "SVG", figure=True),
    Form("pdf", ".pdf", "PDF", figure=True),
    Form("png", ".png", "PNG", figure=True),
    Form("tikz", ".tex", "TikZ (LaTeX)", figure=True),
)
ENDINGS = {form.name: form.ending for form in FORMS}
FIGURES = tuple(form.name for form in FORMS if form.figure)
