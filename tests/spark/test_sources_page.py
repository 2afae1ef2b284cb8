"""The examples of docs/spark-sources.md, run one after the other, and its tables against the code."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from far_storage import Far
from pyspark.sql import SparkSession
from rocket_golden import open_store
from rocket_spark.reading.options import OPTIONS, STREAM_OPTIONS
from rocket_spark.sources import SOURCES

PAGE = (Path(__file__).parents[2] / "docs" / "spark-sources.md").read_text("utf-8")


def test_every_format_and_option_is_on_the_page() -> None:
    assert re.findall(r"^\| `(rocketmq-[a-z-]+)` \| `(\w+)`", PAGE, re.MULTILINE) == sorted(
        ((source.format_name, source.table) for source in SOURCES),
        key=lambda pair: PAGE.index(f"| `{pair[0]}` |"),
    )
    for option in (*OPTIONS[2:], *STREAM_OPTIONS):
        assert re.search(rf"^\|[^|]*`{option}`", PAGE, re.MULTILINE), option


@pytest.mark.spark
def test_the_examples_run(
    spark: SparkSession, s3: Far, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "broker-a" / "store"
    shutil.copytree(open_store("mixed", tmp_path / "unpacked"), store)
    s3.upload(store, "broker-a/store")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        code = block.replace("/data/", f"{tmp_path}/").replace(
            "http://127.0.0.1:9000", s3.options["s3.endpoint"]
        )
        exec(code, names)
        for said in re.findall(r"^# (.+)$", block, re.MULTILINE):
            assert said in capsys.readouterr().out
    assert (
        names["far"].count() == names["log"].count() == spark.read.parquet(str(tmp_path / "out")).count() > 0
    )
