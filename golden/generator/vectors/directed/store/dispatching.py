"""Vectors of LOG-DSP, LOG-REC, LOG-PROP, LOG-BLANK and UTF8: what is read out of a commit log."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from generator.vectors.building import I32_MAX, I64_MAX, I64_MIN, NOW, Clause
from generator.vectors.building_store import blank, dispatch, record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator.vectors.building import Vector

__all__ = ["vectors"]

SCHEDULE = b"SCHEDULE_TOPIC_XXXX"


def _log(*parts: bytes) -> dict[str, bytes]:
    return {"log": b"".join(parts)}


def vectors() -> Iterator[Vector]:
    """The vectors, clause by clause."""
    yield from _layout()
    yield from _request()
    yield from _keys()
    yield from _tags()
    yield from _delay()
    yield from _failures()
    yield from _lengths()
    yield from _checksum()
    yield from _hosts()
    yield from _properties()
    yield from _blanks()
    yield from _text()


def _layout() -> Iterator[Vector]:
    clause = Clause("LOG-REC-1", "nothing of a commit log can be read")
    whole = record(
        1 << 40,
        topic=b"TopicTest",
        body=b"body",
        properties=b"KEYS\1k\2TAGS\1TagA",
        store_timestamp=NOW + 7,
        queue_id=3,
        queue_offset=5,
    )
    yield clause("every-part", "a part looked for in another place", dispatch(), files=_log(whole))
    yield clause(
        "one-after-the-other",
        "a gap between records, or a byte too few read of one",
        dispatch(),
        files=_log(record(0), whole, record(300, topic=b"", body=b"x" * 300), whole),
    )
    clause = Clause("LOG-FILE-2", "a reader does not notice that the log ends")
    yield clause(
        "zeros-behind-the-last-record",
        "zeros taken for a blank, or read on through",
        dispatch(),
        files=_log(whole, bytes(200)),
    )
    yield clause("nothing-written", "zeros taken for an empty record", dispatch(), files=_log(bytes(200)))


def _request() -> Iterator[Vector]:
    clause = Clause("LOG-DSP-1", "queue and index lead to other messages")
    yield clause(
        "every-field",
        "a field that is taken from elsewhere",
        dispatch(),
        files=_log(
            record(
                0x0102030405060708,
                topic=b"TopicTest",
                body=b"body",
                properties=b"KEYS\1k1 k2\2UNIQ_KEY\1id\2TAGS\1TagA",
                sys_flag=8,
                store_timestamp=0x1112131415161718,
                queue_id=0x21222324,
                queue_offset=0x3132333435363738,
            )
        ),
    )
    yield clause(
        "position-as-recorded",
        "the record's place instead of the offset that it holds",
        dispatch(),
        files=_log(record(0), record(5000), record(-1), record(I64_MIN)),
    )
    yield clause(
        "negative-numbers",
        "numbers read as unsigned",
        dispatch(),
        files=_log(record(0, queue_id=-1, queue_offset=-1, store_timestamp=-1, sys_flag=-49)),
    )
    yield clause("empty-log", "a request for nothing", dispatch(), files=_log(b""))
    yield clause("missing-log", "an empty list for a log that is not there", dispatch())
    yield clause(
        "empty-topic",
        "a record without a topic refused",
        dispatch(),
        files=_log(record(0, topic=b"", properties=b"KEYS\1k")),
    )


def _keys() -> Iterator[Vector]:
    clause = Clause("LOG-DSP-2", "messages are missing from the index")
    yield clause("no-properties", "null instead of the empty string", dispatch(), files=_log(record()))
    yield clause(
        "properties-without-keys",
        "the empty string instead of null",
        dispatch(),
        files=_log(record(properties=b"A\1b")),
    )
    yield clause(
        "as-they-are",
        "keys taken apart or trimmed",
        dispatch(),
        files=_log(record(properties=b"KEYS\1 k1  k2,k3 ")),
    )
    clause = Clause("LOG-DSP-3", "messages are not found by their id")
    yield clause("none", "an id where there is none", dispatch(), files=_log(record(properties=b"KEYS\1k")))
    yield clause("one", "the id lost", dispatch(), files=_log(record(properties=b"UNIQ_KEY\1id 1")))


def _tags() -> Iterator[Vector]:
    clause = Clause("LOG-DSP-4", "subscriptions to a tag miss its messages")
    yield clause("tags", "another hash", dispatch(), files=_log(record(properties=b"TAGS\1TagA")))
    yield clause("no-tags", "a code for no tags", dispatch(), files=_log(record(properties=b"KEYS\1k")))
    yield clause("no-properties", "an error without properties", dispatch(), files=_log(record()))
    yield clause(
        "multi-tags",
        "the multi-tags bit minded",
        dispatch(),
        files=_log(
            record(properties=b"TAGS\1TagA||TagB", sys_flag=2), record(properties=b"TAGS\1TagA||TagB")
        ),
    )


def _delay() -> Iterator[Vector]:
    clause = Clause("LOG-DSP-5", "delayed messages are delivered at once, or never")
    for slug, level, bug in (
        ("level-1", b"1", "the level's number stored"),
        ("level-18", b"18", "a level short of the table's end"),
        ("level-19", b"19", "a level beyond the table refused: the highest counts"),
        ("level-0", b"0", "level 0 taken for a delay"),
        ("level-negative", b"-1", "a negative level taken for a delay"),
        ("level-plus", b"+3", "a sign refused"),
        ("level-leading-zeros", b"007", "leading zeros refused"),
        ("level-largest", str(I32_MAX).encode(), "the largest level refused"),
        ("level-too-large", str(I32_MAX + 1).encode(), "a level that is no i32 accepted"),
        ("level-text", b"x", "a level that is no number skipped"),
        ("level-space", b" 1", "spaces around a number accepted"),
        ("level-arabic", "٣".encode(), "digits of another script refused"),
    ):
        yield clause(
            slug,
            bug,
            dispatch(),
            files=_log(record(topic=SCHEDULE, properties=b"TAGS\1TagA\2DELAY\1" + level)),
        )
    yield clause(
        "no-level",
        "a delivery time without a level",
        dispatch(),
        files=_log(record(topic=SCHEDULE, properties=b"TAGS\1TagA")),
    )
    clause = Clause("CQ-TAGS-2", "delayed messages are delivered at a wrong time")
    yield clause(
        "another-topic",
        "the level minded in a topic that is not the schedule's",
        dispatch(),
        files=_log(
            record(properties=b"TAGS\1TagA\2DELAY\x013"),
            record(topic=SCHEDULE + b"1", properties=b"TAGS\1TagA\2DELAY\1x"),
        ),
    )
    yield clause(
        "time-of-the-record",
        "a delivery time reckoned from the clock",
        dispatch(),
        files=_log(
            record(topic=SCHEDULE, properties=b"DELAY\x015", store_timestamp=0),
            record(topic=SCHEDULE, properties=b"DELAY\x015", store_timestamp=-60_000),
            record(topic=SCHEDULE, properties=b"DELAY\x015", store_timestamp=I64_MAX),
        ),
    )


def _failures() -> Iterator[Vector]:
    clause = Clause("LOG-DSP-6", "a restart keeps what 4.9.3 cuts off, or cuts off what it keeps")
    good = record(properties=b"KEYS\1k")
    for slug, magic, bug in (
        ("magic-zero", 0, "zeros taken for a record"),
        ("magic-v2", 0xDAA320A7 + 4, "the magic of 5.1.0 accepted"),
        ("magic-swapped", 0xA720A3DA, "the other byte order accepted"),
    ):
        yield clause(slug, bug, dispatch(), files=_log(good, record(magic=magic), good))
    yield clause(
        "total-size-one-more",
        "a record accepted whose length does not add up",
        dispatch(),
        files=_log(good, record(body=b"body", more=1), good),
    )
    yield clause(
        "total-size-one-less",
        "a record accepted whose length does not add up",
        dispatch(),
        files=_log(good, record(body=b"body", more=-1), good),
    )
    yield clause(
        "total-size-zero",
        "a size of 0 taken for the file's end",
        dispatch(),
        files=_log(good, record(total_size=0), good),
    )
    yield clause(
        "total-size-negative",
        "a negative size that moves a reader back",
        dispatch(),
        files=_log(record(total_size=-1)),
    )
    yield clause(
        "total-size-below-the-hosts",
        "a size that none of the fields fits in answered with itself: below 8 nothing can be read",
        dispatch(),
        files=_log(record(total_size=7)),
    )
    yield clause(
        "total-size-of-the-hosts",
        "a size of 8 answered with -1: fields of 8 bytes fit in it",
        dispatch(),
        files=_log(record(total_size=8)),
    )
    yield clause(
        "body-behind-the-end",
        "a body length that leads out of the log answered with the size",
        dispatch(),
        files=_log(record(body=b"body", body_length=1000)),
    )
    yield clause(
        "body-longer-than-the-record",
        "a body length beyond the record's size but inside the log answered with the size",
        dispatch(),
        files=_log(record(body=b"body", body_length=120), good * 3),
    )
    yield from _parts_beside_the_size(clause)
    yield clause(
        "properties-behind-the-end",
        "a properties length that leads out of the log answered with the size",
        dispatch(),
        files=_log(record(properties=b"KEYS\1k", properties_length=1000)),
    )
    yield clause(
        "topic-length-negative",
        "a topic length of 255: it is signed",
        dispatch(),
        files=_log(record(topic=b"", topic_length=-1)),
    )
    yield clause(
        "topic-of-200-bytes",
        "a topic length above 127 accepted: it is signed",
        dispatch(),
        files=_log(record(topic=b"T" * 200, topic_length=-56)),
    )
    for cut in (1, 4, 7, 8, 11, 60):
        yield clause(
            f"cut-after-{cut}",
            "bytes at the end that are too few for a record passed over",
            dispatch(),
            files=_log(good, good[:cut]),
        )
    yield clause(
        "cut-by-one",
        "a record accepted that lacks its last byte",
        dispatch(),
        files=_log(good[:-1]),
    )
    yield clause(
        "nothing-behind-a-failure",
        "the walk taken up again after a failing record",
        dispatch(),
        files=_log(good, bytes(16), good),
    )


def _parts_beside_the_size(clause: Clause) -> Iterator[Vector]:
    """Parts that are each shorter or longer than the record's size, read with and without bodies."""
    both = dispatch(check_crc=False), dispatch(check_crc=False, read_body=False)
    yield clause(
        "sum-above-the-size",
        "parts added up before they are compared with the record's size: each is compared on its own",
        *both,
        files=_log(record(total_size=100, body=b"b" * 50, topic=b"T" * 30, properties=b"K\1" + b"v" * 38)),
    )
    for part, body, topic, properties in (
        ("body", b"b" * 61, b"T", b""),
        ("topic", b"", b"T" * 61, b""),
        ("properties", b"", b"T", b"K\1" + b"v" * 59),
    ):
        yield clause(
            f"{part}-as-long-as-the-size",
            f"a {part} refused that is just as long as the record's size",
            *both,
            files=_log(record(total_size=61, body=body, topic=topic, properties=properties)),
        )
        yield clause(
            f"{part}-above-the-size",
            f"a {part} that is longer than the record's size answered with that size where it is read, or -1 where not",
            *both,
            files=_log(record(total_size=60, body=body, topic=topic, properties=properties)),
        )
    yield clause(
        "checksum-of-a-skipped-body",
        "the checksum of a body looked at that is not read",
        dispatch(read_body=False),
        files=_log(record(body=b"body", crc=1)),
    )
    for slug, length in (("behind-the-end", 1000), ("largest", I32_MAX)):
        yield clause(
            f"skipped-body-{slug}",
            "a body length that leads out of the log answered with the size where the body is not read",
            dispatch(read_body=False),
            files=_log(record(body=b"body", body_length=length)),
        )


def _lengths() -> Iterator[Vector]:
    clause = Clause("LOG-REC-3", "a damaged record is taken for a message, or a message for damage")
    yield clause(
        "body-length-negative",
        "a negative body length counted, or refused",
        dispatch(),
        files=_log(record(body_length=-5), record()),
    )
    yield clause(
        "properties-length-negative",
        "a properties length of 65531 read: it is signed",
        dispatch(),
        files=_log(record(properties_length=-5), record()),
    )
    yield clause(
        "all-lengths",
        "a length left out of the sum",
        dispatch(),
        files=_log(record(topic=b"TopicTest", body=b"12345", properties=b"A\1bcd", sys_flag=48)),
    )
    yield clause(
        "sum-that-differs",
        "the total size not compared, as before 4.0.0",
        dispatch(),
        files=_log(record(), record(body=b"body", more=20), bytes(20), record()),
    )


def _checksum() -> Iterator[Vector]:
    clause = Clause("LOG-REC-4", "damaged bodies reach consumers, or whole ones are cut off")
    body = b"123456789"
    yield clause(
        "masked",
        "the checksum's highest bit kept",
        dispatch(),
        files=_log(record(body=body, crc=0x4BF43926), record(body=body, crc=0x4BF43926 - (1 << 31))),
    )
    yield clause(
        "wrong-unasked",
        "a checksum looked at that nobody asked for",
        dispatch(check_crc=False),
        files=_log(record(body=body, crc=1)),
    )
    yield clause("wrong", "a checksum not looked at", dispatch(), files=_log(record(body=body, crc=1)))
    yield clause(
        "no-body",
        "the checksum of no body looked at",
        dispatch(),
        files=_log(record(crc=12345), record(body_length=-1, crc=12345)),
    )
    yield clause(
        "one-byte",
        "a body of one byte not looked at",
        dispatch(),
        files=_log(record(body=b"a", crc=0)),
    )


def _hosts() -> Iterator[Vector]:
    clause = Clause("LOG-REC-2", "every field after the hosts is read from a wrong place")
    for flag, slug in ((16, "born"), (32, "store"), (48, "both")):
        yield clause(
            f"ipv6-{slug}",
            "the length of the hosts taken from the wrong bit, or from one bit for both",
            dispatch(),
            files=_log(record(body=b"b", properties=b"KEYS\1k", sys_flag=flag), record()),
        )
    clause = Clause("LOG-REC-5", "half or rolled-back messages reach consumers")
    yield clause(
        "transaction-types",
        "bits of sys_flag lost",
        dispatch(),
        files=_log(*(record(sys_flag=flag) for flag in (0, 1, 2, 4, 8, 12, 1 << 30, -1 & ~48))),
    )
    yield clause(
        "no-ipv6",
        "other bits taken for those of the hosts",
        dispatch(),
        files=_log(record(sys_flag=~48, properties=b"KEYS\1k")),
    )


def _properties() -> Iterator[Vector]:
    clause = Clause("LOG-PROP-1", "keys and tags of stored messages are read wrong")
    yield clause(
        "with-and-without-the-last",
        "a property lost without a byte 2 after it, or an empty one found after it",
        dispatch(),
        files=_log(record(properties=b"KEYS\1k\2UNIQ_KEY\1u"), record(properties=b"KEYS\1k\2UNIQ_KEY\1u\2")),
    )
    yield clause(
        "order",
        "properties expected in one order",
        dispatch(),
        files=_log(record(properties=b"TAGS\1t\2KEYS\1k"), record(properties=b"KEYS\1k\2TAGS\1t")),
    )
    clause = Clause("LOG-PROP-2", "damaged properties hide keys, or make some up")
    for slug, text, bug in (
        ("empty-value", b"KEYS\1\2TAGS\1t", "an empty value kept"),
        ("no-separator", b"KEYS\2TAGS\1t", "a part without a byte 1 kept"),
        ("empty-name", b"\1KEYS\1k", "an empty name kept"),
        ("separator-in-value", b"KEYS\1a\2b\1cd", "a byte 2 inside a value kept"),
        ("doubled-separator", b"\2\2KEYS\1k\2\2TAGS\1t", "the text ended at an empty part"),
        ("short-part", b"A\1\2KEYS\1k", "the text ended at a short part"),
    ):
        yield clause(slug, bug, dispatch(), files=_log(record(properties=text)))
    clause = Clause("LOG-PROP-3", "a key that holds a byte 1 is not found")
    yield clause(
        "in-value",
        "the value cut at its byte 1, or the pair dropped",
        dispatch(),
        files=_log(record(properties=b"KEYS\1a\1b")),
    )
    yield clause(
        "at-its-start",
        "the name taken up to the last byte 1",
        dispatch(),
        files=_log(record(properties=b"KEYS\1\1b")),
    )
    clause = Clause("LOG-PROP-4", "a message is found under a key that the broker does not know")
    yield clause(
        "last-wins", "the first value kept", dispatch(), files=_log(record(properties=b"KEYS\1a\2KEYS\1b"))
    )
    yield clause(
        "empty-does-not-win",
        "a value removed by a later empty one",
        dispatch(),
        files=_log(record(properties=b"KEYS\1a\2KEYS\1")),
    )


def _blanks() -> Iterator[Vector]:
    clause = Clause(
        "LOG-BLANK-2", "everything after the first file is lost, or bytes of old messages are found"
    )
    good = record(properties=b"KEYS\1k")
    yield clause(
        "ends-the-walk", "records read after a blank", dispatch(), files=_log(good, blank(120), good)
    )
    yield clause(
        "size-not-looked-at",
        "the blank's own size looked at",
        dispatch(),
        files=_log(good, struct.pack(">iI", -7, 0xCBD43194)),
    )
    yield clause("alone", "a log of a blank taken for an empty one", dispatch(), files=_log(blank(8)))


def _text() -> Iterator[Vector]:
    clause = Clause("UTF8-1", "topics and keys have other hashes than 4.9.3's")
    for slug, data in (
        ("surrogate", b"\xed\xa0\x80"),
        ("surrogate-pair", b"\xed\xa0\x80\xed\xb0\x80"),
        ("overlong", b"\xc0\x80"),
        ("overlong-3", b"\xe0\x80\x80"),
        ("cut-4", b"\xf0\x9f\x9a"),
        ("cut-then-letter", b"\xe4\xb8A"),
        ("beyond-unicode", b"\xf4\x90\x80\x80"),
        ("continuations", b"\x80\xbf\xfe"),
        ("whole", "标签\U0001f680".encode()),
    ):
        yield clause(
            slug,
            "malformed UTF-8 replaced in another count than Java's",
            dispatch(),
            files=_log(record(topic=b"T" + data, properties=b"KEYS\1k" + data + b"\2TAGS\1" + data)),
        )
    yield clause(
        "separator-eaten",
        "a byte 2 lost in malformed UTF-8 before it",
        dispatch(),
        files=_log(record(properties=b"KEYS\1k\xe4\2TAGS\1t", store_timestamp=NOW)),
    )
