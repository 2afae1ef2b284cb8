"""`cross_check_stores` against the engine's own audit: two formulations that have to say the same of a store."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import planted
import pytest
from rocket_columnar.audit import audit
from rocket_columnar.findings import Finding
from rocket_golden import open_store
from store_bytes import put, record, unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession
    from rocket_spark import CrossCheck

pytestmark = pytest.mark.spark


def joined(spark: SparkSession, stores: Sequence[Path]) -> CrossCheck:
    """What the joins make of stores with names of their own; the ranges are the engine's in this process."""
    from rocket_spark import cross_check_stores

    findings: list[tuple[str, Finding]] = [
        (store.name, finding) for store in stores for finding in audit(store)
    ]
    return cross_check_stores(spark, stores, findings)


def light(root: Path, *, offsets: Sequence[int], kept: Sequence[int | None], number: int = 0) -> Path:
    """Records with copies at logical `offsets` of a light queue, which holds units of those `kept`."""
    log, units = b"", list[bytes]()
    for logical in offsets:
        copies = f"INNER_MULTI_DISPATCH\1%LMQ%a\2INNER_MULTI_QUEUE_OFFSET\1{logical}\2"
        message = record(len(log), queue_id=1, queue_offset=len(units), properties=copies.encode())
        units.append(unit(len(log), len(message)))
        log += message
    put(root, f"commitlog/{0:020}", log.ljust(4096, b"\0"))
    put(root, f"consumequeue/T/1/{0:020}", b"".join(units).ljust(200, b"\0"))
    held = b"".join(bytes(20) if place is None else units[place] for place in kept)
    put(root, f"consumequeue/%LMQ%a/{number}/{0:020}", held.ljust(200, b"\0"))
    return root


def test_copies_of_records_and_what_a_copied_or_torn_store_lacks(spark: SparkSession, tmp_path: Path) -> None:
    whole = {
        "in-place": light(tmp_path / "in-place", offsets=[0, 1, 2], kept=[0, 1, 2]),
        "from-0-again": light(tmp_path / "from-0-again", offsets=[0, 1, 0, 1, 2, 3], kept=[0, 1, 2, 5]),
        "no-light": light(tmp_path / "no-light", offsets=[0, 5, 6], kept=[0, 1, 2], number=1),
        "live-copy": open_store("live-copy", tmp_path),
    }
    lost = {
        "first": light(tmp_path / "first", offsets=[0, 1, 2], kept=[None, 1, 2]),
        "last": light(tmp_path / "last", offsets=[0, 1, 2], kept=[0, 1, None]),
        "behind-a-gap": light(tmp_path / "behind-a-gap", offsets=[0, 5, 6, 7], kept=[0, 1, None, 3]),
        "after-a-restart": light(tmp_path / "after-a-restart", offsets=[0, 0, 1, 2], kept=[0, None, 3]),
    }
    strayed = {
        "swapped": (light(tmp_path / "swapped", offsets=[0, 1, 2, 3], kept=[0, 2, 1, 3]), 1),
        "twice": (light(tmp_path / "twice", offsets=[0, 1, 2], kept=[0, 1, 1, 2]), 2),
    }
    torn = planted.copy_of(open_store("ext", tmp_path / "golden"), tmp_path / "torn", "ext", 0)
    planted.log_torn(torn)
    done = joined(
        spark, [*whole.values(), *lost.values(), *(store for store, _ in strayed.values()), torn.root]
    )
    assert done.disagreements == ()
    queue = f"consumequeue/%LMQ%a/0/{0:020}"
    assert set(done.defects) == {
        *((name, "queue.missing_unit", "", 0) for name in lost),
        *((name, "queue.order", queue, number) for name, (_, number) in strayed.items()),
    }


@pytest.mark.soak
@pytest.mark.parametrize("name", ["lmq", "live-copy", "killed-restarted", "ipv6"])
def test_damage_of_every_kind(spark: SparkSession, tmp_path: Path, name: str) -> None:
    pristine = open_store(name, tmp_path / "pristine")
    stores = [pristine]
    for kind in planted.KINDS:
        if planted.applies(kind, name):
            root = tmp_path / "damaged" / kind.__name__
            try:
                kind(planted.copy_of(pristine, root, name, 0))
            except (IndexError, ValueError):  # nothing there to be damaged so
                shutil.rmtree(root)
            else:
                stores.append(root)
    assert len(stores) > 30
    assert joined(spark, stores).disagreements == ()
