"""Writes the .ksy files in the form of the public gallery of Kaitai formats: `python -m tools.make_gallery OUT`.

The gallery asks for ids that name the application, for imports by absolute path, for references that lead out of the
gallery, and for sample files. OUT becomes `database/rocketmq_*.ksy` and, with `--samples STORE`, `samples/rocketmq_*/`: one
small file of each format from the directory of a store, such as `rocketspec golden unpack` writes.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path
from typing import Final

from rocket_spec.data import find_data
from rocket_spec.errors import UsageError

FORMATS: Final = (
    "batchconsumequeue",
    "checkpoint",
    "commitlog",
    "commitlog_lenient",
    "consumequeue",
    "consumequeue_ext",
    "dledger",
    "dledger_index",
    "indexfile",
    "tieredindex",
    "timerlog",
    "timerwheel",
)
FOLDER: Final = "database"
_PREFIX: Final = "rocketmq_"
_SAMPLES: Final = {
    "checkpoint": "checkpoint",
    "commitlog": "commitlog/*",
    "consumequeue": "consumequeue/*/*/*",
    "consumequeue_ext": "consumequeue_ext/*/*/*",
    "dledger": "dledger-*/data/*",
    "indexfile": "index/*",
}
_LARGEST: Final = 1 << 20
"""Bytes of a sample at most."""


def for_gallery(name: str, text: str, reference: str) -> str:
    """A .ksy file in the gallery's form.

    Args:
        name: its id here.
        text: the file.
        reference: URL of the specification; a clause's anchor is put after it.
    """
    text = re.sub(rf"^  id: {name}$", f"  id: {_PREFIX}{name}", text, count=1, flags=re.MULTILINE)
    for other in FORMATS:
        text = re.sub(rf"^    - {other}$", f"    - /{FOLDER}/{_PREFIX}{other}", text, flags=re.MULTILINE)
        text = re.sub(rf"\b{other}::", f"{_PREFIX}{other}::", text)
        text = text.replace(f"`{other}`", f"`{_PREFIX}{other}`")
    return re.sub(r"doc-ref: SPEC\.md#(\S+) (\S+)", rf"doc-ref: '{reference}#\1 \2'", text)


def make_gallery(target: Path, reference: str, samples: Path | None = None) -> list[str]:
    """Writes the set into `target`, which must be missing or empty; the names of what was written, sorted.

    Args:
        target: the directory.
        reference: URL of the published SPEC.md.
        samples: the directory of a store, whose smallest file of each format becomes a sample.

    Raises:
        UsageError: `target` has files already, the URL is not absolute, or the store has no file of any format.
        OSError: reading or writing fails.
    """
    if target.exists() and any(target.iterdir()):
        raise UsageError(f"{target}: is not empty")
    if not re.match(r"https?://", reference):
        raise UsageError(f"{reference}: not an absolute URL")
    folder = target / FOLDER
    folder.mkdir(parents=True)
    for name in FORMATS:
        text = find_data(f"spec/{name}.ksy").read_text("utf-8")
        (folder / f"{_PREFIX}{name}.ksy").write_text(
            for_gallery(name, text, reference), "utf-8", newline="\n"
        )
    if samples is not None:
        _copy_samples(samples, target / "samples")
    return sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())


def _copy_samples(store: Path, target: Path) -> None:
    copied = 0
    for name, pattern in _SAMPLES.items():
        files = [path for path in store.glob(pattern) if path.is_file() and path.stat().st_size <= _LARGEST]
        written = [path for path in files if any(path.read_bytes()[:64])]
        if written:
            sample = min(written, key=lambda path: (path.stat().st_size, path))
            folder = target / f"{_PREFIX}{name}"
            folder.mkdir(parents=True)
            shutil.copyfile(sample, folder / f"{sample.name}.bin")
            copied += 1
    if not copied:
        raise UsageError(f"{store}: no file of a store, of {_LARGEST:,} bytes or less")


def main(arguments: list[str] | None = None) -> int:
    """Reads the command line; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.make_gallery",
        description="Write the Kaitai schemas for the public gallery.",
    )
    parser.add_argument("out", metavar="OUT", type=Path, help="directory to write, missing or empty")
    parser.add_argument("--reference", required=True, metavar="URL", help="where SPEC.md is published")
    parser.add_argument(
        "--samples", metavar="STORE", type=Path, help="a store to take one small file of each format from"
    )
    options = parser.parse_args(arguments)
    try:
        written = make_gallery(options.out, options.reference, options.samples)
    except (UsageError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write("".join(f"{name}\n" for name in written))
    return 0


if __name__ == "__main__":
    sys.exit(main())
