"""A verb on disks that are too small, each in a process of its own: `run_on_disks` mounts them where no other process sees them."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_SECONDS = 60


class DiskRun(NamedTuple):
    """A run: the option of the disk, exit code or minus the signal, what it printed, and the files on the disk afterwards."""

    limit: int
    code: int
    out: str
    err: str
    left: list[str]


def run_on_disks(folder: Path, option: str, limits: Sequence[int], *arguments: object) -> list[DiskRun]:
    """Runs `rocketspec ARGUMENTS` for each limit, up to the first success, on an empty disk that is mounted at `folder`.

    Args:
        folder: gets the disk.
        option: what the limits are: `size` in KiB, `nr_inodes`, or `files`, the descriptors of the process.
        limits: one for each run.
        arguments: of the command.
    """
    folder.mkdir()
    mounted = ["unshare", "--mount", "--map-root-user", sys.executable, __file__, str(folder), option]
    command = [*mounted, json.dumps(list(limits)), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    return [DiskRun(*json.loads(line)) for line in done.stdout.splitlines()]


def _in_a_child(work: Callable[[], object]) -> tuple[int, str, str]:
    """Exit code of the work in a child process, or minus the signal that ended it, and what it printed."""
    pipes = [os.pipe(), os.pipe()]
    child = os.fork()
    if not child:
        for number, (_, end) in enumerate(pipes, 1):
            os.dup2(end, number)
        os.closerange(3, 1 << 12)
        signal.alarm(_SECONDS)  # a run that never ends is ended by SIGALRM
        code = 70
        try:
            work()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    texts: list[str] = []
    for ours, theirs in pipes:
        os.close(theirs)
        with open(ours, encoding="utf-8") as pipe:  # noqa: PTH123 - a descriptor
            texts.append(pipe.read())
    status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status), texts[0], texts[1]


def _main(folder: Path, option: str, limits: Sequence[int], arguments: Sequence[str]) -> None:
    import rocket_columnar.decode
    import rocket_columnar.rebuild
    import rocket_columnar.report  # noqa: F401 - once, not in each child
    from rocketspec import __main__ as command

    sys.argv = ["rocketspec", *arguments]
    options: Mapping[str, Callable[[int], str]] = {
        "size": lambda limit: f"size={limit}k",
        "nr_inodes": lambda limit: f"nr_inodes={limit}",
        "files": lambda _limit: "size=64m",
    }

    def limited(limit: int) -> None:
        if option == "files":
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        command.run()

    for limit in limits:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options[option](limit), "none", str(folder)], check=True
        )
        code, out, err = _in_a_child(lambda: limited(limit))  # noqa: B023 - it is called at once
        left = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
        subprocess.run(["umount", str(folder)], check=True)
        sys.stdout.write(json.dumps([limit, code, out, err, left]) + "\n")
        sys.stdout.flush()
        if code == 0:
            break


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), sys.argv[4:])
