"""Builds the vectors as packages of other languages: a part of `make dist`.

Each needs the tools of its language alone: a JDK 17 and Maven, Go, Cargo, or npm. What the packages have in common comes from here: the cases out of
golden/rocket_golden/vectors in a form that needs no library, what the newest release does instead, the version, licence, checksums and examples.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any, Final

from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_golden import vectors, zstd
from rocket_reference import Rules
from rocket_spec.clauses import clauses
from rocket_spec.profiles import GROUND, profile, releases

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent
NAME: Final = "rocketmq-store-vectors"
VERSION: Final = (HERE / "VERSION").read_text("ascii").strip()
POM: Final = f"META-INF/maven/rocketspec/{NAME}/pom.xml"
"""The path of the artifact's pom in its jar; the install plugin of Maven 3.8 does not look for it."""

LANGUAGES: Final = ("java", "go", "rust", "javascript")
_STARTERS: Final = {
    "java": ("java/IndexFile.java", "example/src/test/java/IndexFile.java"),
    "go": ("go/example/index_file.go", "example/index_file.go"),
    "rust": ("rust/src/index_file.rs", "example/index_file/mod.rs"),
    "javascript": ("javascript/index-file.js", "example/index-file.js"),
}
"""The working index file of each language's starter adapter, and its place in the package."""

_VERSIONED: Final = ("pom.xml", "Cargo.toml", "package.json", "README.md", "go.mod")
_BY_CLOCK: Final = re.compile("index/[0-9]{17}")
_RUN: Final = re.compile(rb"[^\0](?:\0{0,15}[^\0])*", re.DOTALL)


@cache
def cases_text() -> str:
    """cases.json: every vector, one a line, with files as runs of bytes in hexadecimal, and the clauses that they test."""
    newest = releases()[-1]
    adapter = ReferenceAdapter(rules=Rules(**profile(newest).rules))
    cases = [_plain(case) for store in (False, True) for case in vectors(store=store)]
    for case in cases:
        expected = _expected(case, adapter)
        if any(expected[name] != case[name] for name in expected):
            case["releases"] = {newest: expected}
    named = {case["id"].partition("/")[0] for case in cases}
    head = {
        "format": 1,
        "version": VERSION,
        "releases": [GROUND, newest],
        "clauses": {
            clause.id: {"level": clause.level, "text": clause.summary}
            for clause in clauses().values()
            if clause.id in named
        },
    }
    lines = ",\n".join(_dumps(case) for case in cases)
    return f'{_dumps(head)[:-1]},"cases":[\n{lines}\n]}}\n'


def _plain(case: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: case[name] for name in ("id", "description", "clauses", "geometry", "ops")},
        "files": {name: _runs(_unpacked(file)) for name, file in case["files"].items()},
        "results": _results(case["expected"]["results"]),
        "left": {name: _runs(_unpacked(file)) for name, file in case["expected"]["files"].items()},
    }


def _expected(case: dict[str, Any], adapter: ReferenceAdapter) -> dict[str, Any]:
    """Answers and files of the reference, which does what the release of its rules does."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, file in case["files"].items():
            path = Path(scratch, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            data = bytearray(file["length"])
            for start, run in file["runs"]:
                data[start : start + len(run) // 2] = bytes.fromhex(run)
            path.write_bytes(data)
        message = {"cmd": "case", "id": case["id"], "dir": scratch, "ops": case["ops"]}
        answer = adapter.handle(message) or {}  # only bye has none
        paths = sorted(path for path in Path(scratch).rglob("*") if path.is_file())
        left = {path.relative_to(scratch).as_posix(): _runs(path.read_bytes()) for path in paths}
    if any(op["op"] == "service.build" for op in case["ops"]):
        made = [name for name in left if _BY_CLOCK.fullmatch(name) and name not in case["files"]]
        left |= {f"index/new-{number}": left.pop(name) for number, name in enumerate(made, 1)}
    return {"results": _results(answer["results"]), "left": left}


def _results(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results, without the words of a rejection."""
    return [{"rejected": ""} if "rejected" in result else result for result in results]


def _unpacked(file: dict[str, str]) -> bytes:
    return zstd.decompress(base64.b64decode(file["zstd_base64"]))


def _runs(data: bytes) -> dict[str, Any]:
    return {
        "length": len(data),
        "runs": [[match.start(), match[0].hex()] for match in _RUN.finditer(data)],
    }


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def stage(language: str, target: Path) -> Path:
    """Writes the complete source of a package into the new directory `target`, and returns it."""
    shutil.copytree(HERE / language, target)
    source, place = _STARTERS[language]
    (target / place).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / "conformance" / "adapters" / source, target / place)
    for named in (path for name in _VERSIONED for path in target.rglob(name)):
        named.write_text(named.read_text("utf-8").replace("0.0.0", VERSION), "utf-8")
    data = target
    if language == "java":  # what is to be in the jar beside the classes
        data = target / "src" / "main" / "resources" / "META-INF"
        shutil.copytree(target / "example", data / "example")
        shutil.copyfile(target / "README.md", data / "README.md")
    cases = data.parent / "rocketspec" / "vectors" if language == "java" else data
    cases.mkdir(parents=True, exist_ok=True)
    (cases / "cases.json").write_text(cases_text(), "utf-8", newline="\n")
    for name in ("LICENSE", "NOTICE"):
        shutil.copyfile(ROOT / name, data / name)
    base = data.parent if language == "java" else data
    files = sorted(path for path in base.rglob("*") if path.is_file() and path.name != "Cargo.toml")
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(base).as_posix()}"
        for path in files
    ]
    (data / "SHA256SUMS").write_text("\n".join([*sums, ""]), "ascii", newline="\n")
    return target


def archive_of(language: str) -> str:
    """The file name of a language's package."""
    ends = {"java": ".jar", "go": "-go.zip", "rust": ".crate", "javascript": ".tgz"}
    return f"{NAME}-{VERSION}{ends[language]}"


_PACKING: Final = {
    "java": ("mvn -q -B package", "target"),
    "rust": (
        "cargo package --quiet --no-verify --allow-dirty --exclude-lockfile --target-dir target",
        "target/package",
    ),
    "javascript": ("npm pack --silent", "."),
}
"""The command that packs a language's package, and the directory that it writes to; Go has none."""


def build(language: str, out: Path) -> Path:
    """Builds the package of a language into `out`; its archive. SystemExit if a tool is missing or fails."""
    out.mkdir(parents=True, exist_ok=True)
    archive = out / archive_of(language)
    with tempfile.TemporaryDirectory() as scratch:
        source = stage(language, Path(scratch, f"{NAME}-{VERSION}"))
        if language in _PACKING:
            command, folder = _PACKING[language]
            run(command.split(), source)
            return Path(shutil.move(source / folder / archive.name, archive))
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted(path for path in source.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(path.relative_to(source.parent).as_posix(), (2026, 1, 1, 0, 0, 0))
                packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return archive


def run(command: list[str], folder: Path, *, fails: bool = False) -> str:
    """Runs a command in a directory; what it prints. SystemExit if it is missing, or fails, or with `fails` does not fail."""
    program = shutil.which(command[0])
    if program is None:
        raise SystemExit(f"{command[0]}: not found")
    environment = os.environ | {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
    done = subprocess.run(
        [program, *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if bool(done.returncode) != fails:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr
