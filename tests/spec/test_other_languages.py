"""The .ksy files in other languages: every target compiles, and Java and JavaScript read what the real broker wrote."""

import ipaddress
import json
import os
import re
import subprocess
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import rocket_golden
from golden_readers import FIELDS, split_properties
from golden_truth import lines
from java_programs import SHORT_LIVED, compile_java, jars_of
from store_bytes import put, unit

from tools.make_readers import compiler

HERE: Final = Path(__file__).parent / "readers"
STORES: Final = [*rocket_golden.stores(log=None), *rocket_golden.stores(unclean=True, log=None)]
SMALL: Final = [name for name in STORES if name != "default-geometry"]
DLEDGER: Final = [name for name in STORES if name.startswith("dledger")]
LANGUAGES: Final = ("java", "javascript")
ENTRY_FIELDS: Final = [
    "pos",
    "size",
    "index",
    "term",
    "channel",
    "chain_crc",
    "body_crc",
    "body_size",
    "phy_offset",
]
Line = dict[str, Any]
Rows = dict[str, list[list[str]]]


def compiled(target: Path) -> dict[str, list[str]]:
    ksy, folder = compiler()
    command = ["node", "targets.mjs", str(ksy), str(target)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    answer: dict[str, list[str]] = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="module")
def targets(node: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[str]]]:
    """The schemas in every language, by folders, and what the compiler says of them."""
    assert node
    folder = tmp_path_factory.mktemp("targets")
    return folder, compiled(folder)


@pytest.mark.node
def test_every_target_of_the_compiler_compiles_every_schema(
    targets: tuple[Path, dict[str, list[str]]],
) -> None:
    _, answer = targets
    known = {"cpp_stl", "csharp", "go", "java", "javascript", "nim", "python", "ruby", "rust"}
    assert known <= set(answer["languages"])
    assert len(answer["languages"]) == 15
    assert answer["failed"] == []


@pytest.fixture(scope="module")
def java_command(java: str, maven: str, targets: tuple[Path, dict[str, list[str]]]) -> list[str]:
    assert maven
    folder, _ = targets
    jars = jars_of("schema-readers/jars")
    path = os.pathsep.join([str(folder / "classes"), f"{jars}/*"])
    compile_java([*(folder / "java").glob("*.java"), HERE / "Dump.java"], path, folder / "classes")
    return [java, *SHORT_LIVED.split(), "-cp", path, "Dump"]


@pytest.fixture(scope="module")
def javascript_command(targets: tuple[Path, dict[str, list[str]]]) -> list[str]:
    return ["node", str(HERE / "dump.cjs"), str(targets[0] / "javascript")]


@pytest.fixture(scope="module", params=LANGUAGES)
def command(request: pytest.FixtureRequest) -> list[str]:
    found: list[str] = request.getfixturevalue(f"{request.param}_command")
    return found


def dumped(command: list[str], files: Iterable[tuple[str, Path, tuple[int, int]]]) -> Rows:
    """Fields that a program of another language read, by file; each file has a kind and a geometry."""
    asked = "".join(f"{kind}\t{path}\t{slots}\t{entries}\n" for kind, path, (slots, entries) in files)
    modules = compiler()[1] / "node_modules"
    done = subprocess.run(
        command,
        input=asked,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NODE_PATH": str(modules)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows: Rows = {}
    name = ""
    for line in done.stdout.splitlines():
        fields = line.split("\t")
        if fields[0] == "file":
            name = fields[1]
            rows[name] = []
        else:
            rows[name].append(fields)
    return rows


def host(text: str) -> list[Any]:
    """Address and port of a host as Java writes it."""
    address, _, port = text.rpartition(":")
    return [ipaddress.ip_address(address.strip("[]")).packed.hex(), port]


def record(line: Line) -> list[str]:
    """A record as Java decoded it, in the form of a dump, all but its properties."""
    fields = ("size", "phy_offset", "queue_id", "queue_offset", "sys_flag", "flag", "born_timestamp", "store_timestamp",
              "reconsume_times", "prepared_transaction_offset", "body_crc")  # fmt: skip
    values = [line[name] for name in fields]
    body = b64decode(line["body"]).hex()
    return [
        *map(str, ["record", *values, *host(line["born_host"]), *host(line["store_host"])]),
        body,
        line["topic"].encode().hex(),
    ]


def of(line: Line) -> list[Any]:
    """The fields that the readers know of a line."""
    return [line[field] for field in FIELDS[line["type"]]]


@cache
def expected(name: str) -> tuple[dict[str, str], dict[str, list[list[str]]], dict[str, list[dict[str, str]]]]:
    """By file: its kind, what Java says of it in the form of a dump, and the properties of its records."""
    kinds: dict[str, str] = {}
    rows: dict[str, list[list[str]]] = defaultdict(list)
    texts: dict[str, list[dict[str, str]]] = defaultdict(list)
    begin: dict[str, int] = {}

    def add(line: Line, kind: str, *fields: object) -> None:
        kinds[line["file"]] = kind
        rows[line["file"]].append([str(field) for field in fields])

    for line in rocket_golden.truth(name):
        match line["type"]:
            case "index_header":
                begin[line["file"]] = line["begin_timestamp"]
                add(line, "index", "header", *of(line))
            case "index_entry":
                time = begin[line["file"]] + 1000 * line["time_diff"]
                add(line, "index", "index", *of(line)[1:], time)
            case "queue_unit":
                code = line["tags_code"]
                ext = code <= -(1 << 31) - 1
                place = ("", code + (1 << 63)) if ext else (code, "")
                add(line, "queue", "unit", line["phy_offset"], line["size"], *place)
            case "ext_unit":
                bit_map = b64decode(line["bit_map"] or "").hex()
                add(line, "ext", "ext", line["size"], line["tags_code"], line["store_timestamp"], bit_map)
            case "log_entry":
                add(line, "dledger", "entry", *(line[name] for name in ENTRY_FIELDS))
            case "log_record":
                kind = "dledger" if line["file"].startswith("dledger-") else "log"
                add(line, kind, *record(line))
                texts[line["file"]].append(line["properties"])
            case "checkpoint":
                add(line, "checkpoint", "checkpoint", *of(line))
            case _:
                pass
    return kinds, rows, texts


DAMAGED: Final = [
    variant
    for variant in rocket_golden.damaged()
    if variant.damage.startswith("log.") and variant.offset is not None
]


def entry_index(name: str) -> str:
    """DLedger's index of entries."""
    (file,) = (line["file"] for line in lines(name)["entry_index_file"])
    return str(file)


def own_index(name: str, stores: dict[str, Path]) -> tuple[str, Path, tuple[int, int]]:
    return "dledger_index", stores[name] / entry_index(name), (1, 1)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The golden stores, and the damaged ones, by their names."""
    folder = tmp_path_factory.mktemp("stores")
    found = {name: rocket_golden.open_store(name, folder) for name in STORES}
    return found | {one.name: rocket_golden.open_damaged(one.name, folder / one.name) for one in DAMAGED}


def files_of(names: Iterable[str], stores: dict[str, Path]) -> list[tuple[str, Path, tuple[int, int]]]:
    known = rocket_golden.manifest().stores
    return [
        (kind, stores[name] / file, known[name].geometry)
        for name in names
        for file, kind in expected(name)[0].items()
    ]


@pytest.fixture(scope="module")
def read(command: list[str], stores: dict[str, Path]) -> Rows:
    """What one process read of all of them, but for index files of 420 MB; one of DLedger's, which have 160."""
    asked = [*files_of(SMALL, stores), own_index(DLEDGER[0], stores)]
    asked += [("lenient", stores[one.name] / one.file, (1, 1)) for one in DAMAGED]
    return dumped(command, asked)


@pytest.mark.node
@pytest.mark.java
@pytest.mark.parametrize("name", SMALL)
def test_it_reads_what_java_says_of_a_store(read: Rows, name: str, stores: dict[str, Path]) -> None:
    compare(read, name, stores[name])


@pytest.mark.soak
@pytest.mark.node
@pytest.mark.java
def test_it_reads_the_largest_index_files(command: list[str], stores: dict[str, Path]) -> None:
    name = "default-geometry"
    asked = [*files_of([name], stores), *(own_index(dledger, stores) for dledger in DLEDGER)]
    read = dumped(command, asked)
    compare(read, name, stores[name])
    for dledger in DLEDGER:
        compare_own_index(read, dledger, stores)


def compare(read: Rows, name: str, store: Path) -> None:
    _, rows, texts = expected(name)
    compared = 0
    for file, wanted in rows.items():
        seen = read[str(store / file)]
        plain = [row[:-1] if row[0] == "record" else row for row in seen]
        assert plain == wanted, file
        properties = [split_properties(bytes.fromhex(row[-1])) for row in seen if row[0] == "record"]
        assert properties == texts.get(file, [])
        compared += len(wanted)
    assert compared > 200


@pytest.mark.node
@pytest.mark.java
def test_it_reads_dledgers_own_index(read: Rows, stores: dict[str, Path]) -> None:
    compare_own_index(read, DLEDGER[0], stores)


def compare_own_index(read: Rows, name: str, stores: dict[str, Path]) -> None:
    rows = read[str(stores[name] / entry_index(name))]
    entries = [
        [str(entry[field]) for field in ("pos", "size", "index", "term")]
        for entry in lines(name)["log_entry"]
    ]
    assert rows[-len(entries) :] == [["where", *entry] for entry in entries]
    assert len(rows) == int(entries[-1][2]) + 1


@pytest.mark.node
@pytest.mark.java
@pytest.mark.parametrize("variant", DAMAGED, ids=lambda variant: variant.name)
def test_the_lenient_schema_finds_every_whole_record(
    read: Rows, variant: rocket_golden.Damaged, stores: dict[str, Path]
) -> None:
    """All that Java read before the damage, but the record that is damaged."""
    base = int(Path(variant.file).name)
    rows = read[str(stores[variant.name] / variant.file)]
    genuine = [base + int(row[1]) for row in rows if row[2] == str(base + int(row[1]))]
    records = {
        line["phy_offset"]: line["size"]
        for line in lines(variant.store)["log_record"]
        if line["file"] == variant.file
    }
    hit = base + (variant.offset or 0)
    whole = {offset for offset, size in records.items() if not offset <= hit < offset + size}
    assert len(whole) >= len(records) - 1
    assert whole <= set(genuine) <= records.keys()


@pytest.mark.node
@pytest.mark.java
def test_offsets_of_ext_units(command: list[str], tmp_path: Path) -> None:
    """CQ-EXT-2: exact up to 2^53 in JavaScript too, whose numbers are doubles; above that rounded there."""
    offsets = (0, 1, (1 << 32) - 1, 1 << 32, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, (1 << 53) + 2)
    paths = [put(tmp_path, str(offset), unit(7, 100, offset - (1 << 63)) + bytes(20)) for offset in offsets]
    rows = dumped(command, [("queue", path, (1, 1)) for path in paths])
    shown = [int(rows[str(path)][0][4]) for path in paths]
    assert [rows[str(path)][0][:4] for path in paths] == [["unit", "7", "100", ""]] * len(offsets)
    rounded = {(1 << 53) + 1} if command[0] == "node" else set[int]()
    assert {one for one, other in zip(offsets, shown, strict=True) if one != other} == rounded


# The examples of docs/schemas.md, run as they are beside the golden store that they name.

PAGE = (Path(__file__).parents[2] / "docs" / "schemas.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def printed(command: list[str], folder: Path, **environment: str) -> list[str]:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rocket_golden.open_store("mixed", tmp_path)
    return tmp_path


@pytest.mark.node
def test_javascript(javascript_command: list[str], folder: Path) -> None:
    (code,) = blocks("javascript")
    example = Path(javascript_command[-1]) / "example.cjs"
    example.write_text(code)
    modules = str(compiler()[1] / "node_modules")
    found = printed(["node", str(example)], folder, NODE_PATH=modules)
    files = [
        line for line in lines("mixed")["queue_unit"] if line["file"].startswith("consumequeue/Orders/0/")
    ]
    first = min(line["file"] for line in files)
    assert found == [f"{sum(line['file'] == first for line in files)} units"]


@pytest.mark.node
@pytest.mark.java
def test_java(java_command: list[str], folder: Path) -> None:
    (code,) = blocks("java")
    (folder / "Example.java").write_text(code)
    *java, path, _ = java_command
    compile_java([folder / "Example.java"], path, folder / "classes")
    (found,) = printed([*java, f"{path}{os.pathsep}{folder / 'classes'}", "Example"], folder)
    entries: dict[str, list[int]] = {}
    for line in lines("mixed")["index_entry"]:
        entries.setdefault(line["file"], []).append(line["phy_offset"])
    assert found in {f"{len(of)} entries, the first of offset {of[0]}" for of in entries.values()}
