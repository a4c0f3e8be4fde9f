"""Hostile names: what could end a text, a tag, a line or a command somewhere, and drawings that are called so."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, replace

from inkcap.drawing import Drawing, DrawingError, Edit, Meta, Put, from_text
from inkcap.drawing.groups import COPY
from inkcap.drawing.picture_text import NOT_XML, width_of

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
    "font-family", "xmlns=", "urn:inkcap:drawing", "DataLoader", "TensorDataset", "batch", "loss", "squash",
    "Q1Q", "a" * 60,
]  # fmt: skip
WORDS = [f for f in FRAGMENTS if f and (f[0].isalnum() or f[0] == "_") and all(c.isalnum() or c == "_" for c in f)]
ARGUMENTS = [word for word in WORDS if word.isascii() and word.isidentifier() and word != COPY]
UNSEEN = ["\n", "\r", "\t", "\x00", "\x1b[2J", "\u2028", "\u2029", "\u200b", "\u202e", "\u2066", "\ufeff",
          "\n\\end{document}", "\nimport os\n", "\n%", "\r\n", "\x85", "\x0c"]  # fmt: skip
"""What could break a line, turn the direction or hide: drawings refuse these in names, printers must not rely on it."""


def hostile_text(chance: random.Random, most: int = 4, fragments: list[str] = FRAGMENTS) -> str:
    """Put a few fragments together; what no drawing takes (longer than 200 letters) is never made."""
    return "".join(chance.choice(fragments) for _ in range(chance.randint(1, most)))[:200]


def hostile_ids(chance: random.Random, count: int) -> list[str]:
    """Make different ids: letters, digits and underscores of any script."""
    found: dict[str, None] = {}
    while len(found) < count:
        word = chance.choice(WORDS) + chance.choice(
            ["", "", "_", "-", chance.choice(WORDS), str(chance.randint(0, 99))]
        )
        found[word[:64]] = None
    return list(found)


# Small drawings in which every text that a person writes is a place for another: Q1Q stands for an id, T1T for a text,
# A1A for an argument of a group.


def rows() -> Drawing:
    """A group in two sizes, one of them in a row, with a dropout and a layer of slopes."""
    body = Drawing("T0T", arguments={"A1A": 4, "A2A": "T1T"})
    body.add("Q1Q", "1D-relu", dimension="=A1A")
    body.add("Q2Q", "1D-prelu", dimension="=A1A")
    body.connect("Q1Q", "Q2Q", "full", id="Q3Q")
    body.wear("Q2Q", "dropout")
    drawing = Drawing("T0T")
    drawing.define("Q4Q", body, inputs={"Q5Q": "Q1Q"}, outputs={"Q6Q": "Q2Q"})
    drawing.add("Q7Q", "1D-data", dimension=4)
    drawing.add("Q8Q", "Q4Q", repeat=2, A1A=4, A2A="T1T")
    drawing.add("Q9Q", "Q4Q", A1A=5)
    drawing.add("Q10Q", "1D-softmax", dimension=3)
    drawing.connect("Q7Q", "Q8Q", "full", id="Q11Q", port="Q5Q")
    drawing.connect("Q8Q", "Q9Q", "full", id="Q12Q", port="Q5Q", output="Q6Q")
    drawing.connect("Q9Q", "Q10Q", "full", id="Q13Q", output="Q6Q")
    return drawing


def nested() -> Drawing:
    """A group inside of a group, beside a capsule of the same group."""
    inner = Drawing("T0T")
    inner.add("Q1Q", "1D-tanh", dimension=3)
    outer = Drawing("T0T")
    outer.define("Q2Q", inner, inputs={"Q3Q": "Q1Q"}, outputs={"Q4Q": "Q1Q"})
    outer.add("Q5Q", "Q2Q")
    outer.add("Q6Q", "1D-sigmoid", dimension=2)
    outer.connect("Q5Q", "Q6Q", "full", id="Q7Q", output="Q4Q")
    drawing = Drawing("T0T")
    drawing.define("Q8Q", outer, inputs={"Q3Q": "Q5Q"}, outputs={"Q4Q": "Q6Q"})
    drawing.add("Q9Q", "1D-data", dimension=2)
    drawing.add("Q10Q", "Q8Q")
    drawing.connect("Q9Q", "Q10Q", "full", id="Q11Q", port="Q3Q")
    return drawing


def branches() -> Drawing:
    """Two inputs, a convolution with its batch norm, branches that are summed, and two outputs."""
    drawing = Drawing("T0T")
    drawing.add("Q1Q", "2D-data", height=4, width=4, channels=1)
    drawing.add("Q2Q", "2D-relu")
    drawing.connect("Q1Q", "Q2Q", "convolution", id="Q3Q", kernels=2, kernel=3)
    drawing.wear("Q2Q", "batch-norm")
    drawing.add("Q4Q", "1D-data", dimension=3)
    drawing.add("Q5Q", "1D-identical")
    drawing.connect("Q2Q", "Q5Q", "reshaping", id="Q6Q")
    drawing.add("Q7Q", "1D-sigmoid", dimension=2)
    drawing.connect("Q5Q", "Q7Q", "full", id="Q8Q")
    drawing.connect("Q4Q", "Q7Q", "full", id="Q9Q")
    drawing.add("Q10Q", "1D-softmax", dimension=2)
    drawing.connect("Q5Q", "Q10Q", "full", id="Q11Q")
    return drawing


def tied() -> Drawing:
    """Weights that are shared, by name."""
    drawing = Drawing("T0T")
    drawing.add("Q1Q", "1D-data", dimension=3)
    drawing.add("Q2Q", "1D-gelu", dimension=3, tie="Q3Q")
    drawing.add("Q4Q", "1D-gelu", dimension=3, tie="Q3Q")
    drawing.connect("Q1Q", "Q2Q", "full", id="Q5Q", tie="Q6Q")
    drawing.connect("Q2Q", "Q4Q", "full", id="Q7Q", tie="Q6Q")
    return drawing


def routing() -> Drawing:
    """Vectors that vote: functions that torch does not have come along in the file."""
    drawing = Drawing("T0T")
    drawing.add("Q1Q", "2D-data", height=2, width=2, channels=2)
    drawing.add("Q2Q", "2D-squash")
    drawing.connect("Q1Q", "Q2Q", "reshaping", id="Q3Q", atoms=2)
    drawing.add("Q4Q", "2D-routing")
    drawing.connect("Q2Q", "Q4Q", "vote", id="Q5Q", parents=2, atoms=2)
    return drawing


def _labelled(drawing: Drawing) -> str:
    """Give a drawing as text, with a label wherever there can be one, and a note."""
    document = json.loads(drawing.to_text())
    document["notes"] = [{"id": "Q0Q", "text": "T2T"}]
    records = [document, *document.get("groups", [])]
    labelled = [r for d in records for s in ("capsules", "uses", "connections") for r in d.get(s, [])]
    for number, record in enumerate([*labelled, *document.get("groups", [])], 3):
        record["label"] = f"T{number}T"
    return json.dumps(document)


SHAPES = {make.__name__: _labelled(make()) for make in (rows, nested, branches, tied, routing)}
PLACE = re.compile(r"([QTA])(\d+)[QTA]")
NAMES_IN = {shape: len({found[0] for found in PLACE.finditer(text)}) for shape, text in SHAPES.items()}
"""How many names a drawing of each shape has."""


@dataclass(frozen=True)
class Names:
    """What everything is called: ids, texts and arguments by their numbers."""

    ids: list[str]
    texts: list[str]
    arguments: list[str]

    def drawing(self, shape: str) -> Drawing:
        """Make one of the small drawings under these names."""
        lists = {"Q": self.ids, "T": self.texts, "A": self.arguments}
        filled = PLACE.sub(lambda found: json.dumps(lists[found[1]][int(found[2])])[1:-1], SHAPES[shape])
        return from_text(filled)


COUNT = 20
PLAIN = Names(*([f"{kind}{number}{kind}" for number in range(COUNT)] for kind in "QTA"))


def hostile_names(chance: random.Random) -> Names:
    """Choose hostile names for everything."""
    texts = [hostile_text(chance) for _ in range(COUNT)]
    # The text of an argument is one: what begins so would be an expression.
    texts[1] = f"x{texts[1]}"[:200] if texts[1].startswith("=") else texts[1]
    return Names(hostile_ids(chance, COUNT), texts, chance.sample(ARGUMENTS, 3))


def smuggle(drawing: Drawing, chance: random.Random) -> None:
    """Give a drawing texts that no file can hold: they reach printers only past the reader."""
    text = lambda: hostile_text(chance, 4, [*FRAGMENTS, *UNSEEN * 4])  # noqa: E731
    records = [*drawing.capsules.values(), *drawing.connections.values(), *drawing.uses.values()]
    records += drawing.groups.values()
    labelled = [Put(replace(record, label=text())) for record in records]
    notes = [Put(replace(note, text=text())) for note in drawing.notes.values()]
    drawing.apply(Edit("smuggle", (Put(Meta(text(), drawing.dtype)), *labelled, *notes)))


# Twins: names as wide as the hostile ones, letter by letter, of nothing but harmless letters.

LETTERS = {0.0: "\u0301", 0.36: "ijltf", 0.61: "abcdeghknopqrsuvxyz", 0.65: "0123456789",
           0.68: "ABCDEFGHKLNOPQRSTUVXYZ", 0.84: "+", 0.95: "mw", 1.0: "中文字名日月火水木金土山川田"}  # fmt: skip
MARKS = {0.36: ".", 0.61: "éàüñèêëáâäåòóôöùúûýçø", 0.68: "ÉÀÜÑÈÊËÁÂÄÅÒÓÔÖÙÚÛÝÇØ", 0.95: "@"}
"""What stands for a letter that is none of ASCII: a letter and a number after it are written as mathematics does."""


def harmless(text: str, chance: random.Random) -> str:
    """Give a text that is as wide, letter by letter, and means nothing to anyone."""
    found: list[str] = []
    for letter in NOT_XML.sub("\ufffd", text):
        wide = round(width_of(letter, 1.0), 2)
        plain = letter.isascii() and letter.isalnum()
        found.append(" " if letter.isspace() else chance.choice(LETTERS[wide] if plain else {**LETTERS, **MARKS}[wide]))
    return "".join(found)


def twin_of(names: Names, chance: random.Random) -> Names:
    """Give harmless names that take as much room."""
    found: dict[str, None] = {}
    for id in names.ids:
        chosen = harmless(id, chance).replace(".", "i").replace("@", "m")
        while chosen in found:
            chosen = harmless(id, chance).replace(".", "i").replace("@", "m")
        found[chosen] = None
    # Arguments of groups stand in expressions, and are of ASCII.
    arguments = [harmless(word.replace("_", "x"), chance) for word in names.arguments]
    while len(set(arguments)) < len(arguments) or COPY in arguments:
        arguments = [harmless(word.replace("_", "x"), chance) for word in names.arguments]
    return Names(list(found), [harmless(text, chance) for text in names.texts], arguments)


def hostile_drawings(seed: str, count: int):
    """Make so many drawings, with their shape and their names; those that the reader refuses are not counted."""
    chance = random.Random(seed)  # noqa: S311
    made = 0
    while made < count:
        shape = chance.choice(list(SHAPES))
        names = hostile_names(chance)
        try:
            drawing = names.drawing(shape)
        except DrawingError:
            continue
        made += 1
        yield shape, names, drawing
