"""One capsule as a drawing of its own: with what enters it, so that it alone can be opened to its neurons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from inkcap.drawing import Capsule, Drawing, Edit, Meta, Put
from inkcap.drawing.limits import NAME_LENGTH
from inkcap.network import Report, structure_of
from inkcap.structures import AXES
from inkcap.structures.structure import to_reading_order
from inkcap.studio.ledger import Refused


def alone(report: Report, id: str) -> Drawing:
    """Draw a capsule with the connections that enter it, from data capsules in place of what gives to it."""
    network = report.network
    if id not in network.drawing.capsules:
        raise Refused(f"{id} is no capsule of its own: open a capsule, or dissolve the group that it stands for first")
    entering = [c for c in network.drawing.connections.values() if c.front == id]
    if not entering:
        raise Refused(f"nothing enters {id}, so there is nothing to open: a data capsule is its elements and no more")
    drawing = Drawing()
    name = f"{network.drawing.name}: {id}"[:NAME_LENGTH]
    puts: list[Put] = [Put(Meta(name, network.drawing.dtype))]
    puts += [Put(_as_data(report, back)) for back in dict.fromkeys(c.back for c in entering)]
    # A tie means nothing where the others that it ties are missing.
    puts.append(Put(replace(network.drawing.capsules[id], tie="")))
    puts += [Put(replace(connection, tie="")) for connection in entering]
    drawing.apply(Edit("draw one capsule", tuple(puts)))
    return drawing


def _as_data(report: Report, id: str) -> Capsule:
    structure = structure_of(report.network.capsules[id])
    sizes: dict[str, Any] = dict(zip(AXES[structure.rank], to_reading_order(structure.shape), strict=True))
    return Capsule(id, "data", structure.rank, {**sizes, "dtype": structure.dtype})
