"""Which findings are one cause: hand-made findings of a store that is elsewhere, of which only they are known."""

from pathlib import Path
from typing import Any

import pytest
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding, finding
from rocket_columnar.report import Shell, report_on
from rocket_spec.deviations import Deviation
from store_bytes import put, record

LOG = f"commitlog/{0:020}"


def of(code: str, file: str = LOG, **known: Any) -> Finding:
    return finding(code, file, known.pop("offset", 0), code, **known)


EMPTY = of("log.length", remedy="aside", length=4096)
LONG = of("log.length", remedy="trim", length=4096, offset=4096)
SHORT = of("log.length", remedy="trim", length=4096, offset=100)
FOREIGN = of("log.position", foreign=True)
MISPLACED = of("log.position", remedy="position", deviation=Deviation("record", 7, 500, 500))
AHEAD, TORN, LATE = of("index.ahead_of_log", "index/1"), of("log.torn"), of("checkpoint.ahead", "checkpoint")
LOST, ENTRY = of("queue.dangling", "consumequeue/T/0/0"), of("index.entry_dangling", "index/1")
AT_500 = of("queue.dangling", "consumequeue/T/0/0", deviation=Deviation("unit 1 phy_offset", 500, "a record"))
AT_7 = of(
    "queue.dangling", "consumequeue/T/0/0", deviation=Deviation("unit 1 phy_offset", 7, "a record", 500)
)
CLOCK, ORDER = of("log.clock"), of("index.name_order", "index/1")
NAMED = [of("log.gap", f"commitlog/{name}", offset=None, own_name=LOG) for name in ("a", "b")]
GONE = of("log.gap", offset=None)
LEFT_OUT = of("log.gap", "log2", offset=None, remedy="settings", settings=(("storePathCommitLog", "log2"),))

CASES: dict[str, tuple[list[Finding], list[tuple[str, list[Finding], list[Finding]]]]] = {
    "an index ahead of a log that no queue shows to be short": ([AHEAD], [("damaged, or another store's", [AHEAD], [])]),
    "an index ahead of a log that no queue shows to be short, and a checkpoint that is late for the index and for queues": (
        [AHEAD, index := of("checkpoint.behind", "checkpoint", offset=16), logics := of("checkpoint.behind", "checkpoint", offset=8)],
        [("damaged, or another store's", [AHEAD], [index]), ("", [logics], [])],
    ),
    "a link to nothing in the log, and units that lead there": (
        [link := of("log.length", remedy="link"), LOST],
        [("links lead to nothing", [link], [LOST])],
    ),
    "a link to nothing in the index, and units that lead nowhere": (
        [link := of("index.size", "index/1", remedy="link"), LOST],
        [("links lead to nothing", [link], []), ("", [LOST], [])],
    ),
    "a folder of the log that is left out, and a note on it": (
        [LEFT_OUT, told := of("store.unreadable", "log2", severity="note"), GONE, off := of("store.abort", "abort")],
        [("configuration does not match", [LEFT_OUT], [GONE, told]), ("", [off], [])],
    ),
    "an index ahead of a torn log": ([AHEAD, TORN], [("is torn", [AHEAD], [TORN])]),
    "an index and units ahead": ([AHEAD, LOST, ENTRY], [("is missing", [AHEAD], [LOST, ENTRY])]),
    "a late checkpoint and units ahead": ([LATE, LOST], [("is missing", [LATE], [LOST])]),
    "a late checkpoint alone": ([LATE], [("", [LATE], [])]),
    "an empty log file": ([EMPTY], [("are empty", [EMPTY], [])]),
    "an empty log file, an index and units ahead": ([EMPTY, AHEAD, LOST], [("part of", [EMPTY], [AHEAD, LOST])]),
    "an empty log file and units ahead": ([EMPTY, LOST], [("part of", [EMPTY], [LOST])]),
    "a longer log file, a longer ext file": (
        [LONG, size := of("queue.size", "consumequeue_ext/T/0/0", remedy="trim", length=100)],
        [("log files have another length", [LONG], []), ("ext files have", [size], [])],
    ),
    "a log file that lacks zeros": ([SHORT], [("no message is lost", [SHORT], [])]),
    "a log file that lacks what an index and units point to": (
        [SHORT, AHEAD, LOST],
        [("part of", [SHORT], [AHEAD, LOST])],
    ),
    "a longer log file, an index and units ahead": (
        [LONG, AHEAD, LOST],
        [("log files have another length", [LONG], []), ("is missing", [AHEAD], [LOST])],
    ),
    "a leftover .bak": (
        [note := of("config.unreadable", "config/topics.json.bak", severity="note")],
        [("", [note], [])],
    ),
    "queue and index files without content": (
        [empty := of("queue.empty", "consumequeue/T/0/0"), bare := of("index.empty", "index/1")],
        [("", [empty], []), ("", [bare], [])],
    ),
    "a clock set back, without another order of the index": ([CLOCK], [("", [CLOCK], [])]),
    "a clock set back, with it": ([CLOCK, ORDER], [("the clock jumped", [ORDER, CLOCK], [])]),
    "a log file that harms nobody": (
        [note := of("log.length", severity="note", cure="none needed")],
        [("", [note], [])],
    ),
    "a file's length before the rest of its kind": (
        [slot := of("index.slot_range", "index/1"), size := of("index.size", "index/2")],
        [("", [size], [slot])],
    ),
    "a note on the index": (
        [note := of("index.header_count", "index/1", severity="note"), slot],
        [("", [slot], []), ("", [note], [])],
    ),
    "one code, two cures": (
        [
            warned := of("consumer.offset_beyond_queue", "config/consumerOffset.json"),
            unsure := of("consumer.offset_beyond_queue", "config/consumerOffset.json", cure="ask"),
        ],
        [("", [warned], []), ("", [unsure], [])],
    ),
    "the worst first": (
        [off := of("queue.missing_unit", "consumequeue/%LMQ%a/0", remedy="settings"), slot],
        [("", [slot], []), ("configuration does not match", [off], [])],
    ),
    "another store's file, and lengths that it does not explain": (
        [FOREIGN, CLOCK, LOST, size := of("queue.size", "consumequeue/T/0/0")],
        [("not this store's own", [FOREIGN], [LOST, CLOCK]), ("", [size], [])],
    ),
    "a record that states another offset": (
        [MISPLACED, AT_500, AT_7],
        [("state other physical offsets", [MISPLACED], [AT_500]), ("", [AT_7], [])],
    ),
    "two files of one name": (
        [GONE, NAMED[0]],
        [("names that are not their own", [GONE, NAMED[0]], [])],
    ),
    "one name for two files": ([GONE, *NAMED], [("part of", [GONE, *NAMED], [])]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_causes(name: str) -> None:
    found, expected = CASES[name]
    causes = report_on(found, Shell("STORE"), None).causes
    assert [(cause.roots, cause.consequences) for cause in causes] == [
        (tuple(roots), tuple(consequences)) for _, roots, consequences in expected
    ]
    for cause, (part, *_) in zip(causes, expected, strict=True):
        assert part in cause.title if part else not cause.title
    assert all(not cause.cure for cause in causes)


def test_of_a_log_of_which_a_file_is_only_missing_nothing_is_moved(tmp_path: Path) -> None:
    put(tmp_path, f"commitlog/{96:020}", record(96))
    (cause,) = report_on([GONE], Shell("STORE"), Store(tmp_path)).causes
    assert cause.commands == ("cp -n REPLICA/commitlog/* STORE/commitlog/",)


def test_a_log_file_made_ahead_goes_with_the_last_one_that_is_replaced(tmp_path: Path) -> None:
    """The only record ends where the second file begins."""
    put(tmp_path, f"commitlog/{0:020}", record(0))
    put(tmp_path, f"commitlog/{96:020}", bytes(96))
    (cause,) = report_on([AHEAD, LOST], Shell("STORE"), Store(tmp_path)).causes
    (moved,) = (command for command in cause.commands if command.startswith("mv "))
    assert [f"STORE/commitlog/{base:020}" in moved.split() for base in (0, 96)] == [True, True]


def test_without_queues_the_first_of_their_findings_is_the_cause_of_the_others() -> None:
    first, second = (of("queue.missing_unit", f"consumequeue/T/{queue}") for queue in (0, 1))
    (cause,) = report_on([first, second], Shell("STORE"), Store.of_files([])).causes
    assert (cause.roots, cause.consequences) == ((first,), (second,))
