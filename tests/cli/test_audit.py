"""The verbs audit, rebuild, diff and digest: output, JSON, metrics, exit codes, and one clear line for each bad input."""

import json
import os
import re
from pathlib import Path

import pytest
from one_at_a_time import broker_lock
from rocket_golden import open_store
from verb_run import Verb

FIELDS = ["code", "severity", "clause", "file", "offset", "message", "cure"]


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
        ([], "not checked: the bodies of the messages, and that queries reach each key (--deep)\n"),
        (
            ["--quick"],
            "not checked: the content of the files: records, units and entries (audit without --quick)\n",
        ),
        (["--deep"], ""),
    ],
)
def test_audit_of_a_healthy_store(verb: Verb, store: Path, level: list[str], unchecked: str) -> None:
    done = verb("audit", store, *level)
    assert (done.code, done.out, done.err) == (0, f"{unchecked}{store}: no findings\n", "")
    assert verb("audit", store, *level, "--json").out == ""


def test_audit_of_a_damaged_store(verb: Verb, store: Path, tmp_path: Path) -> None:
    (store / "abort").touch()
    index = sorted((store / "index").iterdir())[3]
    damage(index, 35)
    metrics = tmp_path / "store.prom"
    done = verb("audit", store, "--json", "--prometheus", metrics)
    assert (done.code, done.err) == (1, "")
    found, abort = done.rows  # the worst first
    assert list(found) == list(abort) == FIELDS
    assert (abort["code"], abort["severity"], abort["offset"]) == ("store.abort", "note", None)
    expected = ("index.header_count", "error", "IDX-HDR-4", f"index/{index.name}", 32)
    assert tuple(found[name] for name in FIELDS[:5]) == expected
    text = verb("audit", store).out
    assert "error   index.header_count (IDX-HDR-4)  index/" in text
    assert text.endswith(f"{store}: 1 error, 1 note\n")
    counted = metrics.read_text("ascii")
    assert 'severity="error"} 1\n' in counted
    assert 'code="index.header_count",severity="error"} 1\n' in counted
    assert 'code="store.abort",severity="note"} 1\n' in counted
    damage(index, 35)  # whole again
    assert verb("audit", store, "--prometheus", metrics).code == 0  # a note alone is no finding for a script
    (store / "abort").unlink()
    verb("audit", store, "--quick", "--prometheus", metrics)  # its own file is replaced
    assert "store.abort" not in metrics.read_text("ascii")


def test_rebuild(verb: Verb, store: Path, tmp_path: Path) -> None:
    done = verb("rebuild", store, "-o", tmp_path / "new", "--json")
    assert (done.code, done.err) == (0, "")
    shown = json.loads(done.out)
    assert shown["geometry"] == [7, 12]
    assert shown["queue_file_size"] == 160
    assert shown["findings"] == []
    assert all((tmp_path / "new" / name).is_file() for name in shown["files"])
    again = verb("rebuild", store, "-o", tmp_path / "new")
    assert again.code == 2
    assert again.err == f"rocketspec: {tmp_path / 'new' / 'index'}: already exists\n"


@pytest.mark.parametrize(("missing", "begin"), [(True, "log.gap {}: "), (False, "log.magic {} at byte 4: ")])
def test_rebuild_names_what_it_left_out(
    verb: Verb, store: Path, tmp_path: Path, *, missing: bool, begin: str
) -> None:
    log = sorted((store / "commitlog").iterdir())[2]
    log.unlink() if missing else damage(log, 4)
    done = verb("rebuild", store, "-o", tmp_path / "new")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert done.err.startswith(f"rocketspec: {begin.format(f'commitlog/{log.name}')}")


def test_digest(verb: Verb, store: Path) -> None:
    done = verb("digest", store, "--json")
    *files, whole = done.rows
    assert done.code == 0
    assert all(list(file) == ["path", "kind", "digest"] for file in files)
    assert list(whole) == ["store"]
    assert verb("digest", store).out.endswith(f"{whole['store']}  {store}\n")


def test_diff(verb: Verb, store: Path) -> None:
    one, other = sorted((store / "index").iterdir())[:2]
    same = verb("diff", one, one)
    assert (same.code, same.out) == (0, "no differences\n")
    done = verb("diff", one, other, "--json")
    assert done.code == 1
    first = done.rows[0]
    assert list(first) == ["part", "number", "field", "offset", "first", "second"]
    assert (first["part"], first["field"], first["offset"]) == ("header", "begin_timestamp", 0)
    assert verb("diff", one, other).out.startswith("header begin_timestamp (byte 0): ")


def test_restart_of_a_killed_store(verb: Verb, tmp_path: Path) -> None:
    killed = open_store("killed", tmp_path)
    done = verb("audit", killed, "--restart", "--json")
    assert (done.code, done.err) == (0, "")  # the real start deleted these files, and dispatched all again
    *deletions, plan = done.rows
    assert [list(deletion) for deletion in deletions] == [["action", "file", "offset", "reason"]] * 3
    assert list(plan)[:6] == ["safe", "clean", "refused", "walk_from", "log_end", "dispatch_from"]
    assert list(plan)[6:] == ["lost_units", "lost_keys", "index_safe"]
    assert "delete index/" in (out := verb("audit", killed, "--restart").out)
    assert out.startswith("a broker starts, and loses nothing\n")


def test_no_start_is_predicted_beside_a_running_broker(verb: Verb, store: Path) -> None:
    (store / "abort").touch()
    with broker_lock(store) as holder:
        done = verb("audit", store, "--restart")
        listed = verb("audit", store, "--restart", "--json")
    assert (done.code, listed.code) == (1, 1)
    assert f"a broker is running (process {holder} holds the lock of " in done.out
    said = " ".join(done.out.split())
    assert "is not predicted" in said
    assert "never start a second broker on this store" in said  # STORE-22
    assert [list(row) for row in listed.rows] == [["running"]]
    assert "the log is read from" in verb("audit", store, "--restart").out


def test_a_healthy_store(verb: Verb, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "metrics" / "store.prom"
    assert verb("audit", store, "--quick", "--prometheus", out).code == 0
    lines = out.read_text("ascii").splitlines()
    assert lines[:6] == [
        "# HELP rocketspec_audit_findings Findings of the last audit by severity; errors and warnings need action.",
        "# TYPE rocketspec_audit_findings gauge",
        f'rocketspec_audit_findings{{store="{store}",severity="error"}} 0',
        f'rocketspec_audit_findings{{store="{store}",severity="warning"}} 0',
        f'rocketspec_audit_findings{{store="{store}",severity="note"}} 0',
        "# HELP rocketspec_audit_code_findings Findings of the last audit by code; a code without findings is absent.",
    ]
    assert re.fullmatch(r'rocketspec_audit_timestamp_seconds\{store="[^"]+"\} \d{10}', lines[-1])
    assert [path.name for path in out.parent.iterdir()] == ["store.prom"]


def test_a_name_with_a_quote_a_backslash_and_a_line_feed(verb: Verb, store: Path, tmp_path: Path) -> None:
    odd = store.rename(tmp_path / 'a"b\\c\nd')
    out = tmp_path / "store.prom"
    assert verb("audit", odd, "--quick", "--prometheus", out).code == 0
    lines = out.read_text("ascii").splitlines()
    assert rf'{{store="{tmp_path}/a\"b\\c\\x0ad"}}' in lines[-1]


def test_files_that_are_refused(verb: Verb, store: Path, tmp_path: Path) -> None:
    other = tmp_path / "node.prom"
    other.write_text("node_load1 0.5\n", "ascii")
    for path, reason in (
        (store / "x.prom", "nothing is written into a store"),
        (tmp_path / "x.txt", "expected a name that ends with .prom"),
        (other, "was not written by rocketspec"),
    ):
        done = verb("audit", store, "--quick", "--prometheus", path)
        assert (done.code, done.out) == (2, "")
        assert reason in done.err
    assert other.read_text("ascii") == "node_load1 0.5\n"


@pytest.mark.parametrize("device", [None, "/dev/zero", "/dev/null"])
def test_metrics_replace_neither_a_fifo_nor_a_link_to_a_device(
    device: str | None, store: Path, verb: Verb, tmp_path: Path
) -> None:
    path = tmp_path / "rocketspec.prom"
    os.mkfifo(path) if device is None else path.symlink_to(device)
    before = path.lstat()
    done = verb("audit", store, "--quick", "--prometheus", path)
    assert done.is_one_line(2, "was not written by rocketspec; refusing to overwrite")
    assert os.path.samestat(before, path.lstat())
