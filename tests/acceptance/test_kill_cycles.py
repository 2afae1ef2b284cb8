"""Twenty kills of the real broker at seeded moments: each restart as foretold, and no key lost after a rebuild.

The long test writes its figures to `docs/kill-cycles.json`; the quick one holds them to what they were made with.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from figures import ROOT, inputs_hash, write_figures
from scenario import Scenario, Start

FIGURES: Final = ROOT / "docs" / "kill-cycles.json"
INPUTS: Final = (
    "columnar/rocket_columnar/restart/prediction.py",
    "columnar/rocket_columnar/restart/recovery.py",
    "columnar/rocket_columnar/restart/queues.py",
    "columnar/rocket_columnar/log/queues.py",
    "columnar/rocket_columnar/rebuild/store_rebuild.py",
    "tests/acceptance/Driver.java",
    "tests/acceptance/test_kill_cycles.py",
    "tests/support/scenario.py",
)
CYCLES: Final = 20
SEED: Final = 4930207
SAMPLE: Final = 2000  # messages of earlier cycles whose keys are looked for in each
CONFIG: Final = {
    "maxHashSlotNum": "997",
    "maxIndexNum": "12000",
    "mappedFileSizeCommitLog": "131072",
    "mappedFileSizeConsumeQueue": "6000",
}


def cycles() -> Iterator[tuple[int, bool, list[str]]]:
    """Messages a second, messageIndexSafe, and the steps."""
    choose = random.Random(SEED)
    for number in range(CYCLES):
        slow = number % 4 == 0  # so that an index file begins long before what is dispatched again
        seed = choose.randrange(1 << 30)
        per_second = 200 if slow else choose.choice((100, 300, 1000, 2500))
        seconds = choose.uniform(0.1, 6.0)
        flush = 500 if slow else choose.choice((500, 2000, 60_000))
        index_safe = not slow and choose.random() < 0.5
        steps = [f"start flushConsumeQueueThoroughInterval={flush}"]
        steps += ["look"] if number else []
        steps += [f"crash {seed} {per_second} {seconds}{' until_lost' * slow}"]
        steps += [f"foretold messageIndexSafe={str(index_safe).lower()}", "settle", "stop"]
        yield per_second, index_safe, [*steps, f"rebuilt index{' consumequeue' * (number % 2)}"]


def figures(per_second: int, done: Start, *, index_safe: bool) -> dict[str, Any]:
    return {
        "messages_a_second": per_second,
        "message_index_safe": index_safe,
        "acknowledged": len(done.acknowledged),
        "deleted": {
            part: sum(file.startswith(f"{part}/") for file in done.deleted)
            for part in ("index", "commitlog", "consumequeue")
        },
        "dispatched_again_bytes": done.log_end - done.dispatch_from,
        "keys_lost_by_the_restart": len(done.lost),
    }


def test_the_figures_are_those_of_this_code() -> None:
    """Of twenty kills, once `make soak` has made them; else they are stale."""
    if FIGURES.exists():
        shown = json.loads(FIGURES.read_text("utf-8"))
        assert shown["inputs"] == inputs_hash(INPUTS)
        assert len(shown["kills"]) == CYCLES
        assert shown["lost_at_the_end"] == 0


@pytest.mark.soak
@pytest.mark.java
def test_twenty_kills(maven: str, java: str, tmp_path: Path) -> None:
    made = []
    with Scenario(tmp_path / "broker", java, CONFIG) as broker:
        broker.sample = SAMPLE
        for number, (per_second, index_safe, steps) in enumerate(cycles()):
            broker.do(*steps)
            done = broker.starts[-1]
            assert not done.predicted.clean
            assert done.faults() == []
            assert done.lost == done.predicted_lost, f"kill {number} of seed {SEED}"
            made.append(figures(per_second, done, index_safe=index_safe))
        broker.sample = None
        broker.do("start", "look")
    shown = {
        "inputs": inputs_hash(INPUTS),
        "seed": SEED,
        "messages": len(broker.known),
        "lost_at_the_end": 0,
        "kills": made,
    }
    write_figures(FIGURES, shown)
