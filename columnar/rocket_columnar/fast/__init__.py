"""Loops that have a plain and a compiled form, and the choice between the two; the import of `fast.compiled` loads Numba."""

from rocket_columnar.fast.cache import cache_folder
from rocket_columnar.fast.choice import announce, forced
from rocket_columnar.fast.forms import hash_keys, log_form
from rocket_columnar.fast.log_row import ROW, SLACK, LogRange
from rocket_columnar.fast.plain_log import PlainLog, row_of
