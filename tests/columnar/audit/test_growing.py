"""Audits of a store that is being written: between any two reads a broker goes on, and nothing of that is a finding.

The writer is simulated: states of the store after more and more records of a golden store's log, each written as a broker
writes - log, then queues, then index - part by part, whenever the audit has read something.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rocket_columnar.audit import Level, audit, file_survey, plan, range_check
from rocket_columnar.describe import digest
from rocket_columnar.rebuild import rebuild
from rocket_columnar.store import find_files
from rocket_golden import manifest, open_store
from rocket_spec.layout import Geometry

STORES = ("mixed", "small-roll", "transactions", "lmq")
State = list[tuple[str, dict[str, bytes]]]


def records(store: Path) -> list[int]:
    """Physical offsets behind each record, by their magics and lengths."""
    ends = []
    for file in find_files(store):
        if file.kind == "log":
            data, at = file.path.read_bytes(), 0
            while data[at + 4 : at + 8] == bytes.fromhex("daa320a7"):
                at += int.from_bytes(data[at : at + 4])
                ends.append(file.base_offset + at)
    return ends


def prefix(store: Path, end: int) -> dict[str, bytes]:
    """The log up to an offset, zeros behind it; with the blank where a later record begins in another file."""
    held = {}
    for file in find_files(store):
        if file.kind == "log" and file.base_offset < end:
            data = file.path.read_bytes()
            whole = end > file.base_offset + len(data)
            held[file.name] = data if whole else data[: end - file.base_offset].ljust(len(data), b"\0")
    return held


def read(root: Path, part: str) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in (root / part).rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module", params=STORES)
def states(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[State]:
    """What is written, step after step."""
    name: str = request.param
    root = tmp_path_factory.mktemp(name)
    golden = open_store(name, root)
    known = manifest().stores[name]
    ends = records(golden)
    made: list[State] = []
    for number, end in enumerate(ends[len(ends) // 3 :: max(len(ends) // 25, 1)]):
        store = root / f"prefix{number}"
        for file, data in prefix(golden, end).items():
            (store / file).parent.mkdir(parents=True, exist_ok=True)
            (store / file).write_bytes(data)
        new = root / f"new{number}"
        rebuild(store, new, geometry=Geometry(*known.geometry), queue_file_size=known.consume_queue_file_size)
        parts = [read(store, "commitlog"), read(new, "consumequeue"), read(new, "index")]
        made.append(list(zip(("log", "queues", "index"), parts, strict=True)))
    return made


class Writer:
    """Writes the next part of a state now and then."""

    def __init__(self, root: Path, states: list[State], rng: random.Random) -> None:
        self._root = root
        self._rng = rng
        for _, files in states[0]:
            self._write(files)
        (root / "abort").touch()
        self._next: Iterator[dict[str, bytes]] = (files for state in states[1:] for _, files in state)
        self.steps = 0

    def _write(self, files: dict[str, bytes]) -> None:
        for name, data in files.items():
            path = self._root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("r+b" if path.exists() else "w+b") as opened:
                opened.write(data)

    def step(self) -> None:
        """Writes a few parts, or none."""
        for _ in range(self._rng.randrange(3)):
            files = next(self._next, None)
            if files is not None:
                self.steps += 1
                self._write(files)


def stepping(writer: Writer, work: Callable[..., Any]) -> Callable[..., Any]:
    def stepped(*arguments: Any, **options: Any) -> Any:
        writer.step()
        return work(*arguments, **options)

    return stepped


@pytest.mark.parametrize("level", ["default", "deep", "quick"])
@pytest.mark.parametrize("seed", range(3))
def test_a_store_that_grows(
    states: list[State], level: Level, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(tmp_path, states, random.Random(f"{seed} {level}"))  # noqa: S311
    for module, name in (
        (plan, "find_files"),
        (plan, "read_headers"),
        (plan, "resolve"),
        (file_survey, "survey_queue"),
        (file_survey, "survey_index"),
        (range_check, "read_frames"),
        (range_check, "_check_units"),
        (range_check, "entries_of"),
        (range_check, "read_copies"),
        (range_check, "check_missing"),
        (range_check, "check_copies"),
    ):
        monkeypatch.setattr(module, name, stepping(writer, getattr(module, name)))
    found = list(audit(tmp_path, level))
    assert writer.steps > 0
    assert [finding for finding in found if finding.severity != "note"] == []


def test_a_digest_of_a_store_that_grows(states: list[State], tmp_path: Path) -> None:
    writer = Writer(tmp_path, states, random.Random(0))  # noqa: S311
    told = []
    for section in digest(tmp_path):
        told.append(section.path)
        writer.step()
    assert told == sorted(told, key=told.index)
    assert {path.partition("/")[0] for path in told} >= {"commitlog", "consumequeue", "index"}
