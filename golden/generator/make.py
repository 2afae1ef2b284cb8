"""Makes the golden stores: runs each scenario on the real RocketMQ, packs what it left, writes the manifest.

    python golden/generator/make.py [--only NAME... | --record-vectors]

Needs a JDK 8 or later and Maven. Work happens in build/golden; the results go to golden/rocket_golden.
"""

import argparse
import hashlib
import json
import re
import shutil
import socket
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rocket_golden import zstd
from rocket_golden._archive import vector_files

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
PACKAGE: Final = HERE.parent / "rocket_golden"
MANIFEST: Final = PACKAGE / "manifest.json"
SCENARIOS: Final = HERE / "src" / "main" / "java" / "rocketspec" / "golden" / "scenarios"
BUILD: Final = ROOT / "build" / "golden"
LEVEL: Final = 19

LIMIT: Final = 6 << 20  # all stores and truths together stay below this many bytes

JVM_FLAGS: Final = (
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "-Djava.net.preferIPv4Stack=true",
    "-Drocketmq.client.logUseSlf4j=true",
    "-Duser.home=home",
    "-Dfile.encoding=UTF-8",
    "-Xmx1g",
)

KINDS: Final = {"index": "index", "consumequeue": "queue", "consumequeue_ext": "ext", "commitlog": "log"}

CLOCK_DEPENDENT: Final = (
    "names of index files",
    "store and born timestamps, and what follows from them: index headers, time differences, delivery times, the checkpoint",
    "unique keys (the client's time and counter), and so their hashes, slots and chains",
    "ports in the host fields",
    "order of asynchronous, one-way, delayed and retried messages, and so physical offsets behind them",
    "data versions in the configuration files",
)


def scenario_names() -> list[str]:
    """The scenarios' names: those of their classes, in kebab case."""
    classes = (path for path in SCENARIOS.glob("*.java") if "implements Scenario" in path.read_text("utf-8"))
    return sorted(re.sub(r"(?<=.)(?=[A-Z])", "-", path.stem).lower() for path in classes)


def build() -> dict[str, str]:
    """Compiles the generator and fetches the jars; returns the SHA-256 of RocketMQ's own by name."""
    maven = ["mvn", "-q", "-B", "-ntp", f"-Dbuild.root={BUILD}", "compile", "dependency:copy-dependencies"]
    subprocess.run(maven, cwd=HERE, check=True)
    return {path.name: sha256(path) for path in sorted((BUILD / "jars").glob("rocketmq-*.jar"))}


def run(name: str) -> Path:
    """Runs a scenario and returns its folder: store/, truth.jsonl and run.json."""
    folder = BUILD / "run" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    classpath = [BUILD / "classes", BUILD / "jars" / "*"]
    separator = ";" if sys.platform == "win32" else ":"
    command = ["java", *JVM_FLAGS, "-cp", separator.join(map(str, classpath)), "rocketspec.golden.Main", name]
    subprocess.run(command, cwd=folder, check=True)
    return folder


def sha256(path: Path) -> str:
    """SHA-256 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def store_files(store: Path) -> Iterator[tuple[str, Path]]:
    """Name relative to the store, and path, of each of its files, sorted by name."""
    paths = (path for path in store.rglob("*") if path.is_file())
    yield from sorted((path.relative_to(store).as_posix(), path) for path in paths)


def kind(name: str) -> str:
    """The kind of a store file, by its place in the store."""
    if name == "checkpoint":
        return "checkpoint"
    top, _, rest = name.partition("/")
    if top.startswith("dledger-"):
        return {"data": "log", "index": "entry_index"}.get(rest.partition("/")[0], "other")
    if top.startswith("commitlog-"):
        return "log"
    return KINDS.get(top, "other") if rest else "other"


def log_form(files: list[dict[str, Any]]) -> str:
    """The layout of a store's commit log on disk: the value of `log` in the manifest."""
    folders = {Path(file["file"]).parent for file in files if file["kind"] == "log"}
    framed = {folder for folder in folders if folder.name == "data"}
    if framed:
        return "dledger" if framed == folders else "upgraded"
    return "plain" if len(folders) == 1 else "paths"


def pack_store(store: Path, target: Path) -> None:
    """Packs a store with nothing in it that depends on when, where and by whom."""
    with (
        zstd.open(target, "wb", level=LEVEL) as out,
        tarfile.open(fileobj=out, mode="w|", format=tarfile.GNU_FORMAT) as tar,
    ):
        for name, path in store_files(store):
            member = tarfile.TarInfo(name)
            member.size = path.stat().st_size
            with path.open("rb") as content:
                tar.addfile(member, content)


def pack_truth(truth: Path, target: Path) -> dict[str, int]:
    """Packs a truth file; returns its number of lines by type."""
    with truth.open("rb") as lines, zstd.open(target, "wb", level=LEVEL) as packed_file:
        shutil.copyfileobj(lines, packed_file)
    with truth.open("rb") as lines:
        return dict(sorted(Counter(json.loads(line)["type"] for line in lines).items()))


def packed(target: Path) -> dict[str, Any]:
    """The manifest's words for a packed file."""
    return {
        "file": target.relative_to(PACKAGE).as_posix(),
        "sha256": sha256(target),
        "size": target.stat().st_size,
    }


def refuse_traces(folder: Path) -> None:
    """Stops when a file to be packed names this machine or a folder of it."""
    traces = [socket.gethostname(), str(ROOT), str(Path.home())]
    for path in [
        folder / "truth.jsonl",
        folder / "run.json",
        *(path for _, path in store_files(folder / "store")),
    ]:
        if path.stat().st_size > 64 << 20:
            continue  # a default index file: its header, slots and entries hold no text
        data = path.read_bytes()
        for trace in traces:
            if len(trace) > 3 and trace.encode() in data:
                sys.exit(f"{path}: holds {trace!r}")


def make(name: str) -> dict[str, dict[str, Any]]:
    """Runs one scenario; returns the manifest's entries of the stores that it made.

    A scenario's own store has its name; a further one, in a folder of its run, has that name added.
    """
    print(f"{name}: running", flush=True)
    folder = run(name)
    made = {
        "-".join([name, *path.parent.relative_to(folder).parts]): path.parent
        for path in folder.rglob("run.json")
    }
    for path in made.values():
        refuse_traces(path)
    return {store: entry(store, path, name) for store, path in sorted(made.items())}


def entry(name: str, folder: Path, scenario: str) -> dict[str, Any]:
    """Packs a store and its truth; returns its entry in the manifest."""
    print(f"{name}: packing", flush=True)
    facts = json.loads((folder / "run.json").read_text("utf-8"))
    sizes = facts["store"]
    archive = PACKAGE / "stores" / f"{name}.tar.zst"
    truth = PACKAGE / "stores" / f"{name}.truth.jsonl.zst"
    archive.parent.mkdir(exist_ok=True)
    pack_store(folder / "store", archive)
    lines = pack_truth(folder / "truth.jsonl", truth)
    files: list[dict[str, Any]] = [
        {"file": file, "kind": kind(file), "size": path.stat().st_size, "sha256": sha256(path)}
        for file, path in store_files(folder / "store")
    ]
    return {
        "description": facts["description"],
        "state": facts["state"],
        "log": log_form(files),
        "archive": packed(archive),
        "unpacked_size": sum(file["size"] for file in files),
        "truth": packed(truth),
        "truth_lines": lines,
        "geometry": [sizes["hash_slot_num"], sizes["index_num"]],
        "commit_log_file_size": sizes["commit_log_file_size"],
        "consume_queue_file_size": sizes["consume_queue_file_size"],
        "consume_queue_ext_file_size": sizes["consume_queue_ext_file_size"],
        "producer": "rocketmq-4.9.3",
        "config": facts["config"],
        "seed": facts["seed"],
        "time_zone": facts["time_zone"],
        "jdk": facts["jdk"],
        "os": facts["os"],
        "command": f"python golden/generator/make.py --only {scenario}",
        "clock_dependent": list(CLOCK_DEPENDENT),
        "files": files,
    }


def main() -> None:
    """Reads the command line."""
    names = scenario_names()
    parser = argparse.ArgumentParser(description="Makes the golden stores again.")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--record-vectors", action="store_true", help="only record the hashes of the vectors")
    options = parser.parse_args()
    if options.record_vectors:
        record_vectors()
    else:
        make_stores(options.only or names)


def record_vectors() -> None:
    """Records the vector files that are there in the manifest."""
    manifest = json.loads(MANIFEST.read_text("utf-8"))
    manifest["vectors"] = [packed(path) for path in (*vector_files(), *vector_files(store=True))]
    MANIFEST.write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
    print(f"{len(manifest['vectors'])} files of vectors recorded")


def make_stores(names: list[str]) -> None:
    """Makes stores and writes the manifest; what it says of other stores and of the vectors stays."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is needed to make the golden stores and was not found")
    jars = build()
    old: dict[str, Any] = json.loads(MANIFEST.read_text("utf-8")) if MANIFEST.exists() else {"stores": {}}
    kept = set(scenario_names()) - set(names)
    stores = {name: store for name, store in old["stores"].items() if store["command"].split()[-1] in kept}
    for name in names:
        stores |= make(name)
    manifest = {
        **old,
        "rocketspec_golden": 1,
        "producers": {"rocketmq-4.9.3": {"version": "4.9.3", "jars": jars}},
        "stores": dict(sorted(stores.items())),
    }
    MANIFEST.write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
    total = sum(store[part]["size"] for store in stores.values() for part in ("archive", "truth"))
    print(f"{len(stores)} stores, {total:,} bytes packed")
    if total > LIMIT:
        sys.exit(f"more than {LIMIT:,} bytes packed: make a scenario smaller")


if __name__ == "__main__":
    main()
