"""Directed hostile files beside a store's own: configurations of brokers, and DLedger's checkpoint; each is one line."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from rocket_columnar.store import find_files
from rocket_golden import open_store
from store_bytes import put, record, unit
from verb_run import Outcome, any_verb


@pytest.fixture
def verb(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Runs a verb: its name, then its arguments."""
    return any_verb(capfd, monkeypatch)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(4 << 30)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("storePathRootDir=/a\\u0000b\n", "storePathRootDir='/a\\x00b', expected a path"),
        ("storePathRootDir=/a\\ud800\n", "storePathRootDir='/a\\ud800', expected a path"),
        ("storePathRootDir=/\nstorePathCommitLog=/a\\u0000,/b\n", "expected a path"),
        ("readOnlyCommitLogStorePaths=\\udfff\n", "expected a path"),
    ],
)
def test_a_configuration_whose_path_no_system_takes(
    text: str, found: str, verb: Callable[..., Outcome], tmp_path: Path
) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text(text)
    for name in ("inspect", "audit"):
        ended = verb(name, "--broker-conf", conf)
        assert (ended.code, ended.out) == (2, "")
        assert found in ended.err.replace("\n", " ")


@pytest.mark.parametrize("which", ["configuration", "checkpoint of DLedger"])
@pytest.mark.parametrize(
    ("make", "found"),
    [(_sparse, "4,294,967,296 bytes"), (os.mkfifo, "not a regular file"), (lambda path: path.symlink_to("/dev/zero"), "not a regular file")],
    ids=["sparse file of 4 GiB", "FIFO", "/dev/zero"],
)  # fmt: skip
def test_a_file_that_never_ends(
    make: Callable[[Path], None], found: str, which: str, verb: Callable[..., Outcome], tmp_path: Path
) -> None:
    path, arguments = tmp_path / "broker.conf", ("inspect", "--broker-conf", tmp_path / "broker.conf")
    if which != "configuration":
        store = open_store("dledger", tmp_path)
        (path,), arguments = store.glob("dledger-*/checkpoint"), ("audit", "--restart", store)
        path.unlink()
    make(path)
    ended = verb(*arguments)
    assert (ended.code, ended.out) == (3, "")
    assert found in ended.err


def test_a_checkpoint_of_dledger_with_a_number_of_100_000_digits(
    verb: Callable[..., Outcome], tmp_path: Path
) -> None:
    store = open_store("dledger", tmp_path)
    (checkpoint,) = store.glob("dledger-*/checkpoint")
    checkpoint.write_text(f"committedIndex={'9' * 100_000}\n")
    ended = verb("audit", store, "--restart")
    assert ended.code == 1
    assert "expected a number" in " ".join(ended.out.split())
    assert len(ended.out) < 5000


@pytest.mark.spark
@pytest.mark.parametrize("more", [0, 1], ids=["a hole to its end", "data at both ends"])
@pytest.mark.parametrize(
    ("source", "folder", "rows"), [("commitlog", "commitlog", 3), ("consumequeue", "consumequeue/T/0", 1)]
)
def test_a_file_of_a_terabyte_is_few_partitions(
    source: str, folder: str, rows: int, more: int, tmp_path: Path
) -> None:
    from rocket_spark.sources import SOURCES

    size, log = 1 << 40, source == "commitlog"
    first = record(0) + record(len(record(0))) if log else unit(0, 91)
    path = put(tmp_path, f"{folder}/{0:020}", first)
    with path.open("r+b") as file:
        file.truncate(size // 20 * 20)
        if more:
            file.seek(size // 20 * 20 - 200)
            file.write((record(size // 20 * 20 - 200) if log else unit(7, 91)).ljust(200, b"\0"))
    put(tmp_path, f"{folder}/{size // 20 * 20:020}", record(size // 20 * 20) if log else unit(91, 91))
    format_name = f"rocketmq-{source}"
    (made,) = (one for one in SOURCES if one.format_name == format_name)
    asked = made({"path": str(tmp_path), "mode": "PERMISSIVE"})
    reader = asked.reader(asked.schema())
    parts = reader.partitions()
    assert len(parts) <= 4
    if log:
        found = [batch for part in parts for batch in reader.read(part)]
        told = sum(batch.num_rows - batch.column("_corrupt_record").null_count for batch in found)
        assert sum(batch.num_rows for batch in found) - told == rows + more


@pytest.mark.parametrize("age", [0.0, 10.0])
def test_a_thousand_empty_queue_files_cost_one_pause(
    age: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of files that were made just now all together, no more than 0.2 s; of older ones none."""
    for number in range(1000):
        put(tmp_path, f"consumequeue/T/{number}/{0:020}", b"")
    made = max(path.stat().st_ctime for path in tmp_path.rglob("0" * 20))
    clock = [made + age]
    told = SimpleNamespace(
        time=lambda: clock[0], sleep=lambda seconds: clock.__setitem__(0, clock[0] + seconds)
    )
    monkeypatch.setattr("rocket_columnar.store.reader.time", told)
    for file in find_files(tmp_path):
        with file.open() as reader:
            assert reader.size == 0
    assert clock[0] - made - age <= (0.21 if not age else 0)
