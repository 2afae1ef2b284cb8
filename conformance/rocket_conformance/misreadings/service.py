"""The index service, misread."""

from __future__ import annotations

from typing import Final

from rocket_conformance.misreadings.mutant import Mutant

__all__ = ["SERVICE"]

_SPLIT: Final = 'split_one_space(request.keys or "")'
_UNIQUE: Final = "if request.uniq_key is not None:"
_UNIQUE_FIRST: Final = f'    {_UNIQUE}\n        yield f"{{request.topic}}#{{request.uniq_key}}"\n'
_PART: Final = '            yield f"{request.topic}#{key}"\n'
_ROLLED: Final = """        file = self._last_file()
        if not file.index.put(key, offset, timestamp):
            raise UnspecifiedError("a file that has room refuses the put, and 4.9.3 tries for ever")
        return file
"""
_SORTED: Final = "sorted(self.directory.iterdir(), key=by_name)"
_AFTER_CRASH: Final = "if not last_exit_ok and file.end_timestamp > self.checkpoint.index_msg_timestamp:"
_BUILD: Final = "        file = self._last_file()  # IDX-SVC-7\n"
_REPEATED: Final = "if request.commit_log_offset < file.end_phy_offset:  # IDX-SVC-8"
_ROLLBACK: Final = "if request.sys_flag & TRANSACTION_TYPE == TRANSACTION_ROLLBACK:"
_MOST: Final = "most = min(max_num, MAX_MSGS_NUM_BATCH)"
_ENDS: Final = "if file.index.header().begin_timestamp < begin or len(offsets) >= most:"
_EXPIRED: Final = "            if file.end_phy_offset >= offset:\n                break\n"

SERVICE: Final = (
    Mutant(
        "key-without-separator",
        "IDX-SVC-1",
        "index_service",
        _PART,
        '            yield f"{request.topic}{key}"\n',
        (
            ('f"{request.topic}#{request.uniq_key}"', 'f"{request.topic}{request.uniq_key}"'),
            ('f"{topic}#{key}"', 'f"{topic}{key}"'),
        ),
    ),
    Mutant(
        "key-before-topic",
        "IDX-SVC-1",
        "index_service",
        _PART,
        '            yield f"{key}#{request.topic}"\n',
        (
            ('f"{request.topic}#{request.uniq_key}"', 'f"{request.uniq_key}#{request.topic}"'),
            ('f"{topic}#{key}"', 'f"{key}#{topic}"'),
        ),
    ),
    Mutant("keys-split-at-commas", "IDX-SVC-2", "index_service", _SPLIT, '(request.keys or "").split(",")'),
    Mutant("keys-split-at-any-space", "IDX-SVC-2", "index_service", _SPLIT, '(request.keys or "").split()'),
    Mutant("keys-not-split", "IDX-SVC-2", "index_service", _SPLIT, '[request.keys or ""]'),
    Mutant("repeated-key-once", "IDX-SVC-2", "index_service", _SPLIT, f"dict.fromkeys({_SPLIT})"),
    Mutant(
        "empty-part-indexed", "IDX-SVC-2", "index_service", "        if key:\n", "        if request.keys:\n"
    ),
    Mutant("unique-key-ignored", "IDX-SVC-2", "index_service", _UNIQUE, "if False:"),
    Mutant(
        "unique-key-last",
        "IDX-SVC-2",
        "index_service",
        _UNIQUE_FIRST,
        "",
        ((_PART, f"{_PART}{_UNIQUE_FIRST}"),),
    ),
    Mutant(
        "key-at-a-full-file-lost", "IDX-SVC-3", "index_service", _ROLLED, "        return self._last_file()\n"
    ),
    Mutant(
        "no-offset-seed-at-a-roll", "IDX-SVC-8", "index_service", "last.end_phy_offset if last else 0", "0"
    ),
    Mutant("no-time-seed-at-a-roll", "IDX-SVC-3", "index_service", "last.end_timestamp if last else 0", "0"),
    Mutant("files-loaded-in-reverse", "IDX-SVC-5", "index_service", _SORTED, f"{_SORTED}[::-1]"),
    Mutant(
        "files-sorted-as-numbers",
        "IDX-SVC-5",
        "index_service",
        _SORTED,
        "sorted(self.directory.iterdir(), key=lambda path: (int(path.name) if path.name.isdigit() or path.name[:1] in '+-' else -1, path.name))",
    ),
    Mutant(
        "files-sorted-by-length-first",
        "IDX-SVC-5",
        "index_service",
        _SORTED,
        "sorted(self.directory.iterdir(), key=lambda path: (len(path.name), path.name))",
    ),
    Mutant(
        "name-that-is-no-number-ends-the-load",
        "IDX-SVC-5",
        "index_service",
        "                    continue\n",
        "                    return False\n",
    ),
    Mutant(
        "file-that-cannot-be-opened-skipped",
        "IDX-SVC-5",
        "index_service",
        "                    return False\n",
        "                    continue\n",
    ),
    Mutant(
        "file-at-the-index-time-deleted",
        "IDX-SVC-6",
        "index_service",
        _AFTER_CRASH,
        _AFTER_CRASH.replace(" > ", " >= "),
    ),
    Mutant("nothing-deleted-after-a-crash", "IDX-SVC-6", "index_service", _AFTER_CRASH, "if False:"),
    Mutant(
        "clean-exit-deletes-too",
        "IDX-SVC-6",
        "index_service",
        _AFTER_CRASH,
        _AFTER_CRASH.replace("not last_exit_ok and ", ""),
    ),
    Mutant(
        "late-file-left-out-and-kept",
        "IDX-SVC-6",
        "index_service",
        "file.mapped.destroy(0)",
        "file.mapped.close()",
    ),
    Mutant(
        "no-file-without-keys",
        "IDX-SVC-7",
        "index_service",
        _BUILD,
        f"        if not any(index_keys(request)):\n            return\n{_BUILD}",
    ),
    Mutant(
        "no-file-for-a-rolled-back-message",
        "IDX-SVC-7",
        "index_service",
        _BUILD,
        f"        if request.sys_flag & TRANSACTION_TYPE == 12:\n            return\n{_BUILD}",
    ),
    Mutant(
        "equal-offset-left-out", "IDX-SVC-8", "index_service", _REPEATED, _REPEATED.replace(" < ", " <= ")
    ),
    Mutant("repeated-message-indexed", "IDX-SVC-8", "index_service", _REPEATED, "if False:"),
    Mutant("rollback-indexed", "IDX-SVC-9", "index_service", _ROLLBACK, "if False:"),
    Mutant(
        "prepared-left-out",
        "IDX-SVC-9",
        "index_service",
        _ROLLBACK,
        "if request.sys_flag & TRANSACTION_TYPE in (4, 12):",
    ),
    Mutant(
        "commit-left-out",
        "IDX-SVC-9",
        "index_service",
        _ROLLBACK,
        "if request.sys_flag & TRANSACTION_TYPE in (8, 12):",
    ),
    Mutant(
        "all-flags-compared",
        "IDX-SVC-9",
        "index_service",
        _ROLLBACK,
        "if request.sys_flag == TRANSACTION_ROLLBACK:",
    ),
    Mutant("empty-unique-key-left-out", "IDX-SVC-10", "index_service", _UNIQUE, "if request.uniq_key:"),
    Mutant(
        "unique-key-split",
        "IDX-SVC-10",
        "index_service",
        '        yield f"{request.topic}#{request.uniq_key}"\n',
        '        for part in split_one_space(request.uniq_key):\n            yield f"{request.topic}#{part}"\n',
    ),
    Mutant("more-than-64-found", "IDX-SVC-11", "index_service", _MOST, "most = max_num"),
    Mutant("at-most-32-found", "IDX-SVC-11", "index_service", _MOST, "most = min(max_num, 32)"),
    Mutant("negative-maximum-finds-nothing", "IDX-SVC-12", "index_service", "if max_num < 0:", "if False:"),
    Mutant("oldest-file-first", "IDX-SVC-13", "index_service", "in reversed(self.files):", "in self.files:"),
    Mutant(
        "file-that-does-not-match-searched",
        "IDX-SVC-13",
        "index_service",
        "if file.index.time_matched(begin, end) and file.mapped.hold():",
        "if file.mapped.hold():",
    ),
    Mutant(
        "file-that-does-not-match-ends-the-query",
        "IDX-SVC-13",
        "index_service",
        _ENDS,
        f"if not file.index.time_matched(begin, end) or {_ENDS[3:]}",
    ),
    Mutant(
        "begin-at-the-window-ends-the-query",
        "IDX-SVC-14",
        "index_service",
        _ENDS,
        _ENDS.replace(" < begin", " <= begin"),
    ),
    Mutant("earlier-file-searched-too", "IDX-SVC-14", "index_service", _ENDS, "if len(offsets) >= most:"),
    Mutant(
        "last-update-of-the-first-file",
        "IDX-SVC-15",
        "index_service",
        "newest = self.files[-1]",
        "newest = self.files[0]",
    ),
    Mutant(
        "last-update-with-hits-only",
        "IDX-SVC-15",
        "index_service",
        "newest.end_timestamp if newest else 0",
        "newest.end_timestamp if newest and offsets else 0",
    ),
    Mutant(
        "exception-in-a-query-leaves",
        "IDX-SVC-16",
        "index_service",
        "break  # caught by queryOffset",
        "raise  #",
    ),
    Mutant(
        "file-ending-at-the-offset-deleted",
        "IDX-SVC-17",
        "index_service",
        _EXPIRED,
        _EXPIRED.replace(">=", ">"),
    ),
    Mutant(
        "last-file-deleted-too", "IDX-SVC-17", "index_service", "in self.files[:-1]:", "in list(self.files):"
    ),
    Mutant(
        "expiry-goes-on-behind-a-kept-file",
        "IDX-SVC-17",
        "index_service",
        _EXPIRED,
        _EXPIRED.replace("break", "continue"),
    ),
    Mutant(
        "index-time-only-grows",
        "IDX-SVC-18",
        "index_service",
        "self.checkpoint.index_msg_timestamp = timestamp",
        "self.checkpoint.index_msg_timestamp = max(timestamp, self.checkpoint.index_msg_timestamp)",
    ),
    Mutant(
        "end-time-of-0-taken", "IDX-SVC-18", "index_service", "if timestamp > 0:", "if file.index.full():"
    ),
    Mutant(
        "every-message-moves-the-index-time",
        "IDX-SVC-18",
        "index_service",
        _BUILD,
        f"{_BUILD}        self.checkpoint.index_msg_timestamp = request.store_timestamp\n",
    ),
    Mutant(
        "file-that-cannot-be-made-ignored",
        "IDX-SVC-19",
        "index_service",
        _BUILD,
        "        try:\n            file = self._last_file()\n        except JavaError:\n            return\n",
    ),
)
"""Each on its clause, in the order of SPEC.md."""
