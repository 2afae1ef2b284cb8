"""A verb on disks that are too small, each in a process of its own: `run_on_disks` mounts them where no other process sees them."""

import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

_SECONDS: Final = 60
"""Of processor time: a run that never ends is ended by SIGXCPU."""
_ROOMY: Final = {"size": "64m", "nr_inodes": "100000"}


class DiskRun(NamedTuple):
    """A run: the limit, exit code or minus the signal, what it printed, and what is new, changed or gone on the disk afterwards."""

    limit: int
    code: int
    out: str
    err: str
    left: list[str]


def run_on_disks(
    folder: Path,
    option: str,
    limits: Sequence[int],
    *arguments: object,
    store: Path | None = None,
    then: Sequence[object] = (),
) -> list[DiskRun]:
    """Runs `rocketspec ARGUMENTS` for each limit, up to the first success, on a disk that is mounted at `folder`.

    Args:
        folder: gets the disk.
        option: what the limits are: `size` in KiB, `nr_inodes`, or `files`, the descriptors of the process.
        limits: one for each run; beside what the store takes.
        arguments: of the command.
        store: copied to `folder / "store"` before each run.
        then: arguments of one more run after the success, on what is there, with nothing left of the disk.
    """
    folder.mkdir()
    mounted = ["unshare", "--mount", "--map-root-user", sys.executable, __file__]
    given = [str(folder), option, list(limits), [str(one) for one in arguments], store and str(store)]
    command = [*mounted, json.dumps([*given, [str(one) for one in then]])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stderr
    return [DiskRun(*json.loads(line)) for line in done.stdout.splitlines()]


def _in_a_child(files: int | None, arguments: Sequence[str]) -> tuple[int, str, str]:
    """Exit code of the command in a child process, or minus the signal that ended it, and what it printed."""
    from rocketspec import __main__ as command

    pipes = [os.pipe(), os.pipe()]
    child = os.fork()
    if not child:
        for number, (_, end) in enumerate(pipes, 1):
            os.dup2(end, number)
        os.closerange(3, 1 << 12)
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        sys.argv = ["rocketspec", *arguments]
        code = 70
        try:
            command.run()
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


def _content(folder: Path) -> dict[str, bytes | None]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def _limit(folder: Path, option: str, more: int) -> None:
    """Leaves the disk so much more than is used."""
    found = os.statvfs(folder)
    used = {
        "size": (found.f_blocks - found.f_bfree) * found.f_frsize // 1024,
        "nr_inodes": found.f_files - found.f_ffree,
    }
    value = f"{used[option] + more}{'k' if option == 'size' else ''}"
    subprocess.run(["mount", "-o", f"remount,{option}={value}", str(folder)], check=True)


def _main(
    folder: Path, option: str, limits: Sequence[int], arguments: Sequence[str], store: str | None, then: Any
) -> None:
    import rocket_columnar.decode
    import rocket_columnar.rebuild
    import rocket_columnar.repair
    import rocket_columnar.report  # noqa: F401 - once, not in each child

    of_disk = option in _ROOMY
    options = ",".join(f"{name}={value}" for name, value in _ROOMY.items())

    def run(limit: int, before: dict[str, bytes | None], what: Sequence[str]) -> int:
        if of_disk:
            _limit(folder, option, limit)
        code, out, err = _in_a_child(None if of_disk else limit, what)
        after = _content(folder)
        left = sorted(name for name in before | after if before.get(name, 0) != after.get(name, 0))
        sys.stdout.write(json.dumps([limit, code, out, err, left]) + "\n")
        sys.stdout.flush()
        return code

    for limit in limits:
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], check=True)
        if store is not None:
            shutil.copytree(store, folder / "store")
        before = _content(folder)
        code = run(limit, before, arguments)
        if code == 0 and then:
            run(0 if of_disk else limit, before, then)
        subprocess.run(["umount", str(folder)], check=True)
        if code == 0:
            break


if __name__ == "__main__":
    _folder, *_rest = json.loads(sys.argv[1])
    _main(Path(_folder), *_rest)
