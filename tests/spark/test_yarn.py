"""The documented `spark-submit --master yarn`, on YARN's own mini cluster: a resource manager and two node managers."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
import pyspark
import pytest
from mini_cluster import mini_cluster
from short_lived import SHORT_LIVED

pytestmark = [pytest.mark.spark, pytest.mark.java, pytest.mark.soak]

ROOT: Final = Path(__file__).parents[2]
YARN: Final = Path(__file__).parent / "yarn"
PATIENCE: Final = 1200


@pytest.fixture(scope="module")
def hadoop_conf(maven: str, java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of settings of a running cluster."""
    folder = tmp_path_factory.mktemp("yarn")
    (folder / "conf").mkdir()
    site = folder / "conf" / "yarn-site.xml"
    with mini_cluster(maven, java, YARN / "MiniYarn.java", folder, site, megabytes=400) as line:
        assert line == "ready"
        yield site.parent


def command(home: Path) -> str:
    """The page's command, with the Python of the tests, as for machines that have rocketspec installed."""
    page = (ROOT / "docs" / "spark-clusters.md").read_text("utf-8")
    section = page.split("## YARN")[1].split("\n## ")[0]
    (block,) = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    for documented, here in (
        ("./rocketspec.pex", sys.executable),
        ("--files rocketspec.pex ", ""),
        ("~/store", str(home / "store")),
        ("-o tables", f"-o {home / 'tables'}"),
    ):
        assert documented in block
        block = block.replace(documented, here)
    return str(block)


@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_a_decode_on_yarn(hadoop_conf: Path, hand_made: Path, tmp_path: Path, mode: str) -> None:
    (tmp_path / "rocketspec_main.py").write_text("from rocketspec.__main__ import main\nmain()\n")
    (tmp_path / "store").symlink_to(hand_made)
    small = " ".join(
        f"--conf {setting}"
        for setting in (
            "spark.executor.instances=2",
            "spark.executor.memory=512m",
            "spark.yarn.am.memory=512m",
            "spark.driver.memory=512m",
            f"spark.yarn.stagingDir={tmp_path}/staging",
            f"spark.yarn.appMasterEnv.PYSPARK_PYTHON={sys.executable}",
        )
    )
    words = command(tmp_path).replace("--master yarn", f"--master yarn --deploy-mode {mode} {small}")
    done = subprocess.run(
        ["bash", "-c", words],
        cwd=tmp_path,
        env=os.environ
        | {
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "HADOOP_CONF_DIR": str(hadoop_conf),
            "JAVA_TOOL_OPTIONS": SHORT_LIVED,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert (tmp_path / "tables" / "_SUCCESS").exists()
    parts = (tmp_path / "tables" / "commit_log").iterdir()
    assert sum(pq.ParquetFile(part).metadata.num_rows for part in parts) == 2
