"""Damages golden stores: writes the patches of every variant, the same ones each time.

    python golden/generator/damage/make.py

The content of each place is taken from the truth, so from Java, and from the layouts; the places are drawn with a seed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import rocket_golden

sys.path.insert(0, str(Path(__file__).parents[2]))

from generator.damage.damaging import Variant, load
from generator.damage.of_dledger import DLEDGER
from generator.damage.of_index import INDEX
from generator.damage.of_log import LOG
from generator.damage.of_queue import QUEUE

TARGET: Final = Path(rocket_golden.__file__).parent / "damaged.json"

STORES: Final = ("mixed", "transactions")
"""Whole stores with several files of every kind."""

SEED: Final = 4930200


def variants() -> dict[str, Variant]:
    """All variants by name."""
    found: dict[str, Variant] = {}
    for store_name, damages in {**dict.fromkeys(STORES, (*INDEX, *QUEUE, *LOG)), "dledger": DLEDGER}.items():
        store = load(store_name)
        for name, code, damage in damages:
            store.draw.seed(f"{SEED} {store_name} {name}")
            found[f"{store_name}-{name}"] = {"store": store_name, "damage": code, **damage(store)}
    return dict(sorted(found.items()))


def text() -> str:
    """What the file holds."""
    return json.dumps({"rocketspec_damaged": 1, "variants": variants()}, indent=1) + "\n"


def main() -> None:
    """Writes the file."""
    TARGET.write_text(text(), "utf-8")
    print(f"{len(rocket_golden.damaged())} damaged variants, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
