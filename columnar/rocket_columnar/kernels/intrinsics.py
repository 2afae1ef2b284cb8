"""What compiled loops do in single instructions. Importing this module loads Numba: only the compiler does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic as numba_intrinsic

from rocket_columnar.kernels.stand_ins import SWAP

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "address",
    "byte",
    "copy_32",
    "fetch",
    "high_16",
    "high_marks",
    "i32",
    "i64",
    "lowest",
    "marks",
    "own_i32",
    "own_i64",
    "pread",
    "prefetch",
    "products_16",
    "products_32",
    "put_i32",
    "separators",
    "spaces",
    "word",
]

_intrinsic = cast("Callable[[Any], Any]", numba_intrinsic)


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
i32: Final = _number(32, big=True)
i64: Final = _number(64, big=True)
word: Final = _number(64, big=False, signed=False)
own_i32: Final = _number(32)
own_i64: Final = _number(64)


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
separators: Final = _marks("==", 1)
spaces: Final = _marks("==", 32)
high_marks: Final = _marks("<", 0)


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


products_16: Final = _products(16)
products_32: Final = _products(32)
pread: Final = types.ExternalFunction("pread", types.intp(types.intc, types.intp, types.intp, types.int64))


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


@_intrinsic
def prefetch(_: Any, words: Any, at: Any) -> Any:
    """`prefetch(words, at)`: has the processor fetch that word, to be written soon, without waiting for it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        name = "llvm.prefetch.p0"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        builder.call(function, [place, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(words, at), code
