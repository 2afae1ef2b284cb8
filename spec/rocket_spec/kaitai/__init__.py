"""Readers compiled from the .ksy files, for those who want a third opinion on the bytes.

`X.from_bytes(data)`, `X.from_file(name)` or `X(stream(data))`; slots and entries of an index file with its geometry:
`Indexfile.Table(hash_slot_num, index_num, stream(data))`.
A member whose `if` is false is absent: look at the `is_...` flag beside it first. What breaks a `valid` of the .ksy
raises `ValidationFailedError`, what ends too early `EOFError`. Regenerate them with `python -m tools.make_readers`.
"""
# pyright: reportUnusedImport=false

from rocket_spec.kaitai._generated.batchconsumequeue import Batchconsumequeue
from rocket_spec.kaitai._generated.checkpoint import Checkpoint
from rocket_spec.kaitai._generated.commitlog import Commitlog
from rocket_spec.kaitai._generated.consumequeue import Consumequeue
from rocket_spec.kaitai._generated.consumequeue_ext import ConsumequeueExt
from rocket_spec.kaitai._generated.dledger import Dledger
from rocket_spec.kaitai._generated.dledger_index import DledgerIndex
from rocket_spec.kaitai._generated.indexfile import Indexfile
from rocket_spec.kaitai._generated.timerlog import Timerlog
from rocket_spec.kaitai._generated.timerwheel import Timerwheel
from rocket_spec.kaitai._stream import ValidationFailedError, stream
