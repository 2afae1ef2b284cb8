"""Which form of a loop is used, plain or compiled; the compiled ones are in `fast.compiled`, whose import loads Numba."""

from rocket_columnar.fast.cache import cache_folder
from rocket_columnar.fast.choice import SETTINGS, forced, pays, settings_in_the_way
from rocket_columnar.fast.key_hashes import hash_keys
from rocket_columnar.fast.log_forms import log_form
from rocket_columnar.fast.log_row import ROW, SLACK, LogForm, LogRange, StringNumbers
from rocket_columnar.fast.notice import announce, tell
from rocket_columnar.fast.plain_log import row_of

__all__ = [
    "ROW",
    "SETTINGS",
    "SLACK",
    "LogForm",
    "LogRange",
    "StringNumbers",
    "announce",
    "cache_folder",
    "forced",
    "hash_keys",
    "log_form",
    "pays",
    "row_of",
    "settings_in_the_way",
    "tell",
]
