"""Lanes: sixteen samples side by side, as one value that the processor's vector units hold.

Each function here is one step of a kernel on sixteen numbers at once, written as LLVM instructions. So a kernel reads
like the formula for one sample, and its accumulators stay in registers, which no compiler manages from plain loops over
arrays that may overlap. LLVM fits sixteen lanes to whatever width the processor has. Multiplication and addition may be
fused; nothing else is rearranged, so that the same numbers give the same bits.

Where a function takes lanes it also takes a number, which then stands in every lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

LANES = 16
"""How many samples go together. Measured: 8 leave the units idle, 32 and 64 push large networks out of the cache."""

# numba and llvmlite state their types in part: they are taken as untyped here.
ir: Any = import_module("llvmlite.ir")
types: Any = import_module("numba").types
_extending: Any = import_module("numba.extending")
intrinsic: Any = _extending.intrinsic

_I32 = ir.IntType(32)
_FUSED = ("contract",)


class Lanes(types.Type):  # pyright: ignore[reportUntypedBaseClass]
    """The type of a value of sixteen lanes, as numba sees it."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype}, {LANES})")


@_extending.register_model(Lanes)
class _LanesModel(_extending.models.PrimitiveModel):  # pyright: ignore[reportUntypedBaseClass]
    def __init__(self, manager: Any, lanes: Any) -> None:
        element = ir.FloatType() if lanes.dtype == types.float32 else ir.DoubleType()
        super().__init__(manager, lanes, ir.VectorType(element, LANES))


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any, target: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), target.as_pointer())


def _bytes(array_type: Any) -> int:
    return array_type.dtype.bitwidth // 8


def _shuffle(builder: Any, a: Any, b: Any, places: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, len(places)), places))


def _splat(builder: Any, number: Any, vector: Any) -> Any:
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(_I32, 0))
    return _shuffle(builder, first, undefined, [0] * vector.count)


def _widen(context: Any, builder: Any, value: Any, value_type: Any, lanes: Any) -> Any:
    if isinstance(value_type, Lanes):
        return value
    number = context.cast(builder, value, value_type, lanes.dtype)
    return _splat(builder, number, context.get_value_type(lanes))


def _constant(vector: Any, number: float) -> Any:
    return ir.Constant(vector, [number] * vector.count)


def _lanes_among(*given: Any) -> Any:
    return next(one for one in given if isinstance(one, Lanes))


def _binary(emit: Callable[[Any, Any, Any], Any]) -> Any:
    @intrinsic
    def operation(typing_context: Any, a: Any, b: Any) -> Any:
        lanes = _lanes_among(a, b)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            left, right = (_widen(context, builder, v, t, lanes) for v, t in zip(arguments, (a, b), strict=True))
            return emit(builder, left, right)

        return lanes(a, b), generate

    return operation


def _unary(emit: Callable[[Any, Any], Any]) -> Any:
    @intrinsic
    def operation(typing_context: Any, a: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return emit(builder, arguments[0])

        return a(a), generate

    return operation


@intrinsic
def item(typing_context: Any, array: Any, index: Any) -> Any:
    """Read one number of a flat array, without Python's counting from the end, which costs as much as the read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        return builder.load(builder.gep(data, [arguments[1]]))

    return array.dtype(array, types.intp), generate


@intrinsic
def load(typing_context: Any, array: Any, index: Any) -> Any:
    """Read the sixteen numbers of a flat array that begin at an index."""
    lanes = Lanes(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, array, arguments[0], arguments[1], context.get_value_type(lanes))
        return builder.load(pointer, align=_bytes(array))

    return lanes(array, types.intp), generate


@intrinsic
def store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write sixteen numbers into a flat array from an index on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, array, arguments[0], arguments[1], arguments[2].type)
        builder.store(arguments[2], pointer, align=_bytes(array))
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


@intrinsic
def spread(typing_context: Any, number: Any) -> Any:
    """Put one number into every lane."""
    lanes = Lanes(number)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _splat(builder, arguments[0], context.get_value_type(lanes))

    return lanes(number), generate


@intrinsic
def multiply_add(typing_context: Any, total: Any, weight: Any, value: Any) -> Any:
    """Give total + weight · value."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        factor = _widen(context, builder, arguments[1], weight, total)
        return builder.fadd(arguments[0], builder.fmul(factor, arguments[2], flags=_FUSED), flags=_FUSED)

    return total(total, weight, value), generate


def _where(comparison: str, builder: Any, a: Any, b: Any, yes: Any, no: Any) -> Any:
    return builder.select(builder.fcmp_ordered(comparison, a, b), yes, no)


def _zero(vector: Any) -> Any:
    return ir.Constant(vector.type, None)


add = _binary(lambda builder, a, b: builder.fadd(a, b))
subtract = _binary(lambda builder, a, b: builder.fsub(a, b))
multiply = _binary(lambda builder, a, b: builder.fmul(a, b))
divide = _binary(lambda builder, a, b: builder.fdiv(a, b))
larger = _binary(lambda builder, a, b: _where("<", builder, a, b, b, a))
# Written so that what is not a number stays so, and a diverging run is seen.
relu = _unary(lambda builder, a: _where("<", builder, a, _zero(a), _zero(a), a))
step = _unary(lambda builder, a: _where(">=", builder, a, _zero(a), _constant(a.type, 1.0), _zero(a)))
where_positive = _binary(lambda builder, a, b: _where(">", builder, a, _zero(a), b, _zero(a)))


def _power_parts(builder: Any, x: Any) -> tuple[Any, Any]:
    """Split e^x into 2ⁿ·(q + 1): n whole, q by the series of e^r − 1 for the rest r, |r| ≤ ln 2 / 2."""
    single = isinstance(x.type.element, ir.FloatType)
    low, high, terms, bits, offset = (-87.0, 88.0, 7, 23, 127) if single else (-708.0, 709.0, 13, 52, 1023)
    integer = ir.VectorType(ir.IntType(32 if single else 64), x.type.count)
    # ln 2 in two parts: the first has so few digits that its products with n are exact.
    first, second = 0.693359375, -2.121944400546905827679e-4
    bounded = _where(">", builder, x, _constant(x.type, high), _constant(x.type, high), x)
    bounded = _where("<", builder, bounded, _constant(x.type, low), _constant(x.type, low), bounded)
    # Adding 1.5·2^bits rounds to a whole number and leaves it in the lowest bits, where the exponent is made from it.
    magic = _constant(x.type, 1.5 * 2.0**bits)
    shifted = builder.fadd(builder.fmul(bounded, _constant(x.type, 1 / math.log(2))), magic)
    n = builder.fsub(shifted, magic)
    rest = builder.fsub(bounded, builder.fmul(n, _constant(x.type, first), flags=_FUSED), flags=_FUSED)
    rest = builder.fsub(rest, builder.fmul(n, _constant(x.type, second), flags=_FUSED), flags=_FUSED)
    series = _constant(x.type, 1 / math.factorial(terms))
    for k in range(terms - 1, 0, -1):
        term = _constant(x.type, 1 / math.factorial(k))
        series = builder.fadd(term, builder.fmul(series, rest, flags=_FUSED), flags=_FUSED)
    exponent = builder.shl(builder.bitcast(shifted, integer), _constant(integer, bits))
    power = builder.bitcast(builder.add(exponent, _constant(integer, offset << bits)), x.type)
    return power, builder.fmul(series, rest)


def _exponential(builder: Any, x: Any) -> Any:
    power, q = _power_parts(builder, x)
    return builder.fadd(power, builder.fmul(power, q))


def _sigmoid(builder: Any, x: Any) -> Any:
    one = _constant(x.type, 1.0)
    return builder.fdiv(one, builder.fadd(one, _exponential(builder, builder.fsub(_zero(x), x))))


def _tanh(builder: Any, x: Any) -> Any:
    # By e^2x − 1, which keeps every digit near zero.
    power, q = _power_parts(builder, builder.fadd(x, x))
    less_one = builder.fadd(builder.fmul(power, q), builder.fsub(power, _constant(x.type, 1.0)))
    return builder.fdiv(less_one, builder.fadd(less_one, _constant(x.type, 2.0)))


exponential = _unary(_exponential)
sigmoid = _unary(_sigmoid)
tanh = _unary(_tanh)


def _fold(builder: Any, vector: Any, count: int) -> Any:
    """Add the upper half to the lower until so many lanes are left."""
    while vector.type.count > count:
        half = vector.type.count // 2
        places = list(range(vector.type.count))
        low, high = (_shuffle(builder, vector, vector, part) for part in (places[:half], places[half:]))
        vector = builder.fadd(low, high)
    return vector


def _pair(builder: Any, a: Any, b: Any) -> Any:
    return builder.fadd(_shuffle(builder, a, b, [0, 2, 4, 6]), _shuffle(builder, a, b, [1, 3, 5, 7]))


@intrinsic
def total(typing_context: Any, lanes: Any) -> Any:
    """Add up the lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        two = _fold(builder, arguments[0], 2)
        first, second = (builder.extract_element(two, ir.Constant(_I32, i)) for i in (0, 1))
        return builder.fadd(first, second)

    return lanes.dtype(lanes), generate


@intrinsic
def add_four_totals(typing_context: Any, array: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Add the totals of four lanes to the four numbers of an array from an index on: half the work of one by one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a4, b4, c4, d4 = (_fold(builder, lanes, 4) for lanes in arguments[2:])
        sums = _pair(builder, _pair(builder, a4, b4), _pair(builder, c4, d4))
        pointer = _pointer(context, builder, array, arguments[0], arguments[1], sums.type)
        old = builder.load(pointer, align=_bytes(array))
        builder.store(builder.fadd(old, sums), pointer, align=_bytes(array))
        return context.get_dummy_value()

    return types.void(array, types.intp, a, b, c, d), generate
