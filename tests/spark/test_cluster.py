"""Jobs on a real standalone cluster whose tasks fail, run twice or lose their worker, and over Spark Connect."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from java_programs import SHORT_LIVED
from rocket_columnar.rebuild import rebuild
from rocket_golden import open_store
from spark_servers import Cluster, cluster, connect_server, quick_python
from table_rows import engine_rows, part_rows, same

pytestmark = pytest.mark.spark

STORES = ("mixed", "transactions")
DRIVER = Path(__file__).parents[1] / "support" / "cluster_driver.py"
PATIENCE = 300


def kill_the_worker_of_the_task(nodes: Cluster, marks: Path, driver: subprocess.Popen[str]) -> None:
    """Waits for task 0 of the job "killed" to run, and kills the worker that it runs on."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and driver.poll() is None:
        for number, worker in enumerate(nodes.workers, 1):
            if (marks / f"running-on-{number}").exists():
                worker.kill()
                worker.wait()
                return
        time.sleep(0.1)


@pytest.fixture(scope="module")
def ran(java: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder in which the driver's jobs ran, and what they said."""
    directory = tmp_path_factory.mktemp("cluster")
    stores = [str(open_store(name, directory / "golden")) for name in STORES]
    (directory / "jobs").mkdir()
    with (
        cluster(directory) as nodes,
        (directory / "driver.log").open("w") as log,
        subprocess.Popen(
            [sys.executable, str(DRIVER), nodes.master, str(directory / "jobs"), *stores],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "JAVA_TOOL_OPTIONS": SHORT_LIVED, "PYSPARK_PYTHON": quick_python(directory)},
        ) as driver,
    ):
        try:
            kill_the_worker_of_the_task(nodes, directory / "jobs" / "marks", driver)
            output, _ = driver.communicate(timeout=PATIENCE)
        finally:
            driver.kill()
    assert driver.returncode == 0, (directory / "driver.log").read_text()[-4000:]
    return directory, {line["kind"]: line for line in map(json.loads, output.splitlines())}


@pytest.mark.parametrize("kind", ["retried", "speculative", "killed"])
def test_rows_equal_decode(ran: tuple[Path, dict[str, Any]], kind: str) -> None:
    """A task that failed when it had written, one that ran twice to its end, one whose worker was killed: one copy."""
    directory, said = ran
    out = directory / "jobs" / kind
    assert said[kind]["stores"] == len(STORES)
    for name in STORES:
        store = directory / "golden" / name
        for table, rows in engine_rows(store).items():
            there = [row for row in part_rows(out / table) if row["store"] == str(store)]
            assert there == [{"store": str(store)} | row for row in rows]
    assert {path.name for path in out.iterdir() if path.name.startswith("_")} == {"_SUCCESS"}


def test_the_faults_did_happen(ran: tuple[Path, dict[str, Any]]) -> None:
    directory, _ = ran
    marks = {path.name for path in (directory / "jobs" / "marks").iterdir()}
    assert marks >= {
        "retried-first",
        "retried-again",
        "speculative-first",
        "speculative-again",
        "killed-again",
    }
    assert "killed-first" not in marks


def test_rebuilt_files_are_those_of_one_machine(ran: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    directory, _ = ran
    for name in STORES:
        rebuild(directory / "golden" / name, tmp_path / name)
        same(directory / "jobs" / "rebuilt" / str(directory / "golden" / name).strip("/"), tmp_path / name)


def test_decode_over_connect(java: str, hand_made: Path, tmp_path: Path) -> None:
    """Without Java on the path."""
    command = ("spark", "decode", str(hand_made), "-o", str(tmp_path / "out"), "--json")
    words = [sys.executable, "-m", "rocketspec", *command]
    with connect_server(tmp_path) as url:
        done = subprocess.run(
            [*words, "--remote", url],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**os.environ, "PATH": "", "JAVA_HOME": ""},
        )
    assert (done.returncode, done.stderr) == (0, "")
    summary = {table["table"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    expected = engine_rows(hand_made)
    assert summary == {table: len(rows) for table, rows in expected.items()}
    for table, rows in expected.items():
        assert part_rows(tmp_path / "out" / table) == [{"store": str(hand_made)} | row for row in rows]
