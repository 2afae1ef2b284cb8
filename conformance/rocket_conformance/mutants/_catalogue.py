"""The catalogue: every wrong implementation that the suite is tried on."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from rocket_spec.errors import UsageError

from rocket_conformance.mutants._impostors import IMPOSTORS
from rocket_conformance.mutants._index_bytes import INDEX_BYTES
from rocket_conformance.mutants._index_puts import INDEX_PUTS
from rocket_conformance.mutants._index_selects import INDEX_SELECTS
from rocket_conformance.mutants._log import LOG
from rocket_conformance.mutants._misbehaving import MISBEHAVING
from rocket_conformance.mutants._queue_restarts import QUEUE_RESTARTS
from rocket_conformance.mutants._queue_units import QUEUE_UNITS
from rocket_conformance.mutants._service import SERVICE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocket_conformance.mutants._impostors import Impostor
    from rocket_conformance.mutants._misbehaving import Misbehaving
    from rocket_conformance.mutants._mutant import Mutant

__all__ = ["CATALOGUE", "MUTANTS", "find"]

MUTANTS: Final[tuple[Mutant, ...]] = (
    *INDEX_BYTES,
    *INDEX_PUTS,
    *INDEX_SELECTS,
    *SERVICE,
    *QUEUE_UNITS,
    *QUEUE_RESTARTS,
    *LOG,
)
"""Those that misread one clause."""

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
