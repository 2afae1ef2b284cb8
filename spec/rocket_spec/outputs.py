"""Writes a file whole, or leaves what was there."""

import os
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file under a temporary name beside it and renames it: a full disk or a kill leaves no half of one.

    Args:
        path: of the file; its folder is made.
        content: text is written as UTF-8.

    Raises:
        OSError: when it can't be written; what was there before is still there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content.encode() if isinstance(content, str) else content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
