"""The part of `rocket_reference` that runs cases: the reference itself, or a mutant of it."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import rocket_reference
from rocket_reference import IndexFile, Rules


class Library(Protocol):
    """The names of `rocket_reference` that are needed here, each as it is there; a mutant brings its own."""

    Checkpoint: type[rocket_reference.Checkpoint]
    ConsumeQueue: type[rocket_reference.ConsumeQueue]
    DispatchRequest: type[rocket_reference.DispatchRequest]
    IndexService: type[rocket_reference.IndexService]
    Store: type[rocket_reference.Store]
    StoreCheckpoint: type[rocket_reference.StoreCheckpoint]
    StoreConfig: type[rocket_reference.StoreConfig]
    base_offset: Callable[[str], int]
    dispatch_requests: Callable[..., Iterable[rocket_reference.DispatchRequest]]
    index_keys: Callable[[rocket_reference.DispatchRequest, Rules], Iterable[str]]
    index_entries: Callable[..., Iterable[rocket_reference.IndexEntry]]
    index_header: Callable[..., rocket_reference.IndexHeader]
    key_hash: Callable[[str], int]
    open_index_file: Callable[..., AbstractContextManager[IndexFile]]
    queue_file_size: Callable[[int], int]
    queue_units: Callable[..., Iterable[tuple[int, rocket_reference.QueueUnit]]]
    read_checkpoint: Callable[[Path], rocket_reference.Checkpoint]
    records: Callable[..., Iterable[tuple[int, rocket_reference.Record]]]
    tags_code: Callable[[str | None], int]
    write_checkpoint: Callable[[Path, rocket_reference.Checkpoint], None]
