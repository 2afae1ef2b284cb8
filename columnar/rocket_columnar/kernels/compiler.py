"""Numba's side of compiled loops. Importing this module loads Numba: only a loop whose code was not kept does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
from llvmlite import binding as llvm  # type: ignore[import-untyped]
from numba import njit
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys
from numba.extending import typeof_impl

from rocket_columnar import compile_notice
from rocket_columnar.kernels.kept_code import TESTED, Code, sources_hash
from rocket_columnar.kernels.stand_ins import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["code_for", "dispatcher"]


class _Listener(event.Listener):
    """Hears when code is compiled that was not kept from an earlier start."""

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        compile_notice.started()

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Listener())  # type: ignore[no-untyped-call]


_typeof: Callable[[Any], Any] = numba.typeof


@typeof_impl.register(StandIn)
def _type_of_stand_in(stand_in: StandIn, _: Any) -> Any:
    context: Any = cpu_target.typing_context
    real = stand_in.real
    context.refresh()  # the first intrinsic loads them all
    return context.resolve_value_type(real)


class _Notes(CompileResultCacheImpl):
    """Notes what goes to Numba's cache and comes from it, with which the code can be kept.

    Attributes:
        noted: what Numba writes, for each signature of this process.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self.noted: list[Any] = []

    def reduce(self, cres: Any) -> Any:
        return self._note(super().reduce(cres))  # type: ignore[no-untyped-call]

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        return super().rebuild(target_context, self._note(payload))  # type: ignore[no-untyped-call]

    def _note(self, payload: Any) -> Any:
        if numba.__version__ in TESTED:
            self.noted.append(payload)
        return payload


class _QuickCache(FunctionCache):
    """Loads compiled code without the tables that only compiling needs, which take longer than the code itself.

    Numba takes code as up to date as long as the module of the function is; here, as long as all modules are with which the
    function may be compiled together.
    """

    _impl_class = _Notes

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file._source_stamp = sources_hash(function.__code__.co_filename)  # noqa: SLF001 - it has no parameter for it

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


def dispatcher(function: Callable[..., Any], *, inlined: bool) -> Any:
    """Numba's compiled form of a function, free of the interpreter lock, and kept on disk if it is not put into others."""
    if inlined:
        return njit(nogil=True, forceinline=True)(function)
    compiled: Any = njit(nogil=True)(function)
    compiled._cache = _QuickCache(function)  # noqa: SLF001 - as its enable_caching does, with a cache of its own
    return compiled


def code_for(compiled: Any, values: tuple[Any, ...]) -> Code | None:
    """The code for a call with these values, if one call has just compiled or loaded it, and it can be kept."""
    noted: list[Any] = compiled._cache._impl.noted  # noqa: SLF001
    types = tuple(_typeof(value) for value in values)
    found = [_code(payload) for payload in noted if payload[3].args == types]
    noted.clear()
    return found[0] if found else None


def _code(payload: Any) -> Code | None:
    """Takes apart what Numba caches, if it is nothing but code: no objects of Python, and nothing to be run first."""
    (_, form, content), description, environment, _, objects, lifted, _, first, further = payload
    environments = [environment, *further]
    if form != "object" or objects or lifted or first or any(one.consts for one in environments):
        return None
    binary, bitcode = content
    module = llvm.parse_bitcode(bitcode)
    values = [*module.functions, *module.global_variables]
    needs = {value.name for value in values if value.is_declaration and not value.name.startswith("llvm.")}
    names = {one.env_name for one in environments}
    return Code(binary, description.llvm_cpython_wrapper_name, tuple(sorted(names)), tuple(sorted(needs)))
