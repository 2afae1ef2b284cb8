"""Files that a broker deletes between the moment when they are listed and that when they are opened: as if never listed."""

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rocket_columnar
import rocketspec.verbs
from rocket_columnar.decode import decode
from rocket_columnar.store import StoreFile, find_files
from rocket_golden import open_store
from verb_run import Outcome, runner

LISTINGS = ("find_files", "_names")
"""The functions that list a store's files, by whatever module they are called."""


def unlink_when_listed(gone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deletes a file as soon as it has been listed."""

    def then_unlinked(listing: Callable[..., Any]) -> Callable[..., Any]:
        def listed(*arguments: Any, **options: Any) -> Any:
            found = listing(*arguments, **options)
            gone.unlink(missing_ok=True)
            return found

        return listed

    for package in (rocket_columnar, rocketspec.verbs):
        for known in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".fast.compiled" in known.name or known.name.startswith("rocketspec.verbs.spark"):
                continue
            module = importlib.import_module(known.name)
            for name in LISTINGS:
                listing = getattr(module, name, None)
                if callable(listing) and listing.__module__ in (
                    "rocket_columnar.store.listing",
                    "rocket_columnar.query.index_files",
                ):
                    monkeypatch.setattr(module, name, then_unlinked(listing))


def key_in(file: StoreFile) -> tuple[str, str]:
    """Topic and key of a message in a log file."""
    for _, batch in decode([file], tables=["commit_log"]):
        for row in batch.to_pylist():
            if row["keys"]:
                return row["topic"], row["keys"].split(" ")[0]
    raise AssertionError(file.name)


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
    gone.path.write_bytes(whole)
    unlink_when_listed(gone.path, monkeypatch)
    assert run(root, *options) == before
    assert not gone.path.exists()


@pytest.mark.parametrize("kind", ["log", "index", "checkpoint"])
@pytest.mark.parametrize("verb", ["audit", "audit --quick", "audit --restart", "query --all"])
def test_a_file_that_is_gone_later(
    verb: str, kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has been opened before, and is not there any more when it is to be read again."""
    name, *options = verb.split()
    root = open_store("expired", tmp_path)
    (root / "abort").touch()
    gone = next(file for file in find_files(root) if file.kind == kind)
    whole = gone.path.read_bytes()
    if name == "query":
        options += ["--topic", "Events", "--key", "k"]
    run = runner(name, capfd, monkeypatch)
    hint = run(root, *options).err if name == "query" else ""  # no message has that key
    real, seen = StoreFile.open, 0

    def opened(file: StoreFile) -> Any:
        nonlocal seen
        seen += file.name == gone.name
        if seen == last:
            gone.path.unlink(missing_ok=True)
        return real(file)

    monkeypatch.setattr(StoreFile, "open", opened)
    for last in (1, 2, 3, 4):  # noqa: B007 - `opened` reads it
        gone.path.write_bytes(whole)
        seen = 0
        outcome = run(root, *options)
        assert (outcome.code in (0, 1), outcome.err) == (True, hint)
