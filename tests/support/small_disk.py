"""Runs a verb on a store on a small disk, again and again with a little more room, until it succeeds; prints what each run left.

`python small_disk.py bytes|inodes FOLDER STEP VERB...`, in a mount namespace of its own: the disk is a tmpfs on FOLDER/disk, the
store a copy of FOLDER/store. Each run is a forked process, so that a fatal signal is one more result.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from rocketspec import __main__ as command
from store_bytes import contents

_MOST: Final = 400


def _run(arguments: list[str]) -> tuple[int, str]:
    """Exit code of the command, or the negative number of the signal that ended it, and what it wrote on stderr."""
    with tempfile.TemporaryFile("w+") as errors:
        child = os.fork()
        if not child:
            os.dup2(errors.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.argv = ["rocketspec", *arguments]
            try:
                command.main()
            except SystemExit as ended:
                os._exit(ended.code if isinstance(ended.code, int) else 0)
            os._exit(99)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        errors.seek(0)
        return status, errors.read()


def _used(disk: Path, limit: str) -> int:
    found = os.statvfs(disk)
    return (
        (found.f_blocks - found.f_bfree) * found.f_frsize
        if limit == "bytes"
        else found.f_files - found.f_ffree
    )


def _limit(disk: Path, limit: str, most: int) -> None:
    option = f"size={most}" if limit == "bytes" else f"nr_inodes={most}"
    subprocess.run(["mount", "-o", f"remount,{option}", str(disk)], check=True)


def main() -> None:
    """One line of JSON for each run; after the first that succeeds, one of an undo with no room at all."""
    limit, folder, step, verb = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(disk)], check=True)
    store = disk / "store"
    for number in range(_MOST):
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(folder / "store", store)
        before = contents(store)
        _limit(disk, limit, _used(disk, limit) + number * step)
        status, errors = _run([*verb[:1], str(store), *verb[1:]])
        row: dict[str, Any] = {
            "free": number * step,
            "status": status,
            "errors": errors,
            "kept": contents(store) == before,
        }
        row["litter"] = sorted(path.name for path in store.iterdir() if path.name.startswith("rocketspec-"))
        sys.stdout.write(json.dumps(row) + "\n")
        if status in (0, 1):
            _limit(disk, limit, _used(disk, limit))
            status, errors = _run(["repair", str(store), "--undo"])
            row = {"undo": status, "errors": errors, "kept": contents(store) == before}
            sys.stdout.write(json.dumps(row) + "\n")
            return
        _limit(disk, limit, (64 << 20) if limit == "bytes" else 100_000)


if __name__ == "__main__":
    main()
