"""Damaged variants of golden stores: a store and the few bytes of it that are other, missing or too many."""

import json
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from rocket_golden._archive import open_store
from rocket_golden._manifest import ROOT
from rocket_golden.errors import DamagedError, UnknownStoreError

_NAME: Final = "damaged.json"

FORMAT: Final = 1  # the value of `rocketspec_damaged` in the files that this module reads


@dataclass(frozen=True, slots=True)
class Patch:
    """One change of a file; patches are applied in order.

    Attributes:
        file: name relative to the store, with forward slashes.
        action: "write" bytes at an offset, "cut" the file to a length, "delete" it, "rename" it, or "make" a file of
            zeros.
        offset: where to write, or the new length; 0 for the other actions.
        before: the bytes that a write replaces: shorter than `after`, or empty, at the file's end.
        after: what is written.
        to: the new name after a rename, else empty.
    """

    file: str
    action: str
    offset: int = 0
    before: bytes = b""
    after: bytes = b""
    to: str = ""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A damaged variant of a golden store.

    Attributes:
        name: what `open_damaged` takes.
        store: the golden store that it is made from.
        damage: what kind of damage this is: the code of the finding that `rocketspec audit` should give.
        file: the damaged file, by its name in the damaged store, or the one that is missing there.
        offset: where in that file the damage begins, in bytes; None when it is about the file as a whole.
        note: what was damaged, in a sentence.
        patches: what makes the variant.
    """

    name: str
    store: str
    damage: str
    file: str
    offset: int | None
    note: str
    patches: tuple[Patch, ...]


def damaged() -> tuple[Damaged, ...]:
    """All damaged variants, in the order of their names.

    OSError if `damaged.json` can't be read; DamagedError if it has another format than this version reads.
    """
    text = (ROOT / _NAME).read_bytes()
    try:
        data: dict[str, Any] = json.loads(text)
        if data["rocketspec_damaged"] != FORMAT:
            raise DamagedError(_NAME, f"format {data['rocketspec_damaged']!r}", f"{FORMAT}")
        return tuple(_variant(name, variant) for name, variant in sorted(data["variants"].items()))
    except (UnicodeDecodeError, json.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
        raise DamagedError(_NAME, f"{error!r}", "damaged variants of golden stores") from error


def _variant(name: str, data: dict[str, Any]) -> Damaged:
    patches: list[Patch] = []
    for patch in data["patches"]:
        found: dict[str, Any] = {
            part: bytes.fromhex(patch[part]) for part in ("before", "after") if part in patch
        }
        patches.append(Patch(**(patch | found)))
    whole: dict[str, Any] = data | {"name": name, "patches": tuple(patches)}
    return Damaged(**whole)


def open_damaged(name: str, directory: str | os.PathLike[str]) -> Path:
    """Unpacks a damaged variant into `directory`/STORE, where STORE is its golden store's name; returns that path.

    Raises:
        UnknownStoreError: there is no variant of that name.
        DamagedError: the golden store isn't the one that the variant was made from.
        FileExistsError: the store is in `directory` already.
        OSError: reading or writing failed.
    """
    variants = {variant.name: variant for variant in damaged()}
    if name not in variants:
        raise UnknownStoreError(name, sorted(variants))
    store = open_store(variants[name].store, directory)
    for patch in variants[name].patches:
        _apply(store, patch)
    return store


def _apply(store: Path, patch: Patch) -> None:
    path = store.joinpath(*PurePosixPath(patch.file).parts)
    if patch.action == "delete":
        path.unlink()
    elif patch.action == "rename":
        path.rename(store.joinpath(*PurePosixPath(patch.to).parts))
    elif patch.action == "make":
        with path.open("xb") as file:
            file.truncate(patch.offset)
    else:
        with path.open("r+b") as file:
            file.seek(patch.offset)
            if patch.action == "cut":
                file.truncate()
                return
            before = file.read(len(patch.after))
            if before != patch.before:
                raise DamagedError(patch.file, f"{before.hex()} at {patch.offset}", patch.before.hex())
            file.seek(patch.offset)
            file.write(patch.after)
