"""The keys of the log's records against the entries of all index files: wrong, missing and double ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocket_columnar._audit_finding import Finding, finding, runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocket_columnar._audit_index_read import IndexContent
    from rocket_columnar._audit_log import Frames

__all__ = ["Keys"]

_HASHES = 1 << 31


class Keys:
    """What should be in the index, and how often it was seen.

    A pair of record and hash is one number; a message may have one key twice, so pairs are counted.
    """

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._codes = frames.key_frame * _HASHES + frames.all.key_hash
        self._known, self._wanted = np.unique(self._codes, return_counts=True)
        self._seen = np.zeros(self._known.size, np.int64)
        self._wrong: list[tuple[str, tuple[int, int], int, str]] = []

    def see(
        self,
        content: IndexContent,
        entries: NDArray[np.int64],
        place: NDArray[np.int64],
        report: Callable[[Finding], None],
    ) -> None:
        """Counts the entries of one file that point to records; reports double ones, and keeps wrong ones."""
        if not entries.size:
            return
        hashes = content.key_hash[entries].astype(np.int64)
        codes = place * _HASHES + hashes
        at = np.searchsorted(self._known, codes)
        at[at == self._known.size] = 0
        right = (self._known[at] == codes) if self._known.size else np.zeros(codes.shape, np.bool_)
        right &= hashes >= 0
        for first, length in runs(entries[~right]):
            more = f" and the {length - 1:,} behind it" if length > 1 else ""
            key_hash, offset = int(content.key_hash[first]), int(content.phy_offset[first])
            text = (
                f"entry {first:,}{more}: found key hash {key_hash:,}, which no key of the record at physical offset "
                f"{offset:,} has"
            )
            fields = content.field(first, "key_hash"), content.field(first, "phy_offset")
            self._wrong.append((content.file.name, fields, key_hash, text))
        self._count(content, entries[right], at[right], report)

    def _count(
        self,
        content: IndexContent,
        entries: NDArray[np.int64],
        at: NDArray[np.int64],
        report: Callable[[Finding], None],
    ) -> None:
        order = np.argsort(at, kind="stable")
        grouped = at[order]
        starts = np.flatnonzero(np.diff(grouped, prepend=-1))
        rank = np.arange(grouped.size) - np.repeat(starts, np.diff(np.append(starts, grouped.size)))
        doubled = self._seen[grouped] + rank >= self._wanted[grouped]
        np.add.at(self._seen, at, 1)
        for first, length in runs(np.sort(entries[order][doubled])):
            report(
                finding(
                    "index.double_entry",
                    content.file.name,
                    content.field(first, "key_hash"),
                    f"{length:,} entries from entry {first:,} on index again what is indexed already, from physical "
                    f"offset {int(content.phy_offset[first]):,}: a recovery dispatched these messages once more",
                )
            )

    def wrong(self, report: Callable[[Finding], None]) -> None:
        """Reports entries whose record has no such key, when all files are seen.

        Where a key with the entry's hash is missing it is the offset that leads astray, else the hash is damaged.
        """
        missing = np.unique(self._known[self._seen < self._wanted] % _HASHES)
        for file, (hash_place, offset_place), key_hash, text in self._wrong:
            astray = bool(np.isin(key_hash, missing))
            report(finding("index.entry_wrong_key", file, offset_place if astray else hash_place, text))

    def held(self) -> NDArray[np.bool_]:
        """Which keys, in the order of the log, have an entry."""
        seen = self._seen > 0
        held: NDArray[np.bool_] = seen[np.searchsorted(self._known, self._codes)]
        return held

    def indexed(self) -> NDArray[np.bool_]:
        """Which records have an entry of one of their keys."""
        found = np.zeros(self._frames.all.phy_offset.size, np.bool_)
        found[(self._known[self._seen > 0] // _HASHES)] = True
        return found

    def missing(self, expected: NDArray[np.bool_], report: Callable[[Finding], None]) -> None:
        """Reports keys without an entry, of the records that are `expected` to be indexed; runs as one finding."""
        short = self._seen < self._wanted
        lost = short[np.searchsorted(self._known, self._codes)] & expected[self._frames.key_frame]
        for first, length in runs(np.flatnonzero(lost)):
            frame, last = (int(self._frames.key_frame[number]) for number in (first, first + length - 1))
            file, offset = self._frames.at(frame)
            begin, end = (int(self._frames.all.phy_offset[number]) for number in (frame, last))
            what = (
                f"{length:,} keys of the records at physical offsets {begin:,} to {end:,} are"
                if frame != last
                else f"{length:,} of the keys of the record at physical offset {begin:,} {'is' if length == 1 else 'are'}"
            )
            report(
                finding(
                    "index.missing_key",
                    file,
                    offset,
                    f"{what} not in the index: queries by key do not find them",
                )
            )
