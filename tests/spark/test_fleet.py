"""Questions to several stores: who has a message, and what a start would do."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from far_storage import Far
from pyspark import SparkContext
from rocket_columnar.describe import digest, store_digest
from rocket_columnar.facts import as_store
from rocket_columnar.restart import predicted, rows_of
from rocket_spark import Asked, digest_stores, query_stores, restart_stores
from rocket_spark.fleet import StoreDigest, differing
from small_stores import SHAPE, TIME, write_small_store
from verb_run import Run

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two small stores; the second has no queues."""
    root = tmp_path_factory.mktemp("fleet")
    for number in (0, 14):
        write_small_store(root / f"{number:02}", number)
    shutil.rmtree(root / "14/consumequeue")
    return [root / "00", root / "14"]


def start_of(store: Path, **known: Any) -> list[dict[str, Any]]:
    """What a start does on one machine."""
    found = predicted(as_store(store, **known))
    assert not isinstance(found, str)
    return list(rows_of(*found))


def test_messages_by_time(here: SparkContext, fleet: list[Path]) -> None:
    """Queue 0 has records of 0 and 10 s, queue 1 one of 20 s."""
    for late, expected in ((0, [(0, 0), (1, 0)]), (1, [(0, 1), (1, 0)]), (10_001, [(1, 0)]), (20_001, [])):
        asked = Asked("T", time=TIME + late)
        found = query_stores(here, fleet[:1], asked)
        assert [(row["queue_id"], row["queue_offset"]) for _, row in found] == expected


def test_stores_far_away(here: SparkContext, fleet: list[Path], s3: Far) -> None:
    uris = [s3.upload(store, f"asked/{store.name}") for store in fleet]
    options: dict[str, Any] = {"geometry": SHAPE, "storage": s3.options}
    for asked in (
        Asked("T", "k-0-2"),
        Asked("T", "k-0-2", scan=True),
        Asked(unique_key="U0-2"),
        Asked("T", time=TIME + 20_000),
    ):
        ((store, row),) = query_stores(here, uris, asked, **options)
        assert (store, row["uniq_key"]) == (uris[0], "U0-2")
    found = digest_stores(here, uris, **options)
    assert [own.digest for own in found.values()] == [
        store_digest(list(digest(store, geometry=SHAPE))) for store in fleet
    ]
    starts = restart_stores(here, uris, **options)
    assert list(starts.values()) == [start_of(store, geometry=SHAPE) for store in fleet]


def test_replicas_are_compared_that_a_third_one_joins() -> None:
    """The second begins like the first and goes on like the third; the fourth has the first one's beginning alone."""
    heads: list[list[tuple[int, str]]] = [[(0, "a")], [(0, "a"), (9, "b")], [(9, "b")], [(0, "a")]]
    digests = {
        str(number): StoreDigest("other" if number == 3 else "same", (), frozenset(own))
        for number, own in enumerate(heads)
    }
    assert [(pair.one, pair.other) for pair in differing(digests)] == [("0", "3")]


def test_what_a_start_of_5_3_1_would_do(here: SparkContext, verb_here: Run, fleet: list[Path]) -> None:
    """It dispatches nothing that the queues lack (STORE-14), which 4.9.3 does."""
    store = fleet[1]
    (found,) = restart_stores(here, store, release="5.3.1").values()
    assert found == start_of(store, release="5.3.1")
    assert found != start_of(store)
    done = verb_here("audit", store, "--rocketmq-profile", "5.3.1")
    assert f"{store}: written by 5.x" in done.err
