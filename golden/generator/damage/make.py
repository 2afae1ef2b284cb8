"""Records damaged variants of golden stores: for each code of a finding, some that the catalogue of damage gives.

    python golden/generator/damage/make.py

A variant stays as it was recorded for as long as its store does; of a code that a store has no variant of, one is drawn.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import rocket_golden

sys.path.insert(0, str(Path(__file__).parents[2]))

from generator.damage.catalogue import DLEDGER, KINDS
from generator.damage.store import Kind, applies, copy_of

Variant = dict[str, Any]

TARGET: Final = Path(rocket_golden.__file__).parent / "damaged.json"
SEED: Final = 4930200

STORES: Final[dict[str, tuple[Kind, ...]]] = {"mixed": KINDS, "transactions": KINDS, "dledger": DLEDGER}
"""Undamaged stores with several files of every kind, each with the kinds of damage that it gets."""

NOT_DAMAGE: Final = {"index.double_entry", "store.unsafe_name"}
"""Codes of a file too many and of a name, which no damage to a sound file causes."""


def _contents(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def _equal(old: bytes, new: bytes) -> int:
    """The number of bytes at the beginning that are equal."""
    at = 0
    while old[at : at + 4096] == new[at : at + 4096]:
        at += 4096
    while old[at : at + 1] == new[at : at + 1]:
        at += 1
    return at


def _changed(name: str, old: bytes, new: bytes) -> list[Variant]:
    """The patches that make one file's content another one."""
    patches: list[Variant] = []
    if len(new) < len(old):
        patches.append({"file": name, "action": "cut", "offset": len(new)})
        old = old[: len(new)]
    if new != old:
        begin = _equal(old, new)
        end = len(new) - (_equal(old[::-1], new[::-1]) if len(new) == len(old) else 0)
        before, after = old[begin:end].hex(), new[begin:end].hex()
        patches.append({"file": name, "action": "write", "offset": begin, "before": before, "after": after})
    return patches


def _patches(before: dict[str, bytes], after: dict[str, bytes]) -> list[Variant]:
    """The changes that make one store of the other; new files are files of zeros."""
    patches: list[Variant] = [
        {"file": name, "action": "delete"} for name in sorted(before.keys() - after.keys())
    ]
    for name in sorted(after.keys() - before.keys()):
        patches.append({"file": name, "action": "make", "offset": len(after[name])})
        patches += _changed(name, bytes(len(after[name])), after[name])
    for name in sorted(before.keys() & after.keys()):
        patches += _changed(name, before[name], after[name])
    return patches


def _drawn(store: str, pristine: Path, kind: Kind, known: set[str]) -> Variant | None:
    """A variant, if its finding has one place and a code that is not known."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = copy_of(pristine, Path(scratch) / "copy", store, f"{SEED} {kind.__name__}")
        planted = kind(copy)
        if planted.file is not None or len(planted.exact) != 1:
            return None
        ((code, file, offset),) = planted.exact
        if code in known:
            return None
        note = (kind.__doc__ or "").split("\n")[0].rstrip(".")
        patches = _patches(_contents(pristine), _contents(copy.root))
    return {"store": store, "damage": code, "file": file, "offset": offset, "note": note, "patches": patches}


def _still_applies(variant: Variant, files: dict[str, bytes]) -> bool:
    """Whether the store has the bytes that a variant replaces."""
    return all(
        patch["action"] != "write"
        or files.get(patch["file"], b"")[patch["offset"] :].startswith(bytes.fromhex(patch["before"]))
        for patch in variant["patches"]
    )


def variants(recorded: dict[str, Variant]) -> dict[str, Variant]:
    """The recorded variants that still apply, and one for each code that a store lacks."""
    found: dict[str, Variant] = {}
    for store in STORES:
        with tempfile.TemporaryDirectory() as scratch:
            pristine = rocket_golden.open_store(store, scratch)
            files = _contents(pristine)
            mine = {name: one for name, one in recorded.items() if one["store"] == store}
            found |= {name: one for name, one in mine.items() if _still_applies(one, files)}
            codes = {one["damage"] for one in found.values() if one["store"] == store} | NOT_DAMAGE
            for kind in STORES[store]:
                drawn = _drawn(store, pristine, kind, codes) if applies(kind, store) else None
                if drawn is None:
                    continue
                codes.add(drawn["damage"])
                found[f"{store}-{kind.__name__.replace('_', '-')}"] = drawn
    return dict(sorted(found.items()))


def text(recorded: dict[str, Variant]) -> str:
    """The text of the file."""
    return json.dumps({"rocketspec_damaged": 1, "variants": variants(recorded)}, indent=1) + "\n"


def main() -> None:
    """Writes the file."""
    recorded: dict[str, Variant] = (
        json.loads(TARGET.read_text("utf-8"))["variants"] if TARGET.exists() else {}
    )
    TARGET.write_text(text(recorded), "utf-8")
    print(f"{len(rocket_golden.damaged())} damaged variants, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
