"""Writes a file whole, or leaves what was there."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rocket_spec.errors import UsageError


@contextmanager
def output_folder(folder: Path, *, name: Path | None = None) -> Generator[None]:
    """Makes a folder for what a block writes into it; removes it afterwards if it is new and empty.

    An error of a write, which names no file, or of a file in the folder, which may have a temporary name, gets the `name` of what is written,
    by default that of the folder.
    """
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except OSError as error:
        at = error.filename
        if error.errno is not None and (at is None or folder in Path(os.fsdecode(at)).parents):
            raise OSError(error.errno, error.strerror, os.fspath(name or folder)) from error
        raise
    finally:
        if made and not any(folder.iterdir()):
            folder.rmdir()


def refuse_other_kinds(path: Path) -> None:
    """Refuses to write where there is a FIFO, a device, a directory, or a link to one: a UsageError."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: not a regular file; choose another path")


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file under a temporary name beside it and renames it: a full disk or a kill leaves no half of one.

    Its folder is made; text is written as UTF-8. UsageError as `refuse_other_kinds`: a file would take its place.
    """
    refuse_other_kinds(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with output_folder(path.parent, name=path):
        try:
            part.write_bytes(content.encode() if isinstance(content, str) else content)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
