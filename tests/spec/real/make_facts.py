"""Asks the real 4.9.3 store again: `python tests/spec/real/make_facts.py`. Needs Maven and a JDK 17.

Writes `facts.json`, what single classes answered, `restarts.json`, what whole stores did (`restart_scripts.py`), and
`dledger.json`, what the recovery of DLedger mode made of damaged stores (`dledger_variants.py`).
"""

import json
import os
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

from java_programs import OPENED, SHORT_LIVED, compile_java, jars_of, run  # noqa: E402
from restart_scripts import scripts  # noqa: E402

FACTS = HERE / "facts.json"
RESTARTS = HERE / "restarts.json"
DLEDGER = HERE / "dledger.json"
BUILD = HERE.parents[2] / "build" / "store-facts"
JAVA = ["java", *SHORT_LIVED.split(), *OPENED]


def _compiled(source: str) -> str:
    """Compiles a class against the real jars; returns the class path."""
    jars = jars_of("store-facts/jars")
    path = f"{BUILD / 'classes'}{os.pathsep}{jars}/*"
    compile_java([HERE / source], path, BUILD / "classes")
    return path


def _ask(program: str, *arguments: Path) -> None:
    """Runs a class of this folder; the stores that it makes are gone afterwards."""
    path = _compiled(f"{program}.java")
    with tempfile.TemporaryDirectory() as scratch:
        command = [*JAVA, f"-Djava.io.tmpdir={scratch}", "-cp", path, f"org.apache.rocketmq.store.{program}"]
        run(*command, *arguments)


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
