"""Whether a broker has written to a store meanwhile."""

from collections.abc import Sequence
from pathlib import Path

from rocket_spec.errors import UsageError

from rocket_columnar.index import read_headers
from rocket_columnar.log import log_tail
from rocket_columnar.store import find_files


def moment(store: Path, commitlog: Sequence[Path] = ()) -> tuple[object, ...]:
    """What differs as soon as a broker has written: where the log ends, and the headers of the index files."""
    found = []
    for kind in ("log", "index"):
        try:
            found.append(find_files(store, kinds=(kind,), commitlog=commitlog))
        except UsageError:  # no such files
            found.append([])
    tail = log_tail(found[0])
    return tail.end, tail.sizes, tuple(read_headers(found[1]))
