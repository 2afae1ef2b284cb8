"""The verb `query`: tables, JSON, bodies, times of a zone, exit codes, and one clear line for each bad input."""

import base64
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from golden_truth import lines
from rocket_columnar.formats import iso
from rocket_columnar.index import IndexFile
from rocket_spec.errors import UsageError
from rocketspec._options import be_gentle, read_time
from rocketspec._settings import listed
from store_bytes import BEGIN as T
from store_bytes import put, record
from verb_run import Run

VERB = "query"

KEY = ("--topic", "AaTopic", "--key", "Aa", "--geometry", "16,200")


def written(root: Path, messages: Iterable[tuple[list[str], dict[str, Any]]]) -> Path:
    """A store of records with these fields, each indexed under its keys."""
    records = b""
    with IndexFile(root / "index" / "20260101000000000", 16, 200) as index:
        for keys, fields in messages:
            assert all(index.put(key, len(records), fields["store_timestamp"]) for key in keys)
            records += record(len(records), **fields)
    put(root, f"commitlog/{0:020}", records.ljust(1 << 15, b"\0"))
    return root


def message(time: int, topic: str, body: str, **properties: str) -> dict[str, Any]:
    """The fields of a record."""
    packed = "\2".join(f"{name}\1{value}" for name, value in properties.items()).encode()
    return {"store_timestamp": time, "topic": topic.encode(), "body": body.encode(), "properties": packed}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two messages of two keys with one hash, and a third of another key."""
    keys = ("AaTopic#Aa", "\u8ba2\u5355"), ("BBTopic#BB", "[red]\x1b[31mred"), ("AaTopic#x", "body")
    return written(
        tmp_path / "store",
        (
            ([key], message(T + 1000 * number, key[:7], body, KEYS=key[8:], TAGS="TagA"))
            for number, (key, body) in enumerate(keys)
        ),
    )


def test_messages_as_a_table(run: Run, store: Path) -> None:
    code, out, err = run(store, *KEY)
    assert (code, err) == (0, "")
    assert all(len(line) <= 80 for line in out.splitlines()[:-1])
    assert "2023-11-14T22:13:20.000Z" in out
    assert "\u8ba2\u5355" in out
    assert "\x1b" not in out
    assert "[red]" in out
    assert "2 messages; * marks 1 of other keys with the same hash (--exact drops them)" in out


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-5", -5),
        ("1700000000000", T),
        ("20260131", 20260131),
        ("2023-11-14T22:13:20Z", T),
        ("2023-11-15T06:13:20.5+08:00", T + 500),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_times(text: str, value: int) -> None:
    assert read_time(text, "--begin") == value


def test_a_rate_is_in_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    monkeypatch.setattr("rocket_columnar.store.GentleReads", lambda rate: rate)
    monkeypatch.setattr("rocket_columnar.store.read_gently", seen.append)
    monkeypatch.setattr("rocket_columnar.store.lower_priority", lambda: None)
    assert be_gentle(gentle=False, rate=1.5) == 1
    assert seen == [1_500_000.0]


def test_twenty_topics_are_all_named() -> None:
    topics = [f"T{number}" for number in range(21)]
    assert listed(topics[:20]) == ", ".join(topics[:20])
    assert listed(topics).endswith(", T19 and 1 more")


@pytest.mark.parametrize(
    "text", ["2023-11-14", "2023-11-14T22:13:20", "now", "", "9223372036854775808", "1e3"]
)
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="--begin"):
        read_time(text, "--begin")


UNIQUE = "C000020254BF60E53B936A633EFE0001"
"""Of a client at 192.0.2.2, process 21695, 20 days and 15:48:09.086 into a month."""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Seventy messages of one key; the first has a client's id."""
    first = (["T#k", f"T#{UNIQUE}"], message(T, "T", "body", KEYS="k", UNIQ_KEY=UNIQUE))
    others = ((["T#k"], message(T + number, "T", "body", KEYS="k")) for number in range(1, 70))
    put(tmp_path, f"many/consumequeue/T/0/{0:020}", bytes(20))
    return written(tmp_path / "many", [first, *others])


MANY = ("--topic", "T", "--key", "k", "--geometry", "16,200")


def test_a_brokers_limit_is_told_and_all_goes_beyond_it(run: Run, many: Path) -> None:
    for limit, found in (((), 32), (("--max", 1000), 64), (("--all",), 70), (("--scan",), 70)):
        code, out, _ = run(many, *MANY, *limit, "--json")
        answer = json.loads(out)
        assert (code, len(answer["messages"]), answer["truncated"]) == (0, found, found < 70)
    assert "--all shows all" in run(many, *MANY).out
    assert "there are more" not in run(many, *MANY, "--all").out
    assert "70 messages" in run(many, *MANY, "--scan").out
    assert len(json.loads(run(many, *MANY, "--all", "--begin", T + 69, "--json").out)["messages"]) == 1


def test_a_unique_key_of_any_topic(run: Run, many: Path) -> None:
    code, out, err = run(many, "--unique-key", UNIQUE, "--geometry", "16,200")
    assert (code, err) == (0, "")
    # the message was born at 2023-11-14T22:13:19.999Z; 15:48:09.086 modulo a quarter of an hour is 03:09.086
    assert (
        f"unique key {UNIQUE}, made by 192.0.2.2, process 21695, number 1, at 2023-11-14T22:18:09.086Z" in out
    )
    assert "offset ID 0A000002000008AE0000000000000000, topic T" in out  # 10.0.0.2:2222
    answer = json.loads(run(many, "--unique-key", UNIQUE, "--geometry", "16,200", "--json").out)
    assert (answer["unique_key"]["client_ip"], answer["unique_key"]["pid"]) == ("192.0.2.2", 21695)
    (message,) = answer["messages"]
    assert message["client"]["time"] == 1700000289086
    assert message["offset_id"] == "0A000002000008AE0000000000000000"
    assert run(many, "--unique-key", UNIQUE, "--topic", "T", "--geometry", "16,200").code == 0
    assert run(many, "--unique-key", UNIQUE, "--scan").code == 0
    code, out, err = run(many, "--unique-key", "mine")
    assert (code, out) == (1, "")
    assert err == "rocketspec: nothing found: no message has that ID (--scan reads the whole log)\n"


def test_a_compressed_body_is_inflated(mixed: Path, run: Run) -> None:
    """A client compresses bodies of 4 KiB and more (`DefaultMQProducer.compressMsgBodyOverHowmuch`)."""
    packed = [one for one in lines("mixed")["log_record"] if one["sys_flag"] & 1]
    for one in packed[:1]:
        done = run(mixed, "--unique-key", one["uniq_key"], "--body")
        assert done.out.encode() == zlib.decompress(base64.b64decode(one["body"]))
    assert packed


def test_a_time_that_no_calendar_has() -> None:
    assert iso(1 << 62) == f"{1 << 62} ms"
    assert iso(-(1 << 63)) == f"{-(1 << 63)} ms"
