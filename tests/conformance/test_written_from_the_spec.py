"""An index file that was written from SPEC.md and PROTOCOL.md alone, and passed every case at its first run.

`docs/first-run.json` records that run. The program beside this test is the one that ran, byte for byte.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "written_from_the_spec"
RECORD = json.loads((ROOT / "docs" / "first-run.json").read_text("utf-8"))


def test_the_program_is_the_one_that_ran() -> None:
    digest = hashlib.sha256((PROGRAM / "main.go").read_bytes()).hexdigest()
    assert digest == RECORD["program_sha256"]
    assert (RECORD["applicable"], RECORD["passed"]) == (677, 677)


def test_it_still_passes(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("go is missing, and with CI=true nothing is skipped", pytrace=False)
        pytest.skip("go is missing")
    program = tmp_path / "program.exe"
    environment = os.environ | {"GOTOOLCHAIN": "local"}
    subprocess.run(["go", "build", "-o", program, "."], cwd=PROGRAM, env=environment, check=True)
    conform = [sys.executable, "-m", "rocketspec", "conform", "--examples", "20", "--require", "index"]
    ran = subprocess.run([*conform, "--", program], capture_output=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stdout
    last = ran.stdout.splitlines()[-1]
    assert re.fullmatch(
        r"partial run: \d+ of \d+ index cases, all as 4\.9\.3 \(--examples 20\) \(\d+ of \d+ cases applicable\)",
        last,
    ), last
