"""Blocks of README.md, run as they are on what they name."""

import re
import shutil
from pathlib import Path

import pytest
import rocket_golden
from transcript import block, matches, run_command

ROOT = Path(__file__).parents[2]


def run(line: str, folder: Path, *codes: int) -> str:
    """What a command prints; its exit code is one of `codes`."""
    code, printed = run_command(line, folder)
    assert code in codes, f"{line}\nexit code {code}\n{printed}"
    return printed


def test_the_commands_that_repair_a_store(tmp_path: Path) -> None:
    shutil.move(rocket_golden.open_store("mixed", tmp_path), tmp_path / "STORE")
    for name, file in zip("AB", sorted((tmp_path / "STORE" / "index").iterdir()), strict=False):
        shutil.copy(file, tmp_path / name)
    lines = block("README.md", "rocketspec audit STORE").splitlines()
    printed = [run(line, tmp_path, int(line.startswith("rocketspec diff"))) for line in lines]
    assert "STORE: no findings" in printed[0]
    assert (tmp_path / "DIR" / "index").is_dir()


def test_the_filtered_decode(tmp_path: Path) -> None:
    rocket_golden.open_store("mixed", tmp_path)
    rows = run(block("README.md", "rocketspec decode mixed --table commit_log"), tmp_path, 0).splitlines()
    offsets = [int(re.findall(r'"phy_offset":(\d+)', row)[0]) for row in rows]
    assert offsets == [0, 256]  # of 256 and 245 bytes: a third would begin at 501


def test_the_block_of_python(tmp_path: Path) -> None:
    shutil.move(rocket_golden.open_store("mixed", tmp_path), tmp_path / "store")
    (tmp_path / "block.py").write_text(
        block("README.md", "import rocketspec\n") + "print(orders.shape, len(messages), len(findings))\n"
    )
    printed = run("python3 block.py", tmp_path, 0)
    assert "index_entries 199" in printed
    assert re.search(
        r"^\(85, \d+\) 1 0$", printed, re.MULTILINE
    )  # messages of Orders, found by unique key, findings


@pytest.mark.soak
@pytest.mark.java
def test_an_older_release_fails_as_shown(maven: str, java: str, tmp_path: Path) -> None:
    del maven, java  # asked for so that their absence skips
    printed = run("rocketspec conform --rocketmq 4.7.0", tmp_path, 1)
    assert matches("...\n" + block("README.md", "diverged IDX-HDR-4/chain"), printed), printed[-3000:]
