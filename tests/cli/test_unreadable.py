"""Files and directories that cannot be read: each is a finding, the rest is done, and nothing is said to be lost.

A stand-in for a failing disk: to open these paths ends in an input/output error.
"""

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from golden_truth import lines
from rocket_columnar.store import Source, find_files, open_reader
from store_bytes import overwrite
from verb_run import Verb

LOG = "commitlog/00000000000000032768"
QUEUE = "consumequeue/Orders/0/00000000000000000000"
INDEX = "index/20261121132607044"
PARTS = (LOG, QUEUE, INDEX, "checkpoint", "commitlog", "consumequeue/Orders", "consumequeue", "index")


def break_disk(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> None:
    """Lets these files and directories fail to open."""
    broken = set(map(os.fspath, paths))
    for name in ("open", "scandir"):
        real = getattr(os, name)

        def failing(path: Any, *rest: Any, real: Any = real, **options: Any) -> Any:
            if not isinstance(path, int) and os.fspath(path) in broken:
                raise OSError(errno.EIO, os.strerror(errno.EIO), os.fspath(path))
            return real(path, *rest, **options)

        monkeypatch.setattr(os, name, failing)


@pytest.mark.parametrize("part", PARTS)
def test_one_part_is_a_finding(
    part: str, store: Path, verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_disk(monkeypatch, store / part)
    audit = verb("audit", store, "--json")
    found = audit.rows
    assert (audit.code, [(one["code"], one["file"]) for one in found]) == (1, [("store.unreadable", part)])
    assert "cannot be read: input/output error" in found[0]["message"]
    shown = verb("inspect", store).out
    assert part == QUEUE or f"warning store.unreadable {part}" in shown  # a quick check opens no queue file
    assert f"not read: {part}: input/output error" in shown
    if part in ("commitlog", "index"):
        return
    (rebuilt,) = verb("rebuild", store, "-o", tmp_path / "new", "--json").rows
    left = [one for one in lines("mixed")["log_record"] if part != LOG or one["file"] != LOG]
    assert rebuilt["records"] == len(left)
    assert {one["code"] for one in rebuilt["findings"]} <= {"store.unreadable"}


def test_all_of_several_are_findings(store: Path, verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [file.name for file in find_files(store) if file.kind != "checkpoint"][::3]
    break_disk(monkeypatch, *(store / name for name in names))
    assert sorted(one["file"] for one in verb("audit", store, "--json").rows) == sorted(names)


def test_real_damage_beside_it_is_found(store: Path, verb: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    last = lines("mixed")["log_file"][-1]["file"]
    overwrite(store / last, 4, b"\0")  # of the magic
    break_disk(monkeypatch, store / INDEX)
    done = verb("audit", store)
    assert "log.magic" in done.out
    assert "store.unreadable" in done.out
    assert "cure:" not in done.out  # a rebuild would lack what cannot be read


def test_a_checkpoint_that_is_a_directory(store: Path, verb: Verb) -> None:
    (store / "checkpoint").unlink()
    (store / "checkpoint").mkdir()
    (found,) = verb("audit", store, "--json").rows
    assert (found["code"], found["file"]) == ("store.unreadable", "checkpoint")


def test_a_log_of_which_no_file_can_be_read_is_not_gone(
    store: Path, verb: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_disk(monkeypatch, *(store / "commitlog").iterdir())
    assert [one["code"] for one in verb("audit", store, "--json").rows] == ["store.unreadable"] * 4


def test_a_store_of_which_nothing_can_be_read(
    store: Path, verb: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_disk(monkeypatch, store / "checkpoint", *(path for path in store.iterdir() if path.is_dir()))
    done = verb("audit", store)
    assert done.code == 3
    assert done.err.endswith(": input/output error\n")


def test_a_read_that_fails_names_its_file() -> None:
    def read(_offset: int, _length: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    failing = pytest.raises(OSError, match="index/1")
    with open_reader("any", Source("index/1", 40, read)) as reader, failing:
        reader.read(0, 40)


def test_the_use_of_the_disk_without_one_queue(
    store: Path, verb: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_disk(monkeypatch, store / "consumequeue/Orders/0")
    done = verb("inspect", store, "--space", "--json")
    assert done.err == "rocketspec: consumequeue/Orders/0: skipped, input/output error\n"
    assert len(json.loads(done.out)["queues"]) == len(lines("mixed")["queue"]) - 1


def test_a_start_is_not_predicted_without_a_file(
    store: Path, verb: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_disk(monkeypatch, store / LOG)
    done = verb("audit", store, "--restart")
    assert (done.code, done.out) == (3, "")


def test_what_groups_lack_and_how_stores_differ_is_not_stated_without_a_topic(
    store: Path, verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its queues are not empty, and not missing."""
    other = tmp_path / "other"
    shutil.copytree(store, other)
    break_disk(monkeypatch, store / "consumequeue/Orders")
    told = f"{store}/consumequeue/Orders: input/output error"
    assert verb("inspect", store, "--group", "*").is_one_line(3, told)
    assert verb("diff", other, store).is_one_line(3, told)
    assert "consumers" not in verb("inspect", store).out
