"""Files that a broker deletes between the moment when they are listed and that when they are opened: as if never listed."""

import re
from pathlib import Path
from typing import Any

import pytest
from rocket_columnar.decode import decode
from rocket_columnar.describe import Overview, compare_stores, look_at
from rocket_columnar.facts import Store
from rocket_columnar.store import StoreFile, find_files
from rocket_golden import open_store
from verb_run import Outcome, runner


def key_in(file: StoreFile) -> tuple[str, str]:
    """Topic and key of a message in a log file."""
    for _, batch in decode([file], tables=["commit_log"]):
        for row in batch.to_pylist():
            if row["keys"]:
                return row["topic"], row["keys"].split(" ")[0]
    raise AssertionError(file.name)


def undated(ended: Outcome) -> Outcome:
    """An outcome without the second at which a cure names its folder."""
    return ended._replace(out=re.sub(r"-\d{8}-\d{6}\b", "", ended.out))


@pytest.mark.parametrize("kind", ["log", "queue", "index", "checkpoint"])
@pytest.mark.parametrize(
    "verb",
    [
        "decode", "digest", "audit", "audit --quick", "audit --restart", "query", "query --all", "query --scan",
        "query --explain --end 2030-01-01T00:00:00Z",
    ],
)  # fmt: skip
def test_a_file_that_is_gone_when_it_is_opened(
    verb: str, kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the first time, or again: it has been read before, and is not there any more when it is read again."""
    name, *options = verb.split()
    root = open_store("expired", tmp_path)
    gone = next(file for file in find_files(root) if file.kind == kind)
    if name == "query":
        topic, key = key_in(next(file for file in find_files(root) if file.kind == "log"))
        options += ["--topic", topic, "--key", key]
    whole = gone.path.read_bytes()
    gone.path.unlink()
    run = runner(name, capfd, monkeypatch)
    before: Outcome = run(root, *options)
    assert before.code in (0, 1)
    real, seen = StoreFile.open, 0

    def opened(file: StoreFile) -> Any:
        nonlocal seen
        seen += file.name == gone.name
        if seen == last:
            gone.path.unlink(missing_ok=True)
        return real(file)

    monkeypatch.setattr(StoreFile, "open", opened)
    for last in (1, 2, 3, 4):
        gone.path.write_bytes(whole)
        seen = 0
        ended = run(root, *options)
        assert ended.code in (0, 1)
        assert last > 1 or gone.path.exists() or undated(ended) == undated(before)


def test_two_stores_when_a_queue_is_deleted_after_the_look_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A queue with units in one store alone differs where they begin."""
    stores = [open_store("small-roll", tmp_path / name) for name in ("first", "second")]
    queue = next(file for file in find_files(stores[0]) if file.kind == "queue")

    def gone(store: Store) -> Overview:
        seen = look_at(store)
        queue.path.unlink(missing_ok=True)
        return seen

    monkeypatch.setattr("rocket_columnar.describe.differences.look_at", gone)
    (found,) = compare_stores(*stores)
    assert (found.part, found.what, found.offset) == (f"{queue.topic}/{queue.queue_id}", "content", 0)
