"""The option --commitlog of each verb, on a store that a real broker wrote into three directories."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from rocket_golden import open_store
from verb_run import Outcome, runner

if TYPE_CHECKING:
    from pathlib import Path

Verb = Callable[..., Outcome]


@pytest.fixture
def verb(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    """Runs a verb: its name, then its arguments."""
    return lambda name, *arguments: runner(name, capfd, monkeypatch)(*arguments)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store("many-paths", tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="module")
def commitlog(store: Path) -> list[Path]:
    return [store / f"commitlog-{name}" for name in "abc"]


def options(folders: list[Path]) -> list[object]:
    return [part for folder in folders for part in ("--commitlog", folder)]


@pytest.mark.parametrize("name", ["audit", "inspect", "digest", "query", "decode"])
def test_it_takes_the_option(store: Path, commitlog: list[Path], verb: Verb, name: str) -> None:
    more = {"query": ["--topic", "Paths", "--key", "key-3"], "decode": ["--table", "commit_log"]}.get(
        name, []
    )
    ended = verb(name, store, *options(commitlog), *more, *([] if name == "decode" else ["--json"]))
    assert (ended.code, ended.err) == (0, "")
    if name == "query":
        assert len(json.loads(ended.out)["messages"]) == 9
    if name == "decode":
        assert len(ended.out.splitlines()) == 120


def test_restart_takes_the_option(store: Path, commitlog: list[Path], verb: Verb) -> None:
    ended = verb("audit", store, *options(commitlog), "--restart")
    assert (ended.code, ended.err) == (0, "")


def test_rebuild_takes_the_option(store: Path, commitlog: list[Path], verb: Verb, tmp_path: Path) -> None:
    ended = verb("rebuild", store, *options(commitlog), "-o", tmp_path / "new")
    assert (ended.code, ended.err) == (0, "")
    assert "from 120 records" in ended.out


def test_decode_writes_into_no_directory_that_it_reads(
    store: Path, commitlog: list[Path], verb: Verb, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    shutil.copytree(commitlog[0], disk)
    ended = verb("decode", store, "-o", disk / "new", *options([disk, *commitlog[1:]]))
    assert ended.code == 2
    assert "inside a commit-log directory" in ended.err.replace("\n", " ")
    assert not (disk / "new").exists()


@pytest.mark.parametrize("what", ["missing", "file"])
def test_what_is_no_directory_is_refused(store: Path, verb: Verb, tmp_path: Path, what: str) -> None:
    (tmp_path / "file").touch()
    ended = verb("audit", store, "--commitlog", tmp_path / what)
    assert ended.code == 3
    assert str(tmp_path / what) in ended.err.replace("\n", "")
