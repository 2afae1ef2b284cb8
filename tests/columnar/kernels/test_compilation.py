"""What is said when loops are compiled: one line on the first start, nothing on the second."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """\
import numpy as np
from rocket_columnar import compile_notice
compile_notice.announce(print)
from rocket_columnar.kernels import count_keys
count_keys(np.zeros(1, np.int32), 7, 0, np.zeros(7, np.int64))
count_keys(np.zeros(1, np.int64), 7, 0, np.zeros(7, np.int64))
"""


MIXED = """\
import sys
import numpy as np
from rocket_columnar.kernels import count_keys
count_keys(np.zeros(1, np.int32), 7, 0, np.zeros(7, np.int64))
print("numba.np.linalg" in sys.modules)
print(count_keys(np.array([8], np.int32), 7, 0, np.zeros(7, np.int64)))
places = np.zeros(7, np.int64)[::-1]
count_keys(np.array([8, 1, 9], np.int32), 7, 0, places)
print(places.tolist())
"""


def test_compiled_code_is_loaded_without_the_tables_of_the_compiler_and_compiling_goes_on(
    tmp_path: Path,
) -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ
            | {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_NUM_THREADS": "1"},  # a setting: Numba does it all
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for script in (SCRIPT, MIXED)
    ]
    # The slots of 8, 1 and 9 among seven; the array that runs backwards needs code that was not kept.
    assert outputs[1].splitlines() == ["False", "True", "[0, 2, 1, 0, 0, 0, 0]"]


def test_the_first_start_says_that_it_compiles(tmp_path: Path) -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert said == [
        "compiling loops for large files; the compiled code is cached for later starts\n",
        "",
    ]
