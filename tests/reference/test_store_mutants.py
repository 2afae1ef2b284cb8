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
    "STORE-9, an equal end is not cut": ("clean, queue at the log's end", "store_start", "self._greatest >= process_offset", "self._greatest > process_offset"),
    "STORE-10, queues without a log stay": ("no log", "store_start", "self.queues.destroy()  # STORE-10", "pass"),
    "STORE-11, any time is safe": ("unclean, no checkpoint", "commit_log_store", "store_timestamp != 0 and store_timestamp <= safe_timestamp", "store_timestamp != 0"),
    "STORE-11, 0 is safe": ("unclean, store time 0 at the second file", "commit_log_store", "store_timestamp != 0 and store_timestamp <= safe_timestamp", "store_timestamp <= safe_timestamp"),
    "STORE-11, earlier alone": ("unclean, bound at the second file", "commit_log_store", "store_timestamp <= safe_timestamp\n", "store_timestamp < safe_timestamp\n"),
    "STORE-12, nothing dispatched": ("unclean, blank and no next file", "store_start", "self._dispatch_confirmed,", "lambda _request: None,"),
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
    "LOG-DSP-8, a blank is skipped by its bytes": ("mismatch of 10 before a blank", "dispatch_steps", "Turn(False, Move.NEXT_FILE,", "Turn(False, Move.UNREAD,"),
    "LOG-DSP-10, read on after the size": ("dispatch, length mismatch", "dispatch_steps", "Turn(False, Move.SIZE, False, Reading.BEHIND_THE_FIELDS", "Turn(False, Move.SIZE, True, Reading.BEHIND_THE_FIELDS"),
    "LOG-DSP-11, a master stays": ("dispatch, length mismatch", "dispatch_steps", "Turn(False, Move.UNREAD, False, Reading.STOPPED", "Turn(False, Move.STAY, False, Reading.STOPPED"),
    "LOG-DSP-12, the index first": ("dispatch, index that cannot be made", "store_start", "self.queues.dispatch(request, self.checkpoint, bit_map=self._bit_map(request))\n        if self.config.message_index_enable:\n            self.index.build(request)", "if self.config.message_index_enable:\n            self.index.build(request)\n        self.queues.dispatch(request, self.checkpoint, bit_map=self._bit_map(request))"),
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
