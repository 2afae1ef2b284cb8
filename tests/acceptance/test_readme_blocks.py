"""Blocks of docs/python.md, run as they are on what they name."""

import re
import shutil
from pathlib import Path

import rocket_golden
from transcript import block, run_command

ROOT = Path(__file__).parents[2]


def run(line: str, folder: Path, *codes: int) -> str:
    """What a command prints; its exit code is one of `codes`."""
    code, printed = run_command(line, folder)
    assert code in codes, f"{line}\nexit code {code}\n{printed}"
    return printed


def test_the_filtered_decode(tmp_path: Path) -> None:
    rocket_golden.open_store("mixed", tmp_path)
    rows = run(
        block("docs/python.md", "rocketspec decode mixed --table commit_log"), tmp_path, 0
    ).splitlines()
    offsets = [int(re.findall(r'"phy_offset":(\d+)', row)[0]) for row in rows]
    assert offsets == [0, 256]  # of 256 and 245 bytes: a third would begin at 501


def test_the_block_of_python(tmp_path: Path) -> None:
    shutil.move(rocket_golden.open_store("mixed", tmp_path), tmp_path / "store")
    (tmp_path / "block.py").write_text(
        block("docs/python.md", "import rocketspec\n") + "print(orders.shape, len(messages), len(findings))\n"
    )
    printed = run("python3 block.py", tmp_path, 0)
    assert "index_entries 199" in printed
    assert re.search(
        r"^\(85, \d+\) 1 0$", printed, re.MULTILINE
    )  # messages of Orders, found by unique key, findings
