"""Messages timed by the broker's own index files, where its store is at hand: a roll after an idle second."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from rocket_reference import index_header
from rocket_spec.layout import INDEX_HEADER

from rocket_conformance.workload.actions import Action, keyless_batch, single_entry

_MOST: Final = 5_000
"""Maximum number of entries that are filled up: a file of 20 million is not."""

_TRIES: Final = 3

_IDLE: Final = 1.2
"""Seconds without a message: long enough to show in a time diff of whole seconds."""

_POLL: Final = 0.02
"""Seconds between polls."""

_PATIENCE: Final = 250
"""Polls within which a message must be in the index: five seconds."""


def roll_after_idle_second(send: Callable[[Action], dict[str, Any]], store: Path) -> Iterator[dict[str, Any]]:
    """Fills the last index file, waits, sends a message without a key, waits, and sends one with a key.

    The message without a key makes the new file (IDX-SVC-7), whose first entry then has a time diff from the seed
    (IDX-PUT-8). Nothing is done where no index file is full yet, since then the number of its entries is unknown.

    Args:
        send: sends an action and gives its answer.
        store: the broker's store directory, which is only read.

    Yields:
        The answer for the manifest: whether the message without a key made a file.
    """
    for _ in range(_TRIES):
        full = _fill(send, store)
        if full is None:
            return
        time.sleep(_IDLE)
        if _files(store) != full:  # another message came between
            continue
        asked = int(time.time() * 1000)
        send(keyless_batch())
        made = _changed(store, full)
        yield {"do": "keyless", "topic": None, "asked": asked, "answer": {"made": made}}
        time.sleep(_IDLE)
        send(single_entry())
        return


def _fill(send: Callable[[Action], dict[str, Any]], store: Path) -> list[int] | None:
    """Sends messages of one entry until the last file is full; the counts of all files then, None where it cannot be."""
    counts = _files(store)
    if len(counts) < 2 or counts[-2] - counts[-1] > _MOST:
        return None
    for _ in range(2 * _MOST):
        counts = _files(store)
        if counts[-1] >= counts[-2]:
            return counts
        if "error" in send(single_entry()):
            return None
        if not _changed(store, counts):
            return None
    return None


def _changed(store: Path, counts: list[int]) -> bool:
    """Whether the index files change within five seconds."""
    for _ in range(_PATIENCE):
        if _files(store) != counts:
            return True
        time.sleep(_POLL)
    return False


def _files(store: Path) -> list[int]:
    """The index_count of every index file, in the order of their names."""
    found: list[int] = []
    for path in sorted((store / "index").iterdir()) if (store / "index").is_dir() else []:
        with path.open("rb") as file:
            data = file.read(INDEX_HEADER.size)
        if len(data) == INDEX_HEADER.size:
            found.append(index_header(data).index_count)
    return found
