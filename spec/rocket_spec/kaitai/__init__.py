"""Readers compiled from the .ksy files, for those who want a third opinion on the bytes.

`X.from_bytes(data)`, `X.from_file(name)` or `X(stream(data))`; an index file with its geometry: `Indexfile(hash_slot_num, index_num,
stream(data))`. The .ksy files, whose ids name the release that the format is of, call them `Rocketmq4Indexfile` and so on.
A member whose `if` is false is absent: look at the `is_...` flag beside it first. What breaks a `valid` of the .ksy
raises `ValidationFailedError`, what ends too early `EOFError`. Regenerate them with `python -m tools.make_readers`.
"""
# pyright: reportUnusedImport=false

from rocket_spec.kaitai._generated.rocketmq_4_checkpoint import Rocketmq4Checkpoint as Checkpoint
from rocket_spec.kaitai._generated.rocketmq_4_commitlog import Rocketmq4Commitlog as Commitlog
from rocket_spec.kaitai._generated.rocketmq_4_consumequeue import Rocketmq4Consumequeue as Consumequeue
from rocket_spec.kaitai._generated.rocketmq_4_consumequeue_ext import (
    Rocketmq4ConsumequeueExt as ConsumequeueExt,
)
from rocket_spec.kaitai._generated.rocketmq_4_dledger import Rocketmq4Dledger as Dledger
from rocket_spec.kaitai._generated.rocketmq_4_dledger_index import Rocketmq4DledgerIndex as DledgerIndex
from rocket_spec.kaitai._generated.rocketmq_4_indexfile import Rocketmq4Indexfile as Indexfile
from rocket_spec.kaitai._generated.rocketmq_5_batchconsumequeue import (
    Rocketmq5Batchconsumequeue as Batchconsumequeue,
)
from rocket_spec.kaitai._generated.rocketmq_5_timerlog import Rocketmq5Timerlog as Timerlog
from rocket_spec.kaitai._generated.rocketmq_5_timerwheel import Rocketmq5Timerwheel as Timerwheel
from rocket_spec.kaitai._stream import ValidationFailedError, stream
