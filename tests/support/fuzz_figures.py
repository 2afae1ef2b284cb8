"""Figures of fuzzers, added up over runs in `docs/fuzz-figures.json`; `docs/reliability.md` shows them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FIGURES", "Figures", "add", "merge", "table"]

FIGURES: Final = Path(__file__).parents[2] / "docs" / "fuzz-figures.json"


@dataclass(slots=True)
class Figures:
    """One run.

    Attributes:
        seed: makes the same inputs again.
        failures: inputs that failed.
        peak: greatest memory of the process, MiB.
        targets: for each its distinct inputs, distinct results, processor time in all and of the slowest input in ns, and the
            bytes of that one.
    """

    seed: int
    failures: int = 0
    peak: int = 0
    targets: dict[str, list[int]] = field(default_factory=dict)

    def add(self, name: str, size: int, took: int, *, new: bool) -> None:
        """Counts an input of `size` bytes that took `took` ns; `new` if no input gave its result before."""
        one = self.targets.setdefault(name, [0, 0, 0, 0, 0])
        one[0] += 1
        one[1] += new
        one[2] += took
        if took > one[3]:
            one[3:] = took, size

    def to_json(self) -> dict[str, Any]:
        """As the file has it."""
        names = ("inputs", "results", "cpu_ns", "worst_ns", "worst_bytes")
        return {
            "failures": self.failures,
            "seeds": [self.seed],
            "peak_mib": self.peak,
            "targets": {
                name: dict(zip(names, one, strict=True)) for name, one in sorted(self.targets.items())
            },
        }


def _empty() -> dict[str, Any]:
    return {"failures": 0, "seeds": [], "peak_mib": 0, "targets": {}}


def merge(found: Mapping[str, Any], *, path: Path = FIGURES) -> None:
    """Adds a run to the file."""
    kept: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else _empty()
    targets = kept["targets"]
    for name, one in found["targets"].items():
        old = targets.get(name, dict.fromkeys(one, 0))
        slower = max(old, one, key=lambda some: some["worst_ns"])
        targets[name] = {key: old[key] + one[key] for key in ("inputs", "results", "cpu_ns")} | {
            key: slower[key] for key in ("worst_ns", "worst_bytes")
        }
    whole = {
        "failures": kept["failures"] + found["failures"],
        "seeds": sorted({*kept["seeds"], *found["seeds"]}),
        "peak_mib": max(kept["peak_mib"], found["peak_mib"]),
        "targets": dict(sorted(targets.items())),
    }
    path.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")


def add(counts: Mapping[str, int], failures: int, seed: int, *, path: Path = FIGURES) -> None:
    """Adds a run of which only the inputs by target were counted."""
    figures = Figures(seed, failures, targets={name: [count, 0, 0, 0, 0] for name, count in counts.items()})
    merge(figures.to_json(), path=path)


def table(found: Mapping[str, Any]) -> str:
    """A run for people."""
    rows = [
        f"{one['inputs']:>12,}  {one['results']:>10,} results  {one['worst_ns'] / 1e6:>9.1f} ms at most  {name}\n"
        for name, one in found["targets"].items()
    ]
    total = sum(one["inputs"] for one in found["targets"].values())
    return "".join(rows) + (
        f"{total:>12,}  distinct inputs of {len(rows)} targets, seeds {found['seeds']}, {found['peak_mib']} MiB: "
        f"{found['failures']} failures\n"
    )
