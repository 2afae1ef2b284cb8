"""The README's own code and commands do what it says."""

import platform
import re
import sys
from pathlib import Path

import pytest
from adapter_code import rocketspec

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


@pytest.mark.parametrize("wrong", [0, 1])
def test_the_ten_line_adapter_is_conformant_for_what_it_has(tmp_path: Path, wrong: int) -> None:
    code = re.search(r"```python\n(import json, sys\n.*?)```", README, re.DOTALL)
    assert code
    assert code[1].count("\n") == 10
    (tmp_path / "adapter.py").write_text(code[1])
    (tmp_path / "my_port.py").write_text(PORT.format(wrong=wrong))
    done = rocketspec("conform", "--", sys.executable, "adapter.py", cwd=tmp_path)
    assert done.returncode == wrong, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    if wrong:
        assert "IDX-HASH-1" in last
        return
    ends = re.fullmatch(
        r"partial run: .*, all as 4.9.3 \(key.hash alone\) \(\d+ of (\d+) cases applicable\)", last
    )
    assert ends, last
    pages = README + (ROOT / "docs" / "ci.md").read_text("utf-8")
    assert set(re.findall(r"of (\d+) cases applicable", pages)) == {ends[1]}


def test_the_version_is_that_of_the_distribution(tmp_path: Path) -> None:
    done = rocketspec("--version", cwd=tmp_path)
    assert re.match(r"rocketspec \d+\.\d+\.\d+ \(RocketMQ 4\.9\.3, ", done.stdout), done.stdout + done.stderr
    assert f"CPython {platform.python_version()}" in done.stdout
    assert all(library in done.stdout for library in ("typer ", "numpy ", "java: "))
