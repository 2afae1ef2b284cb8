"""Bytes of a window, several at a time: what NumPy has no word for and Numba no function, as LLVM's own vectors.

Nothing here asks whether a place lies in the window: a caller sees to it that `PADDING` bytes are there behind each.
"""

# ruff: noqa: ARG001 - Numba hands over the type of each argument, and the same four values to each code

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PADDING", "POWERS", "equal_64", "first_bit", "high_16", "i32", "i64", "same_64", "text_16"]

PADDING: Final = 64
"""Bytes that may be read behind the last place of a window."""

POWERS: Final = np.zeros(32, np.uint32)
"""31^15 .. 31^0 and 16 zeros: from place 16 - n on the factors of a text of n bytes in `String.hashCode`."""
POWERS[:16] = [pow(31, 15 - place, 1 << 32) for place in range(16)]

_SWAPPED: Final = sys.byteorder == "little"
_BYTE: Final = ir.IntType(8)
_INT: Final = ir.IntType(32)
_LONG: Final = ir.IntType(64)


def _intrinsic(function: Any) -> Any:
    return cast("Callable[..., Any]", intrinsic)(function)


def _place(context: Any, builder: Any, signature: Any, arguments: Any, number: int, kind: Any) -> Any:
    """A pointer to what begins at the place `arguments[number + 1]` of the array `arguments[number]`."""
    data = context.make_array(signature.args[number])(context, builder, arguments[number]).data
    return builder.bitcast(builder.gep(data, [arguments[number + 1]]), kind.as_pointer())


def _called(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, arguments)


def _big_endian(context: Any, builder: Any, signature: Any, arguments: Any, kind: Any) -> Any:
    value = builder.load(_place(context, builder, signature, arguments, 0, kind), align=1)
    return _called(builder, f"llvm.bswap.i{kind.width}", kind, value) if _SWAPPED else value


def _bits(builder: Any, found: Any) -> Any:
    """A vector of truths as bits, the first the lowest."""
    bits = builder.bitcast(found, ir.IntType(found.type.count))
    return bits if _SWAPPED else _called(builder, f"llvm.bitreverse.i{found.type.count}", bits.type, bits)


@_intrinsic
def i32(_: Any, window: Any, at: Any) -> Any:
    """`i32(window, at)`: the big-endian int at a place."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.sext(_big_endian(context, builder, signature, arguments, _INT), _LONG)

    return types.int64(window, types.int64), code


@_intrinsic
def i64(_: Any, window: Any, at: Any) -> Any:
    """`i64(window, at)`: the big-endian long at a place."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _big_endian(context, builder, signature, arguments, _LONG)

    return types.int64(window, types.int64), code


@_intrinsic
def equal_64(_: Any, window: Any, at: Any, byte: Any) -> Any:
    """`equal_64(window, at, byte)`: which of the 64 bytes from a place on are this one, a bit for each, the first the lowest."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(_BYTE, 64)
        found = builder.load(_place(context, builder, signature, arguments, 0, kind), align=1)
        byte = builder.trunc(arguments[2], _BYTE)
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), byte, ir.Constant(_INT, 0))
        every = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_INT, 64), [0] * 64))
        return _bits(builder, builder.icmp_unsigned("==", found, every))

    return types.uint64(window, types.int64, types.int64), code


@_intrinsic
def same_64(_: Any, window: Any, at: Any, other: Any, begin: Any) -> Any:
    """`same_64(window, at, other, begin)`: which of 64 bytes are the same in two places, a bit for each, the first the lowest."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(_BYTE, 64)
        one, two = (
            builder.load(_place(context, builder, signature, arguments, number, kind), align=1)
            for number in (0, 2)
        )
        return _bits(builder, builder.icmp_unsigned("==", one, two))

    return types.uint64(window, types.int64, other, types.int64), code


@_intrinsic
def high_16(_: Any, window: Any, at: Any) -> Any:
    """`high_16(window, at)`: which of the 16 bytes from a place on are no ASCII, a bit for each, the first the lowest."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(_BYTE, 16)
        found = builder.load(_place(context, builder, signature, arguments, 0, kind), align=1)
        return builder.zext(
            _bits(builder, builder.icmp_signed("<", found, ir.Constant(kind, [0] * 16))), _LONG
        )

    return types.int64(window, types.int64), code


@_intrinsic
def text_16(_: Any, window: Any, at: Any, powers: Any, first: Any) -> Any:
    """`text_16(window, at, POWERS, first)`: the sum of 16 bytes, each times its power, modulo 2^32."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ints = ir.VectorType(_INT, 16)
        place = _place(context, builder, signature, arguments, 0, ir.VectorType(_BYTE, 16))
        found = builder.zext(builder.load(place, align=1), ints)
        factors = builder.load(_place(context, builder, signature, arguments, 2, ints), align=4)
        total = _called(builder, "llvm.vector.reduce.add.v16i32", _INT, builder.mul(found, factors))
        return builder.zext(total, _LONG)

    return types.int64(window, types.int64, powers, types.int64), code


@_intrinsic
def first_bit(_: Any, bits: Any) -> Any:
    """`first_bit(bits)`: the number of the lowest bit that is set, of a word that is not 0."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _called(builder, "llvm.cttz.i64", _LONG, arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code
