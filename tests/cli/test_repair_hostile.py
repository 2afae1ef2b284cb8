"""`repair` takes nothing in a store on trust: not the journal of an earlier repair, and no link; and the rules of an older release."""

import json
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from rocket_columnar import repair as engine
from rocket_columnar.rebuild import rebuild
from rocket_golden import open_store
from rocket_spec.layout import Geometry
from store_bytes import put, record
from verb_run import Run, Verb

VERB = "repair"
ORDERS: Final = f"consumequeue/Orders/0/{0:020}"
FOLDER: Final = "rocketspec-repair-20260101-000000-000000"
WAYS: Final = ("--undo", "--apply", "--plan")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store to repair, with a folder of somebody's documents beside it."""
    store = open_store("mixed", tmp_path)
    (store / ORDERS).write_bytes(b"")
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in (".bashrc", f"{0:020}", "20260101000000000", "topics.json", "lock", "repair.json"):
        (docs / name).write_bytes(b"mine: " + name.encode())
    return store


def everything(root: Path) -> dict[str, tuple[bytes, int, int]]:
    """Content, time and mode of each file and folder below `root`; of a link where it leads."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            status = path.lstat()
            content = (
                str(path.readlink()).encode()
                if path.is_symlink()
                else path.read_bytes()
                if path.is_file()
                else b""
            )
            found[path.relative_to(root).as_posix()] = content, status.st_mtime_ns, status.st_mode
    return found


def plant(store: Path, raw: bytes, *, done: bool = False) -> Path:
    folder = store / FOLDER
    for part in ("new", "old"):
        (folder / part).mkdir(parents=True)
    (folder / "repair.json").write_bytes(raw)
    if done:
        (folder / "done").touch()
    return folder


def journal(**fields: Any) -> bytes:
    return json.dumps(
        {"rocketspec_repair": 2, "away": [], "into": {}, "made": [], "newest": 0} | fields
    ).encode()


MALFORMED: Final = {
    "empty": b"",
    "a list": b"[]",
    "cut off": b"{",
    "a number": b"7",
    "a text": b'"repair"',
    "null": b"null",
    "no fields": b"{}",
    "numbers for texts": b'{"rocketspec_repair":2,"away":[1],"into":{},"made":[],"newest":0}',
    "texts for numbers": b'{"rocketspec_repair":2,"away":[],"into":{"index/1":["1","2"]},"made":[],"newest":"0"}',
    "lists of moves": b'{"rocketspec_repair":2,"away":[["a","b"]],"into":[],"made":{},"newest":0}',
    "brackets": b"[" * 100_000,
    "objects": b'{"a":' * 100_000,
    "digits": b'{"rocketspec_repair":' + b"2" * 5_001 + b"}",
    "no UTF-8": b'{"rocketspec_repair":2,"away":["\xff"]}',
    "no number": b'{"rocketspec_repair":2,"away":[],"into":{},"made":[],"newest":NaN}',
    "a fraction": b'{"rocketspec_repair":2,"away":[],"into":{},"made":[],"newest":1.0}',
    "another version": b'{"rocketspec_repair":1,"done":true,"moves":[],"seen":{},"made":[]}',
    "a lone surrogate": journal(away=["index/\ud800"]),
    "zeros": bytes(4096),
    "17 MiB": b" " * (17 << 20),
}  # fmt: skip


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_journal_is_one_line(run: Run, store: Path, raw: bytes) -> None:
    journal = plant(store, raw) / "repair.json"
    before = everything(store.parent)
    for way in WAYS:
        assert run(store, way).is_one_line(3, str(journal))
        assert everything(store.parent) == before


@pytest.mark.parametrize("kind", ["FIFO", "folder", "link to /dev/zero", "link to a file"])
def test_a_journal_that_is_no_file_is_one_line(run: Run, store: Path, kind: str) -> None:
    path = plant(store, b"") / "repair.json"
    path.unlink()
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if "zero" in kind else store.parent / "docs" / "repair.json")
    for way in WAYS:
        assert run(store, way).is_one_line(3, str(path))
    assert (store / ORDERS).read_bytes() == b""


PATHS: Final = (
    "../docs/.bashrc", "../../etc/passwd", "/etc/passwd", "index/../../docs/.bashrc", "index/..", "index/.", "index//1", "./index/1",
    "index/../commitlog/00000000000000000000", "consumequeue/../../docs/.bashrc/1", "consumequeue/T/0/..", "config/broker.conf",
    "config/../../docs/topics.json", "lock", "abort", "commitlog", "index", "", ".", "..", f"{FOLDER}/repair.json", "index/1\0",
    "docs/1", "index/1/2", "dledger-/../1", "index/1\n/2",
)  # fmt: skip


@pytest.mark.parametrize("place", PATHS)
def test_a_path_that_no_repair_makes_is_one_line(run: Run, store: Path, place: str) -> None:
    """Neither as what was replaced, nor as a new file, nor as a folder that was made."""
    path = store.parent / "docs" / ".bashrc"
    seen = [path.stat().st_size, path.stat().st_mtime_ns]
    for fields in ({"away": [place]}, {"into": {place: seen}}, {"made": [place]}):
        if fields == {"made": ["index"]}:
            continue
        for done in (True, False):
            folder = plant(store, journal(**fields), done=done)
            before = everything(store.parent)
            for way in WAYS:
                assert run(store, way).is_one_line(3, str(folder / "repair.json"))
                assert everything(store.parent) == before
            shutil.rmtree(folder)


def test_a_new_file_that_is_in_the_log_is_none(run: Run, store: Path) -> None:
    """A repair moves files of the log away, and never makes one: an undo would remove it."""
    name = f"commitlog/{0:020}"
    status = (store / name).stat()
    folder = plant(store, journal(into={name: [status.st_size, status.st_mtime_ns]}), done=True)
    assert run(store, "--undo").is_one_line(3, str(folder / "repair.json"))
    assert (store / name).exists()


def test_an_undo_keeps_what_the_journal_does_not_name(run: Run, store: Path) -> None:
    folder = plant(store, journal(), done=True)
    (folder / "old" / "index").mkdir()
    (folder / "old" / "index" / "1").write_bytes(b"mine")
    before = everything(store)
    assert run(store, "--undo").is_one_line(
        3, f"{folder}/old/index: found a file that the journal does not name"
    )
    assert everything(store) == before


def test_a_fifo_where_a_queue_has_its_folder_is_one_line(run: Run, store: Path) -> None:
    """Nothing is placed, so that nothing is left that an undo would fail on."""
    shutil.rmtree(store / "consumequeue/Orders/0")
    os.mkfifo(store / "consumequeue/Orders/0")
    before = everything(store)
    for way in ("--plan", "--apply"):
        assert run(store, way).is_one_line(3, f"{store}/consumequeue/Orders/0: not a directory")
        assert everything(store).keys() - {"lock"} == before.keys() - {"lock"}
    folder = plant(store, journal(away=["consumequeue/Orders/0/1"]))
    (folder / "old/consumequeue/Orders/0").mkdir(parents=True)
    (folder / "old/consumequeue/Orders/0/1").touch()
    assert run(store, "--undo").is_one_line(3, "consumequeue/Orders/0/1: not a directory")


@pytest.mark.parametrize("name", ["scratch", "new/stray", ".done.part"])
def test_a_file_that_is_left_in_the_folder_of_a_repair_is_removed_with_it(
    run: Run, store: Path, name: str
) -> None:
    """Where it has a folder; or of a kill while it was written."""
    path = plant(store, journal(), done=True) / name
    path.write_bytes(b"x")
    assert run(store, "--undo").code == 0
    assert not list(store.glob("rocketspec-repair-*"))


def test_a_folder_of_a_repair_with_its_journal_alone_is_removed(run: Run, store: Path) -> None:
    folder = plant(store, journal())
    for part in ("new", "old"):
        (folder / part).rmdir()
    assert run(store, "--undo").code == 0
    assert not folder.exists()


def test_a_queue_whose_name_is_not_utf_8_is_stated_as_left(run: Run, tmp_path: Path) -> None:
    store = open_store("mixed", tmp_path)
    shutil.copytree(
        store / "consumequeue/AaTopic", os.fsdecode(os.fsencode(store / "consumequeue") + b"/Aa\xff")
    )
    done = run(store, "--plan")
    assert done.code == 1
    assert "not cured by a repair: queue.wrong_target consumequeue/Aa\\xff/0/" in done.out


def test_a_thousand_folders_inside_one_another_are_one_line(run: Run, store: Path) -> None:
    first = path = plant(store, journal(), done=True) / "new" / "d"
    for _ in range(1100):
        path.mkdir()
        path /= "d"
    assert run(store, "--undo").is_one_line(3, "too many folders inside one another")
    subprocess.run(["rm", "-r", str(first.parent.with_name("undone") / "d")], check=True)
    assert run(store, "--undo").code == 0


def _leads_out(store: Path, name: str) -> None:
    """Puts a link to the documents, or to one of them, in a place of the store; what was there is gone."""
    path, lead = store / name, store.parent / "docs"
    if path.is_dir():
        shutil.rmtree(path)
    elif path.is_file():
        path.unlink()
        lead /= ".bashrc"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(lead)


LINKS: Final = (
    "index", "index/20261121132606390", "index/20301121132606390", "consumequeue", "consumequeue/Orders", "consumequeue/Zz",
    "consumequeue/Orders/0", "consumequeue/Orders/7", ORDERS, f"consumequeue/Orders/0/{800:020}", "consumequeue_ext",
    f"commitlog/{0:020}", "commitlog/stray", "config", "config/topics.json", "config/topics.json.bak", "lock", "abort", "checkpoint",
    FOLDER, f"{FOLDER}/new", f"{FOLDER}/old", f"{FOLDER}/old/index", f"{FOLDER}/done",
)  # fmt: skip


@pytest.mark.parametrize("name", LINKS)
def test_a_link_is_refused_at_every_place(run: Run, store: Path, name: str) -> None:
    if name.startswith(f"{FOLDER}/"):
        plant(store, journal(), done=True)
    _leads_out(store, name)
    before = everything(store.parent)
    for way in WAYS:
        assert run(store, way).is_one_line(3, f"{store / name}: a symbolic link")
        assert everything(store.parent) == before


def test_a_log_on_another_disk_is_read_and_never_written(run: Run, verb: Verb, store: Path) -> None:
    """`commitlog` alone may be a link: a stray file there is left, all else is repaired and undone."""
    log = store.parent / "log"
    (store / "commitlog").rename(log)
    (store / "commitlog").symlink_to(log)
    (log / "stray").write_bytes(b"x")
    rows = verb("audit", store, "--json").rows
    found = [row for row in rows if row["code"] == "store.unreadable"]
    assert [(row["severity"], row["file"]) for row in found] == [("note", "commitlog")]
    assert "a repair reads the log through it" in found[0]["message"]
    before = everything(store.parent)
    assert "not cured by a repair: log.gap commitlog/stray" in run(store, "--plan").out
    assert run(store, "--apply").code == 1
    assert (store / ORDERS).stat().st_size > 0
    assert everything(log) == {name[4:]: one for name, one in before.items() if name.startswith("log/")}
    assert run(store, "--undo").code == 0
    assert {name: one[0] for name, one in everything(store).items() if name != "lock"} == {
        name[6:]: one[0] for name, one in before.items() if name.startswith("mixed/") and name != "mixed/lock"
    }


def test_a_file_of_the_log_is_not_moved_back_through_a_link(run: Run, store: Path) -> None:
    """The log was moved to another disk after the repair that moved a stray file out of it."""
    (store / "commitlog" / "stray").write_bytes(b"x")
    assert run(store, "--apply").code == 0
    (store / "commitlog").rename(store.parent / "log")
    (store / "commitlog").symlink_to(store.parent / "log")
    before = everything(store.parent)
    assert run(store, "--undo").is_one_line(3, f"{store}/commitlog: a symbolic link")
    assert everything(store.parent) == before


@pytest.mark.parametrize("name", ["index", "consumequeue/Orders/0", "config", FOLDER])
def test_a_folder_that_becomes_a_link_meanwhile_is_not_followed(
    name: str, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After all was looked at, and right before the first move."""
    shutil.rmtree(store / "consumequeue/Orders/1")
    (store / "index/20261121132606390").write_bytes(b"")
    (store / "commitlog" / ".DS_Store").touch()
    (store / "config/topics.json").unlink()
    docs = everything(store.parent / "docs")
    rename, swapped = os.rename, False

    def swap(source: str, place: str, **folders: int) -> None:
        nonlocal swapped
        if source == ".DS_Store":
            swapped = True
            path = next(store.glob("rocketspec-repair-*")) if name == FOLDER else store / name
            path.rename(store / "swapped")
            path.symlink_to(store.parent / "docs")
        rename(source, place, **folders)

    monkeypatch.setattr(os, "rename", swap)
    with suppress(OSError, ValueError):
        engine.repair(engine.Target(store))
    assert swapped
    assert everything(store.parent / "docs") == docs


def test_new_files_are_not_written_through_a_link(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The repair's own folder is replaced by a link while the new files are built."""
    docs, make, swapped = everything(store.parent / "docs"), Path.mkdir, False

    def swap(path: Path, *given: Any, **options: Any) -> None:
        nonlocal swapped
        if path.name == "scratch":
            swapped = True
            folder = next(store.glob("rocketspec-repair-*"))
            folder.rename(store / "swapped")
            folder.symlink_to(store.parent / "docs")
        make(path, *given, **options)

    monkeypatch.setattr(Path, "mkdir", swap)
    with suppress(OSError, ValueError):
        engine.repair(engine.Target(store))
    assert swapped
    assert everything(store.parent / "docs") == docs


def test_a_store_of_4_8_0_is_repaired_by_its_rules(run: Run, tmp_path: Path) -> None:
    """LOG-PROP-3: a key with a second separator is none there, so that its index needs no repair."""
    store, data = tmp_path / "store", record(0, properties=b"KEYS\1a\1b")
    put(store, f"commitlog/{0:020}", (data + record(len(data), queue_offset=1)).ljust(4096, b"\0"))
    rebuild(store, tmp_path / "new", geometry=Geometry(7, 20), queue_file_size=200, release="4.8.0")
    for part in ("index", "consumequeue"):
        (tmp_path / "new" / part).rename(store / part)
    options = "--plan", "--geometry", "7,20"
    assert run(store, *options, "--rocketmq-profile", "4.8.0").last == "there is nothing to repair"
    assert "replace index/" in run(store, *options).out
