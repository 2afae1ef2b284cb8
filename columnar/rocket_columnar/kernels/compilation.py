"""How loops are compiled: when one is called first, unless an earlier start kept its code. Importing this loads no Numba."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from rocket_columnar.kernels.kept_code import fingerprint, keep, load
from rocket_columnar.kernels.stand_ins import SWAP, StandIn

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["inlined", "intrinsic", "jit", "long", "prefetch", "prepared", "signed", "slot_of"]

_Function = TypeVar("_Function", bound="Callable[..., Any]")

long: Any = np.int64
"""A wide local of a compiled loop; its place in Python's types does not matter."""


class _Kernel(StandIn):
    """A compiled function: for each combination of argument types code that an earlier start kept, or else Numba's.

    Two threads that call it for the first time may both load the code or make Numba's form, which does no harm.
    """

    def __init__(self, function: Callable[..., Any], *, inlined: bool) -> None:
        self.function = function
        self.inlined = inlined
        self.__doc__ = function.__doc__
        self._ready: dict[str, Callable[..., Any]] = {}
        self._real: Any = None

    def __call__(self, *values: Any) -> Any:
        """Calls the code for values of these types."""
        types = None if self.inlined else fingerprint(values)
        if types is None:
            return self.real(*values)
        ready = self._code(types)
        return self._compile(types, values) if ready is None else ready(*values)

    def prepared(self, values: tuple[Any, ...]) -> Callable[..., Any]:
        """See the function of this name."""
        types = fingerprint(values)
        return self if types is None else self._code(types) or self

    def _code(self, types: str) -> Callable[..., Any] | None:
        ready = self._ready.get(types) or load(self.function, types)
        if ready is not None:
            self._ready[types] = ready
        return ready

    def _compile(self, types: str, values: tuple[Any, ...]) -> Any:
        from rocket_columnar.kernels.compiler import code_for

        result = self.real(*values)
        self._ready[types] = self.real
        code = code_for(self.real, values)
        if code is not None:
            keep(self.function, types, code)
        return result

    @property
    def real(self) -> Any:
        """Numba's form of the function, which other compiled functions call."""
        if self._real is None:
            from rocket_columnar.kernels.compiler import dispatcher

            self._real = dispatcher(self.function, inlined=self.inlined)
        return self._real


class _Intrinsic(StandIn):
    """Stands for a function of the module `intrinsics` until something is compiled."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def real(self) -> Any:
        from rocket_columnar.kernels import intrinsics

        return getattr(intrinsics, self.name)


def intrinsic(name: str) -> Any:
    """A function of `intrinsics`, which only compiled functions can call."""
    return _Intrinsic(name)


def jit(function: _Function) -> _Function:
    """A compiled loop, kept on disk, free of the interpreter lock, with the type as it was."""
    return cast("_Function", _Kernel(function, inlined=False))


def inlined(function: _Function) -> _Function:
    """The same for a part of such loops, put into each place that calls it: a call hands over whole arrays."""
    return cast("_Function", _Kernel(function, inlined=True))


def prepared(loop: _Function) -> _Function:
    """A compiled loop for a caller whose values have the same types at each call.

    A call of the loop itself first finds out the types of all values, which takes about 1 us for an array: much for a loop
    that has 30 of them and runs for 1 ms. This finds them out until there is code for them.
    """
    kernel = cast("_Kernel", loop)
    code: Callable[..., Any] = kernel

    def call(*values: Any) -> Any:
        nonlocal code
        if code is kernel:
            code = kernel.prepared(values)
        return code(*values)

    return cast("_Function", call)


prefetch: Any = intrinsic("prefetch")
"""`prefetch(words, at)`: has the processor fetch that word, to be written soon, without waiting for it."""


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
