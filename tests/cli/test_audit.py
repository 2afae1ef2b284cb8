"""The verbs audit, rebuild, diff and digest: output, JSON, exit codes, and one clear line for each bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rocket_golden import open_store

FIELDS = ["code", "severity", "clause", "file", "offset", "message", "cure"]


def rocketspec(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rocketspec", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return open_store("small-roll", tmp_path)


def damage(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("level", "unchecked"),
    [
        ([], "not checked: the bodies of the messages (--deep)\n"),
        (
            ["--quick"],
            "not checked: the content of the files: records, units and entries (audit without --quick)\n",
        ),
        (["--deep"], ""),
    ],
)
def test_audit_of_a_healthy_store(store: Path, level: list[str], unchecked: str) -> None:
    done = rocketspec("audit", store, *level)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{unchecked}{store}: no findings\n", "")
    assert rocketspec("audit", store, *level, "--json").stdout == ""


def test_audit_of_a_damaged_store(store: Path) -> None:
    (store / "abort").touch()
    index = sorted((store / "index").iterdir())[3]
    damage(index, 35)
    done = rocketspec("audit", store, "--json")
    assert (done.returncode, done.stderr) == (1, "")
    found, abort = map(json.loads, done.stdout.splitlines())  # the worst first
    assert list(found) == list(abort) == FIELDS
    assert (abort["code"], abort["severity"], abort["file"], abort["offset"]) == (
        "store.abort",
        "note",
        "abort",
        None,
    )
    expected = ("index.header_count", "error", "IDX-HDR-4", f"index/{index.name}", 32)
    assert tuple(found[name] for name in FIELDS[:5]) == expected
    text = rocketspec("audit", store).stdout
    assert "error   index.header_count (IDX-HDR-4)  index/" in text
    assert text.endswith(f"{store}: 1 error, 1 note\n")


def test_notes_alone_are_no_findings_for_a_script(store: Path) -> None:
    (store / "abort").touch()
    assert rocketspec("audit", store).returncode == 0


def test_rebuild(store: Path, tmp_path: Path) -> None:
    done = rocketspec("rebuild", store, "-o", tmp_path / "new", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(done.stdout)
    assert shown["geometry"] == [7, 12]
    assert shown["queue_file_size"] == 160
    assert shown["findings"] == []
    assert all((tmp_path / "new" / name).is_file() for name in shown["files"])
    again = rocketspec("rebuild", store, "-o", tmp_path / "new")
    assert again.returncode == 2
    assert again.stderr == f"rocketspec: {tmp_path / 'new' / 'index'}: already exists\n"


def test_rebuild_tells_of_a_missing_file(store: Path, tmp_path: Path) -> None:
    missing = sorted((store / "commitlog").iterdir())[2]
    missing.unlink()
    done = rocketspec("rebuild", store, "-o", tmp_path / "new")
    assert done.returncode == 1
    assert done.stderr.startswith(f"rocketspec: log.gap commitlog/{missing.name}: ")
    assert len(done.stderr.splitlines()) == 1


def test_rebuild_tells_what_it_left_out(store: Path, tmp_path: Path) -> None:
    log = sorted((store / "commitlog").iterdir())[2]
    damage(log, 4)
    done = rocketspec("rebuild", store, "-o", tmp_path / "new")
    assert done.returncode == 1
    assert done.stderr.startswith(f"rocketspec: log.magic commitlog/{log.name} at byte 4: ")
    assert done.stderr.count("\n") == 1


def test_digest(store: Path) -> None:
    done = rocketspec("digest", store, "--json")
    *files, whole = map(json.loads, done.stdout.splitlines())
    assert done.returncode == 0
    assert all(list(file) == ["path", "kind", "digest"] for file in files)
    assert list(whole) == ["store"]
    assert rocketspec("digest", store).stdout.endswith(f"{whole['store']}  {store}\n")


def test_diff(store: Path) -> None:
    one, other = sorted((store / "index").iterdir())[:2]
    same = rocketspec("diff", one, one)
    assert (same.returncode, same.stdout) == (0, "no differences\n")
    done = rocketspec("diff", one, other, "--json")
    assert done.returncode == 1
    first = json.loads(done.stdout.splitlines()[0])
    assert list(first) == ["part", "number", "field", "offset", "first", "second"]
    assert (first["part"], first["field"], first["offset"]) == ("header", "begin_timestamp", 0)
    assert rocketspec("diff", one, other).stdout.startswith("header begin_timestamp (byte 0): ")


@pytest.mark.parametrize("verb", ["audit", "rebuild", "diff", "digest"])
def test_help_has_an_example(verb: str) -> None:
    done = rocketspec(verb, "--help")
    assert done.returncode == 0
    assert f"Example: `rocketspec {verb} " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["audit", "absent"], 3, "absent: no such file or directory"),
        (["audit", "."], 2, "not a store"),
        (["audit", ".", "--quick", "--deep"], 2, "--quick and --deep are mutually exclusive"),
        (["audit", ".", "--geometry", "x"], 2, "expected two positive numbers"),
        (["digest", "absent"], 3, "absent: no such file or directory"),
        (["diff", "absent", "absent"], 3, "absent: no such file or directory"),
        (["rebuild", "absent", "-o", "new"], 3, "absent: no such file or directory"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], code: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = rocketspec(*arguments)
    assert done.returncode == code
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("rocketspec: ")
    assert text in done.stderr


def test_the_folder_of_a_store_is_not_a_store(store: Path) -> None:
    done = rocketspec("audit", store.parent)
    expected = f"rocketspec: {store.parent}: not a store; expected the store in it, {store}\n"
    assert (done.returncode, done.stderr) == (2, expected)


def test_restart_of_a_killed_store(tmp_path: Path) -> None:
    killed = open_store("killed", tmp_path)
    done = rocketspec("audit", killed, "--restart", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    *deletions, plan = map(json.loads, done.stdout.splitlines())
    assert [list(deletion) for deletion in deletions] == [["action", "file", "offset", "reason"]] * 3
    assert list(plan)[:5] == ["clean", "refused", "walk_from", "log_end", "dispatch_from"]
    assert list(plan)[5:] == ["lost_units", "lost_keys", "index_safe"]
    assert "delete index/" in rocketspec("audit", killed, "--restart").stdout


def test_no_start_is_predicted_beside_a_running_broker(store: Path) -> None:
    """A running broker has the file `abort`, and locks the first byte of `lock` (DefaultMessageStore 217-232)."""
    (store / "abort").touch()
    (store / "lock").write_text("lock")
    held = (
        "import fcntl, sys; file = open(sys.argv[1], 'r+'); fcntl.lockf(file, fcntl.LOCK_EX, 1, 0); "
        "print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", held, str(store / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        done = rocketspec("audit", store, "--restart")
        listed = rocketspec("audit", store, "--restart", "--json")
        holder.communicate()
    assert (done.returncode, listed.returncode) == (1, 1)
    assert f"a broker is running (process {holder.pid} holds the lock of " in done.stdout
    said = " ".join(done.stdout.split())
    assert "is not predicted" in said
    assert "never start a second broker on this store" in said  # STORE-22
    assert list(json.loads(listed.stdout)) == ["running"]
    assert "the log is read from" in rocketspec("audit", store, "--restart").stdout


def test_restart_of_a_clean_store(store: Path) -> None:
    done = rocketspec("audit", store, "--restart")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("the last stop was clean\n")
