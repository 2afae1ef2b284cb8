"""Jobs over Spark Connect: the client has no JVM of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rocket_columnar.decode import decode as engine
from rocket_columnar.store import find_files
from rocket_spark import SparkUnavailableError, open_session
from spark_servers import connect_server

pytestmark = pytest.mark.spark


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Without Java on the path."""
    return subprocess.run(
        [sys.executable, "-m", "rocketspec", "spark", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PATH": "", "JAVA_HOME": ""},
    )


def test_decode_over_connect(java: str, hand_made: Path, tmp_path: Path) -> None:
    with connect_server(tmp_path) as url:
        done = command("decode", str(hand_made), "-o", str(tmp_path / "out"), "--remote", url, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    summary = {table["table"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    expected: dict[str, int] = {}
    for table, batch in engine(find_files(hand_made)):
        expected[table] = expected.get(table, 0) + batch.num_rows
    assert summary == expected
    for table, count in expected.items():
        parts = (tmp_path / "out" / table).iterdir()
        assert sum(pq.ParquetFile(part).metadata.num_rows for part in parts) == count


def test_a_server_that_is_not_there(hand_made: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    done = command("decode", str(hand_made), "-o", out, "--remote", "sc://127.0.0.1:9/;use_ssl=false")
    assert done.returncode == 3
    assert done.stderr.startswith("rocketspec: Spark Connect at sc://127.0.0.1:9/")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("master", "why"),
    [
        ("spark://127.0.0.1:9", "Connection refused"),
        ("spark://127.0.0.1:9,127.0.0.1:11", "Connection refused"),
        ("spark://nobody", "names no HOST:PORT"),
    ],
)
def test_a_master_that_is_not_there(master: str, why: str) -> None:
    with pytest.raises(SparkUnavailableError) as caught:
        open_session(master)
    assert str(caught.value) == f"Spark does not start with master {master}: {why}"
