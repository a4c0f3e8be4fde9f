"""Formulae for KaTeX: what a capsule or connection computes, forwards and backwards, by the paper's letters."""

from __future__ import annotations

import re

from inkcap.network import CheckedCapsule, CheckedConnection, Report
from inkcap.studio.models import Mathematics

SIGNS = {
    "∗ᵀ": r"\ast^{\top}", "∗": r"\ast ", "×": r"\times ", "·": r"\cdot ", "−": "-", "∘": r"\circ ", "Σ": r"\sum ",
    "‖": r"\|", "∼": r"\sim ", "≥": r"\ge ", "≤": r"\le ", "⌊": r"\lfloor ", "⌋": r"\rfloor ", "…": r"\ldots ",
    "²": "^{2}", "ᵀ": r"^{\top}", "{ ": r"\{", " }": r"\}",
}  # fmt: skip
GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "θ": "theta", "λ": "lambda", "μ": "mu",
    "σ": "sigma", "τ": "tau", "Φ": "Phi", "Δ": "Delta", "η": "eta",
}  # fmt: skip
FUNCTIONS = {"max", "min", "ln", "tanh", "exp"}
MARKS = {"×": r"\times", "∗": r"\ast", "·": r"\cdot", "→": "", "◁": ""}


def formulae_of(report: Report, item: str) -> Mathematics:
    """Give the formulae of a capsule or a connection of a checked drawing."""
    if item in report.capsules:
        return _capsule(report, report.capsules[item])
    if item in report.connections:
        return _connection(report.connections[item])
    # A page may ask just after another tab, or its own last edit, took the thing away: that is no error.
    return Mathematics()


def name(letter: str, id: str) -> str:
    """Write a letter with the id of its capsule or connection."""
    return rf"{letter}^{{\text{{{_escaped(id)}}}}}"


def _escaped(text: str) -> str:
    return re.sub(r"([#$%&_{}])", r"\\\1", text.replace("\\", "")).replace("^", "").replace("~", "")


def translate(formula: str) -> str:
    """Write a formula of the catalogue for KaTeX."""
    text = re.sub(r"√\(([^()]*)\)", r"\\sqrt{\1}", formula)
    for sign, written in SIGNS.items():
        text = text.replace(sign, written)
    text = text.replace("√", r"\surd ")
    for letter, word in GREEK.items():
        text = text.replace(letter, rf"\{word} ")
    # Words that are neither commands nor inside of a subscript are text.
    return re.sub(r"(?<![\\A-Za-z{])([A-Za-z]{2,}(?:[ ,][A-Za-z]{2,})*)", _word, text)


def _word(match: re.Match[str]) -> str:
    word = match[1]
    if word in FUNCTIONS:
        return rf"\{word} "
    return rf"\text{{ {word} }}" if " " in word or len(word) > 2 else word


def _weighed(connection: CheckedConnection, y: str) -> str:
    """Write what a connection adds to the total input: its formula with the names of its ends."""
    if not connection.weights:
        return y if connection.symbol in ("transfer", "reshaping") else rf"\operatorname{{{connection.symbol}}}({y})"
    mark = MARKS.get(connection.record.mark, r"\otimes")
    return rf"{name('W', connection.id)} {mark} {y}"


def _capsule(report: Report, capsule: CheckedCapsule) -> Mathematics:
    id = capsule.id
    entering = [report.connections[c] for c in capsule.incoming if c in report.connections]
    leaving = [c for c in report.connections.values() if c.back == id]
    back = " + ".join(_backwards(c) for c in leaving)
    if not entering:
        delta = f"{name('δ', id)} = {back}".replace("δ", r"\delta") if leaving else ""
        return Mathematics(Y=rf"{name('Y', id)} = X", delta=delta)
    total = " + ".join(_weighed(c, name("Y", c.back)) for c in entering if c.port == "in")
    bias = rf" + {name('B', id)}" if capsule.bias else ""
    others = "".join(
        rf",\quad U^{{\text{{{_escaped(c.port)}}}}} = {_weighed(c, name('Y', c.back))}"
        for c in entering
        if c.port != "in"
    )
    worn = "".join(
        rf"\quad\text{{with {part.record.title}: }} {translate(part.record.formula)}" for part in capsule.parts
    )
    slope = _slope(capsule)
    if len(leaving) != 1:
        # An output has nothing behind it: its error is the distance from the target.
        back = rf"\left({back or name('Y', id) + ' - T'}\right)"
    b = name("B", id)
    update = rf"\Delta {b} = {name('δ', id)},\quad {b} \leftarrow {b} - \eta \Delta {b}"
    return Mathematics(
        U=rf"{name('U', id)} = {total or '0'}{bias}{others}",
        Y=translate(capsule.record.formula) + worn,
        delta=rf"{name('δ', id)} = {slope}{back}".replace("δ", r"\delta"),
        update=update.replace("δ", r"\delta") if capsule.bias else "",
    )


def _slope(capsule: CheckedCapsule) -> str:
    """Write what the δ of a capsule's output is multiplied by."""
    written = capsule.record.derivative
    if written == "1":
        return ""
    shown = translate(written) if written else rf"\operatorname{{{_escaped(capsule.symbol)}}}'(U)"
    # A sum binds less than the product that it stands in.
    return rf"\left({shown}\right) \circ " if " + " in written else rf"{shown} \circ "


def _backwards(connection: CheckedConnection) -> str:
    delta = name("δ", connection.front)
    if not connection.weights:
        return delta if connection.symbol == "transfer" else rf"\operatorname{{{connection.symbol}}}^{{\top}}({delta})"
    mark = MARKS.get(connection.record.mark, r"\otimes")
    return rf"\left({name('W', connection.id)}\right)^{{\top}} {mark} {delta}"


def _connection(connection: CheckedConnection) -> Mathematics:
    weight, delta = name("W", connection.id), name(r"\delta", connection.front)
    y = name("Y", connection.back)
    update = ""
    if connection.weights:
        mark = MARKS.get(connection.record.mark, r"\otimes")
        product = (
            rf"{delta} {mark} \left({y}\right)^{{\top}}" if connection.symbol == "full" else rf"{delta} \otimes {y}"
        )
        update = rf"\Delta {weight} = {product},\quad {weight} \leftarrow {weight} - \eta \Delta {weight}"
    return Mathematics(
        U=rf"{name('U', connection.front)} \mathrel{{+}}= {_weighed(connection, y)}",
        Y=translate(connection.record.formula),
        delta=rf"{name('δ', connection.back)} \mathrel{{+}}\leftarrow {_backwards(connection)}".replace("δ", r"\delta"),
        update=update,
    )
