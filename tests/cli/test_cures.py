"""Each cure that `audit` prints is run as printed, in the state that prints it; afterwards the store is clean."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import rocket_golden
from verb_run import Run

VERB = "audit"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="cures are commands of a shell")

ORDERS = f"consumequeue/Orders/0/{0:020}"
INDEX = "index/20261121132606390"
CONFIGURATION = (
    "maxHashSlotNum=61\nmaxIndexNum=200\nmappedFileSizeConsumeQueue=400\nmappedFileSizeCommitLog=32768\n"
)
"""That of the broker which wrote the golden store `mixed` (golden/rocket_golden/manifest.json)."""


Damage = Callable[[Path], object]


def changed(name: str, change: Callable[[bytes], bytes]) -> Damage:
    """Has other bytes in a file."""
    return lambda store: (store / name).write_bytes(change((store / name).read_bytes()))


def cut(name: str, size: int) -> Damage:
    return changed(name, lambda data: data[:size])


def zeroed(name: str) -> Damage:
    return changed(name, lambda data: bytes(len(data)))


def flipped(name: str, offset: int) -> Damage:
    return changed(name, lambda data: data[:offset] + bytes([data[offset] ^ 0x55]) + data[offset + 1 :])


def gone(*names: str, emptied: bool = False) -> Damage:
    """Removes files and folders; a folder that is only emptied stays."""

    def work(store: Path) -> None:
        for path in (store / name for name in names):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            if emptied:
                path.mkdir()

    return work


def renamed(name: str, new: str) -> Damage:
    return lambda store: (store / name).rename((store / name).with_name(new))


def foreign_index(store: Path) -> None:
    """A copy of the last index file whose header has physical offsets that are 5,000,000 higher."""
    data = bytearray(max((store / "index").iterdir()).read_bytes())
    for at in (16, 24):
        data[at : at + 8] = (int.from_bytes(data[at : at + 8]) + 5_000_000).to_bytes(8)
    (store / "index" / "20261122000000000").write_bytes(data)


STATES: dict[str, tuple[Damage, str]] = {
    "log folder empty": (gone("commitlog", emptied=True), "the commit log is gone"),
    "log file cut": (cut(f"commitlog/{32768:020}", 10_000), "part of the commit log is missing"),
    "log record overwritten": (flipped(f"commitlog/{65536:020}", 4), "part of the commit log is missing"),
    "last log file gone": (gone(f"commitlog/{98304:020}"), "the end of the commit log is missing"),
    "stray file": (
        lambda store: (store / "commitlog" / ".DS_Store").touch(),
        "files that a broker does not expect",
    ),
    "next log file empty": (
        lambda store: (store / f"commitlog/{131072:020}").touch(),
        "log files after the log's end are empty: no message is lost",
    ),
    "log file packed": (
        lambda store: subprocess.run(["gzip", store / f"commitlog/{32768:020}"], check=True),
        "files of the commit log have other names",
    ),
    "log file renamed": (
        renamed(f"commitlog/{32768:020}", f"{32768:020}.bak"),
        "files of the commit log have other names",
    ),
    "index folder empty": (gone("index", emptied=True), "there are no index files"),
    "index file gone": (gone(INDEX), "index.missing_key"),
    "index slot overwritten": (flipped(INDEX, 40 + 4 * 11), "index."),
    "queue folder empty": (gone("consumequeue", emptied=True), "there are no consume queues"),
    "queue unit overwritten": (flipped(ORDERS, 47), "queue."),
    "topic gone": (gone("consumequeue/Orders"), "queue.missing_unit"),
    "index and queues gone": (gone("index", "consumequeue"), "there are no index files"),
    "index file zeroed": (zeroed(INDEX), "index.empty"),
    "all index files empty": (
        lambda store: [path.write_bytes(b"") for path in (store / "index").iterdir()],
        " --broker-conf BROKER.CONF",
    ),
    "first log file zeroed": (zeroed(f"commitlog/{0:020}"), "part of the commit log is missing"),
    "last log file zeroed": (zeroed(f"commitlog/{98304:020}"), "the end of the commit log is missing"),
    "queue file renamed": (renamed(ORDERS, f"{7:020}"), "queue.order"),
    "queue of another topic": (
        lambda store: shutil.copytree(store / "consumequeue/Orders/0", store / "consumequeue/Copied/0"),
        "the record belongs to another queue: 0 of Orders",
    ),
    "index file of another store": (
        foreign_index,
        "where no queue has a message: they are damaged, or another store's",
    ),
}
"""What happens to the store, and part of what is printed about it; `broken_stores.FAULTS` has other ways."""


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


@pytest.mark.parametrize(("damage", "part"), STATES.values(), ids=STATES)
def test_a_cure_works_in_the_state_that_prints_it(
    run: Run, store: Path, tmp_path: Path, damage: Damage, part: str
) -> None:
    shutil.copytree(store, tmp_path / "replica")
    (tmp_path / "broker.conf").write_text(CONFIGURATION)
    damage(store)
    code, out, _ = run(store)
    assert code == 1
    assert part in out
    printed = commands(out)
    assert printed
    script = "\n".join(
        command.replace("REPLICA", "replica").replace("BROKER.CONF", "broker.conf") for command in printed
    )
    shell(tmp_path, script)
    code, out, err = run(store)
    assert (code, err) == (0, ""), out


LOST = {"log.gap", "queue.dangling", "index.entry_dangling"}


@pytest.mark.parametrize(
    ("state", "left"),
    [
        ("log file cut", LOST),
        ("log record overwritten", LOST),
        ("last log file gone", set()),
    ],
)
def test_without_a_replica_the_rest_of_the_store_is_cured(
    run: Run, store: Path, tmp_path: Path, state: str, left: set[str]
) -> None:
    """What is lost stays reported, with exit code 1; what was left of a damaged file is decoded before it is moved."""
    STATES[state][0](store)
    printed = commands(run(store).out, "otherwise")
    shell(tmp_path, "\n".join(printed), finds=True)
    codes = {json.loads(line)["code"] for line in run(store, "--json").out.splitlines()}
    assert codes == left
    assert bool(list(tmp_path.glob("left-*/commit_log.parquet"))) == (state != "last log file gone")


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
    cut(INDEX, 1_000)(store)
    cut(ORDERS, 200)(store)
    script = "\n".join(commands(run(store).out))
    shell(tmp_path, script)
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, check=False, timeout=100)
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before
    assert run(store).code == 0


@pytest.mark.parametrize(
    ("damage", "advice"),
    [
        (flipped(f"commitlog/{0:020}", 4), "leave the files as they are: a start does not read them"),
        (flipped(f"commitlog/{65536:020}", 4), "move them away"),
        (cut(f"commitlog/{0:020}", 10_000), "give those of another length their usual one"),
    ],
    ids=["a file that a clean start skips", "a file that it reads", "a cut file that it skips"],
)
def test_nothing_is_moved_that_a_start_keeps(run: Run, store: Path, damage: Damage, advice: str) -> None:
    """A clean start reads the last three of the four log files (CommitLog.recoverNormally 206-272)."""
    damage(store)
    out = run(store).out
    assert f"otherwise: without a replica: {advice}" in out or f", {advice}: " in out
    moved = [line for line in commands(out, "otherwise") if line.startswith("mv ") and "commitlog" in line]
    assert bool(moved) == (advice == "move them away")


def test_a_damaged_file_of_dledger_is_left_where_it_is(run: Run, tmp_path: Path) -> None:
    """DLedger accepts no gap between its files (DLG-6)."""
    store = rocket_golden.open_store("dledger", tmp_path)
    flipped(f"dledger-n0/data/{0:020}", 48 + 4)(store)
    out = run(store).out
    assert "part of the commit log is missing or damaged" in out
    assert not [
        line for line in commands(out) + commands(out, "otherwise") if line.startswith(("mv ", "cp "))
    ]


def test_of_a_log_with_a_hole_only_the_damaged_queue_file_is_replaced(
    run: Run, store: Path, tmp_path: Path
) -> None:
    """The others keep the units of lost messages, and with them the ends of their queues."""
    before = {path: path.read_bytes() for path in (store / "consumequeue").rglob("0*0") if path.is_file()}
    gone(f"commitlog/{32768:020}")(store)
    cut(ORDERS, 200)(store)
    printed = commands(run(store).out)
    shell(tmp_path, "\n".join(line for line in printed if " repair " in line), finds=True)
    after = {path: path.read_bytes() for path in before}
    assert [path for path in before if after[path] != before[path]] == [store / ORDERS]
    one, two = before[store / ORDERS], after[store / ORDERS]
    lost = range(32768, 65536)
    for at in range(0, 400, 20):
        assert one[at : at + 20] == two[at : at + 20] or int.from_bytes(one[at : at + 8]) in lost
