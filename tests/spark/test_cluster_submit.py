"""`spark-submit` with everything in one packed file, on a real standalone cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from rocket_columnar.store import find_files
from spark_servers import cluster

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.network]

ROOT = Path(__file__).parents[2]


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done


def test_a_packed_environment(java: str, hand_made: Path, tmp_path: Path) -> None:
    """The commands of docs/spark-clusters.md; neither driver nor workers use this environment's rocketspec."""
    wheel = ("-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", "wheel", str(ROOT))
    run(sys.executable, *wheel, cwd=tmp_path)
    (built,) = (tmp_path / "wheel").glob("rocketspec-*.whl")
    pack = ("--inherit-path=fallback", "--no-compress", "-o", "rocketspec.pex")
    run(sys.executable, "-m", "pex", str(built), "pandas>=2.2,<3", *pack, cwd=tmp_path)
    (tmp_path / "rocketspec_main.py").write_text("from rocketspec.__main__ import main\nmain()\n")
    home = Path(pyspark.__file__).parent
    environment = {
        "PYSPARK_PYTHON": "./rocketspec.pex",
        "PYSPARK_DRIVER_PYTHON": "./rocketspec.pex",
        "PEX_ROOT": str(tmp_path / "pex"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with cluster(tmp_path) as nodes:
        submit = (str(home / "bin" / "spark-submit"), "--master", nodes.master, "--files", "rocketspec.pex")
        verb = ("rocketspec_main.py", "spark", "decode", str(hand_made), "-o", str(tmp_path / "out"))
        memory = ("--conf", "spark.executor.memory=512m")
        done = run(*submit, *memory, *verb, cwd=tmp_path, **environment)
    assert (tmp_path / "out" / "_SUCCESS").exists()
    assert f"{len(find_files(hand_made))} files, " in done.stdout
