"""Readers compiled from the .ksy files, for those who want a third opinion on the bytes.

`Indexfile(hash_slot_num, index_num, stream(data))`; the others also `X.from_bytes(data)` and `X.from_file(name)`.
A member whose `if` is false is absent: look at the `is_...` flag beside it first. What breaks a `valid` of the .ksy
raises `ValidationFailedError`, what ends too early `EOFError`. Made again by `python -m rocket_spec.make_readers`.
"""

from rocket_spec.kaitai._generated.checkpoint import Checkpoint
from rocket_spec.kaitai._generated.commitlog import Commitlog
from rocket_spec.kaitai._generated.consumequeue import Consumequeue
from rocket_spec.kaitai._generated.consumequeue_ext import ConsumequeueExt
from rocket_spec.kaitai._generated.indexfile import Indexfile
from rocket_spec.kaitai._stream import ValidationFailedError, stream

__all__ = [
    "Checkpoint",
    "Commitlog",
    "Consumequeue",
    "ConsumequeueExt",
    "Indexfile",
    "ValidationFailedError",
    "stream",
]
