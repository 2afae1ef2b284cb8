"""Loops that have a plain and a compiled form, and the choice between the two; the import of `fast.compiled` loads Numba."""

from rocket_columnar.fast.forms import hash_keys, log_form
from rocket_columnar.fast.plain_log import (
    ROW,
    SLACK,
    LogRange,
    PlainLog,
    announce,
    cache_folder,
    forced,
    row_of,
)
