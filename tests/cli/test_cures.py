"""The commands of cures as they are printed: of hostile names, pasted twice, and no more than is damaged."""

import os
import shutil
from pathlib import Path

import pytest
import rocket_golden
from store_bytes import contents, overwrite
from transcript import run_command
from verb_run import Run

VERB = "audit"


ORDERS = f"consumequeue/Orders/0/{0:020}"
INDEX = "index/20261121132606390"


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
    code, printed = run_command(f"set -e\n{script}", folder)
    assert code <= finds, f"{script}\n{printed}"


HOSTILE = ("n0 with spaces;touch PWNED;#", "n0'\"$(touch PWNED)`touch PWNED`\ntouch PWNED\n", "--help")


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
    overwrite(damaged, 48 + 4, b"\x55")
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
    before = contents(store)
    run_command(script, tmp_path)
    assert contents(store) == before
    assert run(store).code == 0


def test_of_a_log_with_a_hole_only_the_damaged_queue_file_is_replaced(
    run: Run, store: Path, tmp_path: Path
) -> None:
    """The others keep the units of lost messages, and with them the ends of their queues."""
    before = contents(store)
    (store / f"commitlog/{32768:020}").unlink()
    os.truncate(store / ORDERS, 200)
    printed = commands(run(store).out)
    shell(tmp_path, "\n".join(line for line in printed if " repair " in line), finds=True)
    after = contents(store)
    queues = [name for name in before if name.startswith("consumequeue/")]
    assert [name for name in queues if after[name] != before[name]] == [ORDERS]
    one, two = before[ORDERS], after[ORDERS]
    lost = range(32768, 65536)
    for at in range(0, 400, 20):
        assert one[at : at + 20] == two[at : at + 20] or int.from_bytes(one[at : at + 8]) in lost
