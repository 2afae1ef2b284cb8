"""Construct schemas of every file: `SCHEMA.parse(data)` gives plain values, `SCHEMA.build(value)` the same bytes again.

Field names are those of the layout tables. On build, lengths are computed and constants filled in.
"""
# pyright: reportUnusedImport=false

from rocket_spec.construct_schemas._files import (
    BATCH_FILE,
    CHECKPOINT,
    EXT_FILE,
    EXT_UNIT,
    INDEX_ENTRY,
    INDEX_HEADER,
    INDEX_SLOT,
    QUEUE_FILE,
    QUEUE_UNIT,
    TIMER_UNIT,
    TIMER_WHEEL,
    index_file,
)
from rocket_spec.construct_schemas._logs import (
    BLANK,
    COMMIT_LOG,
    DLEDGER_INDEX,
    DLEDGER_LOG,
    ENTRY,
    ENTRY_BLANK,
    ENTRY_INDEX_UNIT,
    RECORD,
)
from rocket_spec.construct_schemas._schema import Schema
