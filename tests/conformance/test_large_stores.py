"""`conform --store` over logs of any length: its memory hardly grows with them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from store_bytes import BEGIN, checkpoint

from benchmarks.stores import make_store


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
def test_memory_hardly_grows_with_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    peaks: list[int] = []
    for size in (100_000_000, 2_000_000_000):
        store = tmp_path / str(size)
        records = make_store(store, size, body=16_000, file_size=1 << 27)
        last = BEGIN + records - 1
        (store / "checkpoint").write_bytes(checkpoint(last, last, 0))
        peak, verdict = peak_of(store)
        assert verdict.startswith("conformant in every clause"), verdict
        assert verdict.endswith(f"by {records:,} records)")
        peaks.append(peak)
    with capfd.disabled():
        sys.stdout.write(f"most memory for 100 MB and 2 GB of log: {peaks[0]:,} and {peaks[1]:,} bytes\n")
    assert peaks[1] < peaks[0] + 32_000_000
