"""Each cure that `audit` prints is run as printed, in the state that prints it; afterwards the store is clean."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest
import rocket_golden
from broken_stores import INCIDENTS
from incident_run import audited, stage
from verb_run import Run

VERB = "audit"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="cures are commands of a shell")

ORDERS = f"consumequeue/Orders/0/{0:020}"
INDEX = "index/20261121132606390"

PRINTED = {
    "the commit log was deleted; there is a replica": "the commit log is gone",
    "a log file in the middle was deleted; there is a replica": "part of the commit log is missing or damaged",
    "the last log file was deleted; there is a replica": "the end of the commit log is missing",
    "the last log file was deleted; there is no replica": "the end of the commit log is missing",
    "the last log file was deleted; the one made ahead is there; there is a replica": "no file holds physical offsets 98,304 to",
    "the last log file was cut; there is a replica": "part of the commit log is missing or damaged",
    "the first log file was deleted": "6 whole files of queues and index point below it",
    "a log file of another store in the middle": "no queue points to 93 of the file's 93 records",
    "a log file of another store at the end": "first record states physical offset 0: it is another one under this name",
    "a log file was packed": "files of the commit log have other names",
    "a log file was renamed": "files of the commit log have other names",
    "the next log file has 0 bytes": "log files after the log's end are empty: no message is lost",
    "a file of another program among the log files": "files that a broker does not expect",
    "records of 5.x at the log's end": "magic daa320ab in commitlog/00000000000000098304 at byte 4",
    "the index folder was deleted": "there are no index files",
    "all index files are empty": "expected an index file, which begins with a header of 40 bytes",
    "two indexes of one geometry were mixed": "where no queue has a message: they are damaged, or another store's",
    "the clock was a year ahead for a while": "the clock jumped while messages were stored",
    "index and queues were deleted": "there are no consume queues",
    "a queue file was cut": "queue.size",
    "a topic's queues were deleted": "queue.missing_unit",
    "a copy of a queue under another topic": "the record belongs to another queue: 0 of Orders",
    "dispatch stayed at a record of a light queue, and the broker was killed":
        "at physical offset 16,384, stops the dispatch: its INNER_MULTI_QUEUE_OFFSET is 'x9,13', and a broker with longPollingEnable",
    "the checkpoint was filled with zeros, and the broker was killed": "checkpoint.behind",
    "the broker's configuration was changed": "configuration does not match the store's files",
    "The last record cut off before its topic; zeros follow": "the end of the commit log is torn",
}  # fmt: skip
"""Part of what is printed about an incident."""

LOST = {"log.gap", "queue.dangling", "index.entry_dangling"}
LEFT = {
    "the first log file was deleted": {"log.gap"},
    "a log file of another store in the middle": LOST,
    "dispatch stayed at a record of a light queue, and the broker was killed": {"store.lag"},
    "The last record cut off before its topic; zeros follow": {"log.torn"},
}  # fmt: skip
"""Codes of findings above notes that no advice clears, since messages are lost or a start has to follow."""


def commands(printed: str, word: str = "cure") -> list[str]:
    """The indented lines below each cure, or below what is printed for a store without a replica."""
    found, own = [], False
    for line in printed.splitlines():
        own = line.startswith(f"        {word}: ") if not line.startswith(" " * 10) else own
        if own and line.startswith(" " * 10):
            found.append(line.strip())
    return found


def shell(folder: Path, script: str, *, finds: bool = False) -> None:
    """Runs commands, none of which may fail; with `finds` the last may report what it leaves."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"set -e\n{script}"],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode <= finds, f"{script}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("name", PRINTED)
def test_a_cure_works_in_the_state_that_prints_it(name: str, tmp_path: Path) -> None:
    staged = stage(next(one for one in INCIDENTS if one.name == name), tmp_path / "it")
    with chdir(staged.folder):
        assert PRINTED[name] in audited(staged.incident)
    staged.follow()
    with chdir(staged.folder):
        lines = audited(staged.incident, "--json").splitlines()
    found = [json.loads(line) for line in lines if line.startswith("{")]
    assert {one["code"] for one in found if one["severity"] != "note"} == LEFT.get(name, set())


def test_max_findings_limits_what_is_printed(run: Run, store: Path) -> None:
    shutil.rmtree(store / "consumequeue" / "Orders")
    shutil.rmtree(store / "consumequeue" / "AaTopic")
    out = run(store, "--max-findings", 2).out
    assert out.count("queue.missing_unit (") == 2
    assert "and 4 more findings; --max-findings N shows more, --json shows all" in out
    assert len(run(store, "--json").out.splitlines()) == 6


HOSTILE = (
    "n0;touch PWNED;#",
    "n0 with spaces",
    "n0'\"$(touch PWNED)`touch PWNED`",
    "n0\ntouch PWNED\n",
    "--help",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_commands_of_a_store_with_hostile_names_do_what_they_say(run: Run, tmp_path: Path, name: str) -> None:
    """Names of the store, of a DLedger member and of a file are words of the printed commands, and nothing more."""
    folder = tmp_path / name
    shutil.move(rocket_golden.open_store("dledger", tmp_path / "golden"), folder)
    member = folder / f"dledger-{name}"
    (folder / "dledger-n0").rename(member)
    for stray_name in (f"-{name}", name):
        (member / "data" / stray_name.replace("/", "_")).write_text("stray")
    damaged = min((member / "data").glob("0*"))
    data = bytearray(damaged.read_bytes())
    data[48 + 4] ^= 0x55
    damaged.write_bytes(data)
    (folder / "index" / "20991231235959999").mkdir()
    out = run(folder).out
    printed = commands(out) + commands(out, "otherwise")
    assert any("PWNED" in line for line in printed) or "PWNED" not in name
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    shell(scratch, "\n".join(line for line in printed if " repair " in line), finds=True)
    assert not list(tmp_path.rglob("PWNED"))
    assert not list(tmp_path.rglob(" with spaces"))
    assert sorted(path.name for path in (member / "data").iterdir() if not path.name.isdecimal()) == []
    assert not (folder / "index" / "20991231235959999").exists()


def test_a_command_is_pasted_twice_without_harm(run: Run, store: Path, tmp_path: Path) -> None:
    """The second paste stops at its first command: a folder that it would make exists."""
    os.truncate(store / INDEX, 1_000)
    os.truncate(store / ORDERS, 200)
    script = "\n".join(commands(run(store).out))
    shell(tmp_path, script)
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, check=False, timeout=100)
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before
    assert run(store).code == 0


def test_of_a_log_with_a_hole_only_the_damaged_queue_file_is_replaced(
    run: Run, store: Path, tmp_path: Path
) -> None:
    """The others keep the units of lost messages, and with them the ends of their queues."""
    before = {path: path.read_bytes() for path in (store / "consumequeue").rglob("0*0") if path.is_file()}
    (store / f"commitlog/{32768:020}").unlink()
    os.truncate(store / ORDERS, 200)
    printed = commands(run(store).out)
    shell(tmp_path, "\n".join(line for line in printed if " repair " in line), finds=True)
    after = {path: path.read_bytes() for path in before}
    assert [path for path in before if after[path] != before[path]] == [store / ORDERS]
    one, two = before[store / ORDERS], after[store / ORDERS]
    lost = range(32768, 65536)
    for at in range(0, 400, 20):
        assert one[at : at + 20] == two[at : at + 20] or int.from_bytes(one[at : at + 8]) in lost
