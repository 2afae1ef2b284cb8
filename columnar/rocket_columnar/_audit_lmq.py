"""Which queues a record was copied to by multi-dispatch: units there may point to another topic's record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rocket_columnar._java import parse_long
from rocket_columnar._record import HEAD_SIZE, Bad, check, clean_utf8, parse_properties
from rocket_columnar.decode import Gap, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocket_columnar.store import StoreFile

__all__ = [
    "Copies",
    "Copy",
    "copies_of",
    "has_light_queues",
    "may_hold_copies",
    "queue_id_of",
    "record_copies",
]

Copy = tuple[str, int]
"""A queue's name, and the logical offset that the record has there."""

_QUEUES: Final = "INNER_MULTI_DISPATCH"
_OFFSETS: Final = "INNER_MULTI_QUEUE_OFFSET"
_LIGHT: Final = "%LMQ%"
_CHUNK: Final = 1 << 24


def copies_of(properties: dict[str, str]) -> list[Copy]:
    """Queues and logical offsets of a record's copies, none where the two lists differ in length.

    Source: `ConsumeQueue.multiDispatchLmqQueue` 437-457.
    """
    queues, offsets = properties.get(_QUEUES, ""), properties.get(_OFFSETS, "")
    if not queues.strip() or not offsets.strip():
        return []
    names, numbers = _split(queues), [parse_long(part) for part in _split(offsets)]
    if len(names) != len(numbers) or None in numbers:
        return []
    return [(name, number) for name, number in zip(names, numbers, strict=True) if number is not None]


def _split(text: str) -> list[str]:
    """Java's `split(",")`: empty parts at the end are dropped."""
    parts = text.split(",")
    while parts and not parts[-1]:
        parts.pop()
    return parts


def record_copies(data: bytes) -> list[Copy]:
    """The copies that a whole record names."""
    record = check(data, 0)
    if isinstance(record, Bad):
        return []
    pairs = parse_properties(data[record.properties : record.properties + record.properties_length])
    return copies_of({name.decode(): value.decode() for name, value in pairs.items()})


def goes_to(data: bytes, topic: str, queue_id: int, *, light: bool) -> bool:
    """Whether bytes are a record that goes into a queue, as its own or as a copy."""
    record = check(data, 0) if len(data) >= HEAD_SIZE else None
    if record is None or isinstance(record, Bad):
        return False
    own = clean_utf8(data[record.topic : record.topic + record.topic_length]).decode()
    number = record.fixed[3]
    copies = [(name, queue_id_of(name, number, light=light)) for name, _ in record_copies(data)]
    return (topic, queue_id) in [(own, number), *copies]


def has_light_queues(files: Sequence[StoreFile]) -> bool:
    """Whether the broker had `enableLmq`: no queue of a light topic has another number than 0."""
    return not any(
        file.kind == "queue" and file.queue_id and (file.topic or "").startswith(_LIGHT) for file in files
    )


def queue_id_of(name: str, queue_id: int, *, light: bool) -> int:
    """The number of the queue that a copy goes into: the record's own, and 0 for light queues where there are any."""
    return 0 if light and name.startswith(_LIGHT) else queue_id


def may_hold_copies(files: Sequence[StoreFile]) -> bool:
    """Whether the property that names copies occurs anywhere in the log."""
    needle = _OFFSETS.encode()
    for file in files:
        if file.kind != "log":
            continue
        with file.open() as reader:
            tail = b""
            for begin, end in reader.extents():
                for start in range(begin, end, _CHUNK):
                    chunk = reader.read(start, min(_CHUNK, end - start)).tobytes()
                    if needle in tail + chunk:
                        return True
                    tail = chunk[-len(needle) :]
    return False


class Copies:
    """The copies that a log's records name; read when first asked for."""

    def __init__(self, files: Sequence[StoreFile]) -> None:
        self._files = [file for file in files if file.kind == "log"]
        self._known: dict[int, list[Copy]] | None = None

    def of(self, phy_offset: int) -> list[Copy]:
        """The copies of the record at an offset, in the order of their puts."""
        return self._read().get(phy_offset, [])

    def _read(self) -> dict[int, list[Copy]]:
        if self._known is None:
            self._known = {}
            if may_hold_copies(self._files):
                for file in self._files:
                    self._read_file(file, self._known)
        return self._known

    @staticmethod
    def _read_file(file: StoreFile, known: dict[int, list[Copy]]) -> None:
        def passed(_: Gap) -> None:
            """Gaps are the log's findings."""

        columns = ["phy_offset", "properties"]
        for _, batch in decode([file], tables=["commit_log"], columns=columns, on_gap=passed):
            rows: Any = zip(
                batch.column("phy_offset").to_pylist(), batch.column("properties").to_pylist(), strict=True
            )
            for offset, pairs in rows:
                copies = copies_of(dict(pairs))
                if copies:
                    known[offset] = copies
