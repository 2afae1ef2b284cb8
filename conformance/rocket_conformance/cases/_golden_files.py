"""Directed cases for tools that only read: files of golden stores, and of damaged variants of them.

The files are unpacked when a case is sent, not when it is listed: few implementations declare these operations.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import rocket_golden
from rocket_golden import StoreEntry

from rocket_conformance.cases._case import Case
from rocket_conformance.files import FileImage, image_of
from rocket_conformance.protocol import Op

_STORES: Final = ("ipv6", "lmq", "mixed", "small-roll", "transactions")
_DAMAGED: Final = "mixed"
_CLAUSES: Final = {"index": "IDX-ENT-1", "queue": "CQ-UNIT-1", "log": "LOG-REC-1", "checkpoint": "CKP-1"}


@cache
def _unpacked(store: str, variant: str | None) -> dict[str, FileImage]:
    """The files of a golden store, or of a damaged variant of it, by name: 13 MB of them in all."""
    with TemporaryDirectory(prefix="rocketspec-golden-") as folder:
        root = (
            rocket_golden.open_store(store, folder)
            if variant is None
            else rocket_golden.open_damaged(variant, folder)
        )
        found = (path for path in root.rglob("*") if path.is_file())
        return {Path(path).relative_to(root).as_posix(): image_of(path.read_bytes()) for path in found}


class _GoldenFiles(Mapping[str, FileImage]):
    """Files of a golden store, unpacked when one is asked for."""

    def __init__(self, store: str, variant: str | None, names: tuple[str, ...]) -> None:
        self._store = store
        self._variant = variant
        self._names = names

    def __getitem__(self, name: str) -> FileImage:
        if name not in self._names:
            raise KeyError(name)
        return _unpacked(self._store, self._variant)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _operation(kind: str, file: str, store: StoreEntry) -> Op:
    if kind == "checkpoint":
        return {"op": "checkpoint.read"}
    op: Op = {"op": f"{kind}.read", "file": file}
    if kind == "index":
        op |= {"hash_slot_num": store.geometry[0], "index_num": store.geometry[1]}
    return op


def _case(slug: str, kind: str, files: tuple[str, ...], store: StoreEntry, variant: str | None) -> Case:
    clause = _CLAUSES[kind]
    return Case(
        id=f"{clause}/read-{slug}",
        clauses=(clause,),
        ops=tuple(_operation(kind, file, store) for file in files),
        files=_GoldenFiles(store.name, variant, files),
    )


def golden_cases() -> list[Case]:
    """One case for each kind of file of a few stores, and one for each damaged file of a store."""
    stores = rocket_golden.manifest().stores
    cases: list[Case] = []
    for name in _STORES:
        for kind in _CLAUSES:
            files = tuple(file.file for file in stores[name].files if file.kind == kind)
            cases.append(_case(name, kind, files, stores[name], None))
    kinds = {file.file: file.kind for file in stores[_DAMAGED].files}
    for damaged in rocket_golden.damaged():
        kind = kinds.get(damaged.file, "")
        gone = any(patch.action == "delete" and patch.file == damaged.file for patch in damaged.patches)
        if damaged.store == _DAMAGED and kind in _CLAUSES and not gone:
            cases.append(_case(damaged.name, kind, (damaged.file,), stores[_DAMAGED], damaged.name))
    return cases
