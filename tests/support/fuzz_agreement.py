"""Bytes that the engine and the reference both decode: they share no code and must agree, in every form that the engine has."""

import struct
from collections.abc import Callable, Hashable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
import rocket_reference as reference
from fuzz_inputs import GEOMETRY, Target, mutated
from guarded_memory import guarded_arrays
from rocket_columnar import fast, formats
from rocket_columnar.formats import Bad
from rocket_columnar.index import IndexFile
from rocket_columnar.store import Source, StoreFile, placed_file
from rocket_reference import JavaError, UnspecifiedError
from rocket_spec.errors import FormatError, InvalidError, UsageError
from rocket_spec.layout import CHECKPOINT, MESSAGE_MAGIC, RECORD_FIXED_V4
from store_bytes import BEGIN, Entry, blank, checkpoint, ext_unit, index_file, record, unit
from table_rows import decoded


def _both(run: Callable[[], Any]) -> Any:
    """Results of both forms of the engine's loops, the compiled one with guarded arrays."""
    found = []
    for compiled in (False, True):
        with fast.forced(compiled=compiled), guarded_arrays() if compiled else nullcontext():
            found.append(run())
    assert repr(found[0]) == repr(found[1]), found
    return found[0]


_PROPERTIES: Final = (
    b"KEYS\1a b\2UNIQ_KEY\1U\2TAGS\1t\2DELAY\0013\2INNER_MULTI_DISPATCH\1a,b\2INNER_MULTI_QUEUE_OFFSET\0011,2\2",
    b"KEYS\1a  b c\2TAGS\1\xf0\x9f\x98\x80\2x\1\1y\2\2KEYS\1\2\1z\2TAGS", b"",
    b"UNIQ_KEY\x017F0000010BB018B4AAC21E9C5C760000\2KEYS\1" + b"key " * 30 + b"\2WAIT\1true",
    "DELAY\1\u0661\2TAGS\1日本\2KEYS\1é ü\2".encode(),
)  # fmt: skip


def _records() -> tuple[bytes, ...]:
    topics = (b"T", b"SCHEDULE_TOPIC_XXXX", b"%RETRY%g", "主题".encode(), b"")
    return tuple(
        record(0, properties=properties, topic=topic, body=body, sys_flag=flag, **hosts)  # type: ignore[arg-type]
        for properties, topic, body in zip(
            _PROPERTIES, topics, (b"body", b"b" * 40, b"", b"x", b"y" * 17), strict=True
        )
        for flag, hosts in ((0, {}), (8, {}), (12, {}), (48, {"born": bytes(16), "store": bytes(range(16))}))
    )


def _record(data: bytes, _folder: Path) -> Hashable:
    """One record at physical offset 0: the engine's, the reference's."""
    room = len(data)
    if room < RECORD_FIXED_V4:
        return "short"
    bad = formats.check_frame_head(data, 0, room, 0)
    found = bad or formats.parse_record(data, 0)
    try:
        known = reference.record(data)
    except FormatError as error:
        known, reason = None, type(error).__name__
    total, magic = struct.unpack_from(">ii", data)
    inside = RECORD_FIXED_V4 <= total <= room and struct.unpack_from(">q", data, 28)[0] == 0
    if isinstance(found, Bad):
        assert known is None or not inside, (found, known)
        return (
            found.found
            if known is None and magic != MESSAGE_MAGIC
            else reason
            if known is None
            else "elsewhere"
        )
    assert known is not None, found
    assert _log_rows(data[: known.size], _folder) == (1, known.size)
    return known.topic, known.size, known.sys_flag, known.tags_code, frozenset(known.properties)


def _log() -> tuple[bytes, ...]:
    """Logs of one to four records."""
    logs = []
    for turn in range(8):
        data = b""
        for number in range(turn % 4 + 1):
            which = (turn + number) % len(_PROPERTIES)
            data += record(
                len(data), properties=_PROPERTIES[which], topic=(b"T", b"SCHEDULE_TOPIC_XXXX", b"U")[(turn + number) % 3],
                body=b"b" * (7 * number), sys_flag=(0, 4, 8, 12)[number], queue_offset=number,
            )  # fmt: skip
        logs.append(data)
    longer = record(len(logs[0]), sys_flag=48, born=bytes(16), store=bytes(16))
    return (*logs, logs[0] + longer + blank(400 - len(logs[0] + longer) % 100))


def rows(name: str, data: bytes, **options: Any) -> list[dict[str, Any]]:
    """The rows of a file in memory, by both forms; gaps are compared, and passed over."""
    file = placed_file(name, source=Source.of_bytes(name, data))
    assert isinstance(file, StoreFile)

    known: list[dict[str, Any]] = _both(lambda: decoded([file], **options))[0]
    return known


def _decoded(name: str, data: bytes, **options: Any) -> None:
    """Decodes a file of any length by both forms."""
    with suppress(FormatError):
        rows(name, data, **options)


def _log_rows(data: bytes, _folder: Path) -> Hashable:
    """The rows of a log up to the first gap; every column is that of the record that the reference reads."""
    found = rows(f"commitlog/{0:020}", data)
    position = 0
    for row in found:
        if row["phy_offset"] != position:
            break
        known = reference.record(data, position)
        ours = {name: value for name, value in row.items() if name != "file"}
        ours["properties"] = dict(ours["properties"])
        assert ours == {name: getattr(known, name) for name in ours}
        position += row["size"]
    return len(found), position


def _properties(data: bytes, _folder: Path) -> Hashable:
    ours = formats.parse_properties(data)
    theirs = reference.parse_properties(reference.java.decode_utf8(data))
    assert [(name.decode(), value.decode()) for name, value in ours.items()] == list(theirs.items())
    return frozenset(theirs)


def _text(data: bytes, _folder: Path) -> Hashable:
    """Bytes as Java reads them, and their key hash."""
    ours, theirs = formats.decode_utf8(data), reference.java.decode_utf8(data)
    assert ours == theirs, (ours, theirs)
    known = reference.key_hash(ours)
    assert formats.hash_key(ours) == known
    assert set(_both(lambda: formats.hash_keys([ours] * 3).tolist())) == {known}
    return known


def _java_number(data: bytes, _folder: Path) -> Hashable:
    """`Long.parseLong` and `Integer.parseInt` of both."""
    text = reference.java.decode_utf8(data)
    found = []
    for ours, theirs in (
        (formats.parse_long, reference.java.parse_long),
        (formats.parse_int, reference.java.parse_int),
    ):
        try:
            known: int | None = theirs(text)
        except JavaError:
            known = None
        assert ours(text) == known, (text, ours(text), known)
        found.append(known)
    return tuple(found)


def _ids(data: bytes, _folder: Path) -> Hashable:
    """IDs of messages; the parts of an offset ID make the same ID."""
    text = data.decode("latin-1")
    found: list[Hashable] = []
    try:
        found.append(formats.parse_unique_key(text))
        parts = formats.parse_offset_id(text)
        again = formats.make_offset_id(parts.store_host, parts.phy_offset)
        assert again == text.upper(), again
        found.append(parts)
    except UsageError:
        assert not found, "an ID that is one and not the other"
    return tuple(found)


def _units(data: bytes, _folder: Path) -> Hashable:
    _decoded(f"consumequeue/T/0/{0:020}", data)
    whole = data[: len(data) // 20 * 20]
    units = np.frombuffer(whole, formats.UNIT_DTYPE)
    ours = list(zip(*(units[name].tolist() for name in ("phy_offset", "size", "tags_code")), strict=True))
    known = [(one.phy_offset, one.size, one.tags_code) for _, one in reference.queue_units(whole)]
    assert ours[: len(known)] == known
    assert len(known) == len(ours) or ours[len(known)][0] < 0 or ours[len(known)][1] <= 0
    return len(known), tuple(ours[:1])


def _ext(data: bytes, _folder: Path) -> Hashable:
    """Addresses and units of the reference, which come back when they are encoded."""
    _decoded(f"consumequeue_ext/T/0/{0:020}", data)
    found = []
    for address, one in reference.ext_units(data):
        place = reference.offset_of(address)
        again = reference.encode_ext_unit(one.tags_code, one.store_timestamp, one.bit_map)
        assert data[place + 2 : place + 18] == again[2:18]
        found.append((one.size, one.tags_code, len(one.bit_map)))
    return tuple(found)


def _checkpoint(data: bytes, _folder: Path) -> Hashable:
    (ours,) = rows("checkpoint", data)
    known = reference.checkpoint(data)
    assert all(ours[name] == getattr(known, name) for name in (field.name for field in CHECKPOINT.fields))
    return known


_KEYS: Final = [chr(code) for code in (*range(16), 20, 126)]
"""Texts whose hashes are their codes."""
_WINDOWS: Final = (
    (0, (1 << 63) - 1),
    (BEGIN, BEGIN + 5000),
    (-(1 << 63), BEGIN + 3000),
    (BEGIN + 4000, BEGIN),
)


def _loaded(data: bytes) -> Any:
    """The reference's index file over a copy of the bytes, which are cut or filled up to the geometry's size."""
    buffer = bytearray(data[: GEOMETRY.file_size].ljust(GEOMETRY.file_size, b"\0"))
    known = reference.IndexFile(buffer, *GEOMETRY)
    known.load()
    return buffer, known


def _select(data: bytes, folder: Path) -> Hashable:
    """Chains by the reference and by the engine."""
    buffer, known = _loaded(data)
    choice = sum(buffer) & 0xFF
    window, most = _WINDOWS[choice & 3], (1, 3, 32, 200)[choice >> 2 & 3]
    expected: dict[str, list[int] | None] = {}
    for key in _KEYS:
        try:
            expected[key] = known.select(key, most, *window)
        except UnspecifiedError:
            expected[key] = None
    path = folder / "20260101000000000"
    path.write_bytes(buffer)
    with IndexFile.open_for_reading(path, GEOMETRY) as file:
        for key, offsets in expected.items():
            try:
                assert file.select(key, most, *window) == offsets
            except InvalidError:
                assert offsets is None
    return tuple(map(len, (offsets or "" for offsets in expected.values())))


def _entries(data: bytes, _folder: Path) -> Hashable:
    name, options = "index/20260101000000000", {"geometry": GEOMETRY, "all_entries": True}
    _decoded(name, data, **options)
    buffer, _ = _loaded(data)
    found = rows(name, bytes(buffer), tables=["index_entries"], **options)
    known = list(reference.index_entries(buffer, GEOMETRY, all_entries=True))
    assert len(found) == len(known)
    for row, one in zip(found, known, strict=True):
        theirs = {name: getattr(one, name) for name in row if name != "file"}
        assert {name: row[name] for name in theirs} == theirs
    return len(found), str(found[:1])


def _put(data: bytes, folder: Path) -> Hashable:
    """Puts into any index file: by the reference and by the engine."""
    buffer, known = _loaded(data)
    first, path = crc32(data), folder / "20260101000000000"
    keys = [_KEYS[(first >> 2 * number) % len(_KEYS)] for number in range(first % 9 + 1)]
    offsets = [(first * (number + 1)) % (1 << 40) for number in range(len(keys))]
    times = [BEGIN + (first >> number) % 9000 - 2000 for number in range(len(keys))]
    path.write_bytes(buffer)
    rows = list(zip(keys, offsets, times, strict=True))
    with IndexFile(path, *GEOMETRY) as file:
        file.load()
        accepted = [file.put(*row) for row in rows]
    assert accepted == [known.put(*row) for row in rows]
    assert path.read_bytes() == bytes(buffer)
    return sum(accepted)


def _index_samples() -> tuple[bytes, ...]:
    entries = [[Entry(code % 16, 91 * code, code // 2) for code in range(size)] for size in (0, 1, 5, 15, 19)]
    same = [Entry(3, 91 * number, number) for number in range(12)]
    return tuple(index_file(*GEOMETRY, some) for some in (*entries, same))


_TEXTS: Final = (
    b"",
    b"a",
    b"T#k",
    "主题#é".encode(),
    "😀#😀".encode(),
    b"T#" + b"k" * 80,
    b"\xed\xb0\x80",
    b"AaBB",
    bytes(range(40, 60)),
)
_NUMBERS: Final = (
    b"0",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"00000000000000000091",
    "１２٣".encode(),
    b"+7",
    b"20260101000000000",
)
_IDS: Final = (
    b"7F0000010BB018B4AAC21E9C5C760000",
    b"0A00000100002A9F0000000000001A2B",
    b"7F" * 28,
    b"00" * 16,
)


_UNITS: Final = (
    unit(0, 91) + unit(91, 91, 5) + unit(182, 91),
    unit(0, 0x7FFFFFFF) * 3 + unit(7, 1),
    bytes(60),
)
_EXT_UNITS: Final = (ext_unit(1, 2, b"abc") + ext_unit(3, 4, b"") + b"\xff\xff",)
_INDEX: Final = mutated(_index_samples(), "index/1")
_DAMAGED: Final = (FormatError,)
TARGETS: Final[dict[str, Target]] = {
    "record": Target(mutated(_records(), "commitlog/0"), _record, ()),
    "log": Target(mutated(_log(), "commitlog/0"), _log_rows, _DAMAGED),
    "properties": Target(mutated(_PROPERTIES), _properties, ()),
    "text and key hash": Target(mutated(_TEXTS), _text, ()),
    "Java number": Target(mutated(_NUMBERS), _java_number, ()),
    "message ID": Target(mutated(_IDS), _ids, ()),
    "queue units": Target(mutated(_UNITS, "consumequeue/T/0/0"), _units, ()),
    "ext units": Target(mutated(_EXT_UNITS, "consumequeue_ext/T/0/0"), _ext, _DAMAGED),
    "checkpoint": Target(mutated((checkpoint(1, 2, 3)[:64],), "checkpoint"), _checkpoint, _DAMAGED),
    "index entries": Target(_INDEX, _entries, (FormatError, UsageError)),
    "index select": Target(_INDEX, _select, ()),
    "index put": Target(_INDEX, _put, ()),
}
"""Of each what two implementations answer."""
