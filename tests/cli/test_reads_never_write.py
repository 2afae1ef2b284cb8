"""No verb changes what it reads: content, length, mode and times of every file of every golden store stay as they were."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from rocket_golden import manifest, open_store, stores
from store_bytes import put, record
from verb_run import runner

VERBS: dict[str, Callable[[Path, Path], tuple[object, ...]]] = {
    "inspect": lambda store, _: ("inspect", store),
    "inspect of each file": lambda store, _: ("inspect", next(store.glob("commitlog/*"), store)),
    "decode": lambda store, out: ("decode", store, "-o", out / "tables", "--limit", 1000),
    "query": lambda store, _: ("query", store, "--topic", "AaTopic", "--key", "Aa", "--explain"),
    "query --scan": lambda store, _: ("query", store, "--topic", "AaTopic", "--key", "Aa", "--scan"),
    "audit --quick": lambda store, _: ("audit", store, "--quick"),
    "audit --deep": lambda store, out: ("audit", store, "--deep", "--report", out / "page"),
    "audit --restart": lambda store, _: ("audit", store, "--restart"),
    "rebuild": lambda store, out: ("rebuild", store, "-o", out / "rebuilt"),
    "rebuild --only-missing": lambda store, out: ("rebuild", store, "--only-missing", "-o", out / "missing"),
    "repair --plan": lambda store, _: ("repair", store, "--plan"),
    "digest": lambda store, _: ("digest", store),
    "conform --store": lambda store, _: ("conform", "--store", store),
}


def snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    """Of each file and folder what a write would change; when it was read last is not looked at."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted([root, *root.rglob("*")]):
        status = path.stat()
        content = ""
        if path.is_file():
            with path.open("rb") as file:
                # Only what the disk holds: golden stores have index files of 420 MB that are mostly holes.
                total, position = hashlib.sha256(), 0
                while position < status.st_size:
                    try:
                        position = os.lseek(file.fileno(), position, os.SEEK_DATA)
                    except OSError:
                        break
                    end = os.lseek(file.fileno(), position, os.SEEK_HOLE)
                    total.update(
                        b"%d %d " % (position, end) + os.pread(file.fileno(), end - position, position)
                    )
                    position = end
                content = total.hexdigest()
        name = path.relative_to(root).as_posix()
        found[name] = status.st_size, status.st_mode, status.st_mtime_ns, status.st_ctime_ns, content
    return found


def check(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every verb over one golden store."""
    store = open_store(name, tmp_path)
    before = snapshot(store)
    assert len(before) > 3
    for number, arguments in enumerate(VERBS.values()):
        out = tmp_path / f"out-{number}"
        out.mkdir()
        verb, *rest = arguments(store, out)
        outcome = runner(str(verb), capfd, monkeypatch)(*rest)
        assert outcome.code in (0, 1, 2, 3), (verb, outcome.err)
        assert snapshot(store) == before, verb
    files = [path for path in sorted((store / "commitlog").glob("*")) if path.is_file()]
    if files:
        assert runner("diff", capfd, monkeypatch)(files[0], files[-1]).code in (0, 1, 3)
        assert snapshot(store) == before


@pytest.mark.parametrize("name", ["mixed", "ext", "killed"])
def test_a_golden_store_stays_as_it_is(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check(name, tmp_path, capfd, monkeypatch)


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(set(stores(log=None)) | set(stores(unclean=True, log=None))))
def test_every_golden_store_stays_as_it_is(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert name in manifest().stores
    check(name, tmp_path, capfd, monkeypatch)


@pytest.mark.parametrize(
    ("output", "verb"),
    [
        ("log", "audit {store} --commitlog {log} --report {log}"),
        ("log/new", "conform --store {store} --commitlog {log} --report {log}/new"),
        ("store/new", "conform --select IDX-HASH-2/* --report {store}/new"),
        ("store/known.txt", "conform --store {store} --write-baseline {store}/known.txt"),
    ],
)
def test_no_output_goes_where_a_store_is(
    output: str, verb: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, f"store/commitlog/{0:020}", record(0))
    put(tmp_path, f"log/{1000:020}", record(1000))
    before = sorted(tmp_path.rglob("*"))
    name, *words = verb.format(store=tmp_path / "store", log=tmp_path / "log").split()
    ended = runner(name, capfd, monkeypatch)(*words)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert str(tmp_path / output) in ended.err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_write_is_noticed(tmp_path: Path) -> None:
    """The check itself: one byte written with the same value."""
    store = open_store("small-roll", tmp_path)
    before = snapshot(store)
    path = store / "checkpoint"
    with path.open("r+b") as file:
        file.write(path.read_bytes()[:1])
    assert snapshot(store) != before
