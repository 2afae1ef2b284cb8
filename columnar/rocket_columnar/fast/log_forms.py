"""The two forms in which the records of a log are read, and the choice between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocket_columnar.fast.plain_log import PlainLog

if TYPE_CHECKING:
    from rocket_columnar.fast.log_row import LogForm

__all__ = ["log_form"]


def log_form(*, compiled: bool) -> LogForm:
    """The form for a log; see `pays` for when the compiled one is worth it."""
    if compiled:
        from rocket_columnar.fast.compiled.log_form import CompiledLog

        return CompiledLog()
    return PlainLog()
