"""The two forms in which the records of a log are read, and the choice between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocket_columnar.fast.choice import pays
from rocket_columnar.fast.plain_log import PlainLog

if TYPE_CHECKING:
    from rocket_columnar.fast.log_row import LogForm


def log_form(size: int) -> LogForm:
    """The form for a log of `size` bytes, or a file of one."""
    if pays(size):
        from rocket_columnar.fast.compiled.log_form import CompiledLog

        return CompiledLog()
    return PlainLog()
