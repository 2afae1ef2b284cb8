"""The catalogue: every wrong implementation that the suite is tried on."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

from rocket_spec.errors import UsageError

from rocket_conformance.misreadings import MUTANTS, Mutant
from rocket_conformance.mutants._impostors import IMPOSTORS, Impostor
from rocket_conformance.mutants._misbehaving import MISBEHAVING, Misbehaving

CATALOGUE: Final[tuple[Mutant | Impostor | Misbehaving, ...]] = (*MUTANTS, *IMPOSTORS, *MISBEHAVING)
"""All of them, each name once."""


def find(select: Sequence[str] = (), families: Sequence[str] = ()) -> list[Mutant | Impostor | Misbehaving]:
    """Those whose name or clause matches one of the globs, and whose clause is of one of the families.

    Args:
        select: globs on the whole name (`hash-*`) or the whole clause (`IDX-PUT-*`); none selects all.
        families: beginnings of clause ids, `IDX-SVC`; what misreads no clause is of the family `none`.

    Raises:
        UsageError: when nothing is left.
    """
    chosen = [
        item
        for item in CATALOGUE
        if (
            not select or any(fnmatchcase(name, glob) for name in (item.name, item.clause) for glob in select)
        )
        and (not families or any(f"{item.clause}-".startswith(f"{family}-") for family in families))
    ]
    if not chosen:
        raise UsageError(
            f"no mutant matches {', '.join((*select, *families))}; `rocketspec mutants --list` names them"
        )
    return chosen
