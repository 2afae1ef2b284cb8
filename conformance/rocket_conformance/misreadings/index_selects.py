"""Selects from an index file and its time match, misread."""

from __future__ import annotations

from typing import Final

from rocket_conformance.misreadings.mutant import Mutant

__all__ = ["INDEX_SELECTS"]

_NOTHING: Final = "if not (entry <= NO_ENTRY or entry > count or count <= 1):"
_HIT: Final = "if hash_read == hash_ and begin <= time_read <= end:"
_APPEND: Final = "offsets.append(phy_offset)"
_MAXIMUM: Final = "        watch = CycleWatch(max_num)\n"
_NEGATIVE: Final = "            if time_diff < 0:  # IDX-SEL-5\n                break\n"
_LAST: Final = "if previous <= NO_ENTRY or previous > header.index_count or previous == entry:"
_BEFORE: Final = "if time_read < begin:  # IDX-SEL-7"
_CAUGHT: Final = "        except JavaError:  # IDX-SEL-8: the hits so far\n            pass\n"
_SELECTED: Final = (
    "        hash_ = key_hash(key)\n        slot_position = self._slot_position(hash_)\n        try:\n"
)
_KEYS: Final = "globals().setdefault('_KEYS', {})"

INDEX_SELECTS: Final = (
    Mutant(
        "newest-entry-not-found", "IDX-SEL-1", "index_file", _NOTHING, _NOTHING.replace("> count", ">= count")
    ),
    Mutant(
        "last-entry-of-a-full-file-not-found",
        "IDX-SEL-1",
        "index_file",
        _NOTHING,
        _NOTHING.replace("> count", "> count or entry == self.index_num - 1"),
    ),
    Mutant(
        "slot-above-count-followed", "IDX-SEL-1", "index_file", _NOTHING, "if entry > NO_ENTRY and count > 1:"
    ),
    Mutant("count-of-1-searched", "IDX-SEL-1", "index_file", _NOTHING, "if NO_ENTRY < entry <= count:"),
    Mutant("oldest-hit-first", "IDX-SEL-2", "index_file", _APPEND, "offsets.insert(0, phy_offset)"),
    Mutant("hash-not-compared", "IDX-SEL-2", "index_file", _HIT, "if begin <= time_read <= end:"),
    Mutant(
        "other-hash-ends-the-walk", "IDX-SEL-2", "index_file", _LAST, f"if hash_read != hash_ or {_LAST[3:]}"
    ),
    Mutant(
        "repeated-offset-dropped",
        "IDX-SEL-2",
        "index_file",
        _APPEND,
        "offsets.extend([phy_offset] if phy_offset not in offsets else [])",
    ),
    Mutant(
        "one-hit-too-many", "IDX-SEL-3", "index_file", "len(offsets) < max_num:", "len(offsets) <= max_num:"
    ),
    Mutant(
        "one-hit-too-few", "IDX-SEL-3", "index_file", "len(offsets) < max_num:", "len(offsets) < max_num - 1:"
    ),
    Mutant(
        "initial-not-counted",
        "IDX-SEL-3",
        "index_file",
        _MAXIMUM,
        f"        max_num += len(offsets)\n{_MAXIMUM}",
    ),
    Mutant(
        "maximum-of-0-is-no-limit",
        "IDX-SEL-3",
        "index_file",
        _MAXIMUM,
        f"        max_num = max_num or 1000\n{_MAXIMUM}",
    ),
    Mutant("window-begin-exclusive", "IDX-SEL-4", "index_file", _HIT, _HIT.replace("begin <=", "begin <")),
    Mutant("window-end-exclusive", "IDX-SEL-4", "index_file", _HIT, _HIT.replace("<= end", "< end")),
    Mutant("seconds-read-as-milliseconds", "IDX-SEL-4", "index_file", "time_diff * 1000)", "time_diff)"),
    Mutant(
        "window-against-the-end-time",
        "IDX-SEL-4",
        "index_file",
        "to_i64(header.begin_timestamp + time_diff",
        "to_i64(header.end_timestamp + time_diff",
    ),
    Mutant("negative-time-diff-read", "IDX-SEL-5", "index_file", _NEGATIVE, ""),
    Mutant(
        "negative-time-diff-reported",
        "IDX-SEL-5",
        "index_file",
        _NEGATIVE,
        "            if time_diff < 0:\n                offsets.append(phy_offset)\n                break\n",
    ),
    Mutant(
        "chain-ends-before-count", "IDX-SEL-6", "index_file", _LAST, _LAST.replace("> header", ">= header")
    ),
    Mutant(
        "entry-above-count-followed",
        "IDX-SEL-6",
        "index_file",
        _LAST,
        "if previous <= NO_ENTRY or previous == entry:",
    ),
    Mutant("chain-ends-at-entry-1", "IDX-SEL-6", "index_file", _LAST, _LAST.replace("<= NO_ENTRY", "<= 1")),
    Mutant("walk-ends-at-the-window-begin", "IDX-SEL-7", "index_file", _BEFORE, "if time_read <= begin:"),
    Mutant("walk-goes-on-past-the-window", "IDX-SEL-7", "index_file", _BEFORE, "if False:"),
    Mutant(
        "walk-ends-behind-the-window",
        "IDX-SEL-7",
        "index_file",
        _BEFORE,
        "if time_read < begin or time_read > end:",
    ),
    Mutant(
        "read-outside-loses-the-hits",
        "IDX-SEL-8",
        "index_file",
        _CAUGHT,
        "        except JavaError:\n            offsets = list(initial)\n",
    ),
    Mutant(
        "read-outside-is-rejected",
        "IDX-SEL-8",
        "index_file",
        _CAUGHT,
        "        except JavaError:\n            raise\n",
    ),
    Mutant(
        "keys-kept-in-memory",
        "IDX-SEL-9",
        "index_file",
        "        try:\n            self._put(",
        f"        {_KEYS}[hash_, phy_offset] = key\n        try:\n            self._put(",
        (
            (
                "        return offsets\n\n    def _walk",
                f"        return [one for one in offsets if {_KEYS}.get((hash_, one), key) == key]\n\n    def _walk",
            ),
        ),
    ),
    Mutant(
        "no-slots-finds-nothing",
        "IDX-SEL-10",
        "index_file",
        _SELECTED,
        f"        if self.hash_slot_num == 0:\n            return offsets\n{_SELECTED}",
    ),
    Mutant(
        "cover-not-strict",
        "IDX-TIME-1",
        "index_file",
        "(begin < first and end > last)",
        "(begin <= first and end >= last)",
    ),
    Mutant("cover-does-not-match", "IDX-TIME-1", "index_file", "(begin < first and end > last)", "False"),
    Mutant(
        "begin-in-the-file-exclusive",
        "IDX-TIME-2",
        "index_file",
        "first <= begin <= last",
        "first < begin < last",
    ),
    Mutant(
        "end-in-the-file-exclusive", "IDX-TIME-3", "index_file", "first <= end <= last", "first < end < last"
    ),
    Mutant(
        "any-overlap-matches",
        "IDX-TIME-3",
        "index_file",
        "first <= end <= last",
        "(min(first, last) <= end and begin <= max(first, last))",
    ),
)
"""Each on its clause, in the order of SPEC.md."""
