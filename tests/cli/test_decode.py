"""The verb `decode`: what goes where, and one clear line for each bad input."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pytest
from rocket_columnar.formats import hash_key
from rocketspec.verbs.decode.verb import DecodeReport, _where
from store_bytes import BEGIN, Entry, checkpoint, ext_unit, index_file, put, record, unit
from verb_run import Run, on_a_terminal

VERB = "decode"

FIRST = "00000000000000000000"
INDEX = "20260101000000000"
PUTS = [Entry(8, 0, 0), Entry(9, 200, 5), Entry(15, 300, 9)]
WHOLE_INDEX = index_file(7, 12, PUTS)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    root = tmp_path / "store"
    put(root, f"index/{INDEX}", WHOLE_INDEX)
    put(root, f"consumequeue/T/0/{FIRST}", unit(0, 100, -7) + unit(100, 100, -7) + bytes(40))
    put(root, f"consumequeue_ext/T/0/{FIRST}", ext_unit(7, BEGIN, b"ab"))
    first = record(0, properties=b"KEYS\1k1\2")
    put(root, f"commitlog/{FIRST}", first + record(len(first)) + bytes(100))
    put(root, "checkpoint", checkpoint(3, 2, 1))
    return root


def column(out: str, name: str) -> list[object]:
    return [json.loads(line)[name] for line in out.splitlines()]


def test_a_csv_contains_texts_as_they_are(run: Run, tmp_path: Path) -> None:
    """Those too that a spreadsheet would run as formulas."""
    # base64 writes the first six bits 111110 as "+": a body that begins with F8.
    keys = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\uff1d1+1", "a=1"]  # one with a full-width sign
    log = b""
    for key in keys:
        log += record(len(log), body=b"\xf8", properties=b"KEYS\1" + key.encode() + b"\2")
    path = put(tmp_path, f"commitlog/{FIRST}", log)
    question = (path, "--table", "commit_log", "--column", "keys", "--column", "body", "--format", "csv")
    code, out, err = run(*question)
    assert (code, out, err) == (0, "keys,body\n" + "".join(f'"{key}","+A=="\n' for key in keys), "")


def test_start_up_loads_only_what_decoding_needs(store: Path) -> None:
    script = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: print(json.dumps([*{name.partition('.')[0] for name in sys.modules}]), file=sys.stderr))\n"
        "from rocketspec.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "decode", str(store)], capture_output=True, text=True, check=True
    )
    loaded = set(json.loads(done.stderr))
    assert "pyarrow" in loaded
    libraries = "pandas numba pyspark psutil jinja2 jsonschema matplotlib construct kaitaistruct"
    assert not loaded & {*libraries.split(), "rocket_reference", "rocket_golden", "rocket_conformance"}


LATE = 1 << 62  # a time in ms that is in no year up to 9999


def test_times_in_utc_as_text(run: Run, tmp_path: Path) -> None:
    """1,700,000,000,123 ms is 2023-11-14T22:13:20.123Z."""
    file = put(tmp_path, "checkpoint", checkpoint(1_700_000_000_123, LATE, 0))
    code, out, err = run(file, "--timestamps", "utc")
    assert (code, err) == (0, "rocketspec: 1 time out of range written as null\n")
    assert json.loads(out) == {
        "file": "checkpoint",
        "physic_msg_timestamp": "2023-11-14T22:13:20.123Z",
        "logics_msg_timestamp": None,
        "index_msg_timestamp": "1970-01-01T00:00:00.000Z",
        "master_flushed_offset": None,
        "confirm_phy_offset": None,
        "logics_physical_offset": None,
    }
    out = run(file, "--timestamps", "utc", "--format", "csv").out
    assert out.splitlines()[1] == '"checkpoint","2023-11-14T22:13:20.123Z",,"1970-01-01T00:00:00.000Z",,,'


def test_times_in_utc_in_parquet(run: Run, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    file = put(tmp_path / "store", "checkpoint", checkpoint(1_700_000_000_123, LATE, -LATE))
    code, _, err = run(file, "--timestamps", "utc", "-o", tmp_path / "out")
    assert (code, err) == (0, "rocketspec: 2 times out of range written as null\n")
    table = pq.read_table(tmp_path / "out" / "checkpoint.parquet")
    assert table.schema.field("physic_msg_timestamp").type == pa.timestamp("ms", "UTC")
    (row,) = table.to_pylist()
    assert row["physic_msg_timestamp"] == datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC)
    assert (row["logics_msg_timestamp"], row["index_msg_timestamp"]) == (None, None)


@pytest.mark.parametrize("gap", [b"", b"junk"])
def test_long_work_shows_its_progress_on_a_terminal(tmp_path: Path, gap: bytes) -> None:
    records = b"".join(record(96 * number) for number in range(20_000))
    log = put(tmp_path, f"store/commitlog/{FIRST}", records + gap)
    script = "import rocketspec._terminal as terminal\nterminal.PATIENCE = 0.0\nfrom rocketspec.__main__ import main\nmain()"
    command_line = [sys.executable, "-c", script, "decode", str(log), "-o", str(tmp_path / "out")]
    code, seen = on_a_terminal(command_line, stdin=None, stdout=subprocess.DEVNULL)
    assert code == (1 if gap else 0)
    assert "commit_log: " in seen
    assert ("gap from 1,920,000 to 1,920,004" in seen) == bool(gap)


def test_the_rows_of_each_table_are_counted_by_themselves() -> None:
    step = Mock()
    report = DecodeReport(step)
    batches = [
        (name, pa.RecordBatch.from_pydict({"a": list(range(rows))}))
        for name, rows in (("log", 2), ("log", 3), ("queue", 1))
    ]
    assert list(report.counted(iter(batches))) == batches
    assert [call.args[-1] for call in step.call_args_list] == ["log: 2 rows", "log: 5 rows", "queue: 1 rows"]


def test_times_in_utc_of_many_rows(run: Run, tmp_path: Path) -> None:
    """Over 4,096 rows, which Arrow makes into text."""
    log = put(tmp_path, f"commitlog/{FIRST}", b"".join(record(96 * number) for number in range(5_000)))
    raw = column(run(log).out, "store_timestamp")
    moments = list(map(str, column(run(log, "--timestamps", "utc").out, "store_timestamp")))
    assert len(moments) == 5_000
    assert [int(datetime.fromisoformat(text).timestamp() * 1000) for text in moments] == raw


def test_a_key_is_searched_for_under_each_topic() -> None:
    where = _where(None, None, None, ["A", "B"], ["k"])
    assert where is not None
    assert (where.key_hashes, where.topics) == ({hash_key("A#k"), hash_key("B#k")}, None)
