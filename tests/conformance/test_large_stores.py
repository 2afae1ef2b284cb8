"""`conform --store` over logs of any length: its memory does not grow with them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from store_bytes import BEGIN, blank, checkpoint, record
from verb_run import runner

if TYPE_CHECKING:
    from pathlib import Path

LOG_FILE = 1 << 27
QUEUES = 4
RECORDS_A_SECOND = 500
BROKER = "mappedFileSizeCommitLog=134217728\nmaxHashSlotNum=50000\nmaxIndexNum=400000\n"


def write_store(store: Path, size: int, body: int, rebuild: object) -> int:
    """A store with a log of at least `size` bytes, whose other files the engine rebuilds; the number of records."""
    (store / "commitlog").mkdir(parents=True)
    number = position = base = 0
    while position < size:
        with (store / "commitlog" / f"{base:020}").open("wb") as file:
            while True:
                data = record(
                    position,
                    topic=b"Orders",
                    body=number.to_bytes(8, "big") * (body // 8),
                    properties=b"UNIQ_KEY\1%032X\2KEYS\1order-%d\2TAGS\1T%d"
                    % (number, number // 3, number % 5),
                    queue_id=number % QUEUES,
                    queue_offset=number // QUEUES,
                    store_timestamp=BEGIN + number * 1000 // RECORDS_A_SECOND,
                )
                if len(data) + 8 > base + LOG_FILE - position or position >= size:
                    break
                file.write(data)
                position += len(data)
                number += 1
            if position < size:
                file.write(blank(base + LOG_FILE - position, filled=False))
            file.truncate(LOG_FILE)
        base += LOG_FILE
        position = base if position < size else position
    conf = store.with_suffix(".conf")
    conf.write_text(BROKER, "ascii")
    made = store.with_suffix(".rebuilt")
    done = rebuild(store, "-o", made, "--broker-conf", conf)  # type: ignore[operator]
    assert done.code == 0, done.err
    for folder in ("index", "consumequeue"):
        (made / folder).rename(store / folder)
    last = BEGIN + (number - 1) * 1000 // RECORDS_A_SECOND
    (store / "checkpoint").write_bytes(checkpoint(last, last, 0))
    return number


def peak_of(store: Path) -> tuple[int, str]:
    """The most memory that the verb held, bytes, and the last line that it printed."""
    command = [sys.executable, "-m", "rocketspec", "conform", "--store", str(store)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * 1024, printed.splitlines()[-1]


@pytest.mark.soak
def test_memory_does_not_grow_with_the_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuild = runner("rebuild", capfd, monkeypatch)
    peaks: list[int] = []
    for size in (100_000_000, 2_000_000_000):
        store = tmp_path / str(size)
        records = write_store(store, size, 16_000, rebuild)
        peak, verdict = peak_of(store)
        assert verdict.startswith("conformant in every clause"), verdict
        assert verdict.endswith(f"by {records:,} records)")
        peaks.append(peak)
    with capfd.disabled():
        sys.stdout.write(f"most memory for 100 MB and 2 GB of log: {peaks[0]:,} and {peaks[1]:,} bytes\n")
    assert peaks[1] < peaks[0] + 32_000_000
