"""What lies at a place of a commit log: the clause that the request of a record turns on."""

from __future__ import annotations

import re
from struct import unpack_from
from typing import TYPE_CHECKING, Any, Final

from rocket_reference import body_checksum, dispatch_requests
from rocket_spec.layout import BLANK_MAGIC, MESSAGE_MAGIC

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rocket_reference import DispatchRequest

    from rocket_conformance.cases import Case
    from rocket_conformance.compare import Difference
    from rocket_conformance.protocol import Op

__all__ = ["likely_of_log"]

_SCHEDULE: Final = b"SCHEDULE_TOPIC_XXXX"
_FIXED: Final = 91
_V6: Final = 12
_REQUEST: Final = re.compile(r"requests\[(\d+)\]\.(\w+)\Z")
_OF_PROPERTY: Final = {"keys": "LOG-DSP-2", "uniq_key": "LOG-DSP-3", "tags_code": "LOG-DSP-4"}
_NAMES: Final = {"keys": b"KEYS", "uniq_key": b"UNIQ_KEY", "tags_code": b"TAGS"}


class _Record:
    """The parts of the record at a byte position that the clauses are about; empty where it is cut off."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data = data[position:]
        head = self.data[:40].ljust(40, b"\0")
        self.total_size, self.magic = unpack_from(">ii", head)
        self.crc: int = unpack_from(">I", head, 8)[0]
        self.sys_flag: int = unpack_from(">i", head, 36)[0]
        self.hosts = _V6 * (bool(self.sys_flag & 16) + bool(self.sys_flag & 32))
        at = 84 + self.hosts
        self.body_length, self.body, at = self._part(at, 4)
        self.topic_length, self.topic, at = self._part(at, 1)
        self.properties_at = at + 2
        self.properties_length, self.properties, at = self._part(at, 2)

    def _part(self, at: int, width: int) -> tuple[int, bytes, int]:
        raw = self.data[at : at + width]
        length = int.from_bytes(raw, "big", signed=True) if len(raw) == width else 0
        end = at + width + max(0, length)
        return length, self.data[at + width : end], end

    @property
    def sum(self) -> int:
        """What the parts add up to."""
        lengths = max(0, self.body_length) + self.topic_length + max(0, self.properties_length)
        return _FIXED + self.hosts + lengths


def likely_of_log(case: Case, difference: Difference, found: Sequence[Difference]) -> str | None:
    """The clause that a difference in the answer to `log.dispatch` most likely breaks."""
    assert difference.op is not None  # noqa: S101 - the difference of a result
    op = case.ops[difference.op]
    image = case.files.get(op["file"])
    if image is None or difference.field == "rejected":
        return None
    data = image.at(0, image.size)
    match = _REQUEST.match(difference.field)
    number = int(match[1]) if match else _first_difference(difference.expected, difference.actual)
    record = _Record(data, _position(data, op, number))
    name = match[2] if match else "success"
    if _explained_by_the_old_split(record, op, difference, number, match[2] if match else None):
        return "LOG-PROP-3"
    outcome = f"requests[{number}].success"
    if any(other.op == difference.op and other.field == outcome for other in found):
        name = "success"  # the record as a whole was taken for something else
    if name in _OF_PROPERTY:
        return _of_property(name, record)
    if name == "topic":
        return "UTF8-1" if _malformed(record.topic) else "LOG-DSP-1"
    if name == "msg_size" and record.magic == MESSAGE_MAGIC:
        return "LOG-DSP-6"  # it fails either way, with another size
    if name == "sys_flag":
        return "LOG-REC-5"
    return _of_outcome(record, op) if name in {"success", "msg_size"} else "LOG-DSP-1"


def _first_difference(expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]]) -> int:
    """The number of the first request that differs; the last one both have, when it is only that more follow."""
    for number, (want, got) in enumerate(zip(expected, actual or (), strict=False)):
        if want != got:
            return number
    return max(0, min(len(expected), len(actual or ())) - (len(expected) < len(actual or ())))


def _requests(data: bytes, op: Op) -> Iterator[DispatchRequest]:
    return dispatch_requests(data, check_crc=op["check_crc"], read_body=op.get("read_body", True))


def _position(data: bytes, op: Op, number: int) -> int:
    position = 0
    for request, _ in zip(_requests(data, op), range(number), strict=False):
        position += max(0, request.msg_size)
    return position


def _explained_by_the_old_split(
    record: _Record, op: Op, difference: Difference, number: int, name: str | None
) -> bool:
    r"""Whether a reader that splits a pair at each `\1` answers just so."""
    parts = b"\2".join(map(_split_at_each, record.properties.split(b"\2")))
    if parts == record.properties:
        return False
    at = record.properties_at
    data = record.data[:at] + parts + record.data[at + len(parts) :]
    request = next(_requests(data, op))
    answers: Sequence[Mapping[str, Any]] = difference.actual or ()
    got = {name: difference.actual} if name else answers[number] if number < len(answers) else {}
    return bool(got) and all(str(getattr(request, field)) == str(value) for field, value in got.items())


def _split_at_each(part: bytes) -> bytes:
    """A part, as long as it was, that reads as it did before 4.9.1: two pieces are a pair, empty last ones aside."""
    pieces = part.rstrip(b"\1").split(b"\1")
    if part.count(b"\1") < 2:
        return part
    return b"\1".join(pieces).ljust(len(part), b"\2") if len(pieces) == 2 else part.replace(b"\1", b" ")


def _of_outcome(record: _Record, op: Op) -> str:
    if record.magic == BLANK_MAGIC:
        return "LOG-BLANK-2"
    if record.magic != MESSAGE_MAGIC or len(record.data) < _FIXED:
        return "LOG-DSP-6"
    if _has_delay(record):
        return "LOG-DSP-5"
    if record.body_length > 0 and record.crc != body_checksum(record.body):
        return "LOG-REC-4"
    if record.total_size != record.sum and record.hosts:
        return "LOG-REC-2"
    if record.total_size != record.sum or min(record.body_length, record.properties_length) < 0:
        return "LOG-REC-3"
    if record.crc != body_checksum(record.body) and op["check_crc"]:
        return "LOG-REC-4"
    return "LOG-REC-2" if record.hosts else "LOG-DSP-6"


def _has_delay(record: _Record) -> bool:
    return record.topic == _SCHEDULE and b"DELAY\1" in record.properties


def _of_property(name: str, record: _Record) -> str:
    """Of a request field that comes from a property: what is odd about the properties, if anything."""
    if _malformed(record.properties):
        return "UTF8-1"
    if name == "tags_code" and b"DELAY\1" in record.properties:
        return "LOG-DSP-5" if record.topic == _SCHEDULE else "CQ-TAGS-2"
    wanted = _NAMES[name]
    values = [part.partition(b"\1") for part in record.properties.split(b"\2")]
    mine = [value for found, separator, value in values if found == wanted and separator]
    if len([value for value in mine if value]) > 1:
        return "LOG-PROP-4"
    if any(b"\1" in value for value in mine):
        return "LOG-PROP-3"
    odd = any(not found or not separator or not value for found, separator, value in values)
    if record.properties and odd:
        return "LOG-PROP-2"
    return _OF_PROPERTY[name] if name != "tags_code" or record.properties else "LOG-DSP-4"


def _malformed(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False
