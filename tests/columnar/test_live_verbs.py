"""What is asked of a store while a broker writes it: no error, and no answer but a prefix of what it will be."""

from collections import defaultdict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import pytest
from live_writer import LiveWriter, Step, steps
from rocket_columnar.audit import LEVELS, Level, audit
from rocket_columnar.decode import decode
from rocket_columnar.query import OpenStore
from rocket_columnar.store import find_files
from rocket_golden import open_store
from verb_run import runner

Row = dict[str, Any]
GROUPS = {"index_entries": ("file",), "consume_queue": ("topic", "queue_id")}
"""What a table's rows are a prefix of each by itself."""


pytestmark = pytest.mark.usefixtures("_patience", "_broker_runs")


class Golden:
    """A store as it will be."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.root = open_store(name, directory)
        self.steps: list[Step] = steps(self.root, name)
        self.rows = rows(self.root)
        self.messages: dict[tuple[str, str], list[int]] = defaultdict(list)
        for row in self.rows["commit_log", ()]:
            for key in dict.fromkeys(filter(None, (row["keys"] or "").split(" "))):
                self.messages[row["topic"], key].append(row["phy_offset"])


def rows(store: Path) -> dict[tuple[str, Hashable], list[Row]]:
    """All rows of a store, table by table and group by group; gaps are errors."""
    found: dict[tuple[str, Hashable], list[Row]] = defaultdict(list)
    for table, batch in decode(find_files(store)):
        for row in batch.to_pylist():
            found[table, tuple(row[name] for name in GROUPS.get(table, ()))].append(row)
    return found


@pytest.fixture(scope="module", params=("lmq", "small-roll"))
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Golden:
    return Golden(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def live(golden: Golden, tmp_path: Path) -> LiveWriter:
    return LiveWriter(golden.root, tmp_path / "live", golden.steps, len(golden.steps) // 10)


def while_written(live: LiveWriter, ask: Callable[[int], None]) -> None:
    """Asks again and again, told how many records were there and dispatched before, and a last time at the end."""
    with live:
        while live.running:
            ask(live.dispatched)
    ask(live.dispatched)


def test_decode(golden: Golden, live: LiveWriter) -> None:
    def ask(dispatched: int) -> None:
        found = rows(live.root)
        for (table, group), some in found.items():
            if table not in ("index_headers", "checkpoint"):
                assert some == golden.rows[table, group][: len(some)]
        assert len(found["commit_log", ()]) >= dispatched

    while_written(live, ask)


def test_query(golden: Golden, live: LiveWriter) -> None:
    keys = sorted(golden.messages)

    def ask(dispatched: int) -> None:
        there = {row["phy_offset"] for row in golden.rows["commit_log", ()][:dispatched]}
        with OpenStore(live.root) as store:
            for topic, key in keys[dispatched % 7 :: 7]:
                truth = golden.messages[topic, key]
                answers = [store.query_all(topic, key)]
                answers.append(store.query_exact(topic, key, max_num=64, begin=0, end=1 << 62))
                for answer in answers:
                    offsets = [row["phy_offset"] for row in answer.messages]
                    assert offsets == truth[: len(offsets)]
                    assert there.intersection(truth) <= set(offsets)
                store.query(topic, key, max_num=64, begin=0, end=1 << 62)

    while_written(live, ask)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("golden", ["lmq"], indirect=True)
def test_copies_that_are_being_put_are_no_finding(golden: Golden, live: LiveWriter, level: Level) -> None:
    def ask(_: int) -> None:
        assert [finding for finding in audit(live.root, level) if finding.severity != "note"] == []

    while_written(live, ask)


@pytest.mark.parametrize(
    "verb",
    [
        "inspect", "digest", "audit", "audit --deep", "audit --quick", "audit --restart", "decode", "diff",
        "query --all", "query --scan", "query --explain",
    ],
)  # fmt: skip
@pytest.mark.parametrize("golden", ["small-roll"], indirect=True)
def test_verbs(
    verb: str,
    golden: Golden,
    live: LiveWriter,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exit code 1 is right where files differ, a key is not there yet, or a broker runs whose start is not predicted."""
    name, *options = verb.split()
    run = runner(name, capfd, monkeypatch)
    worst = int(name in ("diff", "query") or "--restart" in options)
    topic, key = next(iter(golden.messages))
    if name == "query":
        options += ["--topic", topic, "--key", key]

    def ask(_: int) -> None:
        asked: list[tuple[Path, ...]] = [(live.root,)]
        if name in ("inspect", "diff"):
            files = find_files(live.root)[:: 7 if live.running else 1]
            asked = [(file.path, golden.root / file.name) for file in files]
        for paths in asked:
            outcome = run(*paths[: 1 + (name == "diff")], *options)
            assert outcome.code <= worst, outcome
            if "--restart" in options and live.running:
                assert "a broker is running" in outcome.out or "the log is read from" in outcome.out

    while_written(live, ask)
