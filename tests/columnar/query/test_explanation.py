"""The walk that `explain` shows, and the reason that it gives for each way of finding nothing."""

from pathlib import Path

import pytest
from query_store import FIRST, FOREVER, GEOMETRY, SIZE, message, write_index, write_log
from rocket_columnar.formats import iso
from rocket_columnar.query import Explanation, OpenStore, explain
from store_bytes import BEGIN as T
from store_bytes import overwrite, record


def ask(
    root: Path,
    topic: str = "T",
    key: str = "k",
    *,
    begin: int = 0,
    end: int = FOREVER,
    max_num: int = 32,
    exact: bool = False,
) -> Explanation:
    with OpenStore(root, GEOMETRY) as store:
        return explain(store, topic, key, max_num=max_num, begin=begin, end=end, exact=exact)


def why(explanation: Explanation) -> str:
    assert not explanation.found
    return "\n".join(explanation.reasons)


def test_the_walk_of_a_hit(tmp_path: Path) -> None:
    write_log(tmp_path, message(0), message(SIZE, "{"), message(2 * SIZE, time=T + 2500))
    write_index(tmp_path, [("T#k", 0, T), ("T#{", SIZE, T), ("T#k", 2 * SIZE, T + 2500)])
    explanation = ask(tmp_path)
    # T#k: 84 * 961 + 35 * 31 + 107
    assert (explanation.index_key, explanation.key_hash) == ("T#k", 81916)
    assert (explanation.found, explanation.limit, explanation.reasons) == (2, 32, ())
    (walked,) = explanation.files
    assert (walked.file, walked.verdict, walked.time_matched) == (f"index/{FIRST}", "searched", True)
    assert (walked.slot, walked.slot_offset, walked.slot_value) == (81916 % 16, 40 + 4 * 12, 3)
    fields = [
        (s.entry, s.offset, s.key_hash, s.phy_offset, s.time_diff, s.store_timestamp, s.prev_entry)
        for s in walked.steps
    ]
    base = GEOMETRY.entries_offset
    assert fields == [
        (3, base + 60, 81916, 2 * SIZE, 2, T + 2000, 2),
        (2, base + 40, 81932, SIZE, 0, T, 1),
        (1, base + 20, 81916, 0, 0, T, 0),
    ]
    assert [step.verdict for step in walked.steps] == ["hit", "other hash", "hit"]
    assert [step.stop for step in walked.steps] == [None, None, "the chain ends"]
    assert {entry: check.verdict for entry, check in walked.checks.items()} == {3: "the key", 1: "the key"}


def test_a_key_that_was_never_put(tmp_path: Path) -> None:
    write_log(tmp_path, message(0, "other"))
    write_index(tmp_path, [("T#other", 0, T)])
    explanation = ask(tmp_path)
    assert "empty" in explanation.files[0].chain
    assert explanation.reasons == (
        "No index file holds an entry with key hash 81916, that of T#k: it was never put, or its file is gone.",
        "No record of topic T in the commit log has this key.",
    )


def test_a_key_of_another_topic_or_between_commas(tmp_path: Path) -> None:
    write_log(tmp_path, message(0, "k", "Other"), message(SIZE + 4, "a,k"))
    write_index(tmp_path, [("Other#k", 0, T), ("T#a,k", SIZE + 4, T)])
    text = why(ask(tmp_path))
    assert "The key exists under other topics: Other." in text
    assert "separated by one space" in text


@pytest.mark.parametrize(
    ("own", "properties", "expected"),
    [
        (
            "RMQ_SYS_TRANS_HALF_TOPIC",
            b"REAL_TOPIC\1T\2",
            "a half message for T: until its transaction is committed",
        ),
        ("SCHEDULE_TOPIC_XXXX", b"DELAY\x013\2REAL_TOPIC\1T\2", "a delayed message for T: until it is due"),
        ("U", b"INNER_MULTI_DISPATCH\1%LMQ%a,T\2", "copied to T by multi-dispatch, which indexes nothing"),
    ],
)
def test_a_message_that_lies_under_another_topic(
    own: str, properties: bytes, expected: str, tmp_path: Path
) -> None:
    write_log(tmp_path, record(0, topic=own.encode(), properties=b"KEYS\1k\2" + properties))
    write_index(tmp_path, [(f"{own}#k", 0, T)])
    text = why(ask(tmp_path))
    assert expected in text
    assert f"its keys are those of {own}." in text
    assert "other topics" not in text


def test_a_record_without_an_entry(tmp_path: Path) -> None:
    log = [message(n * SIZE, "x" if n in (1, 2) else "k") for n in range(4)]
    rolled_back = message(4 * SIZE, sys_flag=12)
    write_log(tmp_path, *log, rolled_back)
    write_index(tmp_path, [("T#x", SIZE, T), ("T#x", 2 * SIZE, T)])
    _, first, second, third = ask(tmp_path).reasons
    assert "physical offset 0" in first
    assert "the index begins later" in first
    assert f"physical offset {3 * SIZE}" in second
    assert "the index ends before" in second
    assert "rolled-back" in third


def test_seven_records_without_an_entry(tmp_path: Path) -> None:
    write_log(tmp_path, *(message(number * SIZE) for number in range(7)), message(7 * SIZE, "z"))
    write_index(tmp_path, [("T#z", 7 * SIZE, T)])
    *five, rest = ask(tmp_path).reasons[-6:]
    assert [f"physical offset {number * SIZE:,}," in text for number, text in enumerate(five)] == [True] * 5
    assert rest == "The commit log holds 2 more records with it."


def test_a_missing_entry_in_the_middle(tmp_path: Path) -> None:
    write_log(tmp_path, *(message(n * SIZE, "k" if n == 1 else "x") for n in range(3)))
    write_index(tmp_path, [("T#x", 0, T), ("T#x", 2 * SIZE, T)])
    assert "the index covers that offset and lacks it" in why(ask(tmp_path))


def test_an_entry_outside_the_window(tmp_path: Path) -> None:
    write_log(tmp_path, message(0), message(SIZE, time=T + 1999))
    write_index(tmp_path, [("T#x", 0, T), ("T#k", SIZE, T + 1999)])
    text = why(ask(tmp_path, begin=T + 1500, end=T + 2500))
    assert "1 index entry has key hash 81916: 1 outside the window." in text
    assert f"the index places it at {iso(T + 1000)}; the record was stored at {iso(T + 1999)}" in text
    assert "IDX-SEL-4" in text


def test_the_first_entry_of_a_rolled_file(tmp_path: Path) -> None:
    write_log(tmp_path, message(0, time=T + 60_000))
    write_index(tmp_path, [("T#k", 0, T + 60_000)], seed=(0, T))
    text = why(ask(tmp_path, end=T + 100_000))
    assert "60 s after" in text
    assert "IDX-PUT-8" in text


def test_a_file_that_the_window_does_not_touch(tmp_path: Path) -> None:
    # entry 1 is placed at T + 120 s, behind the file's own end
    write_log(tmp_path, message(0, time=T + 60_000))
    write_index(tmp_path, [("T#k", 0, T + 60_000)], seed=(0, T))
    explanation = ask(tmp_path, begin=T + 110_000, end=T + 130_000)
    assert explanation.files[0].verdict == "skipped"
    assert "would be a hit, but the file is skipped" in why(explanation)
    assert not explanation.files[0].steps[0].read


def test_files_that_are_not_reached(tmp_path: Path) -> None:
    write_log(tmp_path, message(0))
    write_index(tmp_path, [("T#k", 0, T + 10_000)])
    write_index(tmp_path, [("T#x", 0, T), ("T#x", 0, T + 20_000)], name="20260101000000001")
    explanation = ask(tmp_path, begin=T + 5000)
    assert [walked.verdict for walked in explanation.files] == ["searched", "not reached"]
    assert "begins before the window" in explanation.files[1].why
    assert "the file is not reached" in why(explanation)


def test_an_entry_behind_one_that_ends_the_walk(tmp_path: Path) -> None:
    write_log(tmp_path, message(0))
    write_index(
        tmp_path, [("T#x", 0, T), ("T#k", 0, T + 60_000), ("T#{", 0, T + 10_000), ("T#y", 0, T + 70_000)]
    )
    explanation = ask(tmp_path, begin=T + 50_000)
    first, second = explanation.files[0].steps
    assert (first.read, first.stop) == (True, "it is before the window (IDX-SEL-7)")
    assert (second.read, second.verdict) == (False, "hit")
    assert "the walk does not get there: it ends at entry 3" in why(explanation)
    previous = (
        GEOMETRY.entries_offset + 2 * 20 + 16
    )  # of entry 2; only more than the count, 5, ends a walk (IDX-SEL-6)
    overwrite(tmp_path / "index" / FIRST, previous, (5).to_bytes(4))
    assert [step.entry for step in ask(tmp_path).files[0].steps] == [3, 2, 5]


def test_a_hit_without_a_record(tmp_path: Path) -> None:
    write_log(tmp_path, message(4096), begin=4096)
    write_index(tmp_path, [("T#k", 5, T), ("T#k", 8192, T), ("T#k", 4096 + SIZE, T)])
    text = why(ask(tmp_path))
    assert "3 without a record in the commit log" in text
    assert "the commit log begins at 4,096: expired" in text
    assert "the commit log's files end at 8,192" in text
    assert f"commitlog/{4096:020} has no whole record there" in text


def test_a_missing_log_file_and_no_log(tmp_path: Path) -> None:
    write_index(tmp_path, [("T#k", 4096, T)])
    assert "the store has no commit log" in why(ask(tmp_path))
    write_log(tmp_path, message(0))
    write_log(tmp_path, message(8192), begin=8192)
    assert "a commit-log file is missing there" in why(ask(tmp_path))


def test_exact_tells_of_the_other_key(tmp_path: Path) -> None:
    write_log(tmp_path, message(0, "BB", "AaTopic"))
    write_index(tmp_path, [("AaTopic#BB", 0, T)])
    text = why(ask(tmp_path, "AaTopic", "Aa", exact=True))
    assert "1 of another key" in text
    assert "has the same hash, but is another key: topic AaTopic, keys BB" in text
    assert "No record of topic AaTopic in the commit log has this key." in text


def test_no_index_files_and_no_messages_asked_for(tmp_path: Path) -> None:
    write_log(tmp_path, message(0))
    explanation = ask(tmp_path)
    assert explanation.reasons[0] == "The store has no index files to search."
    assert "the index holds nothing at all" in explanation.reasons[1]
    write_index(tmp_path, [("T#k", 0, T)])
    assert ask(tmp_path, max_num=0).reasons[0] == "At most 0 messages were asked for."
    assert ask(tmp_path, begin=T + 1, end=T).reasons[0] == "The window ends before it begins."


def test_a_cycle_is_reported_and_ends(tmp_path: Path) -> None:
    write_log(tmp_path, message(0))
    write_index(tmp_path, [("T#{", 0, T), ("T#{", 0, T)])
    overwrite(tmp_path / "index" / FIRST, GEOMETRY.entries_offset + 20 + 16, (2).to_bytes(4))
    explanation = ask(tmp_path)
    assert explanation.found is None
    assert [step.entry for step in explanation.files[0].steps] == [2, 1]
    assert "leads back to entry 2: a cycle" in why(explanation)


@pytest.mark.parametrize(("value", "meaning"), [(-1, "out of range"), (9, "out of range"), (0, "empty")])
def test_what_the_slot_holds(tmp_path: Path, value: int, meaning: str) -> None:
    write_log(tmp_path, message(0))
    write_index(tmp_path, [("T#k", 0, T)])
    overwrite(tmp_path / "index" / FIRST, 40 + 4 * 12, value.to_bytes(4, signed=True))
    (walked,) = ask(tmp_path).files
    assert walked.slot_value == value
    assert meaning in walked.chain
    assert walked.steps == ()
