"""Puts into an index file, misread."""

from __future__ import annotations

from typing import Final

from rocket_conformance.misreadings.mutant import Mutant

__all__ = ["INDEX_PUTS"]

_FULL: Final = "if header.index_count >= self.index_num:  # IDX-PUT-1"
_SECONDS: Final = "seconds = div(to_i64(store_timestamp - begin), 1000)"
_NO_BEGIN: Final = "if begin <= 0:  # IDX-PUT-3"
_CLAMP: Final = "return max(0, min(seconds, I32_MAX))"
_STALE: Final = "if previous <= NO_ENTRY or previous > count:"
_LINK: Final = "buffer.put_int(position + 16, previous)"
_SLOT: Final = "buffer.put_int(slot_position, count)  # IDX-PUT-7"
_FIRST: Final = "        buffer.put_int(position, hash_)  # IDX-PUT-6\n"
_CAUGHT: Final = (
    "        except JavaError:  # IDX-PUT-9: what was written before it stays\n            return False\n"
)

INDEX_PUTS: Final = (
    Mutant(
        "one-entry-too-few", "IDX-PUT-1", "index_file", _FULL, "if header.index_count >= self.index_num - 1:"
    ),
    Mutant(
        "full-looked-at-one-entry-late",
        "IDX-PUT-1",
        "index_file",
        _FULL,
        "if header.index_count > self.index_num:",
    ),
    Mutant(
        "full-file-begins-again",
        "IDX-PUT-1",
        "index_file",
        f"        {_FULL}\n            return False\n",
        "        if header.index_count >= self.index_num > 1:\n            header.index_count = 1\n",
    ),
    Mutant(
        "time-diff-in-milliseconds",
        "IDX-PUT-2",
        "index_file",
        _SECONDS,
        "seconds = to_i64(store_timestamp - begin)",
    ),
    Mutant(
        "time-diff-without-wrap",
        "IDX-PUT-2",
        "index_file",
        _SECONDS,
        "seconds = div(store_timestamp - begin, 1000)",
    ),
    Mutant(
        "time-diff-rounded",
        "IDX-PUT-2",
        "index_file",
        _SECONDS,
        "seconds = div(to_i64(store_timestamp - begin) + 500, 1000)",
    ),
    Mutant(
        "time-diff-from-the-end",
        "IDX-PUT-2",
        "index_file",
        "begin = self._header.begin_timestamp\n",
        "begin = self._header.end_timestamp\n",
    ),
    Mutant("begin-of-0-counts", "IDX-PUT-3", "index_file", _NO_BEGIN, "if begin < 0:"),
    Mutant("negative-begin-counts", "IDX-PUT-3", "index_file", _NO_BEGIN, "if begin == 0:"),
    Mutant(
        "negative-time-diff-kept",
        "IDX-PUT-4",
        "index_file",
        _CLAMP,
        "return max(-I32_MAX, min(seconds, I32_MAX))",
    ),
    Mutant("large-time-diff-wraps", "IDX-PUT-4", "index_file", _CLAMP, "return max(0, to_i32(seconds))"),
    Mutant(
        "slot-equal-to-count-dropped",
        "IDX-PUT-5",
        "index_file",
        _STALE,
        "if previous <= NO_ENTRY or previous >= count:",
    ),
    Mutant("slot-above-count-kept", "IDX-PUT-5", "index_file", _STALE, "if previous <= NO_ENTRY:"),
    Mutant("negative-slot-kept", "IDX-PUT-5", "index_file", _STALE, "if previous > count:"),
    Mutant("previous-entry-not-linked", "IDX-PUT-6", "index_file", _LINK, "buffer.put_int(position + 16, 0)"),
    Mutant(
        "previous-entry-is-the-put-before",
        "IDX-PUT-6",
        "index_file",
        _LINK,
        "buffer.put_int(position + 16, count - 1)",
    ),
    Mutant(
        "offset-of-32-bits",
        "IDX-PUT-6",
        "index_file",
        "buffer.put_long(position + 4, phy_offset)",
        "buffer.put_long(position + 4, phy_offset & 0xFFFFFFFF)",
    ),
    Mutant(
        "slot-keeps-its-first-entry",
        "IDX-PUT-7",
        "index_file",
        _SLOT,
        "buffer.put_int(slot_position, previous or count)",
    ),
    Mutant(
        "number-written-over-the-key-hash",
        "IDX-PUT-7",
        "index_file",
        _SLOT,
        "buffer.put_int(position, count)",
    ),
    Mutant(
        "slot-gets-the-next-number",
        "IDX-PUT-7",
        "index_file",
        _SLOT,
        "buffer.put_int(slot_position, count + 1)",
    ),
    Mutant(
        "first-time-diff-is-0",
        "IDX-PUT-8",
        "index_file",
        "time_diff = self._time_diff(store_timestamp)",
        "time_diff = self._time_diff(store_timestamp) if count > 1 else 0",
    ),
    Mutant(
        "put-outside-is-rejected",
        "IDX-PUT-9",
        "index_file",
        _CAUGHT,
        "        except JavaError:\n            raise\n",
    ),
    Mutant(
        "put-outside-is-true",
        "IDX-PUT-9",
        "index_file",
        _CAUGHT,
        "        except JavaError:\n            return True\n",
    ),
    Mutant(
        "no-slots-returns-false",
        "IDX-PUT-10",
        "index_file",
        _FULL,
        "if header.index_count >= self.index_num or self.hash_slot_num == 0:",
    ),
    Mutant(
        "slot-written-before-entry",
        "IDX-PUT-11",
        "index_file",
        _FIRST,
        f"        {_SLOT}\n{_FIRST}",
        ((f"\n        {_SLOT}\n\n", "\n"),),
    ),
    Mutant(
        "header-written-before-entry",
        "IDX-PUT-11",
        "index_file",
        _FIRST,
        f"        header.increment_index_count()\n{_FIRST}",
        (("        header.increment_index_count()\n        header.set_end", "        header.set_end"),),
    ),
    Mutant(
        "full-one-entry-early",
        "IDX-FULL-1",
        "index_file",
        "return self._header.index_count >= self.index_num",
        "return self._header.index_count >= self.index_num - 1",
    ),
    Mutant(
        "full-one-entry-late",
        "IDX-FULL-1",
        "index_file",
        "return self._header.index_count >= self.index_num",
        "return self._header.index_count > self.index_num",
    ),
)
"""Each on its clause, in the order of SPEC.md."""
