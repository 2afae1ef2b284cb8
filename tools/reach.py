"""The clauses that no workload brings out, each with the reason; the site's pages of the specification show them."""

from pathlib import Path
from typing import Final

from rocket_spec.clauses import clauses

BY_CHANCE: Final = "by chance: "
"""Beginning of the reasons of clauses that a kill at the right moment does bring out."""

OUT_OF_REACH: Final = dict(
    line.split(": ", 1)
    for line in Path(__file__).with_name("out_of_reach.txt").read_text("utf-8").splitlines()
)
"""Clause and reason, in the order of SPEC.md."""


def reached() -> list[str]:
    """The other clauses, in the order of SPEC.md: a workload exercises them, some only with kills or in DLedger mode."""
    return [clause for clause in clauses() if clause not in OUT_OF_REACH]
