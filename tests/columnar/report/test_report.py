"""One report: Python and the verb give the same; what is decided is in fields, and no code reads a sentence."""

import ast
import json
import shutil
from pathlib import Path

import pytest
import rocket_golden
import rocketspec
from rocket_columnar.facts import Store
from rocket_columnar.report import LogChoices, audit, gone_with, mismatches
from rocket_columnar.store import read_broker_conf
from store_bytes import BEGIN, overwrite, put, record, unit
from verb_run import runner

ROOT = Path(__file__).parents[3]
CONF = "maxHashSlotNum=62\nmaxIndexNum=200\nmappedFileSizeConsumeQueue=6000\nmappedFileSizeCommitLog=32768\n"
"""Of a broker with other settings than the one that wrote the golden store `mixed` (golden/rocket_golden/manifest.json)."""


@pytest.mark.parametrize("options", [(), ("--quick",), ("--broker-conf",)])
def test_python_and_the_verb_report_the_same(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    options: tuple[str, ...],
) -> None:
    store = rocket_golden.open_store("mixed", tmp_path)
    shutil.rmtree(store / "index")
    (store / "consumequeue/AaTopic/0" / f"{0:020}").write_bytes(bytes(400))
    conf = tmp_path / "broker.conf"
    conf.write_text(CONF)
    words = [*options, *([conf] if "--broker-conf" in options else [])]
    listed = runner("audit", capfd, monkeypatch)(store, *words, "--json").out
    report = rocketspec.audit(
        store, "quick" if "--quick" in options else "default", conf=conf if "--broker-conf" in words else None
    )  # fmt: skip

    def without_time(text: str) -> list[str]:
        return [word.rpartition("-mixed-")[0] or word for word in text.split()]

    rows = [json.loads(line) for line in listed.splitlines()]
    assert rows
    assert [(row["code"], row["file"], row["offset"], row["message"]) for row in rows] == [
        (finding.code, finding.file, finding.offset, finding.message) for finding in report
    ]
    assert [without_time(row["cure"]) for row in rows] == [without_time(finding.cure) for finding in report]


@pytest.mark.parametrize(
    ("number", "moved", "read"),
    [(0, (), False), (2, (f"commitlog/{65536:020}",), True)],
    ids=["a file that a clean start skips", "a file that it reads"],
)
def test_the_choice_for_a_damaged_file_is_the_one_that_keeps_more(
    tmp_path: Path, number: int, moved: tuple[str, ...], *, read: bool
) -> None:
    """A clean start reads the last three of four files, and ends the log at the first record without a magic."""
    store = rocket_golden.open_store("mixed", tmp_path)
    path = sorted((store / "commitlog").iterdir())[number]
    overwrite(path, 4, bytes([path.read_bytes()[4] ^ 0x55]))
    found = [finding for finding in audit(store) if finding.code.startswith("log.")]
    choices = LogChoices.of(Store(store), found)
    assert (choices.best.moved, choices.read) == (moved, read)
    assert choices.best.kept >= choices.as_it_is.kept
    assert (choices.best.kept == choices.as_it_is.kept) == (not moved)
    assert (f"as they are it holds {choices.as_it_is.kept:,}" in choices.advice) == bool(moved)


def test_a_file_of_another_store_is_moved_away_also_if_no_message_more_is_kept(tmp_path: Path) -> None:
    """A clean start does not read the first of four files: consumers get the second one's bytes for its messages."""
    store = rocket_golden.open_store("mixed", tmp_path)
    first, second, *_ = sorted((store / "commitlog").iterdir())
    shutil.copyfile(second, first)
    found = [finding for finding in audit(store) if finding.code.startswith("log.")]
    assert any(finding.foreign for finding in found)
    choices = LogChoices.of(Store(store), found)
    assert choices.best.moved == (f"commitlog/{first.name}",)
    assert choices.best.kept == choices.as_it_is.kept > 0
    assert "it holds as many, but gives consumers wrong bytes" in choices.advice


def test_the_reason_that_no_start_succeeds_is_stated_with_the_damage_and_not_with_a_note(
    tmp_path: Path,
) -> None:
    """The clock was set back by 100 s; after that a record claims more bytes than Java can allocate (STORE-16)."""
    log = record(0, store_timestamp=BEGIN + 100_000)
    log += record(len(log), store_timestamp=BEGIN, queue_offset=1)
    log += bytes.fromhex("7fffffffdaa320a7")
    put(tmp_path, f"commitlog/{0:020}", log.ljust(4096, b"\0"))
    found = {one.code: one.message for one in audit(tmp_path) if one.code.startswith("log.")}
    assert ["; the broker does not start: " in found[code] for code in ("log.clock", "log.length")] == [
        False,
        True,
    ]


def test_messages_that_go_with_a_queue_file(tmp_path: Path) -> None:
    """Those of its units in the log from its first byte on, and before where a start without it dispatches."""
    size = len(record(0))
    log = b"".join(record(size * number, queue_offset=number) for number in range(1, 4))
    put(tmp_path, f"commitlog/{size:020}", log.ljust(4096, b"\0"))
    name = f"consumequeue/T/0/{0:020}"  # of four messages, the first of which expired
    put(tmp_path, name, b"".join(unit(size * number, size) for number in range(4)).ljust(100, b"\0"))
    assert [gone_with(Store(tmp_path), [name], size * number)[name] for number in range(1, 5)] == [0, 1, 2, 3]


def test_files_that_all_have_another_length_show_none_that_the_broker_had(tmp_path: Path) -> None:
    put(tmp_path, f"commitlog/{0:020}", record(0).ljust(4096, b"\0"))
    sizes = put(tmp_path, "broker.conf", b"mappedFileSizeCommitLog=4096\nmappedFileSizeConsumeQueue=400\n")
    conf = read_broker_conf(sizes)
    for queue, size in ((0, 100), (1, 200), (2, 100)):
        put(tmp_path, f"consumequeue/T/{queue}/{0:020}", unit(0, 96).ljust(size, b"\0"))
        found = [one.code for one in mismatches(Store(tmp_path, conf=conf), conf)]
        assert found == ([] if queue == 1 else ["queue.size"])


@pytest.mark.parametrize(("gone", "remedies"), [(False, []), (True, ["mount"])])
def test_an_empty_directory_of_the_log_is_not_mounted_only_if_files_are_missing(
    tmp_path: Path, remedies: list[str], *, gone: bool
) -> None:
    """A second disk that was added has none yet (STORE-17)."""
    store = rocket_golden.open_store("mixed", tmp_path)
    (tmp_path / "disk").mkdir()
    if gone:
        sorted((store / "commitlog").iterdir())[1].unlink()
    conf = tmp_path / "broker.conf"
    conf.write_text(
        f"storePathRootDir={store}\nstorePathCommitLog={store}/commitlog,{tmp_path}/disk\nmappedFileSizeCommitLog=32768\n"
    )
    found = [one for one in audit(store, "quick", conf=conf) if one.file == f"{tmp_path}/disk"]
    assert [one.remedy for one in found] == remedies


def test_a_configuration_gets_all_levels_on_which_messages_wait(tmp_path: Path) -> None:
    """Those of 4.9.3 up to 18, as the units of its golden store wait (`MessageStoreConfig.messageDelayLevel`)."""
    store = rocket_golden.open_store("mixed", tmp_path)
    conf = read_broker_conf(put(tmp_path, "broker.conf", b"messageDelayLevel=1s\n"))
    (found,) = (one for one in mismatches(Store(store, conf=conf), conf) if one.code == "queue.tags_code")
    minutes = " ".join(f"{60 * number}s" for number in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 60, 120))
    assert found.settings == (("messageDelayLevel", f"1s 5s 10s 30s {minutes}"),)


def sentences_read(source: str) -> list[int]:
    """The lines that take a message or a cure apart, or compare it with something."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="message" | "cure"))):
                found.append(node.lineno)
            case ast.Compare(left=left, comparators=others) if any(
                isinstance(one, ast.Attribute) and one.attr in ("message", "cure") for one in (left, *others)
            ):
                found.append(node.lineno)
            case ast.Subscript(value=ast.Attribute(attr="message" | "cure")):
                found.append(node.lineno)
            case _:
                pass
    return found


def test_no_code_decides_by_a_sentence() -> None:
    assert sentences_read("a.message.startswith('x')\n'x' in a.cure\na.cure[:2]\n") == [1, 2, 3]
    read = {
        str(path.relative_to(ROOT)): lines
        for room in ("columnar", "cli", "spark")
        for path in (ROOT / room).rglob("*.py")
        if (lines := sentences_read(path.read_text("utf-8")))
    }
    assert read == {}
