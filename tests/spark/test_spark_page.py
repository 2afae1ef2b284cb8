"""The examples of docs/spark.md, run on golden stores: what the command prints, and the functions."""

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from far_storage import Far
from pyspark.sql import SparkSession
from verb_run import Run

pytestmark = pytest.mark.spark

PAGE = (Path(__file__).parents[2] / "docs" / "spark.md").read_text("utf-8").partition("\n## Clusters\n")[0]


@pytest.fixture
def place(golden: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the stores that the page names; the current one."""
    for name, golden_name in (
        ("store", "mixed"),
        ("broker-a/store", "ext"),
        ("broker-b/store", "small-roll"),
    ):
        shutil.copytree(golden[golden_name], tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_in_its_order(
    verb: Run, spark: SparkSession, s3: Far, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands and functions, one after the other, in one directory."""
    monkeypatch.setattr("rocket_spark.open_session", lambda *_, **__: spark)
    s3.upload(place / "broker-a" / "store", "backups/broker-a/store")
    (shown,) = re.findall(r"```\n(index_headers .*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    for kind, block in re.findall(r"```(sh|python)\n(.*?)```", PAGE, re.DOTALL):
        asked = block
        for old, new in (
            ("~", str(place)),
            ("/data/", f"{place}/"),
            ("http://127.0.0.1:9000", s3.options["s3.endpoint"]),
            ("s3://", f"{s3.root}/"),
        ):
            asked = asked.replace(old, new)
        if kind == "python":
            # The JVM of the tests runs in another directory.
            exec(asked.replace('"fleet/', f'"{place}/fleet/'), names)
            continue
        keys = [f"--storage={name}={value}" for name, value in s3.options.items() if "Key" in name]
        words = shlex.split(asked)
        assert words[:2] == ["rocketspec", "spark"]
        done = verb(*words[2:], *(keys if "s3://" in asked else []))
        assert (done.code, done.err) == (0, ""), (asked, done.err)
        if f"{place}/store" in asked:  # how many bytes a Parquet file takes depends on pyarrow
            assert [row.split()[:5] for row in done.out.splitlines()] == [
                row.split()[:5] for row in shown.splitlines()
            ]
    assert names["summary"].stores == 2
    assert list(names["rebuilt"]) == [str(place / "broker-a/store")]
