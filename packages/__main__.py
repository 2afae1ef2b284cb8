"""Builds the packages into `dist/`, twice, compares them byte for byte, and tries each.

`python -m packages [LANGUAGE...]`, a part of `make dist`; without a language, all of them.
"""

import hashlib
import sys
import tempfile
from pathlib import Path

from packages.build import LANGUAGES, ROOT, archive_of, build
from packages.trial import try_package


def main() -> None:
    """Prints the SHA-256 of each archive, and that it works.

    Raises:
        SystemExit: two builds differ, or a package does not work.
    """
    for language in sys.argv[1:] or LANGUAGES:
        archive = build(language, ROOT / "dist")
        with tempfile.TemporaryDirectory() as scratch:
            if build(language, Path(scratch, "second")).read_bytes() != archive.read_bytes():
                raise SystemExit(f"{archive_of(language)}: two builds differ")
            try_package(language, archive, Path(scratch, "fresh"))
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        sys.stdout.write(f"{digest}  {archive.name}: works in a fresh project\n")


if __name__ == "__main__":
    main()
