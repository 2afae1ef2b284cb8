"""The blocks of README.md and docs/ci.md that other tests do not run: commands as they are, on what they name."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import rocket_golden
from page_run import matches, run_command, run_page
from walk import RIGHT, WRONG, block

ROOT = Path(__file__).parents[2]


def run(line: str, folder: Path, *codes: int) -> str:
    """What a command prints; its exit code is one of `codes`."""
    code, printed = run_command(line, folder)
    assert code in codes, f"{line}\nexit code {code}\n{printed}"
    return printed


def write_ports(folder: Path) -> None:
    """The README's adapter, a wrong port, and in `before` the report of a right one."""
    (folder / "adapter.py").write_text(block("README.md", "import json, sys\n"), "utf-8")
    (folder / "my_port.py").write_text(RIGHT, "utf-8")
    run("rocketspec conform --report before -- python3 adapter.py", folder, 0)
    (folder / "my_port.py").write_text(WRONG, "utf-8")


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
@pytest.mark.skipif(shutil.which("bash") is None, reason="commands of a shell")
def test_the_commands_that_test_an_implementation(tmp_path: Path) -> None:
    """With a port of the hash that is wrong: each failure has a replay file, and the comparison shows what broke."""
    write_ports(tmp_path)
    expected = {"conform": 1, "replay": 1, "conform-diff": 1}
    for line in block("README.md", "rocketspec conform --report out").splitlines():
        if "--rocketmq" in line:
            continue  # below
        if line.startswith("rocketspec replay"):
            case = min((tmp_path / "out" / "replay").glob("*.json")).name
            line = line.replace("CASE.json", case)  # noqa: PLW2901 - the name that the page leaves open
        if line.startswith("rocketspec compare"):
            for name in ("rust-out", "go-out"):
                shutil.copytree(tmp_path / "out", tmp_path / name)
        verb = line.split()[1]
        run(line, tmp_path, 1 if line.startswith("pytest") else expected.get(verb, 0))
    assert (tmp_path / "p.html").stat().st_size
    assert (tmp_path / "my-adapter" / "Cargo.toml").is_file()


@pytest.mark.soak
@pytest.mark.java
def test_an_older_release_fails_as_shown(maven: str, java: str, tmp_path: Path) -> None:
    del maven, java  # asked for so that their absence skips
    printed = run("rocketspec conform --rocketmq 4.7.0", tmp_path, 1)
    assert matches("...\n" + block("README.md", "diverged IDX-HDR-4/chain"), printed), printed[-3000:]


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark runs on Java")
def test_the_commands_and_the_python_of_spark(tmp_path: Path) -> None:
    shutil.move(rocket_golden.open_store("mixed", tmp_path), tmp_path / "STORE")
    for line in block("README.md", "rocketspec spark decode").splitlines():
        run(line.replace("STORE...", "STORE").replace("-o OUT", f"-o {line.split()[2]}"), tmp_path, 0)
    text = block("README.md", "from rocket_spark import").replace(
        "/data/broker-a/store", str(tmp_path / "STORE")
    )
    (tmp_path / "block.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "block.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(r"Orders\|\s+85\|", done.stdout), done.stdout


@pytest.mark.soak
def test_the_gate_of_the_page_for_pipelines(tmp_path: Path) -> None:
    write_ports(tmp_path)
    shutil.copytree(ROOT / "docs" / "ci", tmp_path / "ci")
    run_page((ROOT / "docs" / "ci.md").read_text("utf-8"), tmp_path)
