"""The site, built once for all tests of this folder, by whichever worker of the run needs it first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from one_at_a_time import one_at_a_time

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly."""
    folder = tmp_path_factory.getbasetemp()
    out = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "site"
    with one_at_a_time("site"):
        if not out.exists():
            done = subprocess.run(
                [sys.executable, "-m", "website", str(out)],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
    return out
