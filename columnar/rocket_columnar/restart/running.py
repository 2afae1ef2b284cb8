"""Whether a broker has written to a store meanwhile."""

from collections.abc import Sequence
from pathlib import Path

from rocket_columnar.index import read_headers
from rocket_columnar.log import log_tail
from rocket_columnar.store import list_kind


def moment(store: Path, commitlog: Sequence[Path] = ()) -> tuple[object, ...]:
    """What differs as soon as a broker has written: where the log ends, and the headers of the index files."""
    tail = log_tail(list_kind(store, "log", commitlog))
    headers = read_headers(list_kind(store, "index", commitlog))
    return tail.end, tail.sizes, tuple(headers)
