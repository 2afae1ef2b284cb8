"""Asks the real 4.9.3 store again: `python tests/spec/real/make_facts.py`. Needs Maven and a JDK 17.

Writes `facts.json`, what single classes answered, `restarts.json`, what whole stores did (`restart_scripts.py`), and
`dledger.json`, what the recovery of DLedger mode made of damaged stores (`dledger_variants.py`).
"""

import json
import runpy
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

import rocket_golden
from restart_scripts import Script

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parents[1] / "support")]

from one_at_a_time import one_at_a_time  # noqa: E402
from restart_scripts import scripts  # noqa: E402
from short_lived import COMPILER, SHORT_LIVED  # noqa: E402

FACTS = HERE / "facts.json"
RESTARTS = HERE / "restarts.json"
DLEDGER = HERE / "dledger.json"
BUILD = HERE.parents[2] / "build" / "store-facts"
JAVA = [
    "java",
    *SHORT_LIVED.split(),
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in ("java.nio", "sun.nio.ch", "jdk.internal.ref")
    ),
]


def _run(*command: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if result.returncode != 0:
        raise RuntimeError(
            f"{command[0]}: exit {result.returncode}\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}"
        )


def _compiled(source: str) -> str:
    """Compiles a class against the real jars; returns the class path."""
    jars, classes = BUILD / "jars", BUILD / "classes"
    path = f"{classes}{':' if sys.platform != 'win32' else ';'}{jars}/*"
    with one_at_a_time():
        if not list(jars.glob("slf4j-nop-*.jar")):
            _run(
                "mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies",
                f"-DoutputDirectory={jars}", "-DincludeScope=runtime",
            )  # fmt: skip
        _run("javac", *COMPILER, "-nowarn", "-cp", path, "-d", str(classes), str(HERE / source))
    return path


def _ask(program: str, *arguments: Path) -> None:
    """Runs a class of this folder; the stores that it makes are gone afterwards."""
    path = _compiled(f"{program}.java")
    with tempfile.TemporaryDirectory() as scratch:
        command = [*JAVA, f"-Djava.io.tmpdir={scratch}", "-cp", path, f"org.apache.rocketmq.store.{program}"]
        _run(*command, *map(str, arguments))


def make_facts(target: Path) -> None:
    """Writes what the real store's classes answer, as JSON, into `target`."""
    _ask("StoreFacts", target)


def make_restarts(target: Path, chosen: dict[str, Script] | None = None) -> None:
    """Writes what real stores did with the scripts' directories, as JSON, into `target`; `chosen` are other scripts."""
    BUILD.mkdir(parents=True, exist_ok=True)
    script = BUILD / f"{target.stem}-scripts.json"
    script.write_text(json.dumps(scripts() if chosen is None else chosen), "utf-8")
    _ask("RestartFacts", script, target)


def make_dledger(target: Path) -> None:
    """Writes what real recoveries of DLedger mode made of the variants, as JSON, into `target`."""
    path = _compiled("DledgerFacts.java")
    variants = runpy.run_path(str(HERE / "dledger_variants.py"))
    found = {}
    for name, damage in variants["VARIANTS"].items():
        with tempfile.TemporaryDirectory() as scratch:
            store = rocket_golden.open_store("dledger", scratch)
            damage(store)
            command = [*JAVA, "-cp", path, "org.apache.rocketmq.store.DledgerFacts", str(store)]
            done = subprocess.run(
                [*command, *map(str, (variants["SIZE"], *variants["PUTS"].get(name, ())))],
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            lines = [line[2:] for line in done.stdout.splitlines() if line.startswith("= ")]
            files = sorted(one.relative_to(store).as_posix() for one in store.glob("dledger-*/data/*"))
            queues = sorted(one.relative_to(store).as_posix() for one in store.glob("consumequeue/*/*/*"))
            facts = json.loads(lines[0]) if lines else {}
            if done.returncode == 3:
                raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
            units = {
                one.relative_to(store).as_posix(): _first_unit(one)
                for one in sorted(store.glob("dledger-*/index/*"))
            }
            written = b"".join(path.read_bytes() for path in store.glob("dledger-*/data/*") if path.is_file())
            facts["light_queue_properties"] = [
                written.count(f"INNER_MULTI_{name}".encode()) for name in ("DISPATCH", "QUEUE_OFFSET")
            ]
            found[name] = {
                "exit": done.returncode, **facts, "log_files": files, "queue_files": queues, "first_units": units,
            }  # fmt: skip
    target.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def _first_unit(path: Path) -> int | None:
    """Number of the first unit in a file of DLedger's index whose magic is not 0, of the first thousand."""
    with path.open("rb") as file:
        units = iter(lambda: file.read(32), b"")
        return next((n for n, unit in enumerate(islice(units, 1000)) if unit[:4].strip(b"\0")), None)


if __name__ == "__main__":
    make_facts(FACTS)
    make_restarts(RESTARTS)
    make_dledger(DLEDGER)
