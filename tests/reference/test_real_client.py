"""What a client keeps of a broker's answer, beside the real `MQAdminImpl.queryMessage` of 4.9.3 (QRY's introduction).

`ClientCompare.java` runs it there over the same bytes: messages of other topics and keys, repeats, ids of all kinds,
compressed bodies, and records that make no message.
"""

import itertools
import random
import subprocess
import zlib
from pathlib import Path

import pytest
from real_broker import generator_jars
from rocket_reference import encode_record
from rocket_reference.query_message import SentMessage, decode_messages, keep_for_client

pytestmark = pytest.mark.java

TOPICS = ("T", "U", "T#", "\u4e2d")
KEYS = ("k", "Aa", "BB", "", "k k", "0123456789ABCDEF", "7F00000100002A9F0000000000000102")


class Answers:
    """Broker answers by a seed."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)  # noqa: S311 - reproducible inputs

    def one(self) -> tuple[str, str, bool, list[bytes]]:
        choose = self.choose
        records = [self.record(number) for number in range(choose.randrange(1, 7))]
        return choose.choice(TOPICS), choose.choice(KEYS), choose.random() < 0.4, records

    def record(self, number: int) -> bytes:
        choose = self.choose
        properties = {}
        if choose.random() < 0.8:
            properties["KEYS"] = choose.choice(("", " ", "  ")).join(
                choose.choices(KEYS, k=choose.randrange(1, 4))
            )
        if choose.random() < 0.6:
            properties["UNIQ_KEY"] = choose.choice(KEYS)
        flag = choose.choice((0, 0, 0, 1))
        body = choose.choice((b"", b"text", zlib.compress(b"text"), zlib.compress(b"x" * 5000)))
        made = bytearray(
            encode_record(
                choose.choice(TOPICS),
                body,
                properties,
                sys_flag=flag,
                queue_offset=number,
                phy_offset=choose.choice((258, 300 * number)),
                store_timestamp=choose.choice((5, 6, 7)),
                store_host="127.0.0.1:10911",
            )
        )
        if (
            choose.random() < 0.1
        ):  # magic, checksum, or a byte of the rest; never a length that asks for gigabytes
            made[choose.choice((4, 5, 8, 9, 60, 61, len(made) - 1))] = choose.randrange(256)
        return bytes(made)


def kept(topic: str, key: str, records: list[bytes], *, unique: bool) -> str:
    messages = decode_messages(SentMessage(0, data) for data in records)
    found = keep_for_client(messages, topic, key, by_unique_key=unique)
    rows = (
        f"{message.queue_offset},{message.phy_offset},{hexed(message.msg_id)},{zlib.crc32(message.body)};"
        for message in found
    )
    return "".join(rows) or "-"


def hexed(text: str) -> str:
    return text.encode("utf-16-be", "surrogatepass").hex()


def test_what_a_client_keeps(maven: str, java: str, tmp_path: Path) -> None:
    source = Answers(1)
    asked = [source.one() for _ in range(1500)]
    lines = [
        f"{hexed(topic)} {hexed(key)} {int(unique)} {b''.join(records).hex()}"
        for topic, key, unique, records in asked
    ]
    given, answer = tmp_path / "input", tmp_path / "output"
    given.write_text("\n".join(lines) + "\n", "ascii")
    class_path, flags = generator_jars()
    program = Path(__file__).with_name("ClientCompare.java")
    home = [f"-Duser.home={tmp_path}"]
    command = [java, *flags, *home, "-cp", ":".join(class_path), str(program), str(given), str(answer)]
    subprocess.run(command, check=True, capture_output=True)
    theirs = answer.read_text("ascii").splitlines()
    ours = [kept(topic, key, records, unique=unique) for topic, key, unique, records in asked]
    assert len(ours) == len(theirs)
    rows = zip(asked, ours, theirs, strict=True)
    assert not list(itertools.islice((row for row in rows if row[1] != row[2]), 3))
    assert 200 < sum(line != "-" for line in theirs) < 1400
