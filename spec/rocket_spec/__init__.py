"""The format of RocketMQ 4.9.3's store as data: layout tables, table schemas, errors, clauses."""

from rocket_spec.errors import FormatError, InvalidError, MalformedError, UsageError
from rocket_spec.layout import (
    BLANK,
    CHECKPOINT,
    EXT_UNIT,
    INDEX_ENTRY,
    INDEX_HEADER,
    INDEX_SLOT,
    LAYOUTS,
    QUEUE_UNIT,
    RECORD,
    Field,
    Geometry,
    Layout,
)

__all__ = [
    "BLANK",
    "CHECKPOINT",
    "EXT_UNIT",
    "INDEX_ENTRY",
    "INDEX_HEADER",
    "INDEX_SLOT",
    "LAYOUTS",
    "QUEUE_UNIT",
    "RECORD",
    "Field",
    "FormatError",
    "Geometry",
    "InvalidError",
    "Layout",
    "MalformedError",
    "UsageError",
]
