"""Loops that have a plain and a compiled form, and the choice between the two; the import of `fast.compiled` loads Numba."""

from rocket_columnar.fast.compiling import announce, cache_folder
from rocket_columnar.fast.forms import ROW, SLACK, LogRange, PlainLog, forced, hash_keys, log_form, row_of
