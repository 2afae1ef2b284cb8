"""The index files and the commit log of a store, open to be searched."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Self

from rocket_spec.layout import Geometry

from rocket_columnar.facts import Store
from rocket_columnar.query.index_files import IndexSet, open_indexes
from rocket_columnar.query.log_records import CommitLog
from rocket_columnar.store import StoreFile, require_store, while_listed


class OpenFiles:
    """The index files and the commit log of a store, open to be searched; use it in a `with` block.

    Args:
        store: the store, which then knows the rest, or its directory.
        geometry: of the index files; inferred from their content if not given.
        commitlog: further directories of the commit log, as for `find_files`.
        log: the files of the commit log, if they are not there; they may be far away.

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
        log: Sequence[StoreFile] | None = None,
    ) -> None:
        self._commitlog = commitlog
        self._log = log
        self.store = store if isinstance(store, Store) else None
        self.path = (store.path or Path()) if isinstance(store, Store) else Path(store)
        require_store(self.path, ("index", "commitlog"))
        opened = partial(self._open, geometry)
        self.indexes, self.log, self._stack = (
            while_listed(opened)
            if self.store is None
            else self.store.looked_at(opened, despite_unreadable=False)
        )

    def _open(self, geometry: Geometry | None) -> tuple[IndexSet, CommitLog, ExitStack]:
        store = self.store
        with ExitStack() as stack:
            if store is None:
                log = CommitLog(self.path, stack, self._commitlog, self._log)
            else:
                log = CommitLog(store, stack)
                geometry = geometry or store.given_geometry or (store.geometry if store.conf else None)
            return open_indexes(self.path, geometry, stack), log, stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
