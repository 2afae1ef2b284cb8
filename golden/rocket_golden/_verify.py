"""Compares every golden file with the manifest."""

import hashlib
from collections import Counter
from collections.abc import Iterator

from rocket_golden._archive import members, packed_bytes, truth, vector_files
from rocket_golden._damaged import damaged
from rocket_golden._manifest import ROOT, GoldenManifest, StoreEntry, manifest
from rocket_golden.errors import DamagedError


def verify() -> list[str]:
    """Compares every packed file, every file in it and the truth's line counts with the manifest; the problems, one line each."""
    found = manifest()
    problems: list[str] = []
    named: set[str] = set()
    for store in found.stores.values():
        named |= {store.archive.file, store.truth.file}
        if store.producer not in found.producers:
            problems.append(f"manifest.json: store {store.name} has the unknown producer {store.producer!r}")
        for check in (_archive_problems, _truth_problems):
            try:
                problems.extend(check(store))
            except (DamagedError, OSError) as error:
                problems.append(str(error))
    for packed in found.vectors or ():
        try:
            packed_bytes(packed)
        except (DamagedError, OSError) as error:
            problems.append(str(error))
    if found.vectors is not None:
        recorded = {packed.file for packed in found.vectors}
        there = {path.relative_to(ROOT).as_posix() for path in (*vector_files(), *vector_files(store=True))}
        problems.extend(f"{file}: not in the manifest" for file in sorted(there - recorded))
    problems.extend(_damaged_problems(found))
    there = {f"stores/{path.name}" for path in (ROOT / "stores").iterdir()}
    problems.extend(f"{file}: not in the manifest" for file in sorted(there - named))
    return problems


def _damaged_problems(found: GoldenManifest) -> Iterator[str]:
    """Problems of the damaged variants; that their bytes fit the stores shows when one is opened."""
    try:
        variants = damaged()
    except (DamagedError, OSError) as error:
        yield str(error)
        return
    for variant in variants:
        files = (
            {file.file for file in found.stores[variant.store].files}
            if variant.store in found.stores
            else set[str]()
        )
        for patch in variant.patches:
            if (patch.file in files) == (patch.action == "make"):
                yield f"damaged.json: {variant.name}: {patch.file} of store {variant.store}: cannot {patch.action}"


def _archive_problems(store: StoreEntry) -> Iterator[str]:
    expected = {file.file: file for file in store.files}
    for name, content in members(store.archive):
        file = expected.pop(name, None)
        if file is None:
            yield f"{store.archive.file}: {name} is not in the manifest"
        elif (digest := hashlib.file_digest(content, "sha256").hexdigest()) != file.sha256:  # type: ignore[arg-type]
            yield f"{store.archive.file}: {name}: found SHA-256 {digest}, expected {file.sha256}"
    for name in expected:
        yield f"{store.archive.file}: {name} is missing"


def _truth_problems(store: StoreEntry) -> Iterator[str]:
    lines = Counter(line["type"] for line in truth(store.name))
    if lines != store.truth_lines:
        yield f"{store.truth.file}: found lines {dict(lines)}, expected {dict(store.truth_lines)}"
