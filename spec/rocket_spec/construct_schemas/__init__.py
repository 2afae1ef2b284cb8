"""Construct schemas of every file: `SCHEMA.parse(data)` gives plain values, `SCHEMA.build(value)` the same bytes again.

Field names are those of the layout tables. On build, lengths are computed and constants filled in.
"""
# pyright: reportUnusedImport=false

from rocket_spec.construct_schemas._commit_log import BLANK, COMMIT_LOG, RECORD
from rocket_spec.construct_schemas._dledger import (
    DLEDGER_INDEX,
    DLEDGER_LOG,
    ENTRY,
    ENTRY_BLANK,
    ENTRY_INDEX_UNIT,
)
from rocket_spec.construct_schemas._fixed import (
    BATCH_FILE,
    CHECKPOINT,
    INDEX_ENTRY,
    INDEX_HEADER,
    INDEX_SLOT,
    QUEUE_FILE,
    QUEUE_UNIT,
    TIMER_UNIT,
    TIMER_WHEEL,
    index_file,
)
from rocket_spec.construct_schemas._queue_ext import EXT_FILE, EXT_UNIT
from rocket_spec.construct_schemas._schema import Schema
