"""Drawings that tests make: from samples of the catalogue, from figures of the paper, and random ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from inkcap.drawing import Drawing
from inkcap.structures import AXES, rank_of
from inkcap.symbols import PARTS, CapsuleSymbol, ConnectionSymbol, PartSymbol, Refusal, Sample
from inkcap.theory import Graph


def sizes(shape: tuple[int, ...]) -> dict[str, int]:
    """Give a shape (channels first) as the attributes of a capsule."""
    reading = (*shape[1:], shape[0]) if len(shape) > 1 else shape
    return dict(zip(AXES[rank_of(shape)], reading, strict=True))


def face(symbol: str, rank: int) -> str:
    return f"{symbol} neuron" if rank == 0 else f"{rank}D-{symbol}"


def draw_capsule(symbol: CapsuleSymbol, case: Sample | Refusal) -> Drawing:
    """Draw one capsule behind a data capsule of the case's shape; a data capsule stands alone before a reader."""
    drawing = Drawing("case", case.dtype)
    rank = rank_of(case.shape)
    if symbol.is_data:
        drawing.add("x", face("data", rank), **{**sizes(case.shape), **case.attributes})
        drawing.add("y", face("identical", rank), **sizes(case.shape))
    else:
        drawing.add("x", face("data", rank), **sizes(case.shape))
        drawing.add("y", face(symbol.id, rank), **case.attributes)
    drawing.connect("x", "y", "transfer")
    for port, shape in case.ports.items():
        # What a further connection brings to a port that keeps them apart is called ``scores.1``.
        name = port.replace(".", "-")
        drawing.add(name, face("data", rank_of(shape)), **sizes(shape))
        drawing.connect(name, "y", "transfer", port=port.partition(".")[0])
    return drawing


def draw_connection(symbol: ConnectionSymbol, case: Sample | Refusal) -> Drawing:
    """Draw one connection between a data capsule of the case's shape and an identical capsule."""
    drawing = Drawing("case", "float64" if symbol.picks else case.dtype)
    rank = rank_of(case.shape)
    # What picks has whole numbers behind it, and real ones in front.
    stated_dtype = {"dtype": case.dtype} if symbol.picks else {}
    drawing.add("x", face("data", rank), **sizes(case.shape), **stated_dtype)
    front_rank = case.front_rank if isinstance(case, Refusal) else None
    if front_rank is None and case.front is not None:
        front_rank = rank_of(case.front)
    if front_rank is None and case.attributes.get("shape"):
        front_rank = rank_of(case.attributes["shape"])
    if front_rank is None:
        front_rank = rank if (rank, rank) in symbol.ranks and symbol.id != "reshaping" else 1
    stated = sizes(case.front) if case.front is not None else {}
    drawing.add("y", face("identical", front_rank), **stated)
    drawing.connect("x", "y", symbol.id, **case.attributes)
    return drawing


def draw_part(symbol: PartSymbol, case: Sample | Refusal) -> Drawing:
    """Draw a tanh capsule that wears the part, behind a data capsule of the case's shape."""
    drawing = Drawing("case", case.dtype)
    rank = rank_of(case.shape)
    drawing.add("x", face("data", rank), **sizes(case.shape))
    drawing.add("y", face("identical" if case.dtype == "int64" else "tanh", rank))
    drawing.connect("x", "y", "transfer")
    drawing.wear("y", symbol.id, **case.attributes)
    return drawing


@st.composite
def random_drawings(draw: st.DrawFn, most: int = 7) -> Drawing:
    """Draw a random network: every capsule grows from some that are there, by a connection that fits."""
    dtype = draw(st.sampled_from(["float32", "float64"]))
    drawing = Drawing("random", dtype)
    ranks: dict[str, int] = {}
    for i in range(draw(st.integers(1, 2))):
        rank = draw(st.sampled_from([0, 1, 2, 2]))
        shape = {0: (), 1: (draw(st.integers(1, 5)),), 2: (draw(st.integers(1, 3)), *[draw(st.integers(4, 9))] * 2)}[
            rank
        ]
        drawing.add(f"x{i}", face("data", rank), **sizes(shape))
        ranks[f"x{i}"] = rank
    for i in range(draw(st.integers(1, most))):
        _grow(draw, drawing, ranks, f"h{i}")
    ends = [(c.back, c.front) for c in drawing.connections.values()]
    parts = sorted(Graph.of(drawing.capsules, ends).parts(), key=len)
    for loose in [id for part in parts[:-1] for id in part]:
        drawing.remove(loose)
    drawing.start_history_here()
    return drawing


def _grow(draw: st.DrawFn, drawing: Drawing, ranks: dict[str, int], name: str) -> None:
    from inkcap.network import check

    shapes = {c.id: c.output.sizes for c in check(drawing).capsules.values() if c.output}
    loose = [id for id in ranks if not any(c.back == id for c in drawing.connections.values())]
    back = draw(st.sampled_from(loose if loose and draw(st.booleans()) else list(ranks)))
    rank, shape = ranks[back], shapes[back]
    activation = draw(st.sampled_from(["relu", "sigmoid", "tanh", "identical"]))
    attributes: dict[str, Any] = {}
    if draw(st.booleans()):
        attributes["bias"] = draw(st.sampled_from(["none", "full", "channel"] if rank == 2 else ["none", "full"]))
    if rank == 2 and min(shape[1:]) >= 2 and draw(st.integers(0, 3)) == 0:
        edge = draw(st.sampled_from(["floor", "ceil"]))
        drawing.add(name, "2D-downsampling", window=2, edge=edge)
        drawing.connect(back, name, "transfer")
    elif rank == 2 and draw(st.booleans()):
        kernel = draw(st.integers(1, min(3, *shape[1:])))
        drawing.add(name, face(activation, 2), **attributes)
        drawing.connect(
            back,
            name,
            "convolution",
            kernels=draw(st.integers(1, 4)),
            kernel=kernel,
            padding=draw(st.integers(0, 1)),
            stride=draw(st.integers(1, 2)),
            flip=draw(st.booleans()),
        )
    elif rank == 2:
        rank = 1
        attributes.pop("bias", None)
        drawing.add(name, face(activation, 1), **attributes)
        drawing.connect(back, name, "reshaping")
    elif rank == 1:
        drawing.add(
            name,
            face(draw(st.sampled_from([activation, "softmax"])), 1),
            dimension=draw(st.integers(1, 5)),
            **attributes,
        )
        drawing.connect(back, name, "full")
    else:
        drawing.add(name, face(activation, 0), **attributes)
        drawing.connect(back, name, draw(st.sampled_from(["amplifying", "scale"])))
    ranks[name] = rank
    _join_others(draw, drawing, ranks, name)
    if draw(st.integers(0, 3)) == 0:
        _gate(draw, drawing, ranks, f"{name}g", name)
    if draw(st.integers(0, 3)) == 0:
        _wear(draw, drawing, name)


def _gate(draw: st.DrawFn, drawing: Drawing, ranks: dict[str, int], name: str, back: str) -> None:
    """Let a product capsule follow, gated by itself or by another of the same structure, through tied scales or not."""
    from inkcap.network import check

    report = check(drawing)
    shape = report.capsules[back].output
    same = [id for id in ranks if report.capsules[id].output == shape]
    by, tie = draw(st.sampled_from(same)), draw(st.sampled_from(["", f"{name}-tie"]))
    drawing.add(name, face("product", ranks[back]))
    drawing.connect(back, name, "scale", tie=tie)
    drawing.connect(by, name, "scale", tie=tie, port="by")
    if draw(st.booleans()):
        drawing.connect(back, name, "transfer", port="by")
    ranks[name] = ranks[back]


def _wear(draw: st.DrawFn, drawing: Drawing, name: str) -> None:
    from inkcap.network import check

    fitting = [p for p in PARTS.values() if drawing.capsules[name].rank in p.ranks]
    part = draw(st.sampled_from(fitting))
    drawing.wear(name, part.id)
    if not check(drawing).well_formed:
        drawing.undo()


def _join_others(draw: st.DrawFn, drawing: Drawing, ranks: dict[str, int], name: str) -> None:
    """Let other capsules enter too where that fits: by full connections to vectors, by transfer between equals."""
    from inkcap.network import check

    if drawing.capsules[name].symbol == "downsampling":
        return
    report = check(drawing)
    mine = report.capsules[name].total_input
    for other in [id for id in ranks if id != name]:
        theirs = report.capsules[other].output
        if mine is None or theirs is None or draw(st.integers(0, 3)):
            continue
        if theirs.shape == mine.shape:
            drawing.connect(other, name, "transfer")
        elif ranks[other] == ranks[name] == 1:
            drawing.connect(other, name, "full")
        elif ranks[other] == 2 and ranks[name] == 1 and theirs.elements == mine.elements:
            drawing.connect(other, name, "reshaping")
