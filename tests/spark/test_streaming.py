"""Streams over a store that grows: every row once, whatever was torn, rolled or restarted meanwhile."""

import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rocket_columnar.store import StoreFile, find_files
from rocket_golden import open_store
from rocket_spark.sources import SOURCES
from rocket_spec.errors import MalformedError, UsageError
from store_bytes import blank, put, record, unit
from streams import TABLES, first, ordered, stream, trigger, trigger_all
from table_rows import Row, table_rows


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does not wait before the end of a log is checked again: nobody writes there meanwhile."""
    monkeypatch.setattr("rocket_columnar.store.PAUSES", (0.0,))


class Broker:
    """Writes a golden store again, as far as it is asked to: files at full length, bytes from first to last."""

    def __init__(self, golden: Path, live: Path, kind: str) -> None:
        self.files = []
        for file in find_files(golden, kind):
            data = file.path.read_bytes()
            written = len(data.rstrip(b"\0"))
            if kind == "queue":
                written = -(-written // 20) * 20
            self.files.append((live / file.name, data[:written], len(data)))
        self.total = sum(len(data) for _, data, _ in self.files)

    def write(self, position: int) -> None:
        """The given number of bytes of all, file after file."""
        for path, data, size in self.files:
            if position <= 0:
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("r+b" if path.exists() else "w+b") as file:
                file.truncate(size)
                file.write(data[:position])
            position -= len(data)


def cuts(total: int, count: int) -> Iterator[int]:
    """Places to stop writing at, spread unevenly, the end among them."""
    for number in range(1, count):
        yield (total * number // count + 7919 * number * number) % total
    yield total


@pytest.fixture(scope="module", params=["small-roll", "mixed", "ipv6"])
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store(request.param, tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize(
    ("table", "options"),
    [
        ("commit_log", {}),
        ("commit_log", {"maxRowsPerTrigger": "7"}),
        ("commit_log", {"maxBytesPerTrigger": "3000"}),
        ("commit_log", {"maxPartitionRows": "3"}),
        ("consume_queue", {}),
        ("consume_queue", {"maxRowsPerTrigger": "7"}),
        ("consume_queue", {"maxBytesPerTrigger": "100"}),
    ],
)
def test_files_that_are_written_anywhere(
    golden: Path, tmp_path: Path, table: str, options: dict[str, str]
) -> None:
    """A unit is 8 bytes of offset, 4 of size, 8 of tags code, written at once; here up to its offset."""
    is_log = table == "commit_log"
    broker = Broker(golden, tmp_path, "log" if is_log else "queue")
    broker.write(20)
    start = first(stream(table, tmp_path, **options))
    rows: list[Row] = []
    for cut in sorted(cuts(broker.total, 25 if is_log else 15)):
        broker.write(cut if is_log or cut == broker.total else cut // 20 * 20 + cut % 9)
        for _ in range(2):
            start, more = trigger(stream(table, tmp_path, **options), start)
            assert len(more) <= int(options.get("maxRowsPerTrigger", 1 << 30))
            size = sum(row["size"] if is_log else 20 for row in more)
            assert len(more) <= 1 or size <= int(options.get("maxBytesPerTrigger", 1 << 30))
            rows += more
    while more:
        start, more = trigger(stream(table, tmp_path, **options), start)
        rows += more
    expected = table_rows(golden, table)
    assert rows == expected if is_log else ordered(rows) == ordered(expected)


def log(path: Path, data: bytes, size: int = 4096) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.ljust(size, b"\0"))


def records(*bodies: bytes, base: int = 0, properties: bytes = b"") -> list[bytes]:
    made: list[bytes] = []
    for body in bodies:
        made.append(record(base + sum(map(len, made)), body=body, properties=properties))
    return made


@pytest.mark.parametrize("properties", [b"", b"KEYS\1k\2"])
@pytest.mark.parametrize("body", [b"", b"body"])
def test_a_record_waits_until_its_last_byte(tmp_path: Path, body: bytes, properties: bytes) -> None:
    path = tmp_path / "commitlog" / f"{0:020}"
    first, second = records(b"one", body, properties=properties)
    whole = first + second
    end = len(whole)
    while not whole[end - 1]:  # a zero that is still to be written cannot be told from one that is
        end -= 1
    for cut in range(len(first) + 1, end):
        log(path, whole[:cut])
        offsets, rows = trigger(stream("commit_log", tmp_path), {"phy_offset": 0})
        assert (offsets["phy_offset"], len(rows)) == (len(first), 1)
    log(path, whole)
    assert trigger(stream("commit_log", tmp_path), offsets)[0]["phy_offset"] == len(whole)


def test_a_record_of_5_x_with_a_long_topic_waits_too(tmp_path: Path) -> None:
    """The length of its topic has two bytes (LOG-REC-1)."""
    raw = record(0, body=b"body", topic=b"t" * 200, properties=b"KEYS\1k\2")
    topic = raw.index(b"\xc8" + b"t" * 200)
    whole = struct.pack(">iI", len(raw) + 1, 0xDAA320AB) + raw[8:topic] + b"\0" + raw[topic:]
    for cut, count in ((len(whole) - 1, 0), (len(whole), 1)):
        log(tmp_path / "commitlog" / f"{0:020}", whole[:cut])
        assert len(trigger(stream("commit_log", tmp_path), {"phy_offset": 0})[1]) == count


def test_a_record_waits_that_is_written_over_a_longer_one(tmp_path: Path) -> None:
    """A kill left most of the longer one: its bytes follow the record, and do not say that its body is there."""
    path = tmp_path / "commitlog" / f"{0:020}"
    first, second = records(b"one", b"body", properties=b"KEYS\1k\2")
    rest = records(b"one", b"\7" * 500)[1][:-50]
    whole = first + second
    for cut in range(len(first), len(first) + 88 + len(b"body")):
        log(path, whole[:cut] + rest[cut - len(first) :])
        offsets, rows = trigger(stream("commit_log", tmp_path), {"phy_offset": 0})
        assert (offsets["phy_offset"], len(rows)) == (len(first), 1)
    log(path, whole + rest[len(second) :])
    assert trigger(stream("commit_log", tmp_path), offsets)[0]["phy_offset"] == len(whole)


def test_a_roll_is_followed(tmp_path: Path) -> None:
    message = records(b"one")[0]
    log(tmp_path / "commitlog" / f"{0:020}", message + blank(4096 - len(message)))
    start, rows = trigger(stream("commit_log", tmp_path), {"phy_offset": 0})
    assert (start["phy_offset"], len(rows)) == (len(message), 1)
    log(tmp_path / "commitlog" / f"{4096:020}", b"")
    assert trigger(stream("commit_log", tmp_path), start) == (start, [])
    log(tmp_path / "commitlog" / f"{4096:020}", records(b"two", base=4096)[0])
    start, rows = trigger(stream("commit_log", tmp_path), start)
    assert [row["body"] for row in rows] == [b"two"]


def test_damage_between_triggers_is_told(tmp_path: Path) -> None:
    made = records(b"one", b"two", b"three")
    path = tmp_path / "commitlog" / f"{0:020}"
    log(path, made[0])
    start, _ = trigger(stream("commit_log", tmp_path), {"phy_offset": 0})
    log(path, made[0] + b"\7" * len(made[1]) + made[2])
    with pytest.raises(MalformedError, match="gap in the log"):
        trigger(stream("commit_log", tmp_path), start)
    _, rows = trigger(stream("commit_log", tmp_path, mode="PERMISSIVE"), start)
    assert [(row["body"], row["_corrupt_record"] is None) for row in rows] == [
        (None, False),
        (b"three", True),
    ]


def test_a_trigger_takes_one_record_that_is_longer_than_its_limit(tmp_path: Path) -> None:
    made = records(b"x" * 500, b"y")
    log(tmp_path / "commitlog" / f"{0:020}", b"".join(made))
    ends, start = [], {"phy_offset": 0}
    for _ in range(2):
        start, rows = trigger(stream("commit_log", tmp_path, maxBytesPerTrigger="100"), start)
        ends.append((start["phy_offset"], len(rows)))
    assert ends == [(len(made[0]), 1), (len(made[0]) + len(made[1]), 1)]


def test_a_gap_longer_than_the_limit_is_passed(tmp_path: Path) -> None:
    made = records(b"one", b"x" * 900, b"three")
    path = tmp_path / "commitlog" / f"{0:020}"
    log(path, made[0] + b"\7" * len(made[1]) + made[2])
    start, found = {"phy_offset": 0}, []
    for _ in range(3):
        reader = stream("commit_log", tmp_path, maxBytesPerTrigger="200", mode="DROPMALFORMED")
        start, rows = trigger(reader, start)
        found += [row["body"] for row in rows]
    assert found == [b"one", b"three"]


@pytest.mark.parametrize(("table", "kind"), [("commit_log", "log"), ("consume_queue", "queue")])
def test_a_batch_that_is_planned_again_is_the_same(tmp_path: Path, table: str, kind: str) -> None:
    broker = Broker(open_store("small-roll", tmp_path / "golden"), tmp_path / "live", kind)
    broker.write(broker.total // 2)
    path = str(tmp_path / "live")
    reader = stream(table, tmp_path / "live")
    start = first(reader)
    end, rows = trigger(reader, start)
    broker.write(broker.total)
    again = stream(table, tmp_path / "live")
    found = [
        row
        for part in again.partitions({path: start}, {path: end})
        for batch in again.read(part)
        for row in batch.to_pylist()
    ]
    assert found == [{"store": path} | row for row in rows]
    assert rows


def test_latest_passes_over_what_is_there(tmp_path: Path) -> None:
    made = records(b"one", b"two")
    log(tmp_path / "commitlog" / f"{0:020}", made[0])
    reader = stream("commit_log", tmp_path, startingOffsets="latest")
    start = first(reader)
    log(tmp_path / "commitlog" / f"{0:020}", b"".join(made))
    assert [row["body"] for row in trigger(reader, start)[1]] == [b"two"]


@pytest.mark.parametrize("table", list(TABLES))
def test_what_is_deleted_before_it_was_read(tmp_path: Path, table: str) -> None:
    if table == "commit_log":
        log(tmp_path / "commitlog" / f"{4096:020}", records(b"two", base=4096)[0])
        start = {"phy_offset": 100}
    else:
        path = tmp_path / "consumequeue" / "T" / "0" / f"{40:020}"
        log(path, unit(0, 100), 40)
        start = {"T/0": 1}
    with pytest.raises(MalformedError, match="option failOnDataLoss=false goes on without"):
        trigger(stream(table, tmp_path), start)
    assert len(trigger(stream(table, tmp_path, failOnDataLoss="false"), start)[1]) == 1


@pytest.mark.parametrize("table", list(TABLES))
def test_what_was_taken_back_after_it_was_read(tmp_path: Path, table: str) -> None:
    """A recovery cut off what a machine lost in its fall: where the stream stands there is nothing any more."""
    log(tmp_path / "commitlog" / f"{0:020}", b"".join(records(b"one", b"two")))
    log(tmp_path / "consumequeue" / "T" / "0" / f"{0:020}", unit(0, 100) + unit(100, 100), 200)
    end, _ = trigger(stream(table, tmp_path), first(stream(table, tmp_path)))
    beyond = {"phy_offset": 9000} if table == "commit_log" else {"T/0": 7}
    with pytest.raises(MalformedError, match="option failOnDataLoss=false goes on without"):
        trigger(stream(table, tmp_path), beyond)
    start, rows = trigger(stream(table, tmp_path, failOnDataLoss="false"), beyond)
    assert ({name: end[name] for name in beyond}, []) == ({name: start[name] for name in beyond}, rows)
    if table == "commit_log":
        made = records(b"one", b"two", b"three")
        log(tmp_path / "commitlog" / f"{0:020}", b"".join(made))
    else:
        log(
            tmp_path / "consumequeue" / "T" / "0" / f"{0:020}",
            unit(0, 100) + unit(100, 100) + unit(200, 100),
            200,
        )
    assert len(trigger(stream(table, tmp_path), end)[1]) == 1


@pytest.mark.parametrize("table", list(TABLES))
def test_what_was_taken_back_and_written_anew(tmp_path: Path, table: str) -> None:
    """It has grown beyond the place where the stream stands, with records of the same lengths there or of others."""

    def write(*bodies: bytes) -> None:
        made = records(*bodies)
        places = [sum(map(len, made[:number])) for number in range(len(made))]
        units = [unit(place, len(raw)) for place, raw in zip(places, made, strict=True)]
        log(tmp_path / "commitlog" / f"{0:020}", b"".join(made))
        log(tmp_path / "consumequeue" / "T" / "0" / f"{0:020}", b"".join(units), 200)

    kept, longer = b"kept", b"longer than before"
    for bodies in ([kept, b"new", b"NEW", b"more"], [kept, longer, b"NEW", b"more"]):
        write(kept, b"old", b"OLD")
        end, rows = trigger(stream(table, tmp_path), first(stream(table, tmp_path)))
        assert len(rows) == 3
        write(*bodies)
        if table == "consume_queue" and longer not in bodies:
            assert len(trigger(stream(table, tmp_path), end)[1]) == 1  # its units are the same as before
            continue
        with pytest.raises(
            MalformedError, match=r"was read last, .*option failOnDataLoss=false goes on without"
        ):
            trigger(stream(table, tmp_path), end)
        later, rows = trigger(stream(table, tmp_path, failOnDataLoss="false"), end)
        assert len(rows) == 1
        assert trigger(stream(table, tmp_path), later) == (later, [])


def test_a_queue_that_stands_behind_damage_goes_on(tmp_path: Path) -> None:
    """Units without a size inside a queue are no sign of an end."""
    log(tmp_path / "consumequeue" / "T" / "0" / f"{0:020}", unit(0, 9) + bytes(20) + unit(18, 9), 200)
    reader = stream("consume_queue", tmp_path)
    assert [row["logical_offset"] for row in trigger(reader, {"T/0": 2})[1]] == [2]


def test_a_deleted_queue_is_told(tmp_path: Path) -> None:
    log(tmp_path / "consumequeue" / "T" / "0" / f"{0:020}", unit(0, 100), 40)
    reader, path = stream("consume_queue", tmp_path), str(tmp_path)
    with pytest.raises(MalformedError, match="queue U/0 gone"):
        reader.partitions({path: {"U/0": 0, "T/0": 0}}, {path: {"U/0": 4, "T/0": 1}})


def test_limits_are_shared_among_queues(tmp_path: Path) -> None:
    for queue, count in enumerate((1, 10, 89)):
        units = b"".join(unit(100 * number, 100) for number in range(count))
        log(tmp_path / "consumequeue" / "T" / str(queue) / f"{0:020}", units, 2000)
    end, rows = trigger(stream("consume_queue", tmp_path, maxRowsPerTrigger="10"), {})
    assert sum(end[f"T/{queue}"] for queue in range(3)) == len(rows) == 10
    assert end["T/1"] >= 1
    assert end["T/2"] >= 8


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"startingOffsets": "middle"}, "option startingOffsets: 'middle' is none of earliest, latest"),
        ({"startingOffsets": '{"x": 5}'}, "option startingOffsets: "),
        ({"startingOffsets": '{"x": {}}'}, "option startingOffsets: 'x' is none of the stores"),
        (
            {"startingOffsets": '{"a": {"T/0": 1}}'},
            "option startingOffsets: 'T/0' is not in a; expected phy_o",
        ),
        ({"endingOffsets": "latest"}, "option endingOffsets: belongs to a batch"),
        ({"maxRowsPerTrigger": "0"}, "option maxRowsPerTrigger: '0' is not a whole number"),
        ({"maxBytesPerTrigger": "1GB"}, "option maxBytesPerTrigger: '1GB' is not a whole number"),
        ({"failOnDataLoss": "no"}, "option failOnDataLoss: 'no' is neither true nor false"),
    ],
)
def test_a_bad_option_is_named(tmp_path: Path, options: dict[str, str], said: str) -> None:
    log(tmp_path / "commitlog" / f"{0:020}", records(b"one")[0])
    with pytest.raises(UsageError, match=f"^{said}"):
        stream("commit_log", f"a={tmp_path}", **options).initialOffset()


def test_stores_that_come_later_are_picked_up(tmp_path: Path) -> None:
    """Of a glob: a store without bytes yet, one that comes after the stream began, one of which records are left over."""
    made = records(b"one", b"two", b"three")
    (tmp_path / "a/commitlog").mkdir(parents=True)
    log(tmp_path / "b" / "commitlog" / f"{0:020}", made[0])
    reader = stream("commit_log", tmp_path / "*", maxRowsPerTrigger="2")
    start = reader.initialOffset()
    assert start.keys() == {f"{tmp_path}/b"}
    log(tmp_path / "a" / "commitlog" / f"{0:020}", b"".join(made))
    log(tmp_path / "c" / "commitlog" / f"{0:020}", made[0])
    seen = []
    for _ in range(4):
        start, rows = trigger_all(reader, start)
        assert len(rows) <= 2
        seen += [(row["store"].rpartition("/")[2], row["body"]) for row in rows]
    assert sorted(seen) == [("a", b"one"), ("a", b"three"), ("a", b"two"), ("b", b"one"), ("c", b"one")]
    assert start.keys() == {f"{tmp_path}/{name}" for name in "abc"}


def test_stores_take_turns_if_the_limit_is_below_their_number(tmp_path: Path) -> None:
    for name in "ab":
        log(tmp_path / name / "commitlog" / f"{0:020}", b"".join(records(b"one", b"two")))
    reader = stream("commit_log", tmp_path / "*", maxRowsPerTrigger="1")
    start, seen = reader.initialOffset(), list[str]()
    for _ in range(2):
        start, rows = trigger_all(reader, start)
        seen += [row["store"].rpartition("/")[2] for row in rows]
    assert sorted(seen) == ["a", "b"]


def test_a_store_that_is_gone_or_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gone is a loss of data; unreadable is an error in FAILFAST and else left to a later trigger."""
    for name in "ab":
        log(tmp_path / name / "commitlog" / f"{0:020}", records(b"one")[0])
    start = stream("commit_log", tmp_path / "?").initialOffset()
    (tmp_path / "b").rename(tmp_path / "gone")
    with pytest.raises(MalformedError, match="no such files any more, expected the store"):
        trigger_all(stream("commit_log", tmp_path / "?"), start)
    end, rows = trigger_all(stream("commit_log", tmp_path / "?", failOnDataLoss="false"), start)
    assert (len(rows), end[f"{tmp_path}/b"]) == (1, start[f"{tmp_path}/b"])
    (tmp_path / "gone").rename(tmp_path / "b")

    def broken(uri: str, *arguments: Any, **options: Any) -> list[StoreFile]:
        if uri.endswith("/b"):
            raise OSError(5, "Input/output error", uri)
        return find_files(uri, *arguments, **options)

    monkeypatch.setattr("rocket_spark.files.finding.find_local", broken)
    with pytest.raises(OSError, match="Input/output error"):
        trigger_all(stream("commit_log", tmp_path / "?"), start)
    end, rows = trigger_all(stream("commit_log", tmp_path / "?", mode="DROPMALFORMED"), start)
    assert (len(rows), end[f"{tmp_path}/b"]) == (1, start[f"{tmp_path}/b"])


def test_all_of_several_stores_that_is_there_now_is_a_target(tmp_path: Path) -> None:
    made = records(b"one", b"two")
    log(tmp_path / "a" / "commitlog" / f"{0:020}", made[0])
    reader = stream("commit_log", tmp_path / "*")
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    log(tmp_path / "a" / "commitlog" / f"{0:020}", b"".join(made))
    log(tmp_path / "b" / "commitlog" / f"{0:020}", made[0])
    end, rows = trigger_all(reader, start)
    assert [row["body"] for row in rows] == [b"one"]
    assert end.keys() == {f"{tmp_path}/a"}


def test_a_log_that_ends_with_its_last_record(tmp_path: Path) -> None:
    """A file without room after it, as one that was cut there: the record is whole, and the stream stands at the file's end."""
    put(tmp_path, f"commitlog/{0:020}", record(0, body=b"one"))
    reader = stream("commit_log", tmp_path)
    end, rows = trigger(reader, first(reader))
    assert [row["body"] for row in rows] == [b"one"]
    assert trigger(stream("commit_log", tmp_path), end) == (end, [])


def test_a_checkpoint_of_an_earlier_version_or_another_stream_is_named(tmp_path: Path) -> None:
    log(tmp_path / "commitlog" / f"{0:020}", records(b"one")[0])
    log(tmp_path / "consumequeue" / "T" / "0" / f"{0:020}", unit(0, 100), 40)
    for table, other in (("commit_log", {"T/0": 1}), ("consume_queue", {"phy_offset": 0})):
        with pytest.raises(UsageError, match="the checkpoint is of another stream"):
            trigger(stream(table, tmp_path), other)
    with pytest.raises(UsageError, match="written by an earlier version"):
        trigger_all(stream("commit_log", tmp_path), {"phy_offset": 0})  # type: ignore[dict-item]


@pytest.mark.parametrize("table", list(TABLES))
def test_a_batch_between_offsets_by_store(tmp_path: Path, table: str) -> None:
    """A store has its name or its path there; of those without, all is read."""
    made = records(b"one", b"two", b"three")
    places = [0, len(made[0]), len(made[0]) + len(made[1])]
    for name in "ab":
        log(tmp_path / name / "commitlog" / f"{0:020}", b"".join(made))
        units = b"".join(unit(place, len(raw)) for place, raw in zip(places, made, strict=True))
        log(tmp_path / name / "consumequeue/T/0" / f"{0:020}", units, 200)
    key, values = ("phy_offset", places) if table == "commit_log" else ("T/0", range(3))
    paths = [f"a={tmp_path}/a", f"{tmp_path}/b"]

    def read(**options: object) -> list[tuple[str, int]]:
        texts = {
            name: json.dumps(value) if isinstance(value, dict) else str(value)
            for name, value in options.items()
        }
        source = TABLES[table]({"paths": json.dumps(paths), **texts})
        reader = source.reader(source.schema())
        rows = [
            row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()
        ]
        return [(row["store"][-1], places.index(row["phy_offset"])) for row in rows]

    start, end = {"a": {key: values[1]}}, {f"{tmp_path}/b": {key: values[2]}}
    assert read(startingOffsets=start) == [("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2)]
    assert read(startingOffsets=start, endingOffsets=end) == [("a", 1), ("a", 2), ("b", 0), ("b", 1)]
    assert read(startingOffsets="latest") == []
    with pytest.raises(UsageError, match=rf"^option endingOffsets: {key} .* of {tmp_path}/b is before "):
        read(
            startingOffsets={f"{tmp_path}/b": {key: values[2]}},
            endingOffsets={f"{tmp_path}/b": {key: values[1]}},
        )
    source = SOURCES[0]({"path": str(tmp_path / "a"), "startingOffsets": "earliest"})
    with pytest.raises(
        UsageError, match=r"^option startingOffsets: rocketmq-index-headers: cannot be followed"
    ):
        source.reader(source.schema())


@pytest.mark.spark
def test_queries_that_are_stopped_and_started_again(spark: SparkSession, tmp_path: Path) -> None:
    """Of both tables at once, each with a checkpoint of its own."""
    golden = open_store("mixed", tmp_path / "golden")
    brokers = {kind: Broker(golden, tmp_path / "live", kind) for kind in ("log", "queue")}
    for part in (1, 2):
        for broker in brokers.values():
            broker.write(min(-(-broker.total * part // 2) // 20 * 20 + 20, broker.total))
        queries = []
        for table, source in TABLES.items():
            frame = spark.readStream.format(source.format_name).option("maxRowsPerTrigger", 150)
            writer = frame.load(str(tmp_path / "live")).writeStream.format("parquet")
            writer = writer.option("checkpointLocation", str(tmp_path / f"{table}-checkpoint"))
            query = writer.trigger(availableNow=True).start(str(tmp_path / table))
            while query.isActive and query.status["message"].startswith("Initializing"):
                time.sleep(0.05)  # one after the other: Spark gives each Python process 10 seconds to start
            queries.append(query)
        for query in queries:
            query.awaitTermination()
            assert all(progress["numInputRows"] <= 150 for progress in query.recentProgress)
    for table in TABLES:
        found = spark.read.parquet(str(tmp_path / table))
        assert {row["store"] for row in found.select("store").distinct().collect()} == {
            str(tmp_path / "live")
        }
        rows = found.drop("store").toArrow().to_pylist()
        assert ordered(rows) == ordered(table_rows(golden, table))
