"""docs/spark.md and docs/spark-sources.md: their examples run in their order, each page in one directory; their tables against the code."""

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from far_storage import Far
from pyspark.sql import SparkSession
from rocket_spark.reading.options import OPTIONS, STREAM_OPTIONS
from rocket_spark.sources import SOURCES
from transcript import matches
from verb_run import Run

pytestmark = pytest.mark.spark

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "spark.md").read_text("utf-8").partition("\n## Clusters\n")[0]
SOURCES_PAGE = (DOCS / "spark-sources.md").read_text("utf-8")


class Place:
    """A directory with stores, the current one, which stands for what the pages name."""

    def __init__(self, path: Path, s3: Far) -> None:
        self.path = path
        self.s3 = s3
        self.names: dict[str, Any] = {}

    def here(self, text: str) -> str:
        """The text with the paths and the endpoint of this place."""
        text = text.replace("http://127.0.0.1:9000", self.s3.options["s3.endpoint"])
        return text.replace("~", str(self.path)).replace("/data/", f"{self.path}/")


@pytest.fixture
def place(
    golden: dict[str, Path], s3: Far, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Place:
    for name, golden_name in (
        ("store", "mixed"),
        ("broker-a/store", "ext"),
        ("broker-b/store", "small-roll"),
    ):
        shutil.copytree(golden[golden_name], tmp_path / name)
    s3.upload(tmp_path / "broker-a" / "store", "broker-a/store")
    s3.upload(tmp_path / "broker-a" / "store", "backups/broker-a/store")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rocket_spark.open_session", lambda *_, **__: spark)
    return Place(tmp_path, s3)


def test_every_format_and_option_is_on_the_page() -> None:
    assert re.findall(r"^\| `(rocketmq-[a-z-]+)` \| `(\w+)`", SOURCES_PAGE, re.MULTILINE) == sorted(
        ((source.format_name, source.table) for source in SOURCES),
        key=lambda pair: SOURCES_PAGE.index(f"| `{pair[0]}` |"),
    )
    for option in (*OPTIONS[2:], *STREAM_OPTIONS):
        assert re.search(rf"^\|[^|]*`{option}`", SOURCES_PAGE, re.MULTILINE), option


def test_the_sources(spark: SparkSession, place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    for kind, block in re.findall(r"```(python|sql)\n(.*?)```", SOURCES_PAGE, re.DOTALL):
        if kind == "sql":
            for statement in filter(str.strip, place.here(block).split(";")):
                spark.sql(statement)
            continue
        exec(place.here(block), place.names)
        for said in re.findall(r"^# (.+)$", block, re.MULTILINE):
            assert said in capsys.readouterr().out
    try:
        counts = [spark.table(table).count() for table in ("records", "units", "findings")]
    finally:
        for table in ("records", "findings"):
            spark.sql(f"DROP TABLE {table}")
    log = place.names["log"].count()
    assert counts == [log, log + 74, 0]
    assert place.names["far"].count() == spark.read.parquet(f"{place.path}/out").count() == log > 0


def test_the_verbs_and_functions(verb: Run, place: Place) -> None:
    (shown,) = re.findall(r"```\n(index_headers .*?)```", PAGE, re.DOTALL)
    for kind, block in re.findall(r"```(sh|python)\n(.*?)```", PAGE, re.DOTALL):
        asked = place.here(block.replace("s3://", f"{place.s3.root}/"))
        if kind == "python":
            # The JVM of the tests runs in another directory.
            exec(asked.replace('"fleet/', f'"{place.path}/fleet/'), place.names)
            continue
        keys = [f"--storage={name}={value}" for name, value in place.s3.options.items() if "Key" in name]
        words = shlex.split(asked)
        assert words[:2] == ["rocketspec", "spark"]
        done = verb(*words[2:], *(keys if "s3://" in asked else []))
        assert (done.code, done.err) == (0, ""), (asked, done.err)
        if "~/store" in block:  # how many bytes a Parquet file takes depends on pyarrow
            assert matches(re.sub(r"part +[\d,]+ bytes", "part...bytes", shown), done.out)
    assert place.names["summary"].stores == 2
    assert list(place.names["rebuilt"]) == [str(place.path / "broker-a/store")]
