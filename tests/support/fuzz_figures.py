"""Numbers of fuzzed inputs, added up over runs in `docs/fuzz-figures.json`; `docs/reliability.md` shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FIGURES", "add"]

FIGURES: Final = Path(__file__).parents[2] / "docs" / "fuzz-figures.json"


def add(counts: Mapping[str, int], failures: int, seed: int, *, path: Path = FIGURES) -> None:
    """Adds a run: inputs by target, how many failed, and the seed that makes them again."""
    kept: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    inputs = kept.get("inputs", {})
    for name, count in counts.items():
        inputs[name] = inputs.get(name, 0) + count
    found = {
        "inputs": dict(sorted(inputs.items())),
        "failures": kept.get("failures", 0) + failures,
        "seeds": sorted({*kept.get("seeds", []), seed}),
    }
    path.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
