"""A small, exact reference of RocketMQ 4.9.3's store formats, to be read beside the Java; stdlib only."""

from rocket_reference import java
from rocket_reference.checkpoint_file import Checkpoint, checkpoint, read_checkpoint, write_checkpoint
from rocket_reference.commit_log import Record, record, records
from rocket_reference.commit_log_store import CommitLogFiles
from rocket_reference.consume_queue import (
    PRE_BLANK,
    QueueUnit,
    base_offset,
    encode_queue_unit,
    file_name,
    queue_file_size,
    queue_unit,
    queue_units,
    tags_code,
)
from rocket_reference.consume_queue_ext import (
    ExtUnit,
    address_of,
    encode_ext_unit,
    ext_unit,
    ext_units,
    is_ext_address,
    offset_of,
)
from rocket_reference.consume_queue_ext_store import ConsumeQueueExt
from rocket_reference.consume_queue_store import ConsumeQueue, QueueBounds
from rocket_reference.dispatch import (
    DELAY_LEVELS,
    DispatchRequest,
    dispatch_request,
    dispatch_requests,
    dispatch_tags_code,
)
from rocket_reference.errors import JavaError, JavaFatalError, UnspecifiedError
from rocket_reference.index_bytes import IndexEntry, index_entries, index_header, index_slots
from rocket_reference.index_file import IndexFile, file_size, key_hash, open_index_file
from rocket_reference.index_header import IndexHeader
from rocket_reference.index_service import IndexService, OffsetResult, index_keys
from rocket_reference.mapped_file import MappedFile
from rocket_reference.mapped_file_queue import MappedFileQueue
from rocket_reference.properties import parse_properties, properties_text
from rocket_reference.queue_table import QueueTable, RunningFlags, is_lmq
from rocket_reference.record_bytes import body_checksum, encode_record, host_text
from rocket_reference.reput import Reput
from rocket_reference.rules import RULES_4_9_3, Rules
from rocket_reference.store_checkpoint import StoreCheckpoint
from rocket_reference.store_start import MessageStore, StoreConfig

__all__ = [
    "DELAY_LEVELS",
    "PRE_BLANK",
    "RULES_4_9_3",
    "Checkpoint",
    "CommitLogFiles",
    "ConsumeQueue",
    "ConsumeQueueExt",
    "DispatchRequest",
    "ExtUnit",
    "IndexEntry",
    "IndexFile",
    "IndexHeader",
    "IndexService",
    "JavaError",
    "JavaFatalError",
    "MappedFile",
    "MappedFileQueue",
    "MessageStore",
    "OffsetResult",
    "QueueBounds",
    "QueueTable",
    "QueueUnit",
    "Record",
    "Reput",
    "Rules",
    "RunningFlags",
    "StoreCheckpoint",
    "StoreConfig",
    "UnspecifiedError",
    "address_of",
    "base_offset",
    "body_checksum",
    "checkpoint",
    "dispatch_request",
    "dispatch_requests",
    "dispatch_tags_code",
    "encode_ext_unit",
    "encode_queue_unit",
    "encode_record",
    "ext_unit",
    "ext_units",
    "file_name",
    "file_size",
    "host_text",
    "index_entries",
    "index_header",
    "index_keys",
    "index_slots",
    "is_ext_address",
    "is_lmq",
    "java",
    "key_hash",
    "offset_of",
    "open_index_file",
    "parse_properties",
    "properties_text",
    "queue_file_size",
    "queue_unit",
    "queue_units",
    "read_checkpoint",
    "record",
    "records",
    "tags_code",
    "write_checkpoint",
]
