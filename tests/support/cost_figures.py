"""What each verb costs on stores of two sizes: processor time and memory of a process of its own.

`python tests/support/cost_figures.py [--mib 16 64]` measures and writes `docs/cost-figures.json`, from which
`python tests/support/reliability_page.py` writes the table in `docs/reliability.md`. Processor time is hardly changed by what
else the machine does, so the figures need no quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

__all__ = ["FIGURES", "VERBS"]

FIGURES: Final = Path(__file__).parents[2] / "docs" / "cost-figures.json"
_SIZES: Final = (16, 64)  # MiB of log
_BODY: Final = 900
_FILE: Final = 16 << 20

VERBS: Final[dict[str, tuple[str, ...]]] = {
    "inspect": ("inspect", "{store}"),
    "decode": ("decode", "{store}", "--format", "parquet", "-o", "{out}"),
    "query": ("query", "{store}", "--topic", "T", "--key", "key-77"),
    "query --scan": ("query", "{store}", "--topic", "T", "--key", "key-77", "--scan"),
    "audit --quick": ("audit", "{store}", "--quick"),
    "audit": ("audit", "{store}"),
    "audit --deep": ("audit", "{store}", "--deep"),
    "audit --restart": ("audit", "{store}", "--restart"),
    "rebuild": ("rebuild", "{store}", "--geometry", "5003,20011", "-o", "{out}"),
    "digest": ("digest", "{store}"),
    "diff": ("diff", "{log}", "{copy}"),
    "conform --store": ("conform", "--store", "{store}"),
}
"""Arguments of each verb."""


def _store(root: Path, mib: int) -> tuple[int, int]:
    """A store with a log of so many MiB and what a rebuild of it gives; its bytes on disk and its records.

    The imports are here, since the memory of the measuring process counts as that of the processes that it starts.
    """
    from rocket_columnar.rebuild import rebuild
    from rocket_spec.layout import Geometry
    from store_bytes import checkpoint, record

    (root / "commitlog").mkdir(parents=True)
    end, count, base = mib << 20, 0, 0
    while base < end:
        parts, position = [], base
        while True:
            one = record(
                position, body=b"b" * _BODY, topic=b"T", queue_id=count % 4, queue_offset=count // 4,
                properties=b"KEYS\1key-%d\2UNIQ_KEY\1%032X\2TAGS\1t\2" % (count, count),
            )  # fmt: skip
            left = base + _FILE - position
            if len(one) + 8 > left:
                parts.append(left.to_bytes(4) + bytes.fromhex("cbd43194") + bytes(left - 8))
                break
            parts.append(one)
            position += len(one)
            count += 1
        (root / "commitlog" / f"{base:020}").write_bytes(b"".join(parts))
        base += _FILE
    built = root.parent / "built"
    rebuild(root, built, geometry=Geometry(5_003, 20_011), queue_file_size=6_000_000)
    for part in ("index", "consumequeue"):
        (built / part).rename(root / part)
    (root / "checkpoint").write_bytes(checkpoint(1_700_000_000_000, 1_700_000_000_000, 1_700_000_000_000))
    held = sum(512 * path.stat().st_blocks for path in root.rglob("*") if path.is_file())
    return held, count


def _cost(arguments: list[str]) -> dict[str, Any]:
    """Seconds of processor time and greatest memory of one run."""
    command = [sys.executable, "-m", "rocketspec", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 1), arguments
    return {"seconds": round(used.ru_utime + used.ru_stime, 2), "mib": round(used.ru_maxrss / 1024)}


def main() -> None:
    """Measures every verb at each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, nargs=2, default=_SIZES)
    parser.add_argument("--make", nargs=2, metavar=("DIR", "MIB"), help="only make a store")
    given = parser.parse_args()
    if given.make is not None:
        sys.stdout.write("{} {}\n".format(*_store(Path(given.make[0]), int(given.make[1]))))
        return
    sizes: list[dict[str, Any]] = []
    for mib in given.mib:
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "store"
            made = subprocess.run(
                [sys.executable, __file__, "--make", str(store), str(mib)], capture_output=True, check=True
            )
            held, count = map(int, made.stdout.split())
            log = store / "commitlog" / f"{0:020}"
            copy = Path(folder) / log.name
            shutil.copyfile(log, copy)
            costs: dict[str, Any] = {}
            for name, words in VERBS.items():
                out = Path(folder) / f"out-{len(costs)}"
                costs[name] = _cost([word.format(store=store, out=out, log=log, copy=copy) for word in words])
            sizes.append({"bytes": held, "records": count, "costs": costs})
    FIGURES.write_text(json.dumps({"sizes": sizes}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
