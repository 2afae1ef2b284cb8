"""Faults of machines under the real broker: the audit ends, and the next real start does what was foretold.

The figures are written to `docs/real-faults.json`; `docs/reliability.md` shows them.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from kill_cycle import Load
from real_faults import FAULTS, FaultyBroker, can_mount, struck, volume

FIGURES: Final = Path(__file__).parents[2] / "docs" / "real-faults.json"
CONFIG: Final = {
    "maxHashSlotNum": "97",
    "maxIndexNum": "800",
    "mappedFileSizeCommitLog": "131072",
    "mappedFileSizeConsumeQueue": "6000",
}
SEED: Final = 15_000


def recorded() -> dict[str, Any]:
    return dict(json.loads(FIGURES.read_text("utf-8"))) if FIGURES.exists() else {}


def test_each_fault_was_survived() -> None:
    """Of every fault that is listed: foretold as it came, and nothing wrong was answered."""
    figures = recorded()
    assert set(figures) == set(FAULTS)
    for name, one in figures.items():
        assert one["fault"] == FAULTS[name].name
        assert one["engine_finds_the_same"], name
        assert one["keys_not_found"] >= one["keys_deleted_by_the_start"], name
        assert one["answers_wrong"] == 0, name
        assert one["acknowledged"] > 100, name
        assert one["rebuilt_messages"] >= one["acknowledged"] - one["acknowledged_and_lost"], name


@pytest.mark.soak
@pytest.mark.java
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_machine(name: str, maven: str, java: str, tmp_path: Path) -> None:
    if name == "full" and not can_mount():
        pytest.skip("mounts a small disk, which only root may")
    fault = FAULTS[name]
    with (
        volume(tmp_path / "disk", small=name == "full") as disk,
        FaultyBroker(disk / "broker", java, CONFIG) as broker,
    ):
        done, figures = struck(broker, fault, Load(SEED + list(FAULTS).index(name), 300, 5))
        done.check()
        assert done.predicted_lost <= done.lost
        if not fault.moves_the_clock:
            assert done.lost == done.predicted_lost
        assert figures["engine_finds_the_same"]
    _record(name, figures)


def _record(name: str, figures: dict[str, Any]) -> None:
    kept = {one: found for one, found in (recorded() | {name: figures}).items() if one in FAULTS}
    ordered: Sequence[str] = [one for one in FAULTS if one in kept]
    FIGURES.write_text(json.dumps({one: kept[one] for one in ordered}, indent=1) + "\n", "utf-8")
