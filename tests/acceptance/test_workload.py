"""A real broker of 4.9.3 gets the workload and holds every clause that its store exercises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from real_broker import RealBroker
from rocket_conformance.store_verdict import judge_store
from rocket_conformance.workload import Client, read_manifest, run_workload

if TYPE_CHECKING:
    from pathlib import Path

SMALL = {
    "mappedFileSizeCommitLog": "262144",
    "mappedFileSizeConsumeQueue": "2000",
    "maxHashSlotNum": "97",
    "maxIndexNum": "400",
}
COLLISIONS = 4


@pytest.mark.java
@pytest.mark.parametrize("seed", [1])
def test_a_broker_of_4_9_3_holds_every_clause(java: str, tmp_path: Path, seed: int) -> None:
    with RealBroker(tmp_path / "broker", java, SMALL) as broker:
        broker.start()
        with Client(broker.namesrv, version="4.9.3") as client:
            manifest = run_workload(client, seed=seed, count=600, version="4.9.3")
        broker.stop()
        assert manifest.refused == []
        manifest.write(tmp_path / "manifest.json")
        judged = judge_store(broker.store, manifest=read_manifest(tmp_path / "manifest.json"))
    seen = judged.observations
    assert {clause: str(places[0]) for clause, places in seen.broken.items()} == {}
    assert len(judged.with_outcome("held")) >= 60
    assert {"IDX-HASH-2", "IDX-SVC-3", "IDX-PUT-8", "IDX-SEL-9", "CQ-GET-1", "QRY-1", "LOG-DSP-7"} <= set(
        seen.held
    )
