"""Jobs on Spark that are killed, driver, JVM and workers at once, when a number of tasks have finished and no other can."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

__all__ = ["kill_job"]

_HEAD: Final = """
import sys, time
from pathlib import Path
from rocket_spark import open_session
from rocket_spark.output import job_output
from rocket_spark.output.attempts import journalled_in

number = int(sys.argv[1])
spark = open_session("local[2]", only_jobs=True)

def waiting(folder, work, job):
    run = journalled_in(folder, work, job)

    def in_task(*arguments):
        outcome = run(*arguments)
        while len(list(Path(folder.uri).glob("done-*"))) >= number:
            time.sleep(1)
        return outcome

    return in_task

job_output.journalled_in = waiting
"""


def kill_job(work: str, out: Path, number: int) -> None:
    """Runs `work`, a text that uses `spark`, in a process group of its own and kills this.

    Args:
        work: Python; the job writes to `out` with `resume`.
        out: the output folder.
        number: tasks that finish before.

    Raises:
        AssertionError: the job ended by itself.
    """
    command = [sys.executable, "-c", _HEAD + work, str(number)]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, start_new_session=True, stderr=errors) as job,
    ):
        while job.poll() is None:
            if len(list(out.glob("_temporary/attempts/done-*"))) >= number:
                os.killpg(job.pid, signal.SIGKILL)
                break
            time.sleep(0.02)
        code = job.wait()
        errors.seek(0)
        assert code == -signal.SIGKILL, errors.read().decode("utf-8", "replace")[-2000:]
