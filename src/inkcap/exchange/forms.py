"""The forms in which a drawing goes out, in one list for the command line and the studio."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """A form: its name in commands, the end of its file, its title, and whether it is a figure or a program.

    ``beside`` is the end of the file of weights that a program has beside it, where it holds none itself.
    """

    name: str
    ending: str
    title: str
    figure: bool = False
    beside: str = ""


FORMS = (
    Form("torch", ".py", "PyTorch", beside=".safetensors"),
    Form("keras", ".py", "Keras 3", beside=".weights.h5"),
    Form("onnx", ".onnx", "ONNX"),
    Form("torch-export", ".pt2", "torch.export"),
    Form("safetensors", ".safetensors", "safetensors"),
    Form("svg", ".svg", "SVG", figure=True),
    Form("pdf", ".pdf", "PDF", figure=True),
    Form("png", ".png", "PNG", figure=True),
    Form("tikz", ".tex", "TikZ (LaTeX)", figure=True),
)
ENDINGS = {form.name: form.ending for form in FORMS}
BESIDE = {form.name: form.beside for form in FORMS if form.beside}
FIGURES = tuple(form.name for form in FORMS if form.figure)
