"""`decode` of a store with damage: what is whole is decoded, and what is left out is named."""

import json
import os
from collections import Counter
from pathlib import Path

import rocket_golden
from verb_run import Run

VERB = "decode"

LATE = "index/20261121132606390"
QUEUE = f"consumequeue/Orders/0/{0:020}"


def rows(out: str) -> Counter[str]:
    return Counter(json.loads(line)["table"] for line in out.splitlines())


def test_an_index_file_of_100_bytes_leaves_the_other_five(run: Run, store: Path) -> None:
    whole = rows(run(store).out)
    os.truncate(store / LATE, 100)
    code, out, err = run(store)
    assert code == 1
    assert rows(out) == whole - Counter(index_headers=1, index_entries=199)
    assert err.count("\n") == 1
    assert f"{LATE}: at byte 36: found an index count of 200, expected at most 2" in err


def test_a_queue_file_of_33_bytes_keeps_the_one_after_it(run: Run, store: Path) -> None:
    """33 bytes are one unit and 13 bytes: the file is left out, the queue's second file is not."""
    os.truncate(store / QUEUE, 33)
    code, out, err = run(store, "--table", "consume_queue", "--topic", "Orders")
    assert code == 1
    files = {json.loads(line)["file"] for line in out.splitlines() if json.loads(line)["queue_id"] == 0}
    assert files == {f"consumequeue/Orders/0/{400:020}"}
    assert "found 13 trailing bytes" in err


def test_a_directory_that_cannot_be_listed_leaves_the_rest(run: Run, store: Path) -> None:
    """A link to itself, since permissions do not stop every user."""
    batch = store / "consumequeue" / "Batch"
    batch.rename(store.parent / "Batch")
    batch.symlink_to(batch)
    code, out, err = run(store, "--table", "consume_queue")
    assert code == 1
    assert {json.loads(line)["topic"] for line in out.splitlines()} >= {"Orders", "AaTopic"}
    assert err.startswith("rocketspec: consumequeue/Batch: ")
    assert err.endswith(": skipped, too many levels of symbolic links\n")


def test_a_table_needs_its_own_files_only(run: Run, store: Path) -> None:
    for name in ("index", "consumequeue"):
        (store / name).rename(store.parent / name)
        (store / name).symlink_to(store / name)
    code, out, err = run(store, "--table", "commit_log", "--limit", 1)
    assert (code, err, len(out.splitlines())) == (0, "", 1)
    assert run(store).code == 1


def test_output_that_exists_is_kept(run: Run, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "tables"
    assert run(store, "-o", out, "--table", "checkpoint").code == 0
    before = (out / "checkpoint.parquet").stat().st_mtime_ns
    code, _, err = run(store, "-o", out)
    assert (code, err) == (2, f"rocketspec: {out}/checkpoint.parquet: already exists; --force replaces it\n")
    assert (out / "checkpoint.parquet").stat().st_mtime_ns == before
    assert not (out / "commit_log.parquet").exists()
    assert run(store, "-o", out, "--force").code == 0
    assert (out / "commit_log.parquet").exists()


def test_an_unknown_topic_names_those_of_the_store(run: Run, store: Path) -> None:
    code, out, err = run(store, "--table", "commit_log", "--topic", "orders")
    assert (code, out) == (0, "")
    assert err.startswith("rocketspec: no rows of topic orders; the store has %DLQ%golden-group, ")
    assert "Orders" in err


def test_rows_for_people(run: Run, store: Path) -> None:
    columns = ("phy_offset", "store_timestamp", "topic", "body")
    options = [part for name in columns for part in ("--column", name)]
    code, out, _ = run(store, "--table", "commit_log", "--limit", 2, "--format", "table", *options)
    assert code == 0
    # physical offset, ms 1795267565943 and 1795267566046, topic and body as Java recorded them
    assert [line.split() for line in out.splitlines()] == [
        ["phy_offset", "store_timestamp", "topic", "body"],
        ["0", "2026-11-21T13:26:05.943Z", "SCHEDULE_TOPIC_XXXX", "delayed", "0"],
        ["256", "2026-11-21T13:26:06.046Z", "SCHEDULE_TOPIC_XXXX", "delayed", "1"],
    ]
    assert "-o takes jsonl" in run(store, "--format", "table", "-o", store.parent / "x").err


def test_wide_values_are_whole_in_a_pipe(run: Run, store: Path) -> None:
    (longest,) = (path.name for path in (store / "consumequeue").iterdir() if path.name.startswith("Tx"))
    assert len(longest) == 127
    out = run(store, "--table", "consume_queue", "--topic", longest, "--format", "table").out
    assert longest in out


def test_bodies_that_are_not_text_are_hexadecimal(run: Run, store: Path) -> None:
    out = run(store, "--table", "commit_log", "--format", "table", "--column", "body").out
    bodies = [line["body"] for line in rocket_golden.truth("mixed") if line["type"] == "log_record"]
    assert len(out.splitlines()) == len(bodies) + 1
    assert "\x1b" not in out
