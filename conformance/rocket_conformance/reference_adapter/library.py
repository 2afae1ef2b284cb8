"""The part of `rocket_reference` that runs cases: the reference itself, or a mutant of it."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import rocket_reference
from rocket_reference import IndexFile, Rules


class Library(Protocol):
    """The part of `rocket_reference` that is needed here; a mutant brings its own."""

    Checkpoint: type[rocket_reference.Checkpoint]
    ConsumeQueue: type[rocket_reference.ConsumeQueue]
    DispatchRequest: type[rocket_reference.DispatchRequest]
    IndexService: type[rocket_reference.IndexService]
    Store: type[rocket_reference.Store]
    StoreCheckpoint: type[rocket_reference.StoreCheckpoint]
    StoreConfig: type[rocket_reference.StoreConfig]

    def queue_file_size(self, configured: int) -> int:
        """As `rocket_reference.queue_file_size`."""
        ...

    def tags_code(self, tags: str | None) -> int:
        """As `rocket_reference.tags_code`."""
        ...

    def dispatch_requests(
        self, data: bytes, *, check_crc: bool, read_body: bool, rules: Rules
    ) -> Iterable[rocket_reference.DispatchRequest]:
        """As `rocket_reference.dispatch_requests`."""
        ...

    def read_checkpoint(self, path: Path) -> rocket_reference.Checkpoint:
        """As `rocket_reference.read_checkpoint`."""
        ...

    def write_checkpoint(self, path: Path, times: rocket_reference.Checkpoint) -> None:
        """As `rocket_reference.write_checkpoint`."""
        ...

    def key_hash(self, key: str) -> int:
        """As `rocket_reference.key_hash`."""
        ...

    def index_keys(self, request: rocket_reference.DispatchRequest, rules: Rules) -> Iterable[str]:
        """As `rocket_reference.index_keys`."""
        ...

    def open_index_file(
        self,
        path: Path,
        hash_slot_num: int,
        index_num: int,
        *,
        end_phy_offset: int,
        end_timestamp: int,
        load: bool,
        rules: Rules,
    ) -> AbstractContextManager[IndexFile]:
        """As `rocket_reference.open_index_file`."""
        ...
