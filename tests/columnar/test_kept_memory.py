"""Memory that a command frees is used again: the kernel maps, and clears, no page for the second array."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_ARRAYS = """
import json, resource
import numpy as np
from rocket_columnar.kept_memory import keep_freed_memory

keep_freed_memory()
import pyarrow as pa

def fill():
    arrays = [np.ones(1 << 20) for _ in range(5)] + [pa.allocate_buffer(8 << 20) for _ in range(5)]
    for array in arrays[5:]:
        np.frombuffer(array, np.uint8)[:] = 1

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    fill()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(json.dumps([faults() for _ in range(4)]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's parameters")
def test_later_arrays_take_no_new_pages() -> None:
    run = subprocess.run([sys.executable, "-c", _ARRAYS], check=True, capture_output=True, text=True)
    first, *later = json.loads(run.stdout)
    assert first > 1000
    assert sum(later) < first // 10
