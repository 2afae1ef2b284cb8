"""Properties of the commit log, of records as a broker writes them and of damaged ones, and of the checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from struct import pack
from typing import Final
from zlib import crc32

from rocket_conformance.files import image_of
from rocket_conformance.properties._property import (
    I32_MAX,
    I64_MAX,
    I64_MIN,
    NOON,
    Drawn,
    Geometry,
    Property,
    any_i64,
    draw_text,
)
from rocket_conformance.protocol import Op, from_i64

MAGIC: Final = 0xDAA320A7
BLANK: Final = 0xCBD43194
_BORN_V6: Final = 16
_STORE_V6: Final = 32
_HOST_V6: Final = bytes.fromhex("20010db8000000000000000000000001")
_HOST_V4: Final = b"\x7f\0\0\1"


@dataclass(slots=True)
class RecordParts:
    """The parts of a record; None leaves a length or the checksum to be the true one."""

    topic: bytes = b"T"
    body: bytes = b""
    properties: bytes = b""
    queue_id: int = 0
    flag: int = 0
    queue_offset: int = 0
    phy_offset: int = 0
    sys_flag: int = 0
    born_timestamp: int = 0
    store_timestamp: int = 0
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    crc: int | None = None
    more: int = 0  # added to the true total size
    total_size: int | None = None
    body_length: int | None = None
    topic_length: int | None = None
    properties_length: int | None = None


def encode(parts: RecordParts) -> bytes:
    """The bytes of a record."""
    hosts = [_HOST_V6 if parts.sys_flag & bit else _HOST_V4 for bit in (_BORN_V6, _STORE_V6)]
    rest = b"".join(
        (
            pack(">iiqqiq", parts.queue_id, parts.flag, parts.queue_offset, parts.phy_offset, parts.sys_flag,
                 parts.born_timestamp),
            hosts[0],
            pack(">iq", 40_000, parts.store_timestamp),
            hosts[1],
            pack(">iiq", 10_911, parts.reconsume_times, parts.prepared_transaction_offset),
            pack(">i", _or(parts.body_length, len(parts.body))),
            parts.body,
            pack(">b", _or(parts.topic_length, len(parts.topic))),
            parts.topic,
            pack(">h", _or(parts.properties_length, len(parts.properties))),
            parts.properties,
        )
    )  # fmt: skip
    crc = _or(parts.crc, crc32(parts.body) & 0x7FFFFFFF if parts.body else 0)
    size = _or(parts.total_size, 12 + len(rest) + parts.more)
    return pack(">iII", size, MAGIC, crc & 0xFFFFFFFF) + rest


def _or(given: int | None, true: int) -> int:
    return true if given is None else given


# --- log lists ----------------------------------------------------------------------------------------

_I32_MIN: Final = -(1 << 31)
_LOG: Final = "log"
_SCHEDULE: Final = b"SCHEDULE_TOPIC_XXXX"
_TOPICS: Final = (
    b"T",
    b"TopicTest",
    b"%RETRY%g",
    b"RMQ_SYS_TRANS_HALF_TOPIC",
    "\u4e3b\u9898".encode(),
    b"",
    b"t" * 127,
)
_BODIES: Final = (b"", b"", b"\0", b"123456789", b"body", bytes(300))
_NAMES: Final = (
    b"KEYS", b"TAGS", b"UNIQ_KEY", b"DELAY", b"WAIT", b"a", b"", b"keys", b"KEYS ", b"INNER_MULTI_DISPATCH",
    b"INNER_MULTI_QUEUE_OFFSET", b"REAL_TOPIC", b"\xe8\xae\xa2",
)  # fmt: skip
_MALFORMED: Final = (
    b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc2", b"\xe0\x80\x80", b"\xe0\xa0", b"\xe1\x80", b"\xed\xa0\x80",
    b"\xed\xa0\x80\xed\xb0\x80", b"\xed\xb0\x80", b"\xef\xbf\xbe", b"\xf0\x80\x80\x80", b"\xf0\x9f\x9a", b"\xf0\x9f",
    b"\xf0\x90\x41", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xfe", b"\xff\xff", b"\xe2\x82\x41",
    b"\xf1\x80\x80\xc2\x80", b"\xe1\xa0\xc0",
)  # fmt: skip
_LEVELS: Final = (
    b"1", b"2", b"3", b"17", b"18", b"19", b"100", b"0", b"-1", b"-0", b"+3", b"007", b"2147483647", b"2147483648",
    b"-2147483648", b"-2147483649", b"x", b"", b" 1", b"1 ", b"1.0", b"0x1", b"1\x01", "\u0663".encode(), "\uff13".encode(),
    "\U0001d7d9".encode(), b"1_0", b"+", b"-",
)  # fmt: skip


def _word(rng: Random) -> bytes:
    kind = rng.choice(("plain", "plain", "colliding", "cjk", "emoji", "extreme", "separators"))
    text = draw_text(rng, kind).replace("\1", "").replace("\2", "")
    return text.encode("utf-8", "replace")[:200]


def sound(rng: Random) -> RecordParts:
    """A record as a broker writes it."""
    pairs = [
        name + b"\1" + _word(rng) for name in (b"KEYS", b"TAGS", b"UNIQ_KEY", b"WAIT") if rng.random() < 0.5
    ]
    return RecordParts(
        topic=rng.choice(_TOPICS[:-2]),
        body=rng.choice(_BODIES),
        properties=b"\2".join(pairs),
        queue_id=rng.randrange(4),
        queue_offset=rng.randrange(1_000),
        phy_offset=rng.randrange(1 << 40),
        sys_flag=rng.choice((0, 0, 1, 2, 8)),
        born_timestamp=NOON - 5,
        store_timestamp=NOON + rng.randrange(10_000),
    )


def fields(rng: Random) -> bytes:
    """A record whose plain fields hold anything."""
    parts = sound(rng)
    edges32 = (0, 1, -1, I32_MAX, _I32_MIN, 0x01020304)
    parts.topic = rng.choice(_TOPICS)
    parts.queue_id = rng.choice(edges32)
    parts.flag = rng.choice(edges32)
    parts.reconsume_times = rng.choice(edges32)
    for name in (
        "queue_offset",
        "phy_offset",
        "born_timestamp",
        "store_timestamp",
        "prepared_transaction_offset",
    ):
        setattr(parts, name, any_i64(rng))
    return encode(parts)


def hosts(rng: Random) -> bytes:
    """A record with hosts of either length, the flag and the total size in step or not."""
    parts = sound(rng)
    parts.sys_flag = rng.choice((0, 16, 32, 48, 17, 50, 64, 128, -1, -49))
    parts.more = rng.choice((0, 0, 0, 0, 12, -12, 24, -24))
    return encode(parts)


def transaction_types(rng: Random) -> bytes:
    """A record of any transaction type, with any other bit."""
    parts = sound(rng)
    parts.sys_flag = rng.choice((0, 4, 8, 12)) | rng.choice((0, 1, 2, 3, 16, 32, 48, 64, _I32_MIN))
    parts.prepared_transaction_offset = any_i64(rng)
    return encode(parts)


def lengths(rng: Random) -> bytes:
    """A record with one wrong length, and perhaps a total size to match."""
    parts = sound(rng)
    kind = rng.randrange(5)
    if kind == 0:
        parts.more = rng.choice((-1, 1, -2, 12, 100, -50))
    elif kind == 1:
        parts.total_size = rng.choice((0, -1, 4, 7, 8, 9, 11, 12, 16, 90, 91, 92, _I32_MIN, 1 << 20))
    elif kind == 2:
        parts.body_length = rng.choice(
            (-1, -5, _I32_MIN, len(parts.body) + 1, len(parts.body) - 1, 1_000, I32_MAX)
        )
        if parts.body_length < 0:
            parts.body = b""
    elif kind == 3:
        parts.topic_length = rng.choice((-1, -128, 127, len(parts.topic) + 1, 0, -56, -56))
        parts.more = rng.choice((0, parts.topic_length - len(parts.topic)))
        if parts.topic_length == -56:  # as 4.9.3 stores a topic of 200 bytes
            parts.topic, parts.more = b"t" * 200, 0
    else:
        parts.properties_length = rng.choice((-1, -5, -32768, 0, 32767, len(parts.properties) + 1))
        if rng.random() < 0.6:
            parts.properties = b""
    return encode(parts)


def checksums(rng: Random) -> bytes:
    """A record whose checksum is right, wrong by a bit, unmasked, or of nothing."""
    parts = sound(rng)
    parts.body = rng.choice(_BODIES)
    true = crc32(parts.body)
    parts.crc = rng.choice(
        (
            true & I32_MAX,
            true & I32_MAX,
            true,
            true | 1 << 31,
            (true & I32_MAX) ^ 1,
            (true & I32_MAX) ^ 1 << 30,
            0,
        )
    )
    return encode(parts)


def named_properties(rng: Random) -> bytes:
    """A record with the properties that a request is made of, present, absent, empty or twice."""
    parts = sound(rng)
    pairs = [
        rng.choice(_NAMES[:5]) + b"\1" + rng.choice((_word(rng), _word(rng), b""))
        for _ in range(rng.randrange(6))
    ]
    parts.properties = b"\2".join(pairs) + rng.choice((b"", b"\2"))
    return encode(parts)


def property_texts(rng: Random) -> bytes:
    """A record whose properties have separators at odd places."""
    parts = sound(rng)
    pieces = (
        b"\1",
        b"\1",
        b"\2",
        b"\2",
        b"\1\2",
        b"\2\2",
        b"a",
        b"b",
        b"\0",
        " \u8ba2".encode(),
        *_NAMES[:4],
        b"v w",
    )
    text = b"".join(rng.choice(pieces) for _ in range(rng.randrange(1, 14)))
    if rng.random() < 0.5:
        text = rng.choice((b"KEYS", b"TAGS", b"UNIQ_KEY")) + b"\1" + text
    parts.properties = text
    return encode(parts)


def delays(rng: Random) -> bytes:
    """A record with a delay level, mostly under the schedule's topic."""
    parts = sound(rng)
    parts.topic = rng.choice(
        (_SCHEDULE, _SCHEDULE, _SCHEDULE, b"T", _SCHEDULE + b"1", _SCHEDULE[:-1], _SCHEDULE.lower())
    )
    level = rng.choice(_LEVELS) if rng.random() < 0.5 else rng.choice(_LEVELS[:7])
    pairs = [b"DELAY\1" + level, b"TAGS\1" + _word(rng), b"REAL_TOPIC\1T"]
    rng.shuffle(pairs)
    parts.properties = b"\2".join(pairs[: rng.choice((1, 2, 3, 3))])
    parts.store_timestamp = rng.choice((NOON, NOON, 0, -60_000, I64_MAX, I64_MIN))
    return encode(parts)


def malformed_text(rng: Random) -> bytes:
    """A record whose topic or properties are no UTF-8."""

    def spoilt() -> bytes:
        pieces = (*rng.choices(_MALFORMED, k=rng.randrange(1, 4)), b"a", "\u8ba2\U0001f680".encode())
        return b"".join(rng.sample(pieces, rng.randrange(1, len(pieces) + 1)))

    parts = sound(rng)
    if rng.random() < 0.5:
        parts.topic = spoilt()[:127]
    names = [b"KEYS", b"TAGS", b"UNIQ_KEY", spoilt()]
    parts.properties = b"\2".join(rng.choice(names) + b"\1" + spoilt() for _ in range(rng.randrange(1, 4)))
    return encode(parts)


def batches(rng: Random) -> bytes:
    """Records of one batch: side by side, of one time; some with the properties of LMQ."""
    parts = sound(rng)
    records: list[bytes] = []
    for number in range(rng.randrange(1, 5)):
        parts.queue_offset += 1
        pairs = [b"KEYS\1" + _word(rng), b"UNIQ_KEY\1id%d" % number, b"CLUSTER\1c"]
        if rng.random() < 0.5:
            pairs += [b"INNER_MULTI_DISPATCH\1%LMQ%a,%LMQ%b", b"INNER_MULTI_QUEUE_OFFSET\x010,7"]
        rng.shuffle(pairs)
        parts.properties = b"\2".join(pairs)
        records.append(encode(parts))
    return b"".join(records)


def blanks(rng: Random) -> bytes:
    """A blank of any size, followed by zeros or stale bytes."""
    size = rng.choice((8, 9, 100, 0, -1, 7, I32_MAX, _I32_MIN))
    behind = rng.choice((b"", bytes(rng.randrange(40)), encode(sound(rng)), b"\xff" * 8))
    magic = rng.choice((BLANK, BLANK, BLANK, BLANK, BLANK + 1, BLANK ^ 1 << 31))
    return pack(">iI", size, magic) + behind


def torn(rng: Random) -> bytes:
    """The front of a record, or a record with another magic, as a torn write leaves it."""
    data = encode(sound(rng))
    if rng.random() < 0.25:
        magic = rng.choice((0, MAGIC + 4, MAGIC ^ 1, 0xA720A3DA, MAGIC - 1))
        return data[:4] + pack(">I", magic) + data[8:]
    cut = rng.choice((1, 3, 4, 7, 8, 11, 12, 20, 60, len(data) - 1, rng.randrange(1, len(data))))
    return data[:cut] + rng.choice((b"", b"", bytes(rng.randrange(1, 120)), encode(sound(rng))))


def damage(rng: Random) -> bytes:
    """A record with one to three bytes that are others; never such that its size is over 64 KiB."""
    data = bytearray(encode(sound(rng)))
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(2, len(data))
        data[place] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, data[place] ^ 1, data[place] ^ 0x80))
    return bytes(data)


def draw_log(rng: Random, operation: str, piece: Callable[[Random], bytes]) -> Drawn:
    """One to six walks by `log.dispatch`, or readings by `log.read`, each through a log of its own."""
    files: dict[str, bytes] = {}
    ops: list[dict[str, object]] = []
    for number in range(rng.choice((1, 1, 2, 3, 6))):
        name = f"{_LOG}{number}"
        parts = [
            piece(rng) if rng.random() < 0.8 else encode(sound(rng))
            for _ in range(rng.choice((1, 1, 2, 3, 6)))
        ]
        if rng.random() < 0.1:
            parts.append(rng.choice((b"\0", bytes(7), bytes(8), bytes(100), b"\xda\xa3")))
        files[name] = b"".join(parts)
        if operation == "log.read":
            ops.append({"op": operation, "file": name})
            continue
        check = rng.random() < 0.6
        ops.append(_walk(name, check_crc=check, read_body=rng.random() < 0.7))
        if rng.random() < 0.2:
            ops.append(_walk(name, check_crc=not check, read_body=rng.random() < 0.5))
    return Drawn(tuple(ops), {name: image_of(data) for name, data in files.items()})


def _walk(name: str, *, check_crc: bool, read_body: bool) -> Op:
    op: Op = {"op": "log.dispatch", "file": name, "check_crc": check_crc}
    return op if read_body else {**op, "read_body": False}


# --- log ----------------------------------------------------------------------------------------------

_Piece = Callable[[Random], bytes]
_TIMES: Final = ("physic_msg_timestamp", "logics_msg_timestamp", "index_msg_timestamp")


_LOGS: Final[tuple[tuple[str, str, _Piece, tuple[str, ...]], ...]] = (
    ("LOG-REC-2", "hosts", hosts, ()),
    ("LOG-REC-3", "lengths", lengths, ("LOG-DSP-6",)),
    ("LOG-REC-4", "checksums", checksums, ()),
    ("LOG-REC-5", "transaction-types", transaction_types, ()),
    ("LOG-REC-8", "batches", batches, ("LOG-DSP-1",)),
    ("LOG-PROP-2", "separators", property_texts, ("LOG-PROP-1", "LOG-PROP-3", "LOG-PROP-4")),
    ("LOG-BLANK-2", "blanks", blanks, ()),
    ("LOG-DSP-1", "fields", fields, ("LOG-REC-1",)),
    ("LOG-DSP-2", "keys-and-tags", named_properties, ("LOG-DSP-3", "LOG-DSP-4")),
    ("LOG-DSP-5", "delay-levels", delays, ("CQ-TAGS-2",)),
    ("LOG-DSP-6", "torn", torn, ()),
    ("LOG-DSP-6", "damaged", damage, ("LOG-REC-3", "LOG-REC-4")),
    ("UTF8-1", "malformed", malformed_text, ()),
)
"""Clause, name, what makes one record or more, and the other clauses; in the order of their clauses."""


def _log(operation: str, clause: str, slug: str, piece: _Piece, also: tuple[str, ...]) -> Property:
    def draw(rng: Random, _geometry: Geometry | None, _number: int) -> Drawn:
        return draw_log(rng, operation, piece)

    ops = frozenset({operation})
    prefix = "prop" if operation == "log.dispatch" else "prop-read"
    return Property(f"{clause}/{prefix}-{slug}", (clause, *also), ops, ops, draw)


LOG_PROPERTIES: Final = tuple(
    _log(operation, *row) for operation in ("log.dispatch", "log.read") for row in _LOGS
)
"""Each for implementations that dispatch, and for tools that only read."""


def _times(rng: Random) -> Op:
    return {"op": "checkpoint.write", **{name: from_i64(any_i64(rng)) for name in _TIMES}}


def _checkpoint(name: str, *also: str, laid: float, sizes: tuple[int, ...], write: float) -> Property:
    def draw(rng: Random, _geometry: Geometry | None, _number: int) -> Drawn:
        ops = [
            _times(rng) if rng.random() < write else {"op": "checkpoint.read"}
            for _ in range(rng.randrange(1, 12))
        ]
        if rng.random() >= laid:
            return Drawn(tuple(ops))
        data = rng.randbytes(min(rng.choice((0, 24, 64)), size := rng.choice(sizes)))
        return Drawn(tuple(ops), {"checkpoint": image_of(data.ljust(size, rng.choice((b"\0", b"\xff"))))})

    ops = frozenset({"checkpoint.read", "checkpoint.write"} if write else {"checkpoint.read"})
    needs = frozenset({"checkpoint.read"})
    return Property(name, (name.partition("/")[0], *also), ops, needs, draw)


CHECKPOINT_PROPERTIES: Final = (
    _checkpoint("CKP-1/prop-times", "CKP-4", laid=0.5, sizes=(4096,), write=0.5),
    _checkpoint(
        "CKP-2/prop-lengths", laid=0.9, sizes=(0, 1, 8, 23, 24, 25, 32, 4095, 4096, 4097, 8192), write=0.3
    ),
)
"""In the order of their clauses."""
