"""Builds the packages of languages into `dist/`: `python -m packages LANGUAGE...`, for `make dist-java` and the like.

Without a language, for `make dist`, it builds all of them twice, compares them byte for byte, and tries each in a fresh project,
which for Java alone takes seven runs of Maven.
"""

import hashlib
import sys
import tempfile
from pathlib import Path

from packages.build import LANGUAGES, ROOT, archive_of, build
from packages.trial import try_package


def main() -> None:
    """Prints the SHA-256 of each archive, and whether it was tried; SystemExit if two builds differ or one does not work."""
    for language in sys.argv[1:] or LANGUAGES:
        archive = build(language, ROOT / "dist")
        sys.stdout.write(f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}")
        sys.stdout.flush()
        if not sys.argv[1:]:
            _try(language, archive)
            sys.stdout.write(": works in a fresh project")
        sys.stdout.write("\n")


def _try(language: str, archive: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        if build(language, Path(scratch, "second")).read_bytes() != archive.read_bytes():
            raise SystemExit(f"{archive_of(language)}: two builds differ")
        try_package(language, archive, Path(scratch, "fresh"))


if __name__ == "__main__":
    main()
