"""A small, exact, slow-but-clear reference of RocketMQ 4.9.3's store formats; standard library only."""

from rocket_reference import java
from rocket_reference.errors import JavaError, UnspecifiedError
from rocket_reference.index_file import IndexFile, IndexHeader, file_size, key_hash, open_index_file

__all__ = [
    "IndexFile",
    "IndexHeader",
    "JavaError",
    "UnspecifiedError",
    "file_size",
    "java",
    "key_hash",
    "open_index_file",
]
