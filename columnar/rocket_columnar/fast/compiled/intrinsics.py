"""What compiled loops do in single instructions, in LLVM's language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic as numba_intrinsic

from rocket_columnar.fast.compiled.compilation import SWAP

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "byte",
    "copy_32",
    "fetch",
    "high_marks",
    "i32",
    "i64",
    "lowest",
    "marks",
    "own_i32",
    "own_i64",
    "separators",
    "spaces",
    "word",
]

_intrinsic = cast("Callable[[Any], Any]", numba_intrinsic)


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
def copy_32(_: Any, to: Any, at: Any) -> Any:  # noqa: ARG001
    """`copy_32(to, at)`: copies 32 bytes."""

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.IntType(8), 32)
        to, at = arguments
        builder.store(_load(builder, at, kind), builder.inttoptr(to, kind.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code
