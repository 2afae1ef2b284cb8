"""The reference beside the real jar of 4.9.3 and the JDK, over seeded inputs; `Compare.java` runs them there.

The requests have all their fields here, also those that the protocol leaves out.
"""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rocket_reference import (
    DELAY_LEVELS,
    DispatchRequest,
    JavaError,
    dispatch_requests,
    encode_blank,
    encode_record,
    java,
    properties_text,
)
from store_history import T0, hexed

if TYPE_CHECKING:
    RunProgram = Callable[..., None]
    Compare = Callable[[str, bytes], list[str]]

pytestmark = pytest.mark.java


@pytest.fixture
def compare(run_program: RunProgram, tmp_path: Path) -> Compare:
    """Gives an input to `Compare.java`, and returns the lines that it prints."""

    def run(mode: str, data: bytes) -> list[str]:
        given, answer, store = (tmp_path / name for name in ("input", "output", "real-store"))
        given.write_bytes(data)
        run_program("Compare", mode, given, answer, store)
        return answer.read_text("ascii").splitlines()

    return run


def framed(inputs: Iterable[bytes]) -> bytes:
    return b"".join(struct.pack(">i", len(data)) + data for data in inputs)


def differing(inputs: Sequence[object], ours: Sequence[str], theirs: Sequence[str]) -> list[object]:
    """The first few inputs on which the two differ, with both answers."""
    assert len(ours) == len(theirs) == len(inputs)
    different = (row for row in zip(inputs, ours, theirs, strict=True) if row[1] != row[2])
    return list(itertools.islice(different, 3))


def test_utf8_1_and_digits(compare: Compare) -> None:
    representatives = bytes.fromhex("41 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ed ef f0 f3 f4 f5 ff")
    inputs = [
        bytes(part) for length in range(5) for part in itertools.product(representatives, repeat=length)
    ]
    *texts, digits = compare("text", framed(inputs))
    assert len(inputs) == 1 + 21 + 21**2 + 21**3 + 21**4
    assert not differing(inputs, [hexed(java.decode_utf8(data)) for data in inputs], texts)
    assert digits == "".join(_digit(chr(code)) for code in range(65536))


def _digit(char: str) -> str:
    try:
        return chr(ord("a") + 1 + java.parse_long(char))
    except JavaError:
        return "a"


class Records:
    """Commit-log bytes by a seed: whole records, and some that were damaged where it matters."""

    TEXTS = (
        *("A", "k1 k2", "", "\u4e2d", "\U0001f600", "\ud800", "TagA", "polygenelubricants", "a\x01b"),
        *("x\x02KEYS\x01q", "1", "3", "18", "19", "0", "-1", "x", "+2", "\u0663", "99999999999", " 3"),
    )
    TOPICS = (
        "T",
        "SCHEDULE_TOPIC_XXXX",
        "SCHEDULE_TOPIC_XXXX",
        "\u4e2d",
        "x" * 127,
        "y" * 200,
        b"\xed\xa0\x80",
    )
    LONGS = (0, 1, -1, java.I64_MAX, java.I64_MIN, T0)

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)  # noqa: S311 - reproducible inputs

    def junk(self, length: int) -> bytes:
        return bytes(self.choose.choices(bytes.fromhex("41010275eda080e4b8adf09f988020ff42"), k=length))

    def properties(self) -> bytes:
        choose = self.choose
        if choose.random() < 0.3:
            return self.junk(choose.randrange(30))
        names = [name for name in ("KEYS", "TAGS", "UNIQ_KEY", "DELAY", "K", "") if choose.random() < 0.5]
        text = properties_text({name: choose.choice(self.TEXTS) for name in names})
        return java.encode_utf8(text + choose.choice(("", "", "\x02", "\x02KEYS\x01again\x02a")))

    def record(self) -> bytes:
        choose = self.choose
        made = bytearray(
            encode_record(
                choose.choice(self.TOPICS),
                self.junk(choose.choice((0, 0, 1, 5, 50))),
                self.properties(),
                queue_id=choose.randrange(-2, 9),
                queue_offset=choose.choice(self.LONGS),
                phy_offset=choose.choice(self.LONGS),
                sys_flag=choose.randrange(16),
                born_host=choose.choice(("1.2.3.4:5", "[::1]:9")),
                store_timestamp=choose.choice(self.LONGS),
                store_host=choose.choice(("1.2.3.4:5", "[fe80::1]:9")),
                prepared_transaction_offset=choose.choice(self.LONGS),
            )
        )
        for _ in range(choose.choice((0, 0, 0, 0, 1, 2))):
            self.damage(made)
        return bytes(made)

    def damage(self, made: bytearray) -> None:
        choose, length = self.choose, len(made)
        kind = choose.randrange(6)
        if kind == 0:
            sizes = (length + 1, length - 1, 0, -1, 7, 8, 20, 89, 91, java.I32_MIN, length + 1000)
            struct.pack_into(">i", made, 0, choose.choice(sizes))
        elif kind == 1:
            struct.pack_into(">i", made, 4, choose.choice((0, -875286124, -626843477)))
        elif kind == 2:
            made[8] ^= choose.choice((1, 0x80))
        elif kind == 3:
            made[39] = choose.randrange(64)
        elif kind == 4:
            made[choose.randrange(8, length)] = choose.randrange(256)
        else:
            hosts = sum(12 for bit in (16, 32) if made[39] & bit)
            lengths = (0, -1, java.I32_MIN, 1, 5, 49, 51, length, java.I32_MAX, length - 91)
            if 84 + hosts + 4 <= length:
                struct.pack_into(">i", made, 84 + hosts, choose.choice(lengths))

    def log(self) -> bytes:
        choose = self.choose
        data = b"".join(self.record() for _ in range(choose.choice((1, 1, 1, 2, 3))))
        kind = choose.randrange(10)
        if kind == 0:
            return data + encode_blank(choose.randrange(100)) + self.junk(3)
        if kind == 1:
            return data + self.junk(choose.randrange(1, 9))
        if kind < 4:
            return data[: choose.randrange(len(data) + 1)]
        return data


def shown(request: DispatchRequest) -> str:
    properties = "null"
    if request.properties is not None:
        pairs = sorted((hexed(name), hexed(value)) for name, value in request.properties.items())
        properties = "".join(f"{name}={value}&" for name, value in pairs)
    fields = (
        *(hexed(request.topic), request.queue_id, request.commit_log_offset, request.msg_size),
        *(request.tags_code, request.store_timestamp, request.consume_queue_offset),
        *(hexed(request.keys), hexed(request.uniq_key), request.sys_flag),
        *(request.prepared_transaction_offset, str(request.success).lower(), properties),
    )
    return ",".join(map(str, fields)) + ";"


def test_log_dsp_requests(compare: Compare) -> None:
    source = Records(1)
    inputs = [(source.choose.randrange(8), source.log()) for _ in range(3000)]
    ours = [
        "".join(
            shown(request)
            for request in dispatch_requests(
                data,
                check_crc=bool(flags & 1),
                read_body=bool(flags & 2),
                delay_levels=DELAY_LEVELS if flags & 4 else (),
            )
        )
        for flags, data in inputs
    ]
    theirs = compare("dispatch", framed(bytes([flags]) + data for flags, data in inputs))
    assert not differing(inputs, ours, theirs)
