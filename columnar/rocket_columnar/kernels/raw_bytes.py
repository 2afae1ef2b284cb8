"""What compiled loops over bytes share: numbers, marks among 64 bytes, copies, and distinct strings.

A place is an address here, as `address` tells one of an array that the caller holds: an array handed to a function costs
a count of its users up and down, a call for each. Some functions look past the bytes that they are asked about, by
less than `SLACK`: what they work on ends in as many bytes more.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic as numba_intrinsic

from rocket_columnar.kernels.compilation import SWAP, inlined, long

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = [
    "SLACK",
    "address",
    "byte",
    "byte_hash",
    "copy",
    "fetch",
    "find",
    "high_16",
    "high_marks",
    "i32",
    "i64",
    "is_ascii",
    "lowest",
    "marks",
    "own_i32",
    "own_i64",
    "pread",
    "put_i32",
    "same",
    "separators",
    "spaces",
    "text_16",
    "text_32",
    "until",
    "word",
]

SLACK: Final = 64
"""Bytes after the last one of a window, a pool or an output, whose content does not matter."""

_intrinsic = cast("Callable[[Any], Any]", numba_intrinsic)
_STEP: Final = 32
_WORD: Final = 8
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)
_ALL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE: Final = np.uint64(1)
_PRIME: Final = np.uint64(31)
_LOW: Final = np.uint64(0x00000000FFFFFFFF)
_TWOS: Final = np.uint64(0x0000FFFF0000FFFF)
_ONES: Final = np.uint64(0x00FF00FF00FF00FF)
_HIGH: Final = np.uint64(0x8080808080808080)


@_intrinsic
def address(_: Any, array: Any) -> Any:
    """`address(array)`: where its first byte is."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.ptrtoint(data, ir.IntType(64))

    return types.int64(array), code


def _load(builder: Any, at: Any, kind: Any) -> Any:
    return builder.load(builder.inttoptr(at, kind.as_pointer()), align=1)


def _number(bits: int, *, big: bool = SWAP is False, signed: bool = True) -> Any:
    """An intrinsic: the number of this many bits at an address, big- or little-endian."""

    @_intrinsic
    def number(_: Any, at: Any) -> Any:  # noqa: ARG001
        def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            value = _load(builder, arguments[0], ir.IntType(bits))
            if big == SWAP and bits > 8:
                value = builder.bswap(value)
            return (builder.sext if signed else builder.zext)(value, ir.IntType(64))

        return (types.int64 if signed or bits < 64 else types.uint64)(types.int64), code

    return number


byte: Final = _number(8, signed=False)
"""`byte(at)`: one byte as a number that is not negative."""

i32: Final = _number(32, big=True)
"""`i32(at)`: four bytes, big-endian, as a signed number."""

i64: Final = _number(64, big=True)
"""`i64(at)`: eight bytes, big-endian, as a signed number."""

word: Final = _number(64, big=False, signed=False)
"""`word(at)`: eight bytes as a number without a sign, the first the lowest."""

own_i32: Final = _number(32)
"""`own_i32(at)`: an item of an array of this machine's."""

own_i64: Final = _number(64)
"""`own_i64(at)`: the same of 64 bits."""


@_intrinsic
def put_i32(_: Any, at: Any, value: Any) -> Any:  # noqa: ARG001
    """`put_i32(at, value)`: writes an item of an array of 32 bits."""

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        at, value = arguments
        kind = ir.IntType(32)
        builder.store(builder.trunc(value, kind), builder.inttoptr(at, kind.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


def _marks(comparison: str, other: int) -> Any:
    """An intrinsic: which of the 64 bytes from a place on compare so, as signed ones; the first is the lowest bit."""

    @_intrinsic
    def marks_of(_: Any, at: Any) -> Any:  # noqa: ARG001
        def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            kind = ir.VectorType(ir.IntType(8), 64)
            bits = builder.icmp_signed(
                comparison, _load(builder, arguments[0], kind), ir.Constant(kind, [other] * 64)
            )
            mask = builder.bitcast(bits, ir.IntType(64))
            return mask if SWAP else builder.bitreverse(mask)

        return types.uint64(types.int64), code

    return marks_of


marks: Final = _marks("==", 2)
"""`marks(at)`: which of 64 bytes are a 2, the end of a property; the first is the lowest bit."""

separators: Final = _marks("==", 1)
"""`separators(at)`: which of 64 bytes are a 1, between a property's name and its value; the first is the lowest bit."""

spaces: Final = _marks("==", 32)
"""`spaces(at)`: which of 64 bytes are a space; the first is the lowest bit."""

high_marks: Final = _marks("<", 0)
"""`high_marks(at)`: which of 64 bytes are no ASCII; the first is the lowest bit."""


@_intrinsic
def high_16(_: Any, at: Any) -> Any:  # noqa: ARG001
    """`high_16(at)`: which of the 16 bytes from a place on are no ASCII; the first is the lowest bit."""

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.IntType(8), 16)
        bits = builder.icmp_signed("<", _load(builder, arguments[0], kind), ir.Constant(kind, [0] * 16))
        mask = builder.bitcast(bits, ir.IntType(16))
        return builder.zext(mask if SWAP else builder.bitreverse(mask), ir.IntType(64))

    return types.int64(types.int64), code


def _products(count: int) -> Any:
    """An intrinsic: the sum of bytes, each multiplied by one of as many ints, modulo 2^32."""

    @_intrinsic
    def products(_: Any, at: Any, powers: Any) -> Any:  # noqa: ARG001
        def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            kind = ir.VectorType(ir.IntType(32), count)
            text = builder.zext(_load(builder, arguments[0], ir.VectorType(ir.IntType(8), count)), kind)
            total = ir.FunctionType(ir.IntType(32), [kind])
            name = f"llvm.vector.reduce.add.v{count}i32"
            function = builder.module.globals.get(name) or ir.Function(builder.module, total, name)
            parts = builder.mul(text, _load(builder, arguments[1], kind))
            return builder.zext(builder.call(function, [parts]), ir.IntType(64))

        return types.int64(types.int64, types.int64), code

    return products


_products_16: Final = _products(16)
_products_32: Final = _products(32)
_POWERS: Final = np.array([pow(31, 31 - place, 1 << 32) for place in range(32)] + [0] * 16, np.uint32)


@inlined
def is_ascii(at: int, length: int) -> Any:
    """Whether `length` bytes are ASCII."""
    while length >= 16:
        if high_16(at):
            return False
        at += 16
        length -= 16
    return high_16(at) & ((1 << length) - 1) == 0


@inlined
def text_16(at: int, length: int) -> Any:
    """`String.hashCode` of at most 16 bytes of ASCII, as an unsigned number."""
    return _products_16(at, address(_POWERS) + 4 * (32 - length))


@inlined
def text_32(at: int) -> Any:
    """The same of 32 bytes."""
    return _products_32(at, address(_POWERS))


if sys.platform == "win32":

    @inlined
    def pread(descriptor: int, to: int, length: int, offset: int) -> Any:  # noqa: ARG001
        """There is none."""
        return long(-1)

else:
    pread: Any = types.ExternalFunction("pread", types.intp(types.intc, types.intp, types.intp, types.int64))
    """`pread(descriptor, to, length, offset)`: the system's own; how many bytes it read, -1 for an error."""


@_intrinsic
def fetch(_: Any, at: Any) -> Any:  # noqa: ARG001
    """`fetch(at)`: has the processor load that address into its cache; any address is allowed."""

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place, number, number, number])
        name = "llvm.prefetch.p0"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        builder.call(function, [builder.inttoptr(arguments[0], place), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(types.int64), code


@_intrinsic
def lowest(_: Any, mask: Any) -> Any:  # noqa: ARG001
    """`lowest(mask)`: the number of the lowest bit that is set; one is."""

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


@_intrinsic
def _copy_step(_: Any, to: Any, at: Any) -> Any:  # noqa: ARG001
    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.IntType(8), _STEP)
        to, at = arguments
        builder.store(_load(builder, at, kind), builder.inttoptr(to, kind.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


@inlined
def until(bits: Any, length: int) -> Any:
    """Of the marks in 64 bytes those in the first `length`, and one after these where that is in the 64."""
    if length >= 64:
        return bits
    last = _ONE << np.uint64(length)
    return bits & (last - _ONE) | last


@inlined
def copy(to: int, at: int, length: int) -> None:
    """Copies `length` bytes; up to 31 after them are overwritten too."""
    done = long(0)
    while done < length:
        _copy_step(to + done, at + done)
        done += _STEP


@inlined
def _last(length: int) -> Any:
    """Mask of the bits in the last word that belong to a text of this many bytes."""
    return _ALL >> np.uint64(-8 * length & 63)


@inlined
def _mixed(at: int, length: int) -> Any:
    """A hash of a byte string."""
    code = np.uint64(length)
    while length > 0:
        part = word(at)
        if length < _WORD:
            part &= _last(length)
        code = (code ^ part) * _MIX
        code ^= code >> _HALF
        at += _WORD
        length -= _WORD
    return code


@inlined
def same(at: int, other: int, length: int) -> Any:
    """Whether two byte strings of one length are the same."""
    while length >= _WORD:
        if word(at) != word(other):
            return False
        at += _WORD
        other += _WORD
        length -= _WORD
    return length <= 0 or (word(at) ^ word(other)) & _last(length) == 0


@inlined
def find(at: int, length: int, table: int, mask: int, pool: int, bounds: int) -> tuple[int, int]:
    """The number of a byte string among those known, or -1, and its place in `table`, or where it would be put.

    `table`, `mask` + 1 numbers long, a power of two, and never full, holds numbers of 32 bits, -1 where free; string
    `n` is from `bounds[n]` to `bounds[n + 1]` of the pool, numbers of 64 bits.
    """
    probe = long(_mixed(at, length)) & mask
    number = own_i32(table + 4 * probe)
    while number >= 0:
        begin = own_i64(bounds + 8 * number)
        if own_i64(bounds + 8 * number + 8) - begin == length and same(at, pool + begin, length):
            break
        probe = (probe + 1) & mask
        number = own_i32(table + 4 * probe)
    return number, probe


@inlined
def byte_hash(at: int, end: int, code: Any) -> Any:
    """`31 * code + byte` over all bytes, from a text whose hash is `code` on: `String.hashCode` where they are ASCII.

    Returns:
        The hash as an unsigned number, and whether all are.
    """
    code, high = np.uint64(code), np.uint64(0)
    while at + _WORD <= end:
        # Eight bytes as one word: pairs, then fours, then all, each part multiplied in its own lane.
        part = word(at)
        high |= part
        part = (part & _ONES) * _PRIME + (part >> np.uint64(8) & _ONES)
        part = (part & _TWOS) * np.uint64(961) + (part >> np.uint64(16) & _TWOS)
        part = (part & _LOW) * np.uint64(923521) + (part >> _HALF)
        code = code * np.uint64(0x94446F01) + part  # 31^8, as all of it modulo 2^32
        at += _WORD
    while at < end:
        part = np.uint64(byte(at))
        high |= part
        code = code * _PRIME + part
        at += 1
    return code & _LOW, high & _HIGH == 0
