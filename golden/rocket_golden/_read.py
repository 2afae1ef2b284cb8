"""Reads what Java found: the truth of a store line by line, and the vectors case by case."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rocket_golden._archive import packed_bytes
from rocket_golden._manifest import ROOT, entry, manifest
from rocket_golden._zstd import zstd


def truth(name: str) -> Iterator[dict[str, Any]]:
    """The values that Java read in a store, line by line; `golden/README.md` lists the types and their fields.

    UnknownStoreError if there is no store of that name; DamagedError if the file isn't the one that the manifest describes.
    """
    data = packed_bytes(entry(name).truth)
    with zstd.open(io.BytesIO(data), "rt", encoding="ascii") as lines:
        for line in lines:
            yield json.loads(line)


def vectors(*, store: bool = False) -> Iterator[dict[str, Any]]:
    """The vectors, in the order of file name and place in the file: cases in the shape of adapter protocol 1.

    Those of index files, or with `store` of index service, consume queues, commit log and checkpoint. OSError for a file that can't be read,
    DamagedError for one that isn't the one that the manifest describes.
    """
    for packed in manifest().vectors or ():
        if packed.file.startswith("vectors/store/") != store:
            continue
        data = packed_bytes(packed)
        if packed.file.endswith(".zst"):
            data = zstd.decompress(data)
        yield from json.loads(data)


def vector_files(*, store: bool = False) -> list[Path]:
    """The files of vectors, sorted by name: lists of cases in JSON, packed or not; `store` as for `vectors`."""
    folder = ROOT / "vectors" / ("store" if store else ".")
    names = (path for path in folder.glob("*") if path.name.endswith((".json", ".json.zst")))
    return sorted(path for path in names if path.name != "manifest.json" and ".schema." not in path.name)
