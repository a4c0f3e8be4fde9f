"""The derivatives that symbols write down are those of their functions: read as formulae, compared with autograd."""

from __future__ import annotations

import re

import pytest
import torch

from inkcap.drawing import Drawing
from inkcap.engine import build
from inkcap.network import check
from inkcap.symbols import CAPSULES

WRITTEN = [symbol for symbol in CAPSULES.values() if symbol.derivative]
PYTHON = {"∘": "*", "·": "*", "−": "-", "≤": "<=", "≥": ">=", "σ": "torch.sigmoid", "α": "alpha", "β": "beta"}


def value_of(formula: str, given: dict[str, object]) -> torch.Tensor:
    """Compute a formula of the catalogue; a bracket is 1 where its condition holds."""
    text = re.sub(r"\[([^\[\]]*)\]", r"((\1) * 1.0)", formula)
    for sign, written in PYTHON.items():
        text = text.replace(sign, written)
    return eval(text, {"torch": torch}, given)  # noqa: S307


@pytest.mark.parametrize("symbol", WRITTEN, ids=lambda symbol: symbol.id)
def test_a_derivative_is_that_of_the_function(symbol) -> None:
    drawing = Drawing("one", dtype="float64")
    drawing.add("x", "1D-data", dimension=9)
    drawing.then("y", f"1D-{symbol.id}", "transfer", dimension=9, bias="none")
    module = build(check(drawing).network).eval()
    inputs = torch.linspace(-4.1, 4.3, 9, dtype=torch.float64).reshape(1, 9).requires_grad_()
    output = module(inputs)
    # A step has no way back at all; the zero gives it one.
    (wanted,) = torch.autograd.grad((output + 0.0 * inputs).sum(), inputs)
    known = {"U": inputs.detach(), "Y": output.detach(), "alpha": 0.25}
    for attribute in symbol.own_attributes:
        known |= {(PYTHON.get(name) or name): attribute.default for name in (attribute.name, attribute.letter) if name}
    found = value_of(symbol.derivative, known)
    torch.testing.assert_close(torch.as_tensor(found, dtype=torch.float64).expand(1, 9), wanted, rtol=1e-9, atol=1e-12)


def test_enough_symbols_write_theirs_down() -> None:
    assert len(WRITTEN) >= 12
