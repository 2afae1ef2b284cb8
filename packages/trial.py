"""Tries built packages as a new user does: `python packages/trial.py DIST [LANGUAGE...]`, a part of `make dist`.

In a fresh project of each language, by the language's own commands: the whole index file passes, a wrong hash fails, and so
does a file whose header is counted wrong, each with its clause.
"""

import argparse
import hashlib
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from packages.build import LANGUAGES, NAME, VERSION, run

_WRONG_HASH: Final = "IDX-HASH-1/emoji breaks IDX-HASH-1 (MUST)"
_WRONG_COUNT: Final = "IDX-HDR-4/chain breaks IDX-HDR-4 (MUST)"
_WRONG_BYTE: Final = "file 20260101000000000, byte 35: expected 01, actual 03"


class _Steps(NamedTuple):
    """What a language does in a fresh project: the file that is made wrong, how, and the commands."""

    index_file: str
    right: str
    wrong: str
    start: tuple[tuple[str, ...], ...]
    whole: tuple[str, ...]
    hash: tuple[str, ...]


def archive_of(language: str) -> str:
    """The file name of a language's package."""
    ends = {"java": ".jar", "rust": ".crate", "javascript": ".tgz"}
    return f"{NAME}-go-{VERSION}.zip" if language == "go" else f"{NAME}-{VERSION}{ends[language]}"


def _steps(language: str, archive: Path, unpacked: Path) -> _Steps:
    if language == "java":
        return _Steps(
            "src/test/java/IndexFile.java", "if (previous == 0)", "if (true)",
            (("mvn", "-q", "-B", "install:install-file", f"-Dfile={archive}"),),
            ("mvn", "-q", "-B", "test", "-Dtest=Whole*Test"), ("mvn", "-q", "-B", "test", "-Dtest=HashTest"),
        )  # fmt: skip
    if language == "go":
        module = "rocketspec/vectors"
        return _Steps(
            "index_file.go", "if previous == 0 {", "if true {",
            (
                ("go", "mod", "init", "example"),
                ("go", "mod", "edit", f"-require={module}@v{VERSION}", f"-replace={module}={unpacked}"),
            ),
            ("go", "test", "-run", "TestWhole"), ("go", "test", "-run", "TestHash"),
        )  # fmt: skip
    if language == "rust":
        return _Steps(
            "tests/index_file/mod.rs", "if previous == 0 {", "if true {",
            (
                ("cargo", "init", "--quiet", "--lib", "--vcs", "none", "--name", "example"),
                ("cargo", "add", "--quiet", "--dev", "--path", str(unpacked)),
            ),
            ("cargo", "test", "--quiet", "--test", "whole"), ("cargo", "test", "--quiet", "--test", "hash"),
        )  # fmt: skip
    return _Steps(
        "index-file.js", "if (previous === 0)", "if (true)",
        (
            ("npm", "init", "--yes", "--silent", "--init-type=module"),
            ("npm", "install", "--silent", "--no-audit", str(archive)),
        ),
        ("node", "--test", "whole.test.js"), ("node", "--test", "hash.test.js"),
    )  # fmt: skip


def try_package(language: str, archive: Path, scratch: Path) -> None:
    """Uses a package in a fresh project in the empty directory `scratch`.

    Raises:
        SystemExit: a command fails, a wrong implementation passes, or a file is not that of SHA256SUMS.
    """
    unpacked, project = scratch / "unpacked", scratch / "project"
    base = _unpack(archive, unpacked)
    data = base / "META-INF" if language == "java" else base
    _check_sums(base, data / "SHA256SUMS")
    example = data / "example"
    shutil.copytree(example, project / "tests" if language == "rust" else project)
    steps = _steps(language, archive, base)
    for command in steps.start:
        run([*command], project)
    run([*steps.whole], project)
    _expect(run([*steps.hash], project, fails=True), _WRONG_HASH)
    index_file = project / steps.index_file
    text = index_file.read_text("utf-8")
    if steps.right not in text:
        raise SystemExit(f"{index_file}: {steps.right!r} is missing")
    index_file.write_text(text.replace(steps.right, steps.wrong), "utf-8")
    _expect(run([*steps.whole], project, fails=True), _WRONG_COUNT, _WRONG_BYTE)


def _expect(output: str, *texts: str) -> None:
    for text in texts:
        if text not in output:
            raise SystemExit(f"expected {text!r} in:\n{output}")


def _unpack(archive: Path, target: Path) -> Path:
    """The directory with the package's files."""
    if archive.suffix in {".jar", ".zip"}:
        shutil.unpack_archive(archive, target, "zip")
    else:
        shutil.unpack_archive(archive, target, "gztar", filter="data")
    return target if archive.suffix == ".jar" else next(target.iterdir())


def _check_sums(base: Path, sums: Path) -> None:
    for line in sums.read_text("ascii").splitlines():
        digest, name = line.split("  ", 1)
        if hashlib.sha256((base / name).read_bytes()).hexdigest() != digest:
            raise SystemExit(f"{base / name}: not the file of SHA256SUMS")


def main() -> int:
    """Reads the command line; the exit code."""
    parser = argparse.ArgumentParser(description="Try the packages of vectors in fresh projects.")
    parser.add_argument("dist", metavar="DIST", type=Path)
    parser.add_argument("languages", metavar="LANGUAGE", nargs="*", choices=[[], *LANGUAGES])
    options = parser.parse_args()
    for language in options.languages or LANGUAGES:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            try_package(language, options.dist.resolve() / archive_of(language), Path(scratch))
        sys.stdout.write(f"{time.monotonic() - started:.1f} s  {archive_of(language)}: in a fresh project\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
