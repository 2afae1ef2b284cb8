"""Stores that 5.x wrote: its signs are found, nothing is judged by rules that it does not have, and no cure is printed.

`store-5.5.0.zip` is what a broker of 5.5.0 left after 97 messages with keys and tags and a clean stop (mappedFileSizeCommitLog
65536, mappedFileSizeConsumeQueue 2000, maxHashSlotNum 61, maxIndexNum 200). The others are golden stores of 4.9.3 with bytes of
5.x in them, as its source lays them out.
"""

import shutil
import struct
import zipfile
from pathlib import Path

import pytest
import rocket_golden
from rocket_columnar.report import Report, audit
from verb_run import Run, runner

LATER = Path(__file__).with_name("store-5.5.0.zip")
LOG = f"commitlog/{32768:020}"


@pytest.fixture
def later(tmp_path: Path) -> Path:
    with zipfile.ZipFile(LATER) as packed:
        packed.extractall(tmp_path / "later")
    return tmp_path / "later"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return rocket_golden.open_store("mixed", tmp_path)


def kinds(report: Report) -> list[str]:
    return [sign.kind for sign in report.signs]


@pytest.mark.parametrize("level", ["quick", "default", "deep"])
def test_a_healthy_store_of_5_5_0_has_no_findings(later: Path, level: str) -> None:
    report = audit(later, level)  # type: ignore[arg-type]
    assert list(report) == []
    assert set(kinds(report)) == {"config"} | ({"tags"} if level != "quick" else set())


def test_its_tag_entries_alone_are_a_sign(later: Path) -> None:
    shutil.rmtree(later / "config")
    (later / "checkpoint").unlink()
    report = audit(later)
    assert (list(report), kinds(report)) == ([], ["tags"])


def test_damage_in_it_is_found_and_has_no_cure(later: Path) -> None:
    (index, *_) = sorted((later / "index").iterdir())
    data = bytearray(index.read_bytes())
    data[40 + 4 * 61 + 20 + 4 : 40 + 4 * 61 + 20 + 12] = (13).to_bytes(8)  # the first entry's physical offset
    index.write_bytes(data)
    report = audit(later)
    assert "index.entry_dangling" in {finding.code for finding in report}
    assert {finding.cure for finding in report} == {""}
    assert not any(cause.cure or cause.commands or cause.other_commands for cause in report.causes)


def test_a_store_of_4_9_3_has_no_signs(store: Path) -> None:
    assert audit(store).signs == ()


def put(path: Path, at: int, data: bytes) -> None:
    held = bytearray(path.read_bytes())
    held[at : at + len(data)] = data
    path.write_bytes(held)


def as_later(record: bytes) -> bytes:
    """A record of 4.9.3 with the magic and the two bytes of a topic's length of `MessageVersion.MESSAGE_VERSION_V2`.

    It is as long as before: its body lacks the last byte.
    """
    body = 88 + int.from_bytes(record[84:88])
    assert body > 88
    return b"".join(
        [record[:4], bytes.fromhex("daa320ab"), record[8:84], (body - 89).to_bytes(4), record[88 : body - 1],
         b"\0", record[body:]]
    )  # fmt: skip


def test_a_record_of_the_later_magic_is_not_lost(store: Path) -> None:
    path = store / LOG
    raw = path.read_bytes()
    size = int.from_bytes(raw[:4])
    put(path, size, as_later(raw[size : size + int.from_bytes(raw[size : size + 4])]))
    report = audit(store)
    assert (list(report), kinds(report)) == ([], ["magic"])
    assert f"magic daa320ab in {LOG} at byte {size + 4:,}" in report.signs[0].text


def test_a_damaged_magic_is_damage_even_if_it_is_the_later_one(store: Path) -> None:
    """A record of 4.9.3 with that magic: the byte before its topic is the length, so that the lengths do not add up."""
    put(store / LOG, 4, bytes.fromhex("daa320ab"))
    report = audit(store)
    assert report.signs == ()
    assert "log.magic" in {finding.code for finding in report}


def test_longs_of_a_later_checkpoint(store: Path) -> None:
    """Bytes 24 to 47 (`StoreCheckpoint`, 5.0.0 and later); 4.9.3 writes zeros there."""
    put(store / "checkpoint", 0, (1).to_bytes(8) * 3)
    put(store / "checkpoint", 32, (4711).to_bytes(8))
    report = audit(store)
    assert (list(report), kinds(report)) == ([], ["checkpoint"])


def batch_units(count: int) -> bytes:
    """Units of a batch queue: physical offset, size, tags code, store time, first logical offset, number, compacted offset."""
    return b"".join(
        struct.pack(">qiqqqhi4x", 200 * n, 200, 0, 1_795_267_571_000 + n, 3 * n, 3, -1) for n in range(count)
    )


def test_batch_queues_are_not_judged(store: Path) -> None:
    folder = store / "consumequeue" / "Batched" / "0"
    folder.mkdir(parents=True)
    (folder / f"{0:020}").write_bytes(batch_units(20))
    report = audit(store)
    assert (list(report), kinds(report)) == ([], ["batch"])


def test_queues_in_rocksdb_are_not_missing(store: Path) -> None:
    shutil.rmtree(store / "consumequeue")
    assert "queue.missing_unit" in {finding.code for finding in audit(store)}
    (store / "consumequeue_rocksdb").mkdir()
    (store / "consumequeue_rocksdb" / "CURRENT").write_text("MANIFEST-000005\n")
    report = audit(store)
    assert (list(report), kinds(report)) == ([], ["rocksdb"])


VERBS: dict[str, tuple[str, ...]] = {
    "audit": (),
    "inspect": (),
    "query": ("--topic", "Orders", "--key", "id-1"),
    "decode": ("--table", "checkpoint"),
    "digest": (),
    "rebuild": ("-o", "rebuilt"),
    "conform": (),
}


@pytest.mark.parametrize("name", VERBS)
def test_each_verb_on_a_store_says_so_once(
    later: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    run: Run = runner(name, capfd, monkeypatch)
    where = ("--store", later) if name == "conform" else (later,)
    err = run(*where, *VERBS[name]).err.replace("\n", " ")
    assert err.count("written by 5.x: ") == 1
    assert "stateVersion in config/topics.json" in err


def test_a_start_is_predicted_without_a_cure(
    later: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (later / "abort").touch()
    put(later / "checkpoint", 16, bytes(8))
    ended = runner("audit", capfd, monkeypatch)(later, "--restart")
    assert "delete index/" in ended.out
    assert "cure" not in ended.out
    assert "written by 5.x" in ended.err
