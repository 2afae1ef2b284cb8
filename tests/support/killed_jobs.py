"""Jobs on Spark that are killed, driver, JVM and workers at once, at a moment that can be repeated.

A moment is "tasks", N: N tasks have finished, and no other can; or "renames", N: before the driver's Nth rename, by which it
puts the output in place.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, Literal

Moment = tuple[Literal["tasks", "renames"], int]

_HEAD: Final = """
import os, signal, sys, time
from pathlib import Path
from rocket_spark import open_session, rebuild
from rocket_spark.decode import job as decode
from rocket_spark.output import journalled_in

kind, number = sys.argv[1], int(sys.argv[2])
spark = open_session("local[2]", only_jobs=True)
left, rename = number, Path.replace

def counted(path, target):
    global left
    if left == 1:
        os.killpg(0, signal.SIGKILL)
    left -= 1
    return rename(path, target)

def waiting(folder, work, options=None):
    run = journalled_in(folder, work, options)

    def in_task(*arguments):
        outcome = run(*arguments)
        while len(list(Path(folder.uri).glob("done-*"))) >= number:
            time.sleep(1)
        return outcome

    return in_task

if kind == "renames":
    Path.replace = counted
else:
    rebuild.journalled_in = decode.journalled_in = waiting
"""


def kill_job(work: str, out: Path, moment: Moment) -> None:
    """Runs `work`, a text that uses `spark`, in a process group of its own and kills this.

    Args:
        work: Python; the job writes to `out` with `resume`.
        out: the output folder.
        moment: see the module.

    Raises:
        AssertionError: the job ended by itself.
    """
    kind, number = moment
    command = [sys.executable, "-c", _HEAD + work, kind, str(number)]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, start_new_session=True, stderr=errors) as job,
    ):
        while kind == "tasks" and job.poll() is None:
            if len(list(out.glob("_temporary/attempts/done-*"))) >= number:
                os.killpg(job.pid, signal.SIGKILL)
                break
            time.sleep(0.02)
        code = job.wait()
        errors.seek(0)
        assert code == -signal.SIGKILL, errors.read().decode("utf-8", "replace")[-2000:]
