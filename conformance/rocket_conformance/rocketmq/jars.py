"""The real RocketMQ: its jars by Maven, the adapter on them, and what its releases do differently."""

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import platformdirs
from rocket_spec.data import find_data
from rocket_spec.errors import UsageError
from rocket_spec.profiles import releases

ORACLE_VERSION = "4.9.3"
"""The version that the clauses describe."""


@dataclass(frozen=True, slots=True)
class Program:
    """A Java program of ours that runs on RocketMQ's own jars."""

    folder: str  # of its pom.xml and source, as `find_data` takes it
    main: str  # its main class
    name: str  # of its folders in the cache


STORE_ADAPTER = Program("conformance/adapters/rocketmq", "rocketspec.adapter.Main", "adapter")
"""The real store as an adapter."""

WORKLOAD = Program("conformance/adapters/client", "rocketspec.workload.Workload", "workload")
"""The real client that carries out a workload."""

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_NEEDED_JAVA = 17

_FLAGS = (
    # What 4.9.3 itself needs on a Java 17: it maps files and unmaps them by internals.
    *("--add-opens", "java.base/java.nio=ALL-UNNAMED"),
    *("--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED"),
    *("--add-opens", "java.base/jdk.internal.ref=ALL-UNNAMED"),
    *("--add-exports", "java.base/sun.nio.ch=ALL-UNNAMED"),
    *("--add-exports", "java.base/jdk.internal.ref=ALL-UNNAMED"),
    # One thread, small heaps, short runs.
    "-Xshare:auto",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
)

# A refused put is logged; without a back end for the logging API nothing is.
_LOG_BACK_ENDS = ("logback-classic", "logback-core", "rocketmq-logback-classic")

# Other artifacts of the adapter's pom, by the start of their file names.
_ADAPTER_JARS = ("gson-", "slf4j-nop-")

_STORE_JAR = re.compile(r"rocketmq-store-(?P<version>[0-9].*)\.jar")
_GSON_JAR = re.compile(r"gson-2\.(?P<minor>[0-9]+)\..*jar")
_VERSION = re.compile(r"[0-9]+(\.[0-9A-Za-z]+)+(-[0-9A-Za-z.]+)*")


class JarUnavailableError(OSError):
    """The real jar cannot be run here: no Java, no Maven, no such version. Its one line names the reason."""


@dataclass(frozen=True, slots=True)
class JarSet:
    """The jars of one RocketMQ version."""

    version: str  # of rocketmq-store, such as "4.9.3"
    jars: tuple[Path, ...]  # the class path without the adapter's own classes, its own jars (Gson) first


def cache_directory() -> Path:
    """The folder that keeps jars and compiled adapters."""
    return Path(platformdirs.user_cache_dir("rocketspec", appauthor=False)) / "rocketmq"


def resolve(version: str, jars: Path | None = None, *, program: Program = STORE_ADAPTER) -> JarSet:
    """The jars of RocketMQ `version`: from the folder `jars`, else from the cache, else by Maven.

    Args:
        version: such as "4.9.3"; 3.x is looked up under `com.alibaba.rocketmq`.
        jars: a folder that holds `rocketmq-store-VERSION.jar` and what it needs (the `lib` of a release).
        program: what runs on them.

    Raises UsageError: for a version that is none, or a folder that holds another one.
    Raises JarUnavailableError: when the jars are not to be had.
    """
    if not _VERSION.fullmatch(version):
        raise UsageError(f"{version!r} is no RocketMQ version; expected one such as {ORACLE_VERSION}")
    if jars is not None:
        return _from_folder(version, jars, program)
    group = "com.alibaba.rocketmq" if version.startswith("3.") else "org.apache.rocketmq"
    pom = _pom(program)
    folder = _cached(
        f"{version}-{_digest([pom])}",
        lambda target: _copy_dependencies(
            target,
            pom,
            f"-Drocketmq.version={version}",
            f"-Drocketmq.groupId={group}",
            what=f"RocketMQ {version}",
        ),
    )
    return JarSet(version, _class_path(folder))


def command(version: str, jars: Path | None = None, *, program: Program = STORE_ADAPTER) -> list[str]:
    """The command that starts a program on the real jars of `version`; compiles it where needed.

    Raises UsageError: as `resolve`.
    Raises JarUnavailableError: as `resolve`, and when there is no Java 17.
    """
    java = _java()
    jar_set = resolve(version, jars, program=program)
    class_path = os.pathsep.join(str(path) for path in (_classes(jar_set, program), *jar_set.jars))
    return [java, *_FLAGS, "-cp", class_path, program.main]


def _pom(program: Program) -> Path:
    return find_data(program.folder) / "pom.xml"


def _from_folder(version: str, folder: Path, program: Program) -> JarSet:
    jars = _class_path(folder) if folder.is_dir() else ()
    found = [match["version"] for jar in jars if (match := _STORE_JAR.fullmatch(jar.name))]
    if not found:
        raise JarUnavailableError(f"{folder}: no rocketmq-store-{version}.jar there")
    if version not in found:
        raise UsageError(f"{folder}: holds rocketmq-store {', '.join(found)}, not {version}")
    if any((match := _GSON_JAR.fullmatch(jar.name)) and int(match["minor"]) >= 9 for jar in jars):
        return JarSet(version, jars)
    pom = _pom(program)
    own = _cached(
        f"{program.name}-jars-{_digest([pom])}",
        lambda target: _copy_dependencies(target, pom, "-Dadapter.only", what="Gson"),
    )
    # A folder with its own slf4j-api keeps it: a second one of another version would shadow it.
    return JarSet(version, tuple(jar for jar in _class_path(own) if "slf4j" not in jar.name) + jars)


def _class_path(folder: Path) -> tuple[Path, ...]:
    """The jars of a folder in a fixed order, the adapter's own first, without logging back ends."""
    jars = sorted(jar for jar in folder.glob("*.jar") if not jar.name.startswith(_LOG_BACK_ENDS))
    return tuple(sorted(jars, key=lambda jar: not jar.name.startswith(_ADAPTER_JARS)))


def _copy_dependencies(target: Path, pom: Path, *properties: str, what: str) -> None:
    """Lets Maven put the pom's jars into `target`: from its own repository if they are there, else from afar."""
    maven = shutil.which("mvn")
    if maven is None:
        raise JarUnavailableError(
            f"no Maven (mvn) on the PATH to fetch {what} with; give its jars with --jars"
        )
    arguments = [
        *(maven, "-q", "-B", "-Dstyle.color=never", "-f", str(pom), _PLUGIN),
        *(f"-DoutputDirectory={target}", "-DincludeScope=runtime"),
        *(f"-DexcludeArtifactIds={','.join(_LOG_BACK_ENDS)}", *properties),
    ]
    run = _run([*arguments, "-o"])
    if run.returncode != 0:
        run = _run(arguments)
    if run.returncode != 0:
        reason = next((line for line in run.stdout.splitlines() if "[ERROR]" in line), run.stderr)
        version = what.removeprefix("RocketMQ ")
        hint = "" if version in {what, *releases()} else f"; releases that resolve: {', '.join(releases())}"
        raise JarUnavailableError(f"Maven could not fetch {what}: {_one_line(reason)}{hint}")
    _check_sums(target)


def _check_sums(folder: Path) -> None:
    """Compares each fetched jar with the SHA-256 that its name has in `jars.sha256`; one of no known name passes.

    Raises JarUnavailableError: for a jar with another content than the one that the clauses were tried on.
    """
    known = dict(
        line.split()[::-1] for line in (Path(__file__).parent / "jars.sha256").read_text().splitlines()
    )
    for jar in sorted(folder.glob("*.jar")):
        found = hashlib.sha256(jar.read_bytes()).hexdigest()
        if known.get(jar.name, found) != found:
            raise JarUnavailableError(f"{jar.name}: fetched with SHA-256 {found}, expected {known[jar.name]}")


def _classes(jar_set: JarSet, program: Program) -> Path:
    """The folder of the compiled program; one serves every version, since all have the classes that it names."""
    sources = sorted((find_data(program.folder) / "src/main/java").rglob("*.java"))

    def compile_into(target: Path) -> None:
        javac = _tool("javac")
        if javac is None:
            raise JarUnavailableError(
                f"no javac on the PATH; a JDK {_NEEDED_JAVA} compiles the {program.name}"
            )
        class_path = os.pathsep.join(str(jar) for jar in jar_set.jars)
        run = _run(
            [
                *(javac, "-encoding", "UTF-8", "--release", str(_NEEDED_JAVA), "-proc:none"),
                *("-cp", class_path, "-d", str(target), *(str(source) for source in sources)),
            ]
        )
        if run.returncode != 0:
            raise JarUnavailableError(f"javac could not compile the {program.name}: {_one_line(run.stderr)}")

    return _cached(f"{program.name}-{_digest(sources)}", compile_into)


def _cached(name: str, make: Callable[[Path], None]) -> Path:
    """The folder `name` of the cache, made by `make` when it is not there.

    `make` fills a folder of a temporary name. Of two runs that race the first to rename wins, and the other
    throws its own away.
    """
    root = cache_directory()
    final = root / name
    if final.is_dir():
        return final
    root.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=root))
    try:
        make(temporary)
        try:
            temporary.rename(final)
        except OSError:
            if not final.is_dir():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return final


@functools.cache
def _java() -> str:
    java = _tool("java")
    if java is None:
        raise JarUnavailableError(f"no java on the PATH; the real jar needs a Java {_NEEDED_JAVA}")
    match = re.search(r'version "(\d+)', _run([java, "-version"]).stderr)
    if match is None or int(match[1]) < _NEEDED_JAVA:
        found = "one that does not print its version" if match is None else f"Java {match[1]}"
        raise JarUnavailableError(f"{java}: found {found}, the real jar needs a Java {_NEEDED_JAVA}")
    return java


def _tool(name: str) -> str | None:
    """A tool of the JDK: from the PATH, else from JAVA_HOME."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(name) or (shutil.which(name, path=str(Path(home, "bin"))) if home else None)


def _digest(paths: Iterable[Path]) -> str:
    """A short name for the content of some files."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, capture_output=True, text=True, errors="replace", check=False)


def _one_line(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m|\[ERROR\]", "", text).strip().partition("\n")[0].strip()


def main(arguments: list[str]) -> int:
    """`python -m rocket_conformance.rocketmq VERSION [JARS]` prints the command as a JSON array."""
    try:
        print(json.dumps(command(arguments[0], *map(Path, arguments[1:2]))))  # noqa: T201 - what it is for
    except (UsageError, JarUnavailableError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 3
    return 0


# --- releases -----------------------------------------------------------------------------------------

RELEASES: Final = releases()
"""Every release of the store from 3.2.6 on that Maven resolves. 4.2.0 and 5.3.4 ask for jars that are not there."""

_LONGEST_VALUE: Final = 60


@dataclass(frozen=True, slots=True)
class First:
    """The first case that differs: where, what 4.9.3 does and what the release does."""

    case: str
    where: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Differs:
    """The number of cases that show that a release differs from a clause, and the first of them."""

    cases: int
    first: First


@dataclass(frozen=True, slots=True)
class Release:
    """The behaviour of one release."""

    version: str  # of the release
    missing: tuple[str, ...]  # operations that its classes do not offer
    # of each family of operations, how many cases ran and how many of them differ
    families: Mapping[str, tuple[int, int]]
    carried: int  # cases named after one clause that differ only through another
    # by clause, in the order of SPEC.md; the first case is one of the clause's own, a directed one if one of
    # those differs
    differs: Mapping[str, Differs]


@dataclass(frozen=True, slots=True)
class Survey:
    """All releases, and the digest of what they were asked."""

    inputs: str
    releases: tuple[Release, ...]


def difference_of(case: str, item: Mapping[str, Any]) -> First:
    """A difference of a report as the survey records it."""
    where = item["field"] if item["op"] is None else f"operation {item['op']}, {item['field']}"
    return First(case, where, short_value(item["expected"]), short_value(item["actual"]))


def short_value(value: object) -> str:
    """A value of a report as the survey records it: JSON of at most 60 characters."""
    if isinstance(value, dict) and "rejected" in value:  # the reason may name a temporary file
        return "rejected"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def read_survey() -> Survey:
    """The survey beside SPEC.md.

    Raises FileNotFoundError: when there is none.
    """
    value: dict[str, Any] = json.loads(find_data("spec/versions.json").read_bytes())
    return Survey(value["inputs"], tuple(_release(item) for item in value["releases"]))


def _release(value: dict[str, Any]) -> Release:
    return Release(
        version=value["version"],
        missing=tuple(value["missing"]),
        families={name: (ran, differing) for name, (ran, differing) in value["families"].items()},
        carried=value["carried"],
        differs={
            clause: Differs(item["cases"], First(**item["first"]))
            for clause, item in value["differs"].items()
        },
    )


@cache
def _recorded() -> tuple[Release, ...]:
    try:
        return read_survey().releases
    except FileNotFoundError:
        return ()


def releases_alike(differences: Iterable[First]) -> str | None:
    """The releases one of whose recorded differences is among these: `3.2.6 to 4.4.0, 4.5.1`; None where none is."""
    wanted = set(differences)
    alike = [any(found.first in wanted for found in release.differs.values()) for release in _recorded()]
    names: list[str] = []
    for is_alike, group in groupby(zip(alike, _recorded(), strict=True), key=lambda item: item[0]):
        versions = [release.version for _, release in group]
        if is_alike:
            names.append(versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}")
    return ", ".join(names) or None
