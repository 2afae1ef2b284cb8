"""Misreadings of the clauses about stores, light queues and ext queues: what the real store did shows each of them."""

from pathlib import Path

import pytest
from rocket_conformance.misreadings import Mutant, library_of
from rocket_reference import JavaError, JavaFatalError, UnspecifiedError

from tests.reference import test_restart_scripts as replay

MUTANTS = {
    "STORE-2, abort stays": ("start and shutdown", "store_start", "if clean:\n            (self.root", "if False:\n            (self.root"),
    "STORE-2, abort goes while dispatch is behind": ("start and shutdown, dispatch behind", "store_start", "and self.reput.behind() == 0", "and True"),
    "STORE-6, two files": ("clean, damage in the third file from the end", "commit_log_store", "_RECOVERED_FILES: Final = 3", "_RECOVERED_FILES: Final = 2"),
    "STORE-6, the first file": ("clean, damage in the fourth file from the end", "commit_log_store", "max(0, len(self.files.mapped_files) - _RECOVERED_FILES)", "0"),
    "STORE-9, an equal end is not cut": ("clean, queue at the log's end", "store_start", "if greatest >= process_offset", "if greatest > process_offset"),
    "STORE-10, queues without a log stay": ("no log", "store_start", "self.queues.destroy()  # STORE-10", "pass"),
    "STORE-11, any time is safe": ("unclean, no checkpoint", "commit_log_store", "store_timestamp != 0 and store_timestamp <= safe_timestamp", "store_timestamp != 0"),
    "STORE-11, 0 is safe": ("unclean, store time 0 at the second file", "commit_log_store", "store_timestamp != 0 and store_timestamp <= safe_timestamp", "store_timestamp <= safe_timestamp"),
    "STORE-11, earlier alone": ("unclean, bound at the second file", "commit_log_store", "store_timestamp <= safe_timestamp\n", "store_timestamp < safe_timestamp\n"),
    "STORE-12, nothing dispatched": ("unclean, blank and no next file", "store_start", "            self._dispatch_confirmed,", "            lambda _request: None,"),
    "STORE-13, minimums stay": ("clean, first files deleted", "store_start", "self.queues.correct_min(self.log.min_offset())  # STORE-13", "pass"),
    "STORE-14, from the beginning": ("duplication, start with nothing to dispatch", "store_start", "max(0, greatest, self.log.min_offset())", "max(0, self.log.min_offset())"),
    "STORE-18, confirmed or not": ("duplication, unclean", "store_start", "if limit is None or request.commit_log_offset < limit:", "if True:"),
    "STORE-19, a queue that ends at the log's start": ("whole queues, expired", "queue_table", "last_offset < min_offset", "last_offset <= min_offset"),
    "STORE-20, light queues go": ("whole queues, unused", "queue_table", "and not is_lmq(queue.topic):", "and True:"),
    "STORE-21, held files go": ("held log file", "mapped_file", "if self._references <= 0 and self._cleanup_over:", "if True:"),
    "CQ-EXT-3, no bytes stay free": ("ext, unit longer than a file", "consume_queue_ext_store", "_END_BLANK: Final = 4", "_END_BLANK: Final = 0"),
    "CQ-EXT-6, not cut after its last address": ("ext, recovered", "consume_queue_ext_store", "to_i64(offset_of(address) + unit.size)", "to_i64(offset_of(address) + 2 * unit.size)"),
    "CQ-EXT-9, a long unit is written": ("ext, unit longer than any", "consume_queue_ext_store", "_MAX_UNIT_SIZE: Final = 32767", "_MAX_UNIT_SIZE: Final = 65535"),
    "CQ-LMQ-2, always 0": ("multi-dispatch, LMQ off", "queue_table", "0 if self.lmq and is_lmq(name) else request.queue_id", "0"),
    "CQ-LMQ-4, without enableMultiDispatch": ("multi-dispatch, off", "queue_table", "if not self.multi_dispatch:", "if False:"),
    "CQ-PUT-11, no flag": ("dispatch, after the index error", "queue_table", "self.flags.logics_queue_error = True\n            return", "return"),
    "CKP-3, the greater": ("unclean, bound 1 ms before the second file", "checkpoint_file", "min(self.physic_msg_timestamp, self.logics_msg_timestamp)", "max(self.physic_msg_timestamp, self.logics_msg_timestamp)"),
    "LOG-DSP-8, a blank is skipped by its bytes": ("mismatch of 10 before a blank", "reput", "self._log.roll_next_file(self.reput_from_offset)", "self.reput_from_offset + size - read_size"),
    "LOG-DSP-10, read on after the size": ("dispatch, length mismatch", "reput", "            else:  # LOG-DSP-11", "                read_size += request.msg_size\n            else:  # LOG-DSP-11"),
    "LOG-DSP-11, a master stays": ("dispatch, length mismatch", "reput", "if self._master:", "if False:"),
    "LOG-DSP-12, the index first": ("dispatch, index that cannot be made", "store_start", "self.queues.dispatch(request, self.checkpoint, bit_map=self._bit_map(request))\n        if self.config.message_index_enable:\n            self.index.build(request)", "if self.config.message_index_enable:\n            self.index.build(request)\n        self.queues.dispatch(request, self.checkpoint, bit_map=self._bit_map(request))"),
    "STORE-3, any length": ("queue file of another length", "mapped_file_queue", "if not path.exists() or path.stat().st_size != self.mapped_file_size:", "if not path.exists():"),
    "STORE-4, a word ends the load": ("queue directory that is no number", "queue_table", "                except JavaError:\n                    continue", "                except JavaError:\n                    return False"),
    "STORE-7, never": ("clean, wrong checksum", "commit_log_store", "cursor, check_crc=check_crc,", "cursor, check_crc=False,"),
    "STORE-11, by the index time": ("unclean, bound at the second file", "store_start", "safe = config.message_index_enable and config.message_index_safe", "safe = True"),
    "STORE-12, on after a failure": ("unclean, next file made ahead", "commit_log_store", "            if not request.success:\n                break\n        self.files", "        self.files"),
    "STORE-14, a missing file is passed": ("dispatch, at a missing file", "reput", "            if found is None:\n                return", "            if found is None:\n                self.reput_from_offset = self._log.roll_next_file(offset)\n                continue"),
    "STORE-15, with the levels": ("unclean, delayed message", "store_start", "config.check_crc_on_recover,\n            delay_levels=(),", "config.check_crc_on_recover,\n            delay_levels=(1000,) * 18,"),
    "STORE-17, directory by directory": ("paths, names out of order", "mapped_file_queue", "sorted(self._listed(), key=by_name)", "sorted(self._listed())"),
    "STORE-18, dispatch": ("duplication, dispatch", "reput", "if self.confirm_offset is not None and offset >= self.confirm_offset:", "if False:"),
    "STORE-19, delayed ones too": ("whole queues, expired", "queue_table", "queue.last_offset() if queue.topic != SCHEDULE_TOPIC else -1", "queue.last_offset()"),
    "STORE-20, the system's go": ("whole queues, unused", "queue_table", "and queue.topic not in _KEPT_TOPICS", "and True"),
    "CQ-DEL-1, an unavailable file ends it": ("held queue file", "mapped_file_queue", "                if mapped_file.available:\n                    break", "                break"),
    "CQ-EXT-6, address 0 in file 0 alone": ("ext, first file missing", "consume_queue_ext_store", "first_on_not_found=offset == 0", "first_on_not_found=False"),
    "CQ-EXT-8, sizes past the end end the units": ("ext, sizes to 69 of 70", "consume_queue_ext_store", "            while (size := _peek_short(cursor)) > 0:\n                cursor.skip(size)", "            while cursor.position < len(mapped_file.view) - 1 and (size := _peek_short(cursor)) > 0:\n                cursor.skip(min(size, len(mapped_file.view) - cursor.position))"),
    "CQ-EXT-8, a short unit is whole": ("ext, last unit of size 10 at 30", "consume_queue_ext", "if left >= _UNIT.size:", "if left < _UNIT.size:\n        return ExtUnit(left, 0, 0, b'')\n    if True:"),
    "CQ-LMQ-1, empty parts at the end": ("names 'q1,' at '5'", "queue_table", 'split(properties[MULTI_DISPATCH], ",")', 'properties[MULTI_DISPATCH].split(",")'),
    "CQ-LMQ-1, no empty names": ("names ',q1' at '5,6'", "queue_table", "            queue_offset = parse_long(text)", "            if not name:\n                continue\n            queue_offset = parse_long(text)"),
    "CQ-LMQ-3, no tags code": ("multi-dispatch, delayed", "queue_table", "queue.put(offset, size, request.tags_code, queue_offset)", "queue.put(offset, size, 0, queue_offset)"),
    "CQ-LMQ-5, dispatched": ("multi-dispatch, no properties", "queue_table", 'raise JavaError("NullPointerException", "a record without properties")', "return False"),
    "CQ-MIN-3, a file that ends at it goes": ("ext, minimum with an address", "consume_queue_ext_store", "if tail >= offset or", "if tail > offset or"),
    "CQ-PUT-9, the log's time too": ("unclean, no checkpoint", "queue_table", "if self.slave:", "if True:"),
    "CQ-PUT-10, one try": ("dispatch, queue that cannot be made", "queue_table", "_TRIES: Final = 30", "_TRIES: Final = 1"),
    "CQ-PUT-11, the index's error": ("dispatch, after the index error", "queue_table", "self.logics_queue_error or self.index_file_error)", "self.logics_queue_error)"),
    "CQ-TIME-1, the last file": ("by time", "consume_queue_store", "next((file for file in files if last_modified(file.path) >= timestamp), files[-1])", "files[-1]"),
    "CQ-TIME-2, the later of two": ("by time", "_nearest_unit", "return right if _distance(timestamp, left_time) >", "return right if _distance(timestamp, left_time) >="),
    "CQ-TIME-2, what is before the log ends it": ("by time, every unit before the log", "_nearest_unit", "low, left = middle + UNIT_SIZE, middle\n            continue", "return None"),
    "CQ-TIME-2, a small size has no time": ("by time, unit of size 1 at 222", "commit_log_store", "        return _store_timestamp(bytearray(data))", "        return _store_timestamp(bytearray(data)) if len(data) >= 64 else -1"),
    "CKP-3, no wrap": ("bounds that wrap", "checkpoint_file", "to_i64(min(self.physic_msg_timestamp, self.logics_msg_timestamp) - 3000)", "min(self.physic_msg_timestamp, self.logics_msg_timestamp) - 3000"),
    "CKP-3, 3 s less than the index time": ("bounds", "checkpoint_file", "min(self.min_timestamp, self.index_msg_timestamp)", "min(self.min_timestamp, self.index_msg_timestamp - 3000)"),
    "CQ-EXT-5, a size of 0 is a unit": ("ext, last address at unused bytes", "consume_queue_ext", "unpack_from(data, position)[0] < 1", "unpack_from(data, position)[0] < 0"),
    "LOG-DSP-9, not moved": ("dispatch, from before the log, not 0", "reput", "max(self.reput_from_offset, self._log.min_offset())", "self.reput_from_offset"),
    "LOG-DSP-14, past it": ("dispatch, index that cannot be made", "reput", "                self._dispatch(request)", "                try:\n                    self._dispatch(request)\n                except Exception:\n                    pass"),
    "LOG-DSP-16, a failure": ("huge size, clean", "dispatch", "raise JavaFatalError(", "raise JavaError("),
}  # fmt: skip
"""Clause and mistake: the script that shows it, module of the reference, what is there, what is put there."""

FROM_THE_REFERENCE = (
    *("Checkpoint", "DispatchRequest", "Reput", "Store", "StoreCheckpoint", "StoreConfig"),
    *("UnspecifiedError", "dispatch_request"),
)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_script_shows_a_misreading(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, module, old, new = MUTANTS[name]
    library = library_of([Mutant(name, name.partition(",")[0], module, old, new)])
    for item in FROM_THE_REFERENCE:
        monkeypatch.setattr(replay, item, getattr(library, item))
    life = replay.Life(tmp_path, replay.SCRIPTS[script])
    try:
        found = [life.run(step) for step in replay.SCRIPTS[script]["steps"]]
    except (UnspecifiedError, JavaError, JavaFatalError, ValueError, IndexError, OSError):
        return
    finally:
        if life.store is not None:
            life.store.close()
    assert found != replay.expected(script)
