"""Starts of 5.x, as `spec/profiles.json` names them; `docs/releases.md` shows that real brokers do the same.

The store is that of `tests/columnar/report/test_later_release.py`: 97 messages in one file, a clean stop. Its log is cut into files of
a few records each, so that a start has files to choose from.
"""

import shutil
from pathlib import Path

import pytest
from rocket_columnar.restart import Restart, restart
from rocket_spec.errors import UsageError
from rocket_spec.profiles import differences
from store_bytes import overwrite
from verb_run import runner

LATER = Path(__file__).parents[1] / "report" / "store-5.5.0.zip"
SIZE = 4096  # bytes of a log file


def lengths(raw: bytes) -> list[int]:
    """Lengths of the records that follow one another from the first byte on."""
    at, found = 0, []
    while raw[at + 4 : at + 8] == bytes.fromhex("daa320a7"):
        found.append(int.from_bytes(raw[at : at + 4]))
        at += found[-1]
    return found


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The same records in files of 4,096 bytes, each ended by a blank; units still point to the old offsets below the log's new end."""
    shutil.unpack_archive(LATER, tmp_path / "later")
    folder = tmp_path / "later" / "commitlog"
    (whole,) = folder.iterdir()
    raw = whole.read_bytes()
    whole.unlink()
    files, at = [b""], 0
    for length in lengths(raw):
        if len(files[-1]) + length + 8 > SIZE:
            files[-1] += (SIZE - len(files[-1])).to_bytes(4) + bytes.fromhex("cbd43194")
            files.append(b"")
        place = SIZE * (len(files) - 1) + len(files[-1])
        record = raw[at : at + length]
        files[-1] += record[:28] + place.to_bytes(8) + record[36:]
        at += length
    assert len(files) > 4
    for number, data in enumerate(files):
        (folder / f"{SIZE * number:020}").write_bytes(data.ljust(SIZE, b"\0"))
    return tmp_path / "later"


def log_end(store: Path) -> int:
    last = max((store / "commitlog").iterdir())
    return int(last.name) + sum(lengths(last.read_bytes()))


def without_queues(store: Path) -> Path:
    shutil.rmtree(store / "consumequeue")
    return store


def test_before_5_0_0_dispatch_begins_at_the_log_s_begin(store: Path) -> None:
    assert restart(without_queues(store), release="4.9.3").dispatch_from == 0


@pytest.mark.parametrize("version", ["5.0.0", "5.3.1"])
def test_a_clean_start_dispatches_nothing(store: Path, version: str) -> None:
    found = restart(without_queues(store), release=version)
    assert (found.dispatch_from, found.log_end) == (log_end(store), log_end(store))


@pytest.mark.parametrize("version", ["5.3.2", "5.5.0"])
def test_a_clean_start_dispatches_after_the_queues(store: Path, version: str) -> None:
    assert restart(without_queues(store), release=version).dispatch_from == 0


@pytest.mark.parametrize(("version", "begin"), [("5.3.3", 5 * SIZE), ("5.5.1", 5 * SIZE)])
def test_a_record_at_the_greatest_end_is_left_out(store: Path, version: str, begin: int) -> None:
    """One queue has one unit, whose record ends where the sixth file begins."""
    queue = without_queues(store) / "consumequeue" / "Orders" / "0" / f"{0:020}"
    queue.parent.mkdir(parents=True)
    queue.write_bytes(((begin - 100).to_bytes(8) + (100).to_bytes(4) + bytes(8)).ljust(2000, b"\0"))
    found = restart(store, release=version)
    assert (found.walk_from, found.dispatch_from) == (begin, begin + 1)


def test_since_5_4_0_at_most_ten_files_are_read(store: Path) -> None:
    """Further files are empty ones, with a blank at once."""
    first = len(list((store / "commitlog").iterdir()))
    for number in range(first, first + 9):
        blank = SIZE.to_bytes(4) + bytes.fromhex("cbd43194")
        (store / "commitlog" / f"{SIZE * number:020}").write_bytes(blank.ljust(SIZE, b"\0"))
    without_queues(store)
    assert restart(store, release="5.3.3").walk_from == 0
    assert restart(store, release="5.4.0").walk_from == SIZE * (first - 1)


def test_a_recovery_begins_at_the_queues_offset(store: Path) -> None:
    """Bytes 40 to 47 of the checkpoint; before 5.5.0 its times decide."""
    (store / "abort").touch()
    overwrite(store / "checkpoint", 40, (3 * SIZE - 1).to_bytes(8))
    assert restart(store, release="5.5.0").walk_from == 2 * SIZE
    assert restart(store).walk_from == 2 * SIZE
    overwrite(store / "checkpoint", 40, (3 * SIZE).to_bytes(8))
    assert restart(store, release="5.5.0").walk_from == 3 * SIZE
    stored = int.from_bytes((store / "commitlog" / f"{3 * SIZE:020}").read_bytes()[56:64])
    for index_time, begins in ((stored, True), (stored - 1, False)):
        overwrite(store / "checkpoint", 16, index_time.to_bytes(8))
        found = restart(store, release="5.5.0", index_safe=True)
        assert (found.walk_from == 3 * SIZE) == begins
    assert restart(store, release="5.3.1").walk_from == 0


def test_without_that_offset_the_queues_time_counts_without_a_margin(store: Path) -> None:
    (store / "abort").touch()
    head = (store / "commitlog" / f"{2 * SIZE:020}").read_bytes()
    stored = int.from_bytes(head[56:64])
    overwrite(store / "checkpoint", 8, stored.to_bytes(8))
    found: Restart = restart(store, release="5.5.0")
    assert found.walk_from >= 2 * SIZE
    assert int.from_bytes((store / "commitlog" / f"{found.walk_from:020}").read_bytes()[56:64]) == stored


def test_a_start_that_depends_on_the_release_asks_for_it(
    store: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runner("audit", capfd, monkeypatch)
    asked = run(without_queues(store), "--restart")
    assert asked.code == 2
    assert "name one with --rocketmq-profile" in asked.err.replace("\n", " ")
    named = run(store, "--restart", "--rocketmq-profile", "5.3.1")
    assert f"dispatch starts at {log_end(store):,}" in named.out


def test_an_empty_file_is_not_predicted_since_5_1_3(store: Path) -> None:
    queue = store / "consumequeue" / "Orders" / "0" / f"{2000:020}"
    queue.write_bytes(b"")
    with pytest.raises(UsageError, match=r"a file of length 0, which 5\.3\.1 deletes"):
        restart(store, release="5.3.1")
    assert restart(store, release="5.0.0").refused is not None


def test_queues_in_rocksdb_are_not_predicted(store: Path) -> None:
    (store / "consumequeue_rocksdb").mkdir()
    (store / "consumequeue_rocksdb" / "000008.sst").write_bytes(b"\0")
    with pytest.raises(UsageError, match="the start is not predicted with queues in RocksDB"):
        restart(store)


def test_each_start_of_the_profiles_is_tested_here() -> None:
    """A value that nothing above knows is a start that nothing predicts."""
    assert {value for found in differences() for value in found.start.values()} == {
        "nothing",
        "after_queues",
        "queue_offset",
        10,
    }


def test_a_named_release_of_5_x_is_a_sign(
    store: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(store / "config")
    shutil.rmtree(store / "index")
    ended = runner("audit", capfd, monkeypatch)(
        store, "--quick", "--geometry", "61,200", "--rocketmq-profile", "5.3.1"
    )
    assert "written by 5.x: --rocketmq-profile 5.3.1" in ended.err.replace("\n", " ")
    assert "has no profile" in runner("audit", capfd, monkeypatch)(store, "--rocketmq-profile", "4.2.0").err
