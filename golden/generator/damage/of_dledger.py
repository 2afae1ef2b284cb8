"""Damages of the commit log of a broker in DLedger mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from generator.damage.damaging import variant

if TYPE_CHECKING:
    from generator.damage.damaging import Store, Variant


def _header(store: Store, field: int, size: int, note: str) -> Variant:
    """A variant with the last bit of a field changed in the header of some entry that is neither the first nor the last."""
    entry = store.pick(store.lines["log_entry"][1:-1])
    at = int(entry["pos"]) - int(entry["file"].rpartition("/")[2]) + field
    old = store.files[entry["file"]][at : at + size]
    return variant(
        entry["file"],
        at,
        f"entry {entry['index']}: {note}",
        store.write(entry["file"], at, old[:-1] + bytes([old[-1] ^ 1])),
    )


def entry_magic(store: Store) -> Variant:
    """Damage that an audit calls `log.magic`."""
    return _header(store, 0, 4, "magic one bit off")


def entry_position(store: Store) -> Variant:
    """Damage that an audit calls `log.position`."""
    return _header(store, 24, 8, "pos one byte off its place")


DLEDGER: Final = (
    ("entry-magic", "log.magic", entry_magic),
    ("entry-position", "log.position", entry_position),
)
"""Name, the code of the finding, and what makes it."""
