"""Stores that 5.x wrote: its signs are found, nothing is judged by rules that it does not have, and only index files and queues are cured.

`store-5.5.0.zip` is what a broker of 5.5.0 left after 97 messages with keys and tags and a clean stop (mappedFileSizeCommitLog
65536, mappedFileSizeConsumeQueue 2000, maxHashSlotNum 61, maxIndexNum 200). The others are golden stores of 4.9.3 with bytes of
5.x in them, as its source lays them out.
"""

import shlex
import shutil
import zlib
from pathlib import Path

import pytest
import rocket_golden
from release_run import content
from rocket_columnar.describe import byte_at
from rocket_columnar.facts import Store
from rocket_columnar.findings import finding
from rocket_columnar.rebuild import rebuild
from rocket_columnar.report import Shell, audit, report_on
from rocket_columnar.store import Sign, find_files, written_later
from rocket_spec.layout import Geometry
from store_bytes import overwrite, put, record
from table_rows import rows_of
from verb_run import Run, runner

LATER = Path(__file__).with_name("store-5.5.0.zip")
LARGE = f"commitlog/{65536:020}"  # a file with a record of a large body


@pytest.fixture
def later(tmp_path: Path) -> Path:
    shutil.unpack_archive(LATER, tmp_path / "later")
    (tmp_path / "later/config/consumerOffset.json").write_text("{}")  # the archive lacks it
    return tmp_path / "later"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return rocket_golden.open_store("mixed", tmp_path)


def test_damage_in_its_index_is_found_and_repaired(
    later: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (index, *_) = sorted((later / "index").iterdir())
    whole = index.read_bytes()
    overwrite(index, 40 + 4 * 61 + 20 + 4, (13).to_bytes(8))  # the first entry's physical offset
    report = audit(later)
    assert "index.entry_dangling" in {finding.code for finding in report}
    (command,) = {command for cause in report.causes for command in cause.commands}
    verb, *options = shlex.split(command)[1:]
    assert verb == "repair"
    assert runner(verb, capfd, monkeypatch)(*options).code == 0
    assert index.read_bytes() == whole


def test_a_file_that_no_repair_moves_does_not_hide_the_cure_of_its_queues(
    later: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (queue, *_) = (path for path in sorted((later / "consumequeue").rglob("*")) if path.is_file())
    whole = queue.read_bytes()
    queue.unlink()
    (later / "index" / "1").mkdir()
    (command,) = {command for cause in audit(later).causes for command in cause.commands}
    verb, *options = shlex.split(command)[1:]
    assert runner(verb, capfd, monkeypatch)(*options).code == 1  # the folder in index/ is left
    assert queue.read_bytes() == whole


def as_later(record: bytes, topic: bytes) -> bytes:
    """A record of 4.9.3 with the magic and the two bytes of a topic's length of `MessageVersion.MESSAGE_VERSION_V2`.

    It is as long as before: the topic takes the place of the end of its body.
    """
    body = 88 + int.from_bytes(record[84:88])
    length = record[body]
    room = body - (len(topic) + 1 - length)
    assert room > 88
    return b"".join(
        [record[:4], bytes.fromhex("daa320ab"), record[8:84], (room - 88).to_bytes(4), record[88:room],
         len(topic).to_bytes(2), topic, record[body + 1 + length :]]
    )  # fmt: skip


LONG_TOPIC = "L" * 200


@pytest.fixture
def with_long_topic(store: Path) -> tuple[Path, int]:
    """A store in which a record has a topic of 200 bytes, and its place in the file; its queue and entries are those of before."""
    path = store / LARGE
    raw = path.read_bytes()
    at = 0
    while int.from_bytes(raw[at + 84 : at + 88]) < 300:
        at += int.from_bytes(raw[at : at + 4])
        assert raw[at + 4 : at + 8] == bytes.fromhex("daa320a7")
    record = raw[at : at + int.from_bytes(raw[at : at + 4])]
    made = as_later(record, LONG_TOPIC.encode())
    crc = zlib.crc32(made[88 : 88 + int.from_bytes(made[84:88])]) & 0x7FFFFFFF
    overwrite(path, at, made[:8] + crc.to_bytes(4) + made[12:])
    return store, at


@pytest.mark.parametrize("foreign", [False, True])
def test_of_a_store_of_5_x_queues_that_are_another_store_s_have_no_cure(
    tmp_path: Path, *, foreign: bool
) -> None:
    store = Store(rocket_golden.open_store("small-roll", tmp_path))
    found = finding("queue.wrong_target", "consumequeue", None, "others", foreign=foreign)
    (cause,) = report_on([found], Shell("STORE"), store, [Sign("magic", "magic daa320ab")]).causes
    assert bool(cause.cure) != foreign
    assert bool(cause.commands) != foreign


def test_a_record_of_the_later_magic_is_a_record(with_long_topic: tuple[Path, int]) -> None:
    """Its unit and entries were written for another topic, as its rules show."""
    store, at = with_long_topic
    report = audit(store, "deep")
    assert [sign.kind for sign in report.signs] == ["magic"]
    assert f"magic daa320ab in {LARGE} at byte {at + 4:,}" in report.signs[0].text
    codes = {finding.code for finding in report}
    assert {"index.entry_wrong_key", "queue.wrong_target"} <= codes
    assert not {code for code in codes if code.startswith("log.")}


def test_it_is_decoded(with_long_topic: tuple[Path, int]) -> None:
    store, at = with_long_topic
    rows = {row["phy_offset"]: row for row in rows_of(store / LARGE)}
    row = rows[65536 + at]
    assert (row["topic"], row["crc_ok"]) == (LONG_TOPIC, True)
    assert row["phy_offset"] + row["size"] in rows


def test_each_byte_of_it_is_explained(with_long_topic: tuple[Path, int]) -> None:
    store, at = with_long_topic
    (file,) = find_files(store / LARGE)
    meaning = byte_at(file, at + 4)
    known = {field.name: field for field in meaning.fields}
    assert meaning.structure == "commit-log record of a long topic"
    assert (known["topic_length"].value, known["topic_length"].size) == (200, 2)
    assert str(known["topic"].value).startswith("LLLL")
    assert known["properties"].offset + known["properties"].size == meaning.end


def test_its_queue_is_rebuilt(with_long_topic: tuple[Path, int], tmp_path: Path) -> None:
    store, at = with_long_topic
    shutil.rmtree(store / "config")  # whose list lacks the topic
    rebuild(store, tmp_path / "rebuilt")
    (queue,) = (tmp_path / "rebuilt" / "consumequeue" / LONG_TOPIC).glob("*/*")
    assert (65536 + at).to_bytes(8) in queue.read_bytes()


def test_a_rebuild_of_a_store_of_5_5_0_gives_its_files(later: Path, tmp_path: Path) -> None:
    """The keys of its tags are among the entries (`IndexService.buildIndex` 267-277 of 5.5.0), as its own index shows."""
    rebuild(later, tmp_path / "rebuilt")
    assert content(tmp_path / "rebuilt") == content(later)


def test_without_its_index_the_profile_says_what_is_indexed(
    later: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known, run = content(later), runner("rebuild", capfd, monkeypatch)
    shutil.rmtree(later / "index")
    for version, alike in (("5.5.0", True), ("5.3.1", False)):
        folder = tmp_path / version
        ended = run(later, "-o", folder, "--geometry", "61,200", "--rocketmq-profile", version)
        assert ended.code == 0, ended
        assert (content(folder) == known) == alike


def test_several_signs_are_one_line_with_the_first_of_each_kind(store: Path) -> None:
    overwrite(store / "checkpoint", 24, (7).to_bytes(8) + (8).to_bytes(8) + (9).to_bytes(8))
    put(store, f"timerlog/{0:020}", b"\1")
    assert [sign.since for sign in Store(store).signs] == ["", "", "5.5.0", ""]
    assert written_later(Store(store).signs) == (
        "written by 5.x: 7 in the checkpoint at byte 24, timed messages (timerlog, not audited, not rebuilt)"
    )


def test_a_record_without_a_body_in_the_last_of_many_files_is_a_sign(tmp_path: Path) -> None:
    for number in range(9):
        made = record(1024 * number, topic=b"t" * 128, body=b"")
        if number == 8:  # two bytes for the topic's length
            made = (len(made) + 1).to_bytes(4) + bytes.fromhex("daa320ab") + made[8:88] + b"\0" + made[88:]
        put(tmp_path, f"commitlog/{1024 * number:020}", made.ljust(1024, b"\0"))
    (sign,) = Store(tmp_path).signs
    assert sign.text == f"magic daa320ab in commitlog/{8192:020} at byte 4"


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
    later: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
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
    overwrite(later / "checkpoint", 16, bytes(8))
    ended = runner("audit", capfd, monkeypatch)(later, "--restart")
    assert "delete index/" in ended.out
    assert "cure" not in ended.out
    assert "written by 5.x" in ended.err


def test_a_key_with_a_second_separator_is_none_before_4_9_1(tmp_path: Path) -> None:
    """LOG-PROP-3: `KEYS`, byte 1, `a`, byte 1, `b` is dropped, so that only the key `c` is indexed."""
    first = record(0, properties=b"KEYS\1a\1b\2TAGS\1t\1u")
    second = record(len(first), queue_offset=1, properties=b"KEYS\1c")
    store = tmp_path / "store"
    put(store, f"commitlog/{0:020}", (first + second).ljust(4096, b"\0"))
    rebuild(store, tmp_path / "new", geometry=Geometry(7, 20), queue_file_size=200, release="4.8.0")
    for part in ("index", "consumequeue"):
        (tmp_path / "new" / part).rename(store / part)
    (index,) = (store / "index").iterdir()
    assert int.from_bytes(index.read_bytes()[36:40]) == 2  # one entry
    (queue,) = (store / "consumequeue" / "T" / "0").iterdir()
    assert queue.read_bytes()[12:20] == bytes(8)  # no tag
    assert list(audit(store, release="4.8.0")) == []
    assert {found.code for found in audit(store)} == {"index.missing_key", "queue.tags_code"}
