"""No verb changes what it reads: content, length, mode and times of every file of every golden store stay as they were."""

import hashlib
from pathlib import Path

import pytest
from rocket_golden import manifest, open_store, stores
from store_bytes import put, record
from verb_run import Verb

VERBS = (
    "inspect {store}", "inspect {file}", "decode {store} -o {out}/tables --limit 1000",
    "query {store} --topic AaTopic --key Aa --explain", "query {store} --topic AaTopic --key Aa --scan",
    "audit {store} --quick", "audit {store} --deep --report {out}/page", "audit {store} --restart",
    "rebuild {store} -o {out}/rebuilt", "rebuild {store} --only-missing -o {out}/missing", "repair {store} --plan",
    "digest {store}", "conform --store {store}", "diff {file} {last}",
)  # fmt: skip


def snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    """Of each file and folder what a write would change; when it was read last is not looked at."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted([root, *root.rglob("*")]):
        status = path.stat()
        content = ""
        if path.is_file():
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        name = path.relative_to(root).as_posix()
        found[name] = status.st_size, status.st_mode, status.st_mtime_ns, status.st_ctime_ns, content
    return found


FEW = {"mixed", "ext", "killed"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in FEW else pytest.mark.soak)
        for name in sorted({*stores(log=None), *stores(unclean=True, log=None)})
    ],
)
def test_a_golden_store_stays_as_it_is(name: str, verb: Verb, tmp_path: Path) -> None:
    assert name in manifest().stores
    store = open_store(name, tmp_path)
    before = snapshot(store)
    assert len(before) > 3
    files = [path for path in sorted((store / "commitlog").glob("*")) if path.is_file()] or [store]
    for number, line in enumerate(VERBS):
        out = tmp_path / f"out-{number}"
        out.mkdir()
        outcome = verb(*line.format(store=store, out=out, file=files[0], last=files[-1]).split())
        assert outcome.code in (0, 1, 2, 3), (line, outcome.err)
        assert snapshot(store) == before, line


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("log", "audit {store} --commitlog {log} --report {log}"),
        ("log/new", "conform --store {store} --commitlog {log} --report {log}/new"),
        ("store/new", "conform --select IDX-HASH-2/* --report {store}/new"),
        ("store/known.txt", "conform --store {store} --write-baseline {store}/known.txt"),
    ],
)
def test_no_output_goes_where_a_store_is(output: str, line: str, verb: Verb, tmp_path: Path) -> None:
    put(tmp_path, f"store/commitlog/{0:020}", record(0))
    put(tmp_path, f"log/{1000:020}", record(1000))
    before = sorted(tmp_path.rglob("*"))
    ended = verb(*line.format(store=tmp_path / "store", log=tmp_path / "log").split())
    assert ended.is_one_line(2, str(tmp_path / output))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_write_is_noticed(tmp_path: Path) -> None:
    """The check itself: one byte written with the same value."""
    store = open_store("small-roll", tmp_path)
    before = snapshot(store)
    path = store / "checkpoint"
    with path.open("r+b") as file:
        file.write(path.read_bytes()[:1])
    assert snapshot(store) != before
