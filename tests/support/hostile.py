"""Hostile names: what could end a text, a tag, a line or a command somewhere, and drawings that are called so."""

from __future__ import annotations

import json
import random
from typing import Any

from inkcap.drawing import Drawing, from_text

FRAGMENTS = [
    '"', "'", '"""', "'''", "`", "\\", "\\\\", "\\n", "{", "}", "}}", "{{", "$", "$$", "&", "&amp;", "&#0;",
    "#", "%", "%%", "_", "__", "^", "^^5c", "^^M", "~", "<", ">", "</text>", "</svg>",
    "<script>alert(1)</script>", "<!--", "-->", "]]>", "<![CDATA[", "<?xml?>", "<!ENTITY a 'b'>",
    "\\end{tikzpicture}", "\\input{/etc/passwd}", "\\write18{ls}", "\\csname", "\\par", "};", "]", "[", ";",
    ":", ",", "(", ")", "=", "|", "--", "---", "?`", "!`", "<<", ">>", "\\def\\a{", "\\relax", "import os",
    "; import os #", "class", "def", "None", "True", "lambda", "self", "torch", "nn", "F", "keras", "layers",
    "Tensor", "model", "forward", "__init__", "super", "match", "print", "exec", "l", "O", "I", "x", "0", "1e9",
    "nan", "{0}", "%s", "${x}", "#{x}", "{x!r}", "cоnv", "ｃlass", "ﬁ", "µ", "ª", "名", "中文", "é", "e\u0301", "ß",
    "İ", "ı", "Ａ", "𝐱", "😀", "\u00a0", "\u3000", " ", "  ", "\ufffe", "\uffff", "\ufffd", "α", "×", "→", "−",
    "…", "©", "™", "½", "٣", "ा", "\U000e0100", "javascript:alert(1)", "url(#x)", "data:,", "onload=", "style=",
    "font-family", "xmlns=", "urn:inkcap:drawing", "a" * 60,
]  # fmt: skip
WORDS = [f for f in FRAGMENTS if f and (f[0].isalnum() or f[0] == "_") and all(c.isalnum() or c == "_" for c in f)]


def hostile_text(chance: random.Random, most: int = 4) -> str:
    """Put a few fragments together; what no drawing takes (longer than 200 letters) is never made."""
    return "".join(chance.choice(FRAGMENTS) for _ in range(chance.randint(1, most)))[:200]


def hostile_ids(chance: random.Random, count: int) -> list[str]:
    """Make different ids: letters, digits and underscores of any script."""
    found: dict[str, None] = {}
    while len(found) < count:
        word = chance.choice(WORDS) + chance.choice(
            ["", "", "_", "-", chance.choice(WORDS), str(chance.randint(0, 99))]
        )
        found[word[:64]] = None
    return list(found)


PLACES = [f"Q{number}Q" for number in range(12)]


def plain_drawing() -> Drawing:
    """A group in two sizes, one of them in a row, with a dropout and a layer of slopes, a branch and a note."""
    group, argument, i, j, k, data, row, other, left, right, end, note = PLACES
    body = Drawing("body", arguments={argument: 4})
    body.add(i, "1D-identical")
    body.then(j, "1D-relu", "full", dimension=f"={argument}")
    body.then(k, "1D-prelu", "full", dimension=f"={argument}")
    body.wear(k, "dropout")
    drawing = Drawing("net")
    drawing.define(group, body, inputs={"in": i}, outputs={"out": k})
    drawing.add(data, "1D-data", dimension=4)
    drawing.then(row, group, repeat=2, **{argument: 4})
    drawing.then(other, group, **{argument: 5})
    drawing.add(left, "1D-sigmoid", dimension=3)
    drawing.connect(other, left, "full")
    drawing.add(right, "1D-tanh", dimension=3)
    drawing.connect(other, right, "full")
    drawing.add(end, "1D-softmax", dimension=3)
    drawing.connect(left, end, "transfer")
    drawing.connect(right, end, "transfer")
    del note
    return drawing


PLAIN = plain_drawing().to_text()


def hostile_drawing(chance: random.Random) -> Drawing:
    """Make the plain drawing under hostile names: its title, its ids, its labels, its argument."""
    ids = hostile_ids(chance, len(PLACES))
    ids[1] = chance.choice([word for word in WORDS if word.isascii() and word.isidentifier() and word != "copy"])
    text = PLAIN
    for place, name in zip(PLACES, ids, strict=True):
        text = text.replace(place, name)
    document: dict[str, Any] = json.loads(text)
    document["name"] = hostile_text(chance) or "x"
    for section in ("capsules", "uses", "connections"):
        for record in document[section]:
            record["label"] = hostile_text(chance)
    return from_text(json.dumps(document))
