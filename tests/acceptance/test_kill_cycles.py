"""Twenty kills of the real broker at seeded moments: each restart as foretold, and no key lost after a rebuild.

The long test writes its figures to `docs/kill-cycles.json`; the quick one holds them to what they were made with.
"""

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from kill_cycle import TOPIC, Kill, Load, kill, make_topics, put_in_place
from real_broker import Acknowledged, RealBroker

ROOT: Final = Path(__file__).parents[2]
FIGURES: Final = ROOT / "docs" / "kill-cycles.json"
INPUTS: Final = (
    "columnar/rocket_columnar/restart/prediction.py",
    "columnar/rocket_columnar/restart/recovery.py",
    "columnar/rocket_columnar/restart/queues.py",
    "columnar/rocket_columnar/restart/prediction.py",
    "columnar/rocket_columnar/rebuild/store_rebuild.py",
    "tests/acceptance/Driver.java",
    "tests/acceptance/test_kill_cycles.py",
    "tests/support/kill_cycle.py",
)
CYCLES: Final = 20
SEED: Final = 4930207
SAMPLE: Final = 2000
"""Messages of earlier cycles whose keys are looked for in each."""
CONFIG: Final = {
    "maxHashSlotNum": "997",
    "maxIndexNum": "12000",
    "mappedFileSizeCommitLog": "131072",
    "mappedFileSizeConsumeQueue": "6000",
}


def inputs_hash() -> str:
    digest = hashlib.sha256()
    for name in INPUTS:
        digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes() + b"\0")
    return digest.hexdigest()


def cycles() -> Iterator[tuple[Load, bool, dict[str, str]]]:
    """Load, messageIndexSafe, and how often the broker writes its checkpoint."""
    choose = random.Random(SEED)  # noqa: S311 - moments that can be chosen again
    for number in range(CYCLES):
        slow = number % 4 == 0  # so that an index file begins long before what is dispatched again
        load = Load(
            choose.randrange(1 << 30),
            200 if slow else choose.choice((100, 300, 1000, 2500)),
            choose.uniform(0.1, 6.0),
            until_lost=slow,
        )
        flush = 500 if slow else choose.choice((500, 2000, 60_000))
        yield (
            load,
            not slow and choose.random() < 0.5,
            {"flushConsumeQueueThoroughInterval": str(flush)},
        )


def figures(load: Load, done: Kill, *, index_safe: bool) -> dict[str, Any]:
    return {
        "messages_a_second": load.per_second,
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
        assert shown["inputs_sha256"] == inputs_hash()
        assert len(shown["kills"]) == CYCLES
        assert shown["lost_at_the_end"] == 0


@pytest.mark.soak
@pytest.mark.java
def test_twenty_kills(maven: str, java: str, tmp_path: Path) -> None:
    made = []
    known: list[Acknowledged] = []
    choose = random.Random(SEED)  # noqa: S311 - samples that can be chosen again
    with RealBroker(tmp_path / "broker", java, CONFIG) as broker:
        for number, (load, index_safe, config) in enumerate(cycles()):
            broker.start(**config)
            make_topics(broker)
            if known:
                broker.ask("log")
                sample = choose.sample(known, min(SAMPLE, len(known)))
                found = broker.query(TOPIC, [one.key for one in sample])
                assert found == [[one.offset] for one in sample], f"before kill {number}"
            sample = choose.sample(known, min(SAMPLE, len(known)))
            done = kill(broker, load, sample, index_safe=index_safe)
            done.check()
            assert done.lost == done.predicted_lost, f"kill {number} of seed {SEED}"
            made.append(figures(load, done, index_safe=index_safe))
            known += done.acknowledged
            broker.ask("log")
            broker.stop()
            parts = ("index", "consumequeue") if number % 2 else ("index",)
            put_in_place(broker, tmp_path / f"rebuilt-{number}", *parts)
        broker.start()
        make_topics(broker)
        found = broker.query(TOPIC, [one.key for one in known])
        assert found == [[one.offset] for one in known]
    shown = {
        "inputs_sha256": inputs_hash(),
        "seed": SEED,
        "messages": len(known),
        "lost_at_the_end": 0,
        "kills": made,
    }
    FIGURES.write_text(json.dumps(shown, indent=1) + "\n", "utf-8")
