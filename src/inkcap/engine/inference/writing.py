"""Writing: folded pieces as straight-line source, with weights laid out for the kernels that take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import torch
from torch import Tensor

from inkcap.engine.inference.kernels import KERNELS
from inkcap.engine.inference.pieces import WEIGHING, Piece, Pieces
from inkcap.engine.rules import LIBRARY, Call, Page, convolved, rule_of

VIEWS = frozenset({"reshape", "flatten", "permute", "transpose", "channels", "block", "repeat", "take", "same"})
"""Pieces whose result may lie in the memory of what they take."""

LITTLE_WORK = 4 * 2**20
"""Up to so many multiply-adds the packed kernels take longer to be called than to compute."""
NARROW_MAP = 3
"""Rows of so few positions leave the packed kernels half empty."""
LONG_KERNEL = 8192
"""From so many numbers on a kernel with strides is read from further away than a matrix is."""


def packing() -> bool:
    """Tell whether this torch has kernels that take weights laid out beforehand."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_convolution_pointwise")


def write(pieces: Pieces, batch: int, packed: bool, processor: bool) -> tuple[str, dict[str, Any]]:
    """Write pieces as the source of a function of the inputs, and give it with the things that it names.

    On another device than the processor the device's own kernels are called.
    """
    writer = _Writer(pieces, batch, packed, processor)
    return writer.source(), writer.page.namespace


class _Writer:
    def __init__(self, pieces: Pieces, batch: int, packed: bool, processor: bool) -> None:
        self.pieces, self.batch, self.packed, self.processor = pieces, batch, packed, processor
        self.page = Page(training=False, namespace={**LIBRARY, **KERNELS})
        self.names = {number: f"x{place}" for place, number in enumerate(pieces.inputs)}
        self.uses = pieces.uses()
        for number, value in pieces.constants.items():
            self.names[number] = self.page.bind(f"c{number}", value)
        self.fresh: set[int] = set()
        """Values that lie in memory of their own, which the only one to look at them may write over."""

    def source(self) -> str:
        """Write all."""
        last = self._last_uses()
        inputs = [self.names[number] for number in self.pieces.inputs]
        for number, name in zip(self.pieces.inputs, inputs, strict=True):
            if len(self.pieces.shapes[number]) in (3, 4):
                self.page.write(f"{name} = {name}.to(memory_format={self._layout(number)})")
        for place, piece in enumerate(self.pieces.order):
            name = f"v{piece.target}"
            self.page.write(f"{name} = {self._text(piece)}")
            self.names[piece.target] = name
            if piece.name not in VIEWS:
                self.fresh.add(piece.target)
            gone = [self.names[number] for number in last.get(place, ())]
            if gone:
                self.page.write(f"del {', '.join(gone)}")
        returned = [self.names[number] for number in self.pieces.returned]
        self.page.write(f"return {returned[0] if len(returned) == 1 else ', '.join(returned)}")
        return "\n    ".join([f"def run({', '.join(inputs)}):", *self.page.lines]) + "\n"

    def _last_uses(self) -> dict[int, list[int]]:
        last: dict[int, int] = {}
        for place, piece in enumerate(self.pieces.order):
            last.update({number: place for number in piece.takes if number not in self.pieces.constants})
        kept = set(self.pieces.returned)
        found: dict[int, list[int]] = {}
        for number, place in last.items():
            if number not in kept:
                found.setdefault(place, []).append(number)
        return found

    def _layout(self, number: int) -> str:
        return "torch.channels_last" if len(self.pieces.shapes[number]) == 3 else "torch.channels_last_3d"

    def _text(self, piece: Piece) -> str:
        arguments = [self.names[number] for number in piece.arguments]
        if piece.name in WEIGHING and piece.weight is not None:
            return self._weighing(piece, arguments[0])
        write = _FORMS.get(piece.name)
        if write is not None:
            return write(self, piece, arguments)
        assert piece.step is not None
        rule, call = rule_of(piece.step), Call(piece.step, arguments)
        text = rule.forward(self.page, call)
        return f"{text}[0]" if rule.saves else text

    def own(self, number: int) -> bool:
        """Tell whether a value may be written over by the piece that takes it."""
        return number in self.fresh and self.uses[number] == 1

    def bind(self, piece: Piece, what: str, thing: Any) -> str:
        """Name a thing of a piece."""
        return self.page.bind(f"{what}{piece.target}", thing)

    def _weighing(self, piece: Piece, x: str) -> str:
        if piece.name == "matmul":
            row = x if len(piece.shape) == 1 else f"{x}.flatten(0, -2)"
            made = self._product(piece, row)
            return self.ended(piece, made if len(piece.shape) == 1 else f"{made}.view(-1, {_listed(piece.shape)})")
        if piece.name == "dense":
            taken: tuple[int, ...] = piece.attributes["taken"]
            row = f"{x}.flatten(1)" if max(taken[1:]) == 1 else f"{x}.movedim(1, -1).flatten(1)"
            return self.ended(piece, self._as_maps(piece, self._product(piece, row)))
        way = self.ways(piece)
        if way == "product":
            depth = self.pieces.shapes[piece.arguments[0]][0]
            made = self._product(piece, f"{x}.movedim(1, -1).reshape(-1, {depth})")
            return self.ended(piece, self._as_maps(piece, made))
        if way == "unrolled":
            return self.ended(piece, self._unrolled(piece, x))
        bias = "None" if piece.bias is None else self.bind(piece, "b", piece.bias)
        if way == "packed":
            makers = "" if piece.arguments[0] in self.fresh else ".contiguous(memory_format=torch.channels_last)"
            return self._packed(piece, f"{x}{makers}", bias)
        weight = self.bind(piece, "w", _laid(piece))
        assert piece.step is not None
        step = replace(piece.step, attributes=piece.attributes)
        return self.ended(piece, convolved(Call(step, ()), x, weight, bias))

    def ways(self, piece: Piece) -> str:
        """Choose how a convolution is computed: by rule, so that the same network gives the same bits every time."""
        at, weight = piece.attributes, piece.weight
        assert weight is not None
        if not self.processor or piece.name != "convolve" or len(piece.shape) != 3:
            return "plain"
        alone = at["groups"] == 1
        if alone and tuple(weight.shape[2:]) == (1, 1) and set(at["stride"]) == {1} and not any(at["padding"]):
            return "product"
        if not (self.packed and piece.dtype == "float32"):
            return "plain"
        work = self.batch * piece.shape[1] * piece.shape[2] * weight.numel()
        wide = min(at["stride"]) > 1 and weight[0].numel() >= LONG_KERNEL
        return "unrolled" if alone and (work <= LITTLE_WORK or piece.shape[2] <= NARROW_MAP or wide) else "packed"

    def _product(self, piece: Piece, rows: str) -> str:
        """Write the product of rows and a matrix, which lies as the kernel wants it, or turned: so it is read along."""
        assert piece.weight is not None
        if self._packs_product(piece):
            laid: Tensor = torch.ops.mkldnn._reorder_linear_weight(piece.weight.flatten(1), self._rows(piece))
            bias = "None" if piece.bias is None else self.bind(piece, "b", piece.bias)
            call = self.page.bind("packed_product", torch.ops.mkldnn._linear_pointwise.default)
            ending = piece.after if self._ends_inside(piece) else "none"
            return f"{call}({rows}, {self.bind(piece, 'w', laid)}, {bias}, '{ending}', [], '')"
        weight = self.bind(piece, "w", piece.weight.flatten(1).t().contiguous())
        if piece.bias is None:
            return f"torch.mm({rows}, {weight})"
        return f"torch.addmm({self.bind(piece, 'b', piece.bias)}, {rows}, {weight})"

    def _rows(self, piece: Piece) -> int:
        """Tell how many rows a product has; a matrix of a small map takes a whole sample as one."""
        axes = {"matmul": piece.shape[:-1], "dense": ()}.get(piece.name, piece.shape[1:])
        return self.batch * prod(axes)

    def _packs_product(self, piece: Piece) -> bool:
        assert piece.weight is not None
        usable = self.packed and self.processor and piece.dtype == "float32"
        return usable and self._rows(piece) * piece.weight.numel() > LITTLE_WORK

    def _ends_inside(self, piece: Piece) -> bool:
        """Tell whether the kernel of a product applies the function that comes last."""
        by_product = piece.name in ("matmul", "dense") or (piece.name == "convolve" and self.ways(piece) == "product")
        return bool(piece.after) and piece.plus is None and by_product and self._packs_product(piece)

    def _as_maps(self, piece: Piece, text: str) -> str:
        return f"{text}.view(-1, {_listed((*piece.shape[1:], piece.shape[0]))}).movedim(-1, 1)"

    def _unrolled(self, piece: Piece, x: str) -> str:
        assert piece.weight is not None
        at, kernels = piece.attributes, piece.weight.shape[0]
        weight = self.bind(piece, "w", piece.weight.permute(2, 3, 1, 0).reshape(-1, kernels).contiguous())
        bias = self.bind(piece, "b", piece.weight.new_zeros(kernels) if piece.bias is None else piece.bias)
        places = tuple(tuple(at[name]) for name in ("stride", "padding", "dilation"))
        return f"unrolled({x}, {weight}, {bias}, {tuple(piece.weight.shape[2:])}, {places})"

    def ended(self, piece: Piece, text: str) -> str:
        """Write what is added, and the function that comes last, into the memory that is there already."""
        if piece.weight is not None and self._ends_inside(piece):
            return text
        if piece.plus is not None:
            text = f"{text}.add_({self.names[piece.plus]})"
        return f"{text}.{piece.after}_()" if piece.after else text

    def _packed(self, piece: Piece, x: str, bias: str) -> str:
        """Write a convolution whose kernels lie as the kernel wants them, with the sum and the function inside."""
        at = piece.attributes
        stride, padding, dilation = (list(at[name]) for name in ("stride", "padding", "dilation"))
        assert piece.weight is not None
        sizes = [self.batch, *self.pieces.shapes[piece.arguments[0]]]
        laid: Tensor = torch.ops.mkldnn._reorder_convolution_weight(
            piece.weight, padding, stride, dilation, at["groups"], sizes
        )
        places = f"{padding}, {stride}, {dilation}, {at['groups']}"
        weight = self.bind(piece, "w", laid)
        if piece.plus is None:
            call = self.page.bind("packed", torch.ops.mkldnn._convolution_pointwise.default)
            ending = {"": "none"}.get(piece.after, piece.after)
            return f"{call}({x}, {weight}, {bias}, {places}, '{ending}', [], '')"
        other = self.names[piece.plus]
        ending, rest = ("'relu', [], ''", "") if piece.after == "relu" else ("None, [], None", piece.after)
        end = f".{rest}_()" if rest else ""
        # What else has the summand must not be written over.
        if self.own(piece.plus) and self.pieces.shapes[piece.plus] == piece.shape:
            call = self.page.bind("packed_into", torch.ops.mkldnn._convolution_pointwise_.binary)
        else:
            call = self.page.bind("packed_plus", torch.ops.mkldnn._convolution_pointwise.binary)
        lead = f"{other}, {x}" if "into" in call else f"{x}, {other}"
        return f"{call}({lead}, {weight}, {bias}, {places}, 'add', 1.0, {ending}){end}"


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))


def _laid(piece: Piece) -> Tensor:
    """Lay kernels out so that all channels of a tap stand together, like maps."""
    assert piece.weight is not None
    layout = torch.channels_last if piece.weight.ndim == 4 else torch.channels_last_3d
    return piece.weight.to(memory_format=layout)


def _affine(writer: _Writer, piece: Piece, arguments: Sequence[str]) -> str:
    (x,) = arguments
    shift = None if piece.bias is None else writer.bind(piece, "b", piece.bias)
    if piece.weight is None:
        return writer.ended(piece, f"({x} + {shift})")
    factor = writer.bind(piece, "w", piece.weight)
    made = f"({x} * {factor})" if shift is None else f"torch.addcmul({shift}, {x}, {factor})"
    return writer.ended(piece, made)


def _add(writer: _Writer, piece: Piece, arguments: Sequence[str]) -> str:
    return writer.ended(piece, f"({arguments[0]} + {arguments[1]})")


def _function(writer: _Writer, piece: Piece, arguments: Sequence[str]) -> str:
    return f"{arguments[0]}.{piece.name}_()" if writer.own(piece.arguments[0]) else f"{piece.name}({arguments[0]})"


def _flatten(writer: _Writer, piece: Piece, arguments: Sequence[str]) -> str:
    return f"{arguments[0]}.movedim(1, -1).flatten(1)"


def _taken(writer: _Writer, piece: Piece, arguments: Sequence[str]) -> str:
    index = writer.bind(piece, "i", torch.tensor(piece.attributes["index"], dtype=torch.int64))
    return f"{arguments[0]}.index_select(-1, {index})"


def _pooled(writer: _Writer, piece: Piece, arguments: Sequence[str]) -> str:
    at = piece.attributes
    two = tuple(at["window"]) == tuple(at["stride"]) == (2, 2) and not any(at["padding"])
    whole = at["edge"] != "ceil" or not any(size % 2 for size in writer.pieces.shapes[piece.arguments[0]][1:])
    if two and whole and writer.processor:
        return f"halved({arguments[0]})"
    assert piece.step is not None
    return f"{rule_of(piece.step).forward(writer.page, Call(piece.step, arguments))}[0]"


def _meant(writer: _Writer, piece: Piece, arguments: Sequence[str]) -> str:
    axes = tuple(range(2, len(piece.shape) + 1))
    if set(piece.attributes["bins"]) == {1}:
        return f"{arguments[0]}.mean({axes}, keepdim=True)"
    assert piece.step is not None
    return rule_of(piece.step).forward(writer.page, Call(piece.step, arguments))


def _channels(writer: _Writer, piece: Piece, arguments: Sequence[str]) -> str:
    return f"{arguments[0]}.narrow(1, {piece.attributes['first']}, {piece.attributes['count']})"


def _clamped(writer: _Writer, piece: Piece, arguments: Sequence[str]) -> str:
    if piece.bias is None:
        return f"torch.maximum({arguments[0]}, {writer.bind(piece, 'w', piece.weight)})"
    low, high = writer.bind(piece, "w", piece.weight), writer.bind(piece, "b", piece.bias)
    return f"torch.clamp({arguments[0]}, {low}, {high})"


def _voted(writer: _Writer, piece: Piece, arguments: Sequence[str]) -> str:
    return f"voted({writer.bind(piece, 'w', piece.weight)}, {arguments[0]}, {piece.attributes['parents']})"


def _coupled(writer: _Writer, piece: Piece, arguments: Sequence[str]) -> str:
    at = piece.attributes
    # Children and parents have changed places: the axes count from behind, without the numbers of a vote.
    dim = {-1: 1, 2: 1, -2: 2, 1: 2}[at["axis"]]
    bias = "" if piece.bias is None else f", {writer.bind(piece, 'b', piece.bias)}"
    return f"coupled({arguments[0]}, {at['iterations']}, {dim}{bias})"


def _combined(writer: _Writer, piece: Piece, arguments: Sequence[str]) -> str:
    return f"combined({', '.join(arguments)})[:, None]"


_FORMS: dict[str, Callable[[_Writer, Piece, Sequence[str]], str]] = {
    "affine": _affine,
    "add": _add,
    "relu": _function,
    "sigmoid": _function,
    "tanh": _function,
    "flatten": _flatten,
    "take": _taken,
    "window_max": _pooled,
    "bins_mean": _meant,
    "channels": _channels,
    "clamp": _clamped,
    "voted": _voted,
    "coupled": _coupled,
    "combined": _combined,
}
