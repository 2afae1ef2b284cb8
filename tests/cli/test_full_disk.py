"""Output on a disk without room or inodes, by a process that may open few files, or that is ended: nothing is left."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from limited_disk import run_on_disks
from rocket_golden import open_store

LIMITS = [
    pytest.param("size", range(5, 2000, 20), "no space left on device", id="room"),
    pytest.param("nr_inodes", range(1, 1000, 12), "no space left on device", id="inodes"),
    pytest.param("files", range(8, 64, 3), "too many open files", id="descriptors"),
]


def check(folder: Path, option: str, limits: range, reason: str, *arguments: object) -> None:
    *failed, last = run_on_disks(folder, option, limits, *arguments)
    for run in failed:
        assert (run.code, run.out, run.left) == (3, "", []), run
        assert run.err.count("\n") == 1, run
        assert run.err.endswith(f": {reason}\n"), run
    assert failed
    assert last.code == 0


@pytest.mark.parametrize(("option", "limits", "reason"), LIMITS)
def test_a_rebuild(option: str, limits: range, reason: str, tmp_path: Path) -> None:
    store = open_store("small-roll", tmp_path / "golden")
    check(tmp_path / "disk", option, limits, reason, "rebuild", store, "-o", tmp_path / "disk" / "new")


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_decoding(form: str, tmp_path: Path) -> None:
    store, folder = open_store("small-roll", tmp_path / "golden"), tmp_path / "disk"
    arguments = "decode", store, "-o", folder / "new", "--format", form
    check(folder, "size", range(5, 2000, 40), "no space left on device", *arguments)


def test_an_audit_by_a_process_that_may_open_few_files(tmp_path: Path) -> None:
    """It reports no finding that is about the process."""
    store = open_store("small-roll", tmp_path / "golden")
    check(tmp_path / "disk", "files", range(8, 128, 5), "too many open files", "audit", store)


def test_the_page_of_an_audit(tmp_path: Path) -> None:
    store, folder = open_store("small-roll", tmp_path / "golden"), tmp_path / "disk"
    check(
        folder,
        "size",
        range(5, 2000, 15),
        "no space left on device",
        "audit",
        store,
        "--report",
        folder / "new",
    )


def test_no_torn_report_of_a_verdict_stays(tmp_path: Path) -> None:
    """It has some 60 KiB."""
    store, folder = open_store("small-roll", tmp_path / "golden"), tmp_path / "disk"
    runs = run_on_disks(folder, "size", (4, 24, 44), "conform", "--store", store, "--report", folder)
    for run in runs:
        assert (run.code, run.left, run.err.count("\n")) == (3, [], 1), run
        assert "no space left on device" in run.err, run


@pytest.mark.parametrize(
    ("name", "verb"), [("SIGINT", "decode"), ("SIGTERM", "rebuild"), ("SIGHUP", "decode")]
)
def test_a_signal_leaves_no_unfinished_output(store: Path, tmp_path: Path, name: str, verb: str) -> None:
    out, beside = tmp_path / "out", Path(sys.executable).with_name("rocketspec")
    command: list[str | Path] = [beside, verb, store, "-o", out, "--rate", "0.02"]  # 200 KB in ten seconds
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 60
        while not (out.exists() and any(out.iterdir())) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(getattr(signal, name))
        assert process.communicate() == (b"", b"")
        assert process.returncode == 130
    assert list(out.glob("*")) == []
