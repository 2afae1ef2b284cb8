"""Recall and precision of an audit on planted damage, kept from a long run."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from generator.damage.store import Planted
from rocket_columnar.audit import Finding
from rocket_golden import manifest

STORES: Final = ("small-roll", "mixed", "ext", "transactions", "lmq", "ipv6")
"""The golden stores that are damaged."""

SEEDS: Final = 25  # places of each kind and store in a long run

DAMAGE: Final = Path(__file__).parents[1] / "golden" / "generator" / "damage"
FIGURES: Final = Path(__file__).parents[1] / "tests" / "columnar" / "audit" / "figures.json"


@dataclass(frozen=True)
class Verdict:
    """Findings of an audit, compared with the planted damage."""

    found: bool  # whether each thing that must be said is said, placed exactly
    findings: int  # how many findings there are, notes aside
    strange: tuple[Finding, ...]  # those that neither the damage nor its stated consequences explain


def judge(planted: Planted, found: Sequence[Finding]) -> Verdict:
    """Holds findings against what was planted."""
    keys = {(finding.code, finding.file, finding.offset) for finding in found}
    named = set(planted.exact) <= keys
    if planted.file is not None:
        named &= any(finding.file == planted.file and finding.severity != "note" for finding in found)
    strange = [
        finding
        for finding in found
        if (finding.code, finding.file, finding.offset) not in planted.exact
        and finding.code not in planted.consequences
    ]
    return Verdict(named, len(found), tuple(strange))


@dataclass
class Figures:
    """Counts by kind of damage: planted, named and placed, findings, findings that are explained."""

    inputs: str
    kinds: dict[str, list[int]] = field(default_factory=dict)

    def add(self, kind: str, verdict: Verdict) -> None:
        """One more planted damage."""
        counts = self.kinds.setdefault(kind, [0, 0, 0, 0])
        for place, more in enumerate(
            (1, int(verdict.found), verdict.findings, verdict.findings - len(verdict.strange))
        ):
            counts[place] += more

    def total(self, place: int) -> int:
        """The sum of one count."""
        return sum(counts[place] for counts in self.kinds.values())

    @property
    def recall(self) -> float:
        """Share of planted damage that is named and placed."""
        return self.total(1) / self.total(0)

    @property
    def precision(self) -> float:
        """Share of findings that are explained."""
        return self.total(3) / self.total(2)

    def text(self) -> str:
        """As it is kept."""
        lines = [
            f"    {json.dumps(kind)}: {json.dumps(counts)}" for kind, counts in sorted(self.kinds.items())
        ]
        return f'{{\n  "inputs": "{self.inputs}",\n  "kinds": {{\n' + ",\n".join(lines) + "\n  }\n}\n"

    @classmethod
    def read(cls) -> Self:
        """Those that are kept."""
        kept = json.loads(FIGURES.read_text("utf-8"))
        return cls(kept["inputs"], kept["kinds"])


def inputs() -> str:
    """A hash of what the figures depend on: the damage, and the stores that it is planted in."""
    total = hashlib.sha256()
    for path in sorted(DAMAGE.glob("*.py")):
        if path.name != "make.py":
            total.update(path.read_bytes())
    for name in STORES:
        total.update(manifest().stores[name].archive.sha256.encode())
    total.update(str(SEEDS).encode())
    return total.hexdigest()
