"""Questions to many stores, bad ones among them: who has a message, which store is worst, what a start would do."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from far_storage import Far
from pyspark import SparkContext
from pyspark.sql import SparkSession
from rocket_columnar.describe import digest, store_digest
from rocket_columnar.restart import restarts, rows_of
from rocket_spark import Asked, digest_stores, query_stores, restart_stores
from rocket_spark.fleet import StoreDigest, differing
from rocket_spark.sources import reason
from small_stores import SHAPE, TIME, write_small_store
from store_bytes import put
from verb_run import Run

pytestmark = pytest.mark.spark

COUNT = 24
UNREADABLE = {"010", "011", "012", "013"}
WORST = "014"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Of the bad ones, one is missing, one empty, one a link to itself, one has an index that is none; one has no queues."""
    root = tmp_path_factory.mktemp("fleet")
    for number in range(COUNT):
        write_small_store(root / f"{number:03}", number)
    for name in UNREADABLE:
        shutil.rmtree(root / name)
    (root / "011").mkdir()
    (root / "012").symlink_to(root / "012")
    put(root / "013", "index/20260101000000000", bytes(100))
    shutil.rmtree(root / WORST / "consumequeue")
    return [root / f"{number:03}" for number in range(COUNT)]


def test_messages_by_time(here: SparkContext, fleet: list[Path]) -> None:
    """Queue 0 has records of 0 and 10 s, queue 1 one of 20 s."""
    for late, expected in ((0, [(0, 0), (1, 0)]), (1, [(0, 1), (1, 0)]), (10_001, [(1, 0)]), (20_001, [])):
        asked = Asked("T", time=TIME + late)
        found = query_stores(here, fleet[:1], asked)
        assert [(row["queue_id"], row["queue_offset"]) for _, row in found] == expected


def test_stores_without_an_index_are_read(here: SparkContext, fleet: list[Path], tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(fleet[3] / "commitlog", bare / "commitlog")
    asked = Asked("T", "k-3-2")
    found = query_stores(here, [fleet[3], fleet[4], bare], asked)
    assert [(row["phy_offset"], row["uniq_key"]) for _, row in found] == [
        (found[0][1]["phy_offset"], "U3-2")
    ] * 2
    assert {store for store, _ in found} == {str(fleet[3]), str(bare)}


def test_stores_far_away(here: SparkContext, fleet: list[Path], s3: Far) -> None:
    stores = [fleet[3], fleet[14]]
    uris = [s3.upload(store, f"asked/{store.name}") for store in stores]
    options: dict[str, Any] = {"geometry": SHAPE, "storage": s3.options}
    for asked in (
        Asked("T", "k-3-2"),
        Asked("T", "k-3-2", scan=True),
        Asked(unique_key="U3-2"),
        Asked("T", time=TIME + 23_000),
    ):
        ((store, row),) = query_stores(here, uris, asked, **options)
        assert (store, row["uniq_key"]) == (uris[0], "U3-2")
    found = digest_stores(here, uris, **options)
    assert [own.digest for own in found.values()] == [
        store_digest(list(digest(store, geometry=SHAPE))) for store in stores
    ]
    starts = restart_stores(here, uris, **options)
    assert list(starts.values()) == [list(rows_of(*restarts(store, geometry=SHAPE))) for store in stores]


def test_replicas_are_compared_that_a_third_one_joins() -> None:
    """The second begins like the first and goes on like the third; the fourth has the first one's beginning alone."""
    heads: list[list[tuple[int, str]]] = [[(0, "a")], [(0, "a"), (9, "b")], [(9, "b")], [(0, "a")]]
    digests = {
        str(number): StoreDigest("other" if number == 3 else "same", (), frozenset(own))
        for number, own in enumerate(heads)
    }
    assert [(pair.one, pair.other) for pair in differing(digests)] == [("0", "3")]


def test_one_query_finds_the_worst_store(spark: SparkSession, fleet: list[Path]) -> None:
    """Those that cannot be audited have their error; a glob sees neither what is missing nor links to nothing."""
    load = f"{fleet[0].parent}/*"
    frame = spark.read.format("rocketmq-findings").load(load).cache()
    counts = frame.where("severity in ('error', 'warning')").groupBy("store").count()
    assert counts.orderBy("count", ascending=False).first()["store"] == str(fleet[int(WORST)])  # type: ignore[index]
    assert {row["store"][-3:] for row in frame.where("error is not null").collect()} == {"011"}
    with pytest.raises(Exception, match="option level") as caught:
        spark.read.format("rocketmq-findings").option("level", "slow").load(str(fleet[0])).collect()
    assert reason(caught.value) == "option level: 'slow' is none of quick, default, deep"


def test_what_a_start_of_5_3_1_would_do(here: SparkContext, verb_here: Run, fleet: list[Path]) -> None:
    """It dispatches nothing that the queues lack (STORE-14), which 4.9.3 does."""
    store = fleet[int(WORST)]
    (found,) = restart_stores(here, store, release="5.3.1").values()
    assert found == list(rows_of(*restarts(store, release="5.3.1")))
    assert found != list(rows_of(*restarts(store)))
    done = verb_here("audit", store, "--rocketmq-profile", "5.3.1")
    assert f"{store}: written by 5.x" in done.err
