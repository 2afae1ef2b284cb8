"""The verb `query`: tables, JSON, bodies, times of a zone, exit codes, and one clear line for each bad input."""

import base64
import json
import zlib
from pathlib import Path

import pytest
from golden_truth import lines
from rocket_columnar.formats import iso
from rocket_columnar.index import IndexFile
from rocket_spec.errors import UsageError
from rocketspec._options import be_gentle, listed, read_time
from rocketspec._search import client_of
from store_bytes import BEGIN as T
from store_bytes import put, record
from verb_run import Run

VERB = "query"


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


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Seventy messages of one key."""
    records = b""
    with IndexFile(tmp_path / "many" / "index" / "20260101000000000", 16, 200) as index:
        for time in range(T, T + 70):
            assert index.put("T#k", len(records), time)
            records += record(len(records), properties=b"KEYS\1k", store_timestamp=time)
    put(tmp_path, f"many/commitlog/{0:020}", records.ljust(1 << 15, b"\0"))
    return tmp_path / "many"


MANY = ("--topic", "T", "--key", "k", "--geometry", "16,200")


def test_a_brokers_limit_is_told_and_all_goes_beyond_it(run: Run, many: Path) -> None:
    for limit, found in (((), 32), (("--max", 1000), 64), (("--all",), 70), (("--scan",), 70)):
        code, out, _ = run(many, *MANY, *limit, "--json")
        answer = json.loads(out)
        assert (code, len(answer["messages"]), answer["truncated"]) == (0, found, found < 70)
    assert "--all shows all" in run(many, *MANY).out
    assert run(many, *MANY, "--max", 0).code == 1  # nothing is found
    assert "there are more" not in run(many, *MANY, "--all").out
    assert "70 messages" in run(many, *MANY, "--scan").out
    assert len(json.loads(run(many, *MANY, "--all", "--begin", T + 69, "--json").out)["messages"]) == 1


def test_a_compressed_body_is_inflated(mixed: Path, run: Run) -> None:
    """A client compresses bodies of 4 KiB and more (`DefaultMQProducer.compressMsgBodyOverHowmuch`)."""
    packed = [one for one in lines("mixed")["log_record"] if one["sys_flag"] & 1]
    for one in packed[:1]:
        done = run(mixed, "--unique-key", one["uniq_key"], "--body")
        assert done.out.encode() == zlib.decompress(base64.b64decode(one["body"]))
        stored = one["store_timestamp"]
        for window, code in (
            (("--end", stored), 0),
            (("--end", stored - 1), 1),
            (("--begin", stored + 1), 1),
        ):
            assert run(mixed, "--unique-key", one["uniq_key"], *window).code == code
    assert packed


def test_a_unique_key_is_of_the_month_in_which_its_message_was_born() -> None:
    """It holds the time since the month began (`MessageClientIDSetter.createUniqIDBuffer`)."""
    made = client_of("7F000001049314DAD5DC69E1351200F0", T)
    assert made is not None
    assert abs(made["time"] - T) < 31 * 86_400_000


def test_entries_that_no_explanation_keeps_are_counted(
    run: Run, many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the 70 the first is compared with its record, one more is kept, and 68 are left out."""
    monkeypatch.setattr("rocket_columnar.query.explanation._SHOWN", 1)
    assert "and 68 more entries" in run(many, *MANY, "--explain").out


def test_a_time_that_no_calendar_has() -> None:
    assert iso(1 << 62) == f"{1 << 62} ms"
    assert iso(-(1 << 63)) == f"{-(1 << 63)} ms"
