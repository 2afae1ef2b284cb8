"""The checkpoint while the store runs: three times in memory, which a flush writes to the file.

Read beside `org.apache.rocketmq.store.StoreCheckpoint` of 4.9.3; the file itself is in `checkpoint_file`.

Theory of operation. Each part of the store sets its time as it goes, and whoever flushes writes all three:
the flush of the commit log (physic), of the queues (logics), and of an index file at a roll (index).
"""

import os

from rocket_reference.checkpoint_file import Checkpoint, read_checkpoint, write_checkpoint


class StoreCheckpoint:
    """The three times, in ms since the epoch.

    Args:
        path: the file, which is made or extended at once (CKP-2); None keeps the times in memory alone.
        index_msg_timestamp: the index time of one without a file.

    Raises:
        JavaError: FileNotFoundException, IOException.

    Source: StoreCheckpoint 39-63. Clauses CKP-2, CKP-3.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, index_msg_timestamp: int = 0) -> None:
        self._path = path
        times = Checkpoint(0, 0, index_msg_timestamp) if path is None else read_checkpoint(path)
        self.physic_msg_timestamp = times.physic_msg_timestamp
        self.logics_msg_timestamp = times.logics_msg_timestamp
        self.index_msg_timestamp = times.index_msg_timestamp

    def times(self) -> Checkpoint:
        """The times as they are in memory."""
        return Checkpoint(self.physic_msg_timestamp, self.logics_msg_timestamp, self.index_msg_timestamp)

    def flush(self) -> None:
        """Writes the three times to the file. Source: flush 78-83 (CKP-4)."""
        if self._path is not None:
            write_checkpoint(self._path, self.times())
