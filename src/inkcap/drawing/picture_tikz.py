r"""Pictures as TikZ: a file that a document takes by ``\input``, or that pdflatex and its kin compile alone."""

from __future__ import annotations

from collections.abc import Iterator
from unicodedata import category

from inkcap.drawing.picture_flat import Flat, Stroke, Writing, flatten_svg
from inkcap.drawing.picture_paths import Segment
from inkcap.drawing.picture_scene import PictureError

LONGEST = 16_000.0
"""In points: TeX knows no longer lengths."""
SLACK = 2.0
"""Points under a picture that is compiled alone: without them rounding would push it to a second page."""
BODY = 10.0
"""The size in points at which letters are asked for; every font has it, and any other comes of scaling."""

LETTERS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": "$<$", ">": "$>$", "|": "$|$", '"': "{\\char34}",
    "'": "{'}", "`": "{`}", "-": "{-}", "?": "{?}", "!": "{!}", ",": "{,}", "[": "{[}", "]": "{]}",
    "×": r"$\times$", "−": "$-$", "→": r"$\to$", "←": r"$\leftarrow$", "·": r"$\cdot$", "∗": r"$\ast$",
    "…": r"\dots{}", "≤": r"$\le$", "≥": r"$\ge$", "≈": r"$\approx$", "±": r"$\pm$", "∞": r"$\infty$",
    "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "δ": r"$\delta$", "ε": r"$\varepsilon$", "λ": r"$\lambda$",
    "μ": r"$\mu$", "π": r"$\pi$", "ρ": r"$\rho$", "σ": r"$\sigma$", "τ": r"$\tau$", "φ": r"$\varphi$",
    "ω": r"$\omega$", "Δ": r"$\Delta$", "Σ": r"$\Sigma$", "Ω": r"$\Omega$", "²": "$^2$", "³": "$^3$",
    "–": "{--}", "—": "{---}", "’": "{'}", "‘": "{`}", "“": "{``}", "”": "{''}",
}  # fmt: skip
r"""What LaTeX writes otherwise; letters that end in the middle of a ligature or an option stand in braces."""
HEAD = r"""% {title}
% Drawn by Inkcap. \input it in a document that loads tikz, or compile it alone.
\ifdefined\tikzpicture\def\inkcapend{{}}\else
\documentclass{{article}}
\usepackage{{tikz}}
\usepackage[paperwidth={width:.2f}pt,paperheight={height:.2f}pt,margin=0pt]{{geometry}}
\pagestyle{{empty}}\parindent=0pt\topskip=0pt
\def\inkcapend{{\end{{document}}}}
\begin{{document}}
\fi
\providecommand\inkcapletter[2]{{\ifdefined\Umathchar#1\else{{\ttfamily U+#2}}\fi}}%"""


def svg_to_tikz(svg: str, width: float | None = None) -> str:
    """Turn an SVG that Inkcap drew into TikZ, ``width`` points wide; otherwise three quarters of a point a unit."""
    flat = flatten_svg(svg)
    unit = width / flat.width if width else 0.75
    longest = max(flat.width, flat.height) * unit
    if longest > LONGEST:
        raise PictureError(
            f"the picture would be {longest:.0f} pt long, and TeX knows no more than {LONGEST:.0f}; "
            "give it a smaller width, or take PDF"
        )
    colours = _colours(flat)
    lines = [HEAD.format(title=_comment(flat.title), width=flat.width * unit, height=flat.height * unit + SLACK)]
    lines += [f"\\definecolor{{{name}}}{{HTML}}{{{colour[1:].upper()}}}%" for colour, name in colours.items()]
    lines.append(f"\\begin{{tikzpicture}}[x={unit:.5f}pt,y=-{unit:.5f}pt,line join=round]")
    lines.append(f"\\useasboundingbox (0,0) rectangle ({_n(flat.width)},{_n(flat.height)});")
    for item in flat.items:
        lines += _stroked(item, colours, unit) if isinstance(item, Stroke) else _written(item, colours, unit)
    return "\n".join([*lines, "\\end{tikzpicture}%", "\\inkcapend", ""])


def latex_text(text: str) -> str:
    """Write a text so that LaTeX prints it and takes nothing in it for a command."""
    return "".join(map(_letter, text))


def _letter(letter: str) -> str:
    if letter in LETTERS:
        return LETTERS[letter]
    if " " <= letter <= "~":
        return letter
    if category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        # What is not seen is not printed: such letters turn the direction, break lines, or hide.
        return ""
    # A letter that only the newer engines know stands for itself there, and by its number in pdflatex.
    return f"\\inkcapletter{{{letter}}}{{{ord(letter):04X}}}"


def _comment(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in " -.,:()" else "_" for letter in text)[:200]


def _n(number: float) -> str:
    text = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _colours(flat: Flat) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in flat.items:
        for colour in (item.fill, item.stroke) if isinstance(item, Stroke) else (item.colour,):
            if colour:
                found.setdefault(colour, f"inkcap{chr(97 + len(found) // 26)}{chr(97 + len(found) % 26)}")
    return found


def _stroked(item: Stroke, colours: dict[str, str], unit: float) -> Iterator[str]:
    options: list[str] = []
    if item.fill:
        options.append(f"fill={colours[item.fill]}")
        if item.opacity < 1:
            options.append(f"fill opacity={_n(item.opacity)}")
    if item.stroke:
        options += [f"draw={colours[item.stroke]}", f"line width={item.width * unit:.3f}pt"]
        if item.round:
            options.append("line cap=round")
        if item.dashes:
            on, off = item.dashes[0] * unit, item.dashes[-1] * unit
            options.append(f"dash pattern=on {on:.2f}pt off {off:.2f}pt")
    if options and item.segments:
        yield f"\\path[{','.join(options)}] {' '.join(map(_drawn, item.segments))};"


def _drawn(segment: Segment) -> str:
    points = [f"({_n(x)},{_n(y)})" for x, y in segment.points]
    if segment.kind == "Z":
        return "-- cycle"
    if segment.kind == "C":
        return f".. controls {points[0]} and {points[1]} .. {points[2]}"
    return points[0] if segment.kind == "M" else f"-- {points[0]}"


def _written(item: Writing, colours: dict[str, str], unit: float) -> Iterator[str]:
    if not item.text and not item.low:
        return
    font = "\\ttfamily" if item.mono else "\\sffamily"
    font += "\\bfseries" * item.bold + "\\itshape" * item.italic
    anchor = {"start": "base west", "end": "base east"}.get(item.anchor, "base")
    low = f"$_{{\\mathrm{{{latex_text(item.low)}}}}}$" if item.low else ""
    options = f"anchor={anchor},inner sep=0pt,text={colours[item.colour]},scale={item.size * unit / BODY:.4f}"
    text = f"\\fontsize{{10}}{{12}}\\selectfont{font} {latex_text(item.text)}{low}"
    yield f"\\node[{options}] at ({_n(item.at[0])},{_n(item.at[1])}) {{{text}}};"
