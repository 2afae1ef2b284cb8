"""The two forms in which the records of a log are read, and the choice between them."""

from rocket_columnar.fast.choice import pays
from rocket_columnar.fast.plain_log import PlainLog


def log_form(size: int) -> PlainLog:
    """The form for a log of `size` bytes, or a file of one."""
    if pays(size):
        from rocket_columnar.fast.compiled.log_form import CompiledLog

        return CompiledLog()
    return PlainLog()
