"""Tries built packages as a new user does: in a fresh project of each language, by the language's own commands.

The whole index file passes, a wrong hash fails, and so does a file whose header is counted wrong, each with its clause. A crash
in a put fails each case with a put, and no other.
"""

import hashlib
import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from packages.build import POM, VERSION, run, stage

_WRONG_HASH: Final = "IDX-HASH-1/emoji breaks IDX-HASH-1 (MUST)"
_WRONG_COUNT: Final = "IDX-HDR-4/chain breaks IDX-HDR-4 (MUST)"
_LATER: Final = "IDX-SEL-2/newest-first breaks IDX-SEL-2 (MUST)"
_WRONG_BYTE: Final = "file 20260101000000000, byte 35: expected 01, actual 03"


class _Steps(NamedTuple):
    """The steps of a language in a fresh project: commands, the condition that is made wrong in its index file, and a crash."""

    start: tuple[str, ...]
    whole: str
    hash: str
    index_file: str
    condition: str
    crash: str


_STEPS: Final = {
    "java": _Steps(
        (f"mvn -q -B install:install-file -Dfile={{archive}} -DpomFile={{unpacked}}/{POM}",),
        "mvn -q -B test -Dtest=Whole*Test", "mvn -q -B test -Dtest=HashTest",
        "src/test/java/IndexFile.java", "if (previous == 0)",
        'if (true) throw new IllegalStateException("no slot");',
    ),
    "go": _Steps(
        (
            "go mod init example",
            f"go mod edit -require=rocketspec/vectors@v{VERSION} -replace=rocketspec/vectors={{unpacked}}",
        ),
        "go test -run TestWhole", "go test -run TestHash", "index_file.go", "if previous == 0 {",
        'panic("no slot");',
    ),
    "rust": _Steps(
        ("cargo init --quiet --lib --vcs none --name example", "cargo add --quiet --dev --path {unpacked}"),
        "cargo test --quiet --test whole", "cargo test --quiet --test hash", "tests/index_file/mod.rs",
        "if previous == 0 {", 'if true { panic!("no slot") }',
    ),
    "javascript": _Steps(
        ("npm init --yes --silent --init-type=module", "npm install --silent --no-audit {archive}"),
        "node --test whole.test.js", "node --test hash.test.js", "index-file.js", "if (previous === 0)",
        'throw new Error("no slot");',
    ),
}  # fmt: skip


def try_cases(language: str, cases: Sequence[Mapping[str, object]], scratch: Path) -> str:
    """The output of a package with other cases, all of which the example's wrong hash fails; SystemExit if a command fails, or they pass."""
    package = stage(language, scratch / "package")
    data = json.loads((package / "cases.json").read_text("utf-8"))
    (package / "cases.json").write_text(json.dumps({**data, "cases": cases}), "utf-8")
    project = _project(language, scratch / "project", package / "example", archive=package, unpacked=package)
    return run(_STEPS[language].hash.split(), project, fails=True)


def _project(language: str, project: Path, example: Path, **places: Path) -> Path:
    """A fresh project with the example, which depends on the package."""
    shutil.copytree(example, project / "tests" if language == "rust" else project)
    (project / "go.mod").unlink(missing_ok=True)
    for command in _STEPS[language].start:
        run(shlex.split(command.format(**places)), project)
    return project


def try_package(language: str, archive: Path, scratch: Path) -> None:
    """Uses a package in a fresh project in the empty directory `scratch`.

    Raises:
        SystemExit: a command fails, a wrong implementation passes, or a file is not that of SHA256SUMS.
    """
    steps = _STEPS[language]
    unpacked, data = _unpack(archive, scratch / "unpacked")
    project = _project(language, scratch / "project", data / "example", archive=archive, unpacked=unpacked)
    run(steps.whole.split(), project)
    _expect(run(steps.hash.split(), project, fails=True), _WRONG_HASH)
    index_file = project / steps.index_file
    text = index_file.read_text("utf-8")
    wrong = text.replace(
        steps.condition, steps.condition.replace("previous === 0", "true").replace("previous == 0", "true")
    )
    index_file.write_text(wrong, "utf-8")
    _expect(run(steps.whole.split(), project, fails=True), _WRONG_COUNT, _WRONG_BYTE, "Catches ", " Cost: ")
    index_file.write_text(text.replace(steps.condition, f"{steps.crash} {steps.condition}"), "utf-8")
    _expect(run(steps.whole.split(), project, fails=True), _WRONG_COUNT, "no slot", _LATER)


def _expect(output: str, *texts: str) -> None:
    for text in texts:
        if text not in output:
            raise SystemExit(f"expected {text!r} in:\n{output}")


def _unpack(archive: Path, target: Path) -> tuple[Path, Path]:
    """The directory of an archive's files, and that of the package's data in it; each file is compared with SHA256SUMS."""
    kind = "zip" if archive.suffix in {".jar", ".zip"} else "gztar"
    shutil.unpack_archive(archive, target, kind, filter=None if kind == "zip" else "data")
    base = target if archive.suffix == ".jar" else next(target.iterdir())
    data = base / "META-INF" if archive.suffix == ".jar" else base
    for line in (data / "SHA256SUMS").read_text("ascii").splitlines():
        digest, name = line.split("  ", 1)
        if hashlib.sha256((base / name).read_bytes()).hexdigest() != digest:
            raise SystemExit(f"{base / name}: not the file of SHA256SUMS")
    return base, data
