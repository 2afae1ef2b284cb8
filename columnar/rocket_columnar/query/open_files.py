"""The index files and the commit log of a store, open to be searched."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Self

from rocket_spec.layout import Geometry

from rocket_columnar.facts import Store, as_store
from rocket_columnar.query.index_files import IndexSet, open_indexes
from rocket_columnar.query.log_records import CommitLog
from rocket_columnar.store import require_store


class OpenFiles:
    """The index files and the commit log of a store, open to be searched; use it in a `with` block.

    Args:
        store: the store, which then knows the rest, or its directory.
        geometry: of the index files; inferred from their content if not given.
        commitlog: further directories of the commit log, as for `find_files`.

    Raises:
        UsageError: no store, or a geometry that cannot be inferred.
        MalformedError: an index file that no geometry makes.
        OSError: a file is missing or cannot be read.
    """

    def __init__(
        self,
        store: Store | Path | str,
        geometry: Geometry | None = None,
        *,
        commitlog: Sequence[Path | str] = (),
    ) -> None:
        self.store = as_store(store, commitlog=commitlog)
        if self.store.path is not None:
            require_store(self.store.path, ("index", "commitlog"))
        self.indexes, self.log, self._stack = self.store.looked_at(
            partial(self._open, geometry), despite_unreadable=False
        )

    @property
    def skipped(self) -> tuple[tuple[str, str], ...]:
        """Names of the files of index and log that are not read, each with the reason."""
        log = (skip for skip in self.store.skipped if not skip[0].startswith(("index/", "consumequeue")))
        return (*self.indexes.skipped, *log)

    def _open(self, geometry: Geometry | None) -> tuple[IndexSet, CommitLog, ExitStack]:
        store = self.store
        with ExitStack() as stack:
            return (
                open_indexes(store, geometry or store.shape, stack),
                CommitLog(store, stack),
                stack.pop_all(),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
