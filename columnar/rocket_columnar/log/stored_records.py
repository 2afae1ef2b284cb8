"""Records of the log by physical offset, one here and one there."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple, Self

from rocket_columnar.formats import FixedFields, Record, clean_utf8, parse_properties
from rocket_columnar.log.frame_walk import NARROW, Walk
from rocket_columnar.store import StoreFile, file_at


class StoredRecord(NamedTuple):
    """A record that verifies, without its body: its fixed fields, its topic, and the pairs of its properties."""

    fixed: FixedFields
    topic: str
    pairs: dict[bytes, bytes]


class StoredRecords:
    """The records of some log files; use it in a `with` block.

    The file of the last record stays open: of ascending offsets the next record is often in what was read.

    Args:
        files: in the order of their offsets.
    """

    def __init__(self, files: Sequence[StoreFile]) -> None:
        self._files = files
        self._stack = ExitStack()
        self._file: StoreFile | None = None
        self._walk: Walk | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def at(self, phy_offset: int) -> StoredRecord | None:
        """The record that begins at a physical offset; None if none verifies there. An OSError if its file cannot be read."""
        file = file_at(self._files, phy_offset)
        if file is None:
            return None
        if self._walk is None or file is not self._file:
            self._stack.close()
            reader = self._stack.enter_context(file.open())
            self._file, self._walk = file, Walk(reader, file.base_offset, bodies=False, window=NARROW)
        record, window = self._walk.record(phy_offset - file.base_offset), self._walk.window
        if not isinstance(record, Record):
            return None
        topic = window[record.topic :][: record.topic_length].tobytes()
        pairs = parse_properties(window[record.properties :][: record.properties_length].tobytes())
        return StoredRecord(record.fixed, clean_utf8(topic).decode(), pairs)
