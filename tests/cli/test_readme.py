"""The README's own code and commands do what it says."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from pathlib import Path

import rocket_golden
import rocketspec

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PORT = """
def key_hash(key: str) -> int:
    total = 0
    for high, low in zip(*[iter(key.encode("utf-16-be"))] * 2):
        total = (31 * total + 256 * high + low) & 0xFFFFFFFF
    signed = total - (total >> 31 << 32)
    return {wrong} + (0 if signed == -(1 << 31) else abs(signed))
"""


def rocketspec_command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rocketspec", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def adapter_of_the_readme() -> str:
    code = re.search(r"```python\n(import json, sys\n.*?)```", README, re.DOTALL)
    assert code
    assert code[1].count("\n") == 10
    return code[1]


def test_the_ten_line_adapter_is_conformant_for_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "adapter.py").write_text(adapter_of_the_readme())
    (tmp_path / "my_port.py").write_text(PORT.format(wrong=0))
    done = rocketspec_command("conform", "--", sys.executable, "adapter.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    ends = re.fullmatch(r"conformant in part, for key.hash only \(\d+ of (\d+) cases applicable\)", last)
    assert ends, last
    pages = README + (ROOT / "docs" / "ci.md").read_text("utf-8")
    assert set(re.findall(r"of (\d+) cases applicable", pages)) == {ends[1]}


def test_the_ten_line_adapter_of_a_wrong_hash_is_not_conformant(tmp_path: Path) -> None:
    (tmp_path / "adapter.py").write_text(adapter_of_the_readme())
    (tmp_path / "my_port.py").write_text(PORT.format(wrong=1))
    done = rocketspec_command("conform", "--", sys.executable, "adapter.py", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "IDX-HASH-1" in done.stdout


def test_the_facade_decodes_queries_and_conforms(tmp_path: Path) -> None:
    store = rocket_golden.open_store("mixed", tmp_path)
    rows = sum(batch.num_rows for _, batch in rocketspec.decode(store, tables=["index_entries"]))
    assert rows == sum(line["type"] == "index_entry" for line in rocket_golden.truth("mixed"))
    kinds = {file.kind for file in rocketspec.open_store(store)}
    assert kinds == {"index", "queue", "log", "checkpoint"}
    line = next(line for line in rocket_golden.truth("mixed") if line["type"] == "query" and line["messages"])
    answer = rocketspec.query(
        store,
        topic=line["topic"],
        key=line["key"],
        begin=line["begin"],
        end=line["end"],
        max_num=line["max_num"],
    )
    assert list(answer.offsets) == line["offsets"]
    report = rocketspec.conform(select=["IDX-HASH-*"], examples=1)
    assert report.exit_code == 0


def test_the_version_is_that_of_the_distribution(tmp_path: Path) -> None:
    done = rocketspec_command("--version", cwd=tmp_path)
    assert re.match(r"rocketspec \d+\.\d+\.\d+ \(RocketMQ 4\.9\.3, ", done.stdout), done.stdout + done.stderr
    assert f"CPython {platform.python_version()}" in done.stdout
    assert all(library in done.stdout for library in ("typer ", "numpy ", "java: "))
