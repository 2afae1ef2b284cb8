"""The features that an adapter may declare in hello: one that it adds, and what its implementation cannot be asked."""

from typing import Final

LIMITS: Final = {
    "no_seeds": "`end_phy_offset` and `end_timestamp` of `index.open` are always 0",
    "no_reload_choice": "a file or queue that exists is always loaded: `load` is never false for one",
    "positive_geometry": "`hash_slot_num`, `index_num` and `file_size` are at least 1",
    "unsigned_sizes": "no unit has a negative size, neither in `queue.put` nor in a result",
    "read_only": "a checkpoint that is missing or short is never read: `checkpoint.read` would make or extend it",
    "no_tags_code": "`tags_code` of `log.read` is always null: it is what a dispatch computes, not what a record holds",
    "non_null_keys": "`keys`, `uniq_key` and `tags` are never null; results hold an empty text instead",
}
"""By feature, the requests that an implementation cannot serve: cases that make them are not applicable."""

FEATURES: Final = {
    "lone_surrogates": "keys, tags and unique keys may hold a lone surrogate, sent in hexadecimal",
    **LIMITS,
}
"""Every feature, and what declaring it means."""
