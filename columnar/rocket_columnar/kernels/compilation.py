"""How loops are compiled; imported only where a batch is large."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys
from numba.extending import intrinsic

from rocket_columnar import compile_notice

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SWAP", "inlined", "jit", "long", "prefetch", "signed", "slot_of"]

_Function = TypeVar("_Function", bound="Callable[..., Any]")

SWAP: Final = sys.byteorder == "little"
"""Whether the words of a file, read as numbers of this machine, have their bytes the other way round."""

long: Any = np.int64
"""A wide local of a compiled loop; its place in Python's types does not matter."""


class _Listener(event.Listener):
    """Hears when code is compiled that was not kept from an earlier start."""

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        compile_notice.started()

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Listener())  # type: ignore[no-untyped-call]


class _QuickCache(FunctionCache):
    """Loads compiled code without the tables that only compiling needs, which take longer than the code itself."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


def jit(function: _Function) -> _Function:
    """Numba's compilation, kept on disk, free of the interpreter lock, with the type as it was."""
    compiled: Any = njit(nogil=True)(function)
    compiled._cache = _QuickCache(function)  # type: ignore[no-untyped-call]  # noqa: SLF001 - as its enable_caching does, with a cache of its own
    return cast("_Function", compiled)


def inlined(function: _Function) -> _Function:
    """The same for a part of such loops, put into each place that calls it: a call hands over whole arrays."""
    return cast("_Function", njit(nogil=True, forceinline=True)(function))


@jit
def signed(word: Any) -> Any:
    """A big-endian word of a file as the number that it is."""
    value = np.uint32(word)
    if SWAP:
        value = np.uint32(
            value << np.uint32(24)
            | (value & np.uint32(0xFF00)) << np.uint32(8)
            | (value >> np.uint32(8)) & np.uint32(0xFF00)
            | value >> np.uint32(24)
        )
    return np.int32(value)


@jit
def slot_of(key_hash: int, slots: int, inverse: float) -> Any:
    """The slot of a hash that is not negative: its remainder; `inverse` is 1 / `slots`."""
    slot = key_hash - long(key_hash * inverse) * slots  # one too far at most, on either side
    if slot < 0:
        slot += slots
    elif slot >= slots:
        slot -= slots
    return np.uint64(slot)


@cast("Callable[..., Any]", intrinsic)
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
