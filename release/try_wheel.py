"""Tries an installed rocketspec: conform, decode, query, audit and rebuild, in a directory without a checkout.

    python release/try_wheel.py

Run it with the Python in which the wheel and its extra `engine` are installed; CI does so on every supported version. It
prints the seconds of each step.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS: tuple[tuple[int, tuple[str, ...], str], ...] = (
    (0, ("golden", "unpack", "mixed", "."), "mixed"),
    (0, ("conform",), "conformant for index"),
    (0, ("decode", "mixed", "--table", "commit_log", "--limit", "1"), '"phy_offset":0'),
    (0, ("query", "mixed", "--topic", "Orders", "--key", "order-1003", "--exact"), "2 messages"),
    (0, ("audit", "mixed"), ""),
    (0, ("rebuild", "mixed", "-o", "rebuilt"), ""),
    (0, ("digest", "mixed"), ""),
    (0, ("spec", "show", "IDX-PUT-5"), "IndexFile.putKey"),
    (0, ("adapter", "new", "python", "-o", "adapter"), ""),
    (0, ("adapter", "check", "--", sys.executable, "adapter/adapter.py"), "ready"),
)


def main() -> int:
    """Runs the steps; 0 if each exits and prints as expected."""
    with tempfile.TemporaryDirectory() as folder:
        for code, arguments, shown in STEPS:
            started = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-P", "-m", "rocketspec", *arguments],
                cwd=folder, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode != code or shown not in done.stdout:
                sys.stderr.write(
                    f"rocketspec {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
                )
                return 1
            sys.stdout.write(f"{time.monotonic() - started:.1f} s  rocketspec {' '.join(arguments)}\n")
        rebuilt = sum(path.is_file() for path in Path(folder, "rebuilt", "consumequeue").rglob("*"))
        if not rebuilt:
            sys.stderr.write("rebuild wrote no queue\n")
            return 1
    sys.stdout.write(f"rocketspec works on Python {sys.version.split()[0]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
