"""Bytes in memory through two or three implementations that share no code: they must agree.

The engine's plain path, its compiled loops on guarded memory (`guarded_memory`) and the reference decode the same input.
A disagreement is an AssertionError; a loop that looks past its buffer ends the process.
"""

from __future__ import annotations

import struct
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from unittest.mock import patch
from zlib import crc32

import numpy as np
import rocket_reference as reference
from fuzz_bytes import Samples
from guarded_memory import Arena, PooledNumpy
from rocket_columnar import formats, kernels
from rocket_columnar.formats import Bad, Record
from rocket_columnar.index import IndexHeader
from rocket_columnar.log import TopicNames
from rocket_reference import JavaError, UnspecifiedError
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, MESSAGE_MAGIC, QUEUE_UNIT, RECORD_FIXED_V4, Geometry
from store_bytes import BEGIN, Entry, checkpoint, ext_unit, index_file, record, unit

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["NO_HITS", "TARGETS", "Agreement"]

_walk: Any = resolve_name("rocket_columnar.log.compiled_walk")
_chains: Any = resolve_name("rocket_columnar.index.chain_select")
_puts: Any = resolve_name("rocket_columnar.index.bulk_put")
_ARENA: Final = Arena(1 << 17)
_OUTPUT: Final = Arena(1 << 17)
_GEOMETRY: Final = Geometry(7, 20)
NO_HITS: Final = _chains.Hits(np.zeros(19, np.int64), np.empty(0, np.int64))


class Agreement(NamedTuple):
    """A function of bytes that is answered in several ways.

    Attributes:
        samples: what inputs are made of.
        run: what came out; AssertionError if two ways differ.
        errors: documented errors that may come out.
        share: of the time of a target; small where inputs are simple.
    """

    samples: Samples
    run: Callable[[bytes], Hashable]
    errors: tuple[type[BaseException], ...] = ()
    share: float = 1.0


# records ------------------------------------------------------------------------------------------------------------

_RECORD_FIELDS: Final = (
    (0, 4),
    (4, 4),
    (8, 4),
    (12, 4),
    (20, 8),
    (28, 8),
    (36, 4),
    (56, 8),
    (84, 4),
    (92, 1),
    (94, 2),
)
_PROPERTIES: Final = (
    b"KEYS\1a b\2UNIQ_KEY\1U\2TAGS\1t\2DELAY\0013\2INNER_MULTI_DISPATCH\1a,b\2INNER_MULTI_QUEUE_OFFSET\0011,2\2",
    b"KEYS\1a  b c\2TAGS\1\xf0\x9f\x98\x80\2x\1\1y\2\2KEYS\1\2\1z\2TAGS", b"",
    b"UNIQ_KEY\x017F0000010BB018B4AAC21E9C5C760000\2KEYS\1" + b"key " * 30 + b"\2WAIT\1true",
    "DELAY\1\u0661\2TAGS\1日本\2KEYS\1é ü\2".encode(),
)  # fmt: skip
_PIECES: Final = (
    b"\1", b"\2", b" ", b"KEYS\1", b"TAGS\1", b"UNIQ_KEY\1", b"DELAY\1", b"\0", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    b"\xc0\x80", b"\xe2\x82", b"\xef\xbf\xbd", b"\xff", "\uff11".encode(), b"a" * 70, b"-", b"+1", b"2147483648", b"\xda\xa3\x20\xa7",
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


def _record(data: bytes) -> Hashable:
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
    fixed = found.fixed
    topic = data[found.topic : found.topic + found.topic_length]
    pairs = formats.parse_properties(data[found.properties : found.properties + found.properties_length])
    body = data[found.body : found.topic - 1]
    ours = (
        fixed.phy_offset, fixed.total_size, formats.clean_utf8(topic).decode(), fixed.queue_id, fixed.queue_offset, fixed.sys_flag,
        fixed.flag, fixed.born_timestamp, formats.host_text(fixed.born_host), fixed.store_timestamp,
        formats.host_text(fixed.store_host), fixed.reconsume_times, fixed.prepared_transaction_offset, body,
        fixed.body_crc & 0xFFFFFFFF, not body or crc32(body) & 0x7FFFFFFF == fixed.body_crc,
        formats.tags_code(topic, pairs, fixed.store_timestamp), {name.decode(): value.decode() for name, value in pairs.items()},
    )  # fmt: skip
    theirs = (
        known.phy_offset, known.size, known.topic, known.queue_id, known.queue_offset, known.sys_flag, known.flag,
        known.born_timestamp, known.born_host, known.store_timestamp, known.store_host, known.reconsume_times,
        known.prepared_transaction_offset, known.body, known.body_crc, known.crc_ok, known.tags_code, dict(known.properties),
    )  # fmt: skip
    assert ours == theirs, (ours, theirs)
    return known.topic, known.size, known.sys_flag, known.tags_code, frozenset(pairs)


class _Bytes:
    """A log in memory, as `Windows` reads one."""

    descriptor = -1

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)

    def read_into(self, offset: int, buffer: Any) -> None:
        buffer[:] = np.frombuffer(self.data, np.uint8, len(buffer), offset)


_POOL: Final = PooledNumpy()


def _requests(data: bytes) -> Hashable:
    """Records one after the other: the compiled loop on guarded memory, and plain parsing with the reference's hashes."""
    names = TopicNames()
    _POOL.again()
    with patch.object(_walk, "np", _POOL), patch.object(_walk, "_WINDOW", max(len(data), 1)):
        windows = _walk.Windows(_Bytes(data), 0, names, check_crc=True, rows=1 << 14)
        batch, end = windows.run(0, len(data))
    rows: list[tuple[Any, ...]] = []
    hashes: list[int] = []
    position = 0
    while position + RECORD_FIXED_V4 <= len(data):
        if formats.check_frame_head(data, position, len(data) - position, position) is not None:
            break
        found = formats.parse_record(data, position)
        if not isinstance(found, Record):
            break
        row, keys = _request(data, found)
        rows.append(row)
        hashes += keys
        position += found.fixed.total_size
    assert end == position, (end, position)
    if batch is None:
        assert not rows
        return int(end)
    ours = list(
        zip(
            batch.phy_offset.tolist(),
            batch.size.tolist(),
            batch.queue_id.tolist(),
            batch.queue_offset.tolist(),
            batch.tags_code.tolist(),
            batch.dispatched.tolist(),
            batch.store_timestamp.tolist(),
            batch.transaction.tolist(),
            batch.crc_ok.tolist(),
            batch.copied.tolist(),
            batch.key_count.tolist(),
            strict=True,
        )
    )
    assert ours == rows, (ours, rows)
    assert batch.key_hash.tolist() == hashes, (batch.key_hash.tolist(), hashes)
    return int(end), len(rows), tuple(hashes)


def _request(data: bytes, found: Record) -> tuple[tuple[Any, ...], list[int]]:
    """What the reference dispatches of a record, without its topic."""
    fixed = found.fixed
    topic = reference.java.decode_utf8(data[found.topic : found.topic + found.topic_length])
    pairs = reference.parse_properties(
        reference.java.decode_utf8(data[found.properties : found.properties + found.properties_length])
    )
    code, keys = 0, []
    try:
        code = reference.dispatch_tags_code(topic, pairs, fixed.store_timestamp)
    except JavaError:
        dispatched = False
    else:
        dispatched = True
        if fixed.sys_flag & 12 != 12:
            unique = pairs.get("UNIQ_KEY")
            keys = [unique] if unique is not None else []
            keys += [part for part in pairs.get("KEYS", "").split(" ") if part]
    body = data[found.body : found.topic - 1]
    row = (
        fixed.phy_offset, fixed.total_size, fixed.queue_id, fixed.queue_offset, code, dispatched, fixed.store_timestamp,
        fixed.sys_flag & 12, not body or crc32(body) & 0x7FFFFFFF == fixed.body_crc, "INNER_MULTI_DISPATCH" in pairs, len(keys),
    )  # fmt: skip
    return row, [reference.key_hash(f"{topic}#{key}") for key in keys]


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
    return tuple(logs)


# properties, text, numbers ----------------------------------------------------------------------------------------------


def _properties(data: bytes) -> Hashable:
    """Pairs of the engine, of the reference, and of the compiled loop on guarded memory."""
    ours = formats.parse_properties(data)
    text = reference.java.decode_utf8(data)
    theirs = reference.parse_properties(text)
    assert {name.decode(): value.decode() for name, value in ours.items()} == theirs
    assert list(map(bytes.decode, ours)) == list(theirs)
    window = _ARENA.put(data, slack=kernels.SLACK)
    room = data.count(2) + 1
    pairs = kernels.PropertyPairs(
        _OUTPUT.empty(1, np.int32), np.empty((2, room), np.int32), np.empty((2, room), np.int32)
    )
    texts = kernels.PropertyTexts(window, np.zeros(1, np.int32), np.full(1, len(data), np.int32))
    done, used = kernels.split_properties(texts, pairs, 0, 0)
    try:
        data.decode()
    except UnicodeDecodeError:
        assert done == 0, "accepted text that is no UTF-8"
        return "replaced", len(theirs)
    assert done == 1
    split = [
        tuple(
            data[place : place + size]
            for place, size in zip(pairs.places[:, n], pairs.sizes[:, n], strict=True)
        )
        for n in range(used)
    ]
    assert split == list(ours.items()), (split, ours)
    return frozenset(theirs)


def _text(data: bytes) -> Hashable:
    """Bytes as Java reads them, and their key hash in five ways."""
    ours, theirs = formats.decode_utf8(data), reference.java.decode_utf8(data)
    assert ours == theirs, (ours, theirs)
    known = reference.key_hash(ours)
    assert formats.hash_key(ours) == known
    assert formats.hash_keys([ours]).tolist() == [known]
    hashes = _OUTPUT.empty(1, np.int32)
    bounds, codes = np.array([0, len(data)], np.int64), np.zeros(1, np.uint32)
    bad = kernels.hash_utf8(_ARENA.put(data), bounds, codes, hashes)
    assert (bad == -1) is ("\ufffd" not in ours or data.decode("utf-8", "replace").encode() == data), bad
    if bad == -1:
        assert hashes[0] == known
    units = ours.encode("utf-16-le", "surrogatepass")
    view = _ARENA.put(units).view(np.uint16)
    kernels.hash_units(view, np.array([0, len(view)], np.int64), codes, hashes)
    assert hashes[0] == known
    return known


def _java_number(data: bytes) -> Hashable:
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


def _ids(data: bytes) -> Hashable:
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


# queues -----------------------------------------------------------------------------------------------------------------


def _units(data: bytes) -> Hashable:
    """Units by NumPy, by the reference, and surveyed by the compiled loop on guarded memory."""
    whole = data[: len(data) // 20 * 20]
    rows = np.frombuffer(whole, formats.UNIT_DTYPE)
    ours = list(zip(*(rows[name].tolist() for name in ("phy_offset", "size", "tags_code")), strict=True))
    known = [unit for _, unit in reference.queue_units(whole)]
    assert [tuple(row) for row in ours[: len(known)]] == [
        (one.phy_offset, one.size, one.tags_code) for one in known
    ]
    assert len(known) == len(ours) or ours[len(known)][0] < 0 or ours[len(known)][1] <= 0
    if not ours:
        return 0
    block = 3
    count = -(-len(ours) // block)
    _POOL.again()
    low, high = _POOL.empty(count, np.int64), _POOL.empty(count, np.int64)
    plain = kernels.survey_units(_ARENA.put(whole), block, low, high)
    assert plain is all(offset >= 0 and 0 < size != 0x7FFFFFFF for offset, size, _ in ours)
    if plain:
        parts = [[row[0] for row in ours[at : at + block]] for at in range(0, len(ours), block)]
        assert (low.tolist(), high.tolist()) == ([min(part) for part in parts], [max(part) for part in parts])
    return plain, len(known), tuple(map(tuple, ours[:1]))


def _ext(data: bytes) -> Hashable:
    """Addresses and units of the reference, which come back when they are encoded."""
    found = []
    for address, one in reference.ext_units(data):
        place = reference.offset_of(address)
        again = reference.encode_ext_unit(one.tags_code, one.store_timestamp, one.bit_map)
        assert data[place + 2 : place + 18] == again[2:18]
        found.append((one.size, one.tags_code, len(one.bit_map)))
    return tuple(found)


def _checkpoint(data: bytes) -> Hashable:
    return reference.checkpoint(data)


# the index ----------------------------------------------------------------------------------------------------------------

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
    buffer = bytearray(data[: _GEOMETRY.file_size].ljust(_GEOMETRY.file_size, b"\0"))
    known = reference.IndexFile(buffer, *_GEOMETRY)
    known.load()
    return buffer, known


def _header(known: Any) -> IndexHeader:
    header = known.header()
    return IndexHeader(*(getattr(header, name) for name in IndexHeader.__dataclass_fields__))


def _select(data: bytes) -> Hashable:
    """Chains by the reference, by NumPy, by compiled walks, and by a pass over the file, all of guarded memory."""
    buffer, known = _loaded(data)
    header = _header(known)
    if abs(header.begin_timestamp) >= 1 << 62:
        return "far"
    choice = sum(buffer) & 0xFF
    window, most = _WINDOWS[choice & 3], (1, 3, 32, 200)[choice >> 2 & 3]
    expected: list[list[int] | None] = []
    for key in _KEYS:
        try:
            expected.append(known.select(key, most, *window))
        except UnspecifiedError:
            expected.append(None)
    mapping = _ARENA.put(bytes(buffer))
    chains = _chains.Chains(mapping, _GEOMETRY.hash_slot_num, _GEOMETRY.entries_offset, header)
    hashes = np.array([ord(key) for key in _KEYS], np.int32)
    ended = np.array([one is not None for one in expected])
    rooms = np.full(1, most, np.int64)
    if not ended.all():
        wrong = _chains._by_steps(chains, hashes, rooms, window)
        assert isinstance(wrong, int), wrong
        assert expected[wrong] is None
    flat = [offset for one in expected for offset in one or ()]
    for path in (_chains._by_steps, lambda *a: _chains._by_join(*a, 1), lambda *a: _chains._by_walks(*a, 1)):
        hits = path(chains, hashes[ended], rooms, window)
        if hits is not None:
            assert hits.phy_offsets.tolist() == flat, (path, hits, expected)
            assert np.diff(hits.bounds).tolist() == [len(one) for one in expected if one is not None]
    return tuple(map(len, (one or "" for one in expected))), tuple(flat[:4])


def _entries(data: bytes) -> Hashable:
    """Entries by the reference and by the compiled loop, and whether puts could have made them."""
    buffer, known = _loaded(data)
    rows = list(reference.index_entries(buffer, _GEOMETRY, all_entries=True))
    count = _GEOMETRY.index_num - 1
    header = known.header()
    _POOL.again()
    columns = kernels.EntryColumns(
        *(
            _POOL.empty(count, kind)
            for kind in (np.int32, np.int32, np.int32, np.int64, np.int32, np.int32, np.int64)
        )
    )
    raw = _ARENA.put(bytes(buffer[_GEOMETRY.entries_offset + INDEX_ENTRY.size :]))
    begin = int.from_bytes(buffer[:8], signed=True)
    kernels.split_entries(raw.view(np.uint32), 1, _GEOMETRY.hash_slot_num, begin, columns)
    ours = list(zip(*(column.tolist() for column in columns), strict=True))
    for row in rows:
        theirs = (
            row.entry,
            row.slot,
            row.key_hash,
            row.phy_offset,
            row.time_diff,
            row.prev_entry,
            row.store_timestamp,
        )
        assert ours[row.entry - 1] == theirs, (ours[row.entry - 1], theirs)
    return header.index_count, len(rows), tuple(ours[:1])


def _survey(data: bytes) -> Hashable:
    """The replay of puts by the compiled loop and by NumPy."""
    from rocket_columnar.audit import file_survey as survey

    buffer, known = _loaded(data)
    count = max(min(known.header().index_count, _GEOMETRY.index_num), 1)
    raw = _ARENA.put(bytes(buffer[_GEOMETRY.entries_offset + INDEX_ENTRY.size :]))
    found = []
    for compiled in (False, True):
        replay = resolve_name("rocket_columnar.audit.index_check:Replay").of(_GEOMETRY)
        none = np.iinfo(np.int64).max
        blocks = np.full((2, 1), none)
        blocks[1] = -1 - none
        rows = raw.view(formats.ENTRY_DTYPE)
        loop = survey._survey_loop() if compiled else None
        result = survey._replayed(rows, 1, count, replay, blocks, loop)
        found.append(
            (result, replay.heads.tolist(), replay.differs.tolist(), blocks.tolist() if count > 1 else ())
        )
    assert found[0] == found[1], found
    return found[0][0], tuple(found[0][1])


def _put(data: bytes) -> Hashable:
    """Puts into any index file: by the reference one by one, in batches by NumPy and by the compiled loop."""
    buffer, known = _loaded(data)
    header = _header(known)
    first = crc32(data)
    keys = [_KEYS[(first >> 2 * number) % len(_KEYS)] for number in range(first % 9 + 1)]
    offsets = [(first * (number + 1)) % (1 << 40) for number in range(len(keys))]
    times = [BEGIN + (first >> number) % 9000 - 2000 for number in range(len(keys))]
    before = bytes(buffer)
    accepted = [known.put(*row) for row in zip(keys, offsets, times, strict=True)]
    puts = _puts.Puts(
        np.array(list(map(ord, keys)), np.int32), np.array(offsets, np.int64), np.array(times, np.int64)
    )
    for compiled in (False, True):
        mapping = bytearray(before)
        after, taken = _puts.put_batch(mapping, _GEOMETRY, header, puts, compiled=compiled)
        assert taken == sum(accepted), (taken, accepted)
        assert mapping == buffer, (compiled, mapping.hex(), buffer.hex())
        assert after == _header(known)
    return sum(accepted), header.index_count


def _index_samples() -> Samples:
    entries = [[Entry(code % 16, 91 * code, code // 2) for code in range(size)] for size in (0, 1, 5, 15, 19)]
    same = [Entry(3, 91 * number, number) for number in range(12)]
    fields = tuple((field.offset or 0, field.size or 4) for field in INDEX_HEADER.fields)
    slots = tuple((40 + 4 * slot, 4) for slot in range(_GEOMETRY.hash_slot_num))
    columns = tuple(
        (_GEOMETRY.entries_offset + 20 * entry + (field.offset or 0), field.size or 4)
        for entry in range(1, 16)
        for field in INDEX_ENTRY.fields
    )
    return Samples(
        tuple(index_file(*_GEOMETRY, some) for some in (*entries, same)), (*fields, *slots * 3, *columns)
    )


_UNITS: Final = tuple(
    (20 * number + (field.offset or 0), field.size or 8) for number in range(4) for field in QUEUE_UNIT.fields
)
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


TARGETS: Final[dict[str, Agreement]] = {
    "record": Agreement(Samples(_records(), _RECORD_FIELDS, 0, _PIECES), _record),
    "dispatch requests": Agreement(Samples(_log(), _RECORD_FIELDS, 0, _PIECES), _requests),
    "properties": Agreement(Samples(_PROPERTIES, (), 0, _PIECES), _properties),
    "text and key hash": Agreement(Samples(_TEXTS, (), 0, _PIECES), _text),
    "Java number": Agreement(Samples(_NUMBERS, (), 0, (*_PIECES, b"0", b"9", b"_", b" ")), _java_number, share=0.3),
    "message ID": Agreement(Samples(_IDS, (), 0, (b"0", b"F", b"g", b" ", b"_")), _ids, share=0.1),
    "queue units": Agreement(
        Samples((unit(0, 91) + unit(91, 91, 5) + unit(182, 91), unit(0, 0x7FFFFFFF) * 3 + unit(7, 1), bytes(60)), _UNITS), _units
    ),
    "ext units": Agreement(
        Samples((ext_unit(1, 2, b"abc") + ext_unit(3, 4, b"") + b"\xff\xff",), ((0, 2), (2, 8), (10, 8), (18, 2), (23, 2), (41, 2))),
        _ext, (FormatError,), 0.2,
    ),
    "checkpoint": Agreement(Samples((checkpoint(1, 2, 3)[:64],), ((0, 8), (8, 8), (16, 8))), _checkpoint, (FormatError,), 0.1),
    "index entries": Agreement(_index_samples(), _entries),
    "index select": Agreement(_index_samples(), _select),
    "index put": Agreement(_index_samples(), _put),
    "index survey": Agreement(_index_samples(), _survey),
}  # fmt: skip
