"""Jobs on a real standalone cluster of two workers, and what they leave when tasks fail, run twice, or lose their worker."""

import filecmp
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rocket_columnar.decode import decode as engine
from rocket_columnar.rebuild import rebuild
from rocket_columnar.store import find_files
from rocket_golden import open_store
from spark_servers import Cluster, cluster

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
        ) as driver,
    ):
        try:
            kill_the_worker_of_the_task(nodes, directory / "jobs" / "marks", driver)
            output, _ = driver.communicate(timeout=PATIENCE)
        finally:
            driver.kill()
    assert driver.returncode == 0, (directory / "driver.log").read_text()[-4000:]
    return directory, {line["kind"]: line for line in map(json.loads, output.splitlines())}


def rows(store: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for table, batch in engine(find_files(store)):
        found.setdefault(table, []).extend(batch.to_pylist())
    return found


@pytest.mark.parametrize("kind", ["plain", "retried", "speculative", "killed"])
def test_rows_equal_decode(ran: tuple[Path, dict[str, Any]], kind: str) -> None:
    """A task that failed when it had written, one that ran twice to its end, one whose worker was killed: one copy."""
    directory, said = ran
    out = directory / "jobs" / kind
    assert said[kind]["stores"] == len(STORES)
    for name in STORES:
        found: dict[str, list[dict[str, Any]]] = {}
        for part in sorted(out.glob(f"*/store={name}/*")):
            found.setdefault(part.parts[-3], []).extend(pq.ParquetFile(part).read().to_pylist())
        assert found == rows(directory / "golden" / name)
    there = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    named = {file["path"] for file in json.loads((out / "_manifest.json").read_bytes())["files"]}
    assert there == named | {"_manifest.json", "_SUCCESS"}


@pytest.mark.parametrize(
    "mark", ["retried-first", "retried-again", "speculative-first", "speculative-again", "killed-again"]
)
def test_the_faults_did_happen(ran: tuple[Path, dict[str, Any]], mark: str) -> None:
    directory, _ = ran
    assert (directory / "jobs" / "marks" / mark).exists()
    assert not (directory / "jobs" / "marks" / "killed-first").exists()


def test_rebuilt_files_are_those_of_one_machine(ran: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    directory, _ = ran
    for name in STORES:
        made = directory / "jobs" / "rebuilt" / name
        whole = tmp_path / name
        expected = rebuild(directory / "golden" / name, whole).files
        found = sorted(path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file())
        assert found == list(expected)
        assert all(filecmp.cmp(made / file, whole / file, shallow=False) for file in expected)
