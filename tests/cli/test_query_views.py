"""`query --body` and `--tz`: whole bodies, and times of another zone."""

import base64
import zlib
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest
from golden_truth import lines
from rocket_columnar.formats import iso, show_times_in
from verb_run import Verb


@pytest.fixture(autouse=True)
def in_utc() -> Iterator[None]:
    """The zone of one test is not that of the next."""
    yield
    show_times_in(UTC)


def test_the_body_of_one_message_is_its_bytes(store: Path, verb: Verb) -> None:
    record = next(one for one in lines("mixed")["log_record"] if one["topic"] == "Orders" and one["uniq_key"])
    done = verb("query", store, "--unique-key", record["uniq_key"], "--body")
    assert done.out.encode() == base64.b64decode(record["body"])


def test_several_bodies_have_headings(store: Path, verb: Verb) -> None:
    orders = (one for one in lines("mixed")["log_record"] if one["topic"] == "Orders")
    records = [one for one in orders if "order-1003" in (one["keys"] or "").split()]
    expected = ""
    for one in records:
        body = base64.b64decode(one["body"])
        place = f"{one['phy_offset']}, {one['topic']} queue {one['queue_id']} offset {one['queue_offset']}"
        expected += f"== {place}, {len(body)} bytes\n{body.decode()}\n"
    done = verb("query", store, "--topic", "Orders", "--key", "order-1003", "--exact", "--body")
    assert len(records) > 1
    assert done.out == expected


@pytest.mark.parametrize("option", ["--json", "--explain"])
def test_a_body_is_asked_for_alone(store: Path, verb: Verb, option: str) -> None:
    done = verb("query", store, "--topic", "T", "--key", "k", "--body", option)
    assert (done.code, done.err.count("\n")) == (2, 1)


def test_a_compressed_body_is_inflated(store: Path, verb: Verb) -> None:
    """A client compresses bodies of 4 KiB and more (`DefaultMQProducer.compressMsgBodyOverHowmuch`)."""
    packed = [one for one in lines("mixed")["log_record"] if one["sys_flag"] & 1]
    for one in packed[:1]:
        done = verb("query", store, "--unique-key", one["uniq_key"], "--body")
        assert done.out.encode() == zlib.decompress(base64.b64decode(one["body"]))
    assert packed


TIMES = [
    ("UTC", "2026-11-21T13:26:05.943Z"),
    ("Asia/Shanghai", "2026-11-21T21:26:05.943+08:00"),
    ("-03:30", "2026-11-21T09:56:05.943-03:30"),
    ("America/New_York", "2026-11-21T08:26:05.943-05:00"),
]
"""Of 1795267565943, the store time of the first record."""


@pytest.mark.parametrize(("zone", "shown"), TIMES)
def test_times_of_a_zone(store: Path, verb: Verb, zone: str, shown: str) -> None:
    record = lines("mixed")["log_record"][0]
    assert record["store_timestamp"] == 1_795_267_565_943
    assert shown in verb("inspect", store, "--tz", zone).out
    assert shown in verb("query", store, "--unique-key", record["uniq_key"], "--tz", zone).out


def test_a_window_without_a_zone_is_in_that_of_the_option(store: Path, verb: Verb) -> None:
    record = lines("mixed")["log_record"][0]
    asked = ("query", store, "--topic", record["topic"], "--key", record["keys"], "--end")
    assert verb(*asked, "2026-11-21T21:26:06", "--tz", "Asia/Shanghai").code == 0
    assert verb(*asked, "2026-11-21T21:26:04", "--tz", "Asia/Shanghai").code == 1
    assert verb(*asked, "2026-11-21T21:26:06").code == 2


@pytest.mark.parametrize("zone", ["Mars/Base", "+8", "../../etc", ""])
def test_an_unknown_zone(store: Path, verb: Verb, zone: str) -> None:
    done = verb("inspect", store, "--tz", zone)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)


def test_a_time_that_no_calendar_has() -> None:
    assert iso(1 << 62) == f"{1 << 62} ms"
    assert iso(-(1 << 63)) == f"{-(1 << 63)} ms"
