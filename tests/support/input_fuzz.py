"""Bytes from strangers through every function that parses them: files of a store, case files, baselines, reports, the protocol.

`fuzz_run` mutates their samples: flips, cuts, repeats and splices of bytes, extreme numbers in the fields of a layout and in
JSON, deep nesting. An input that ends in anything but an answer or a documented error is written to `tests/fuzz/inputs/`, which
the tests replay.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rocket_columnar import adapter as engine_adapter
from rocket_columnar.decode import decode
from rocket_columnar.log import LogStretch, TopicNames
from rocket_columnar.store import Source, StoreFile, open_reader, placed_file
from rocket_conformance.baseline import read_baseline
from rocket_conformance.protocol import ProtocolError, decode_line, parse_answer, parse_hello
from rocket_conformance.reference_adapter import ReferenceAdapter, UnspecifiedOperationError
from rocket_conformance.replays import read_replay
from rocket_conformance.report import read_report, render_junit, render_markdown
from rocket_conformance.report_comparison import compare_implementations
from rocket_conformance.report_diff import compare_reports
from rocket_conformance.workload import read_manifest
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, Entry, blank, checkpoint, ext_unit, index_file, record, unit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocket_conformance.protocol import Op

__all__ = ["CASE_OPS", "INPUTS", "QUEUE_OPS", "TARGETS", "Target", "keep", "load", "mutated"]

INPUTS: Final = Path(__file__).parents[1] / "fuzz" / "inputs"
SECONDS: Final = 20
"""Processor time for one function on one input."""

_NUMBERS: Final = (0, 1, -1, 0x7F, 0x80, 0x7FFF, 0x7FFFFFFF, -(1 << 31), 1 << 31, (1 << 63) - 1, -(1 << 63))
_PIECES: Final = (
    b"\0", b"\xff" * 4, b"\xda\xa3\x20\xa7", b"\xcb\xd4\x31\x94", b"\x1b[2J", b"../../x", b'"', b"\\ud800", b"1e999", b"-0",
    b"null", b"{}", b"[]", b"[" * 3000, b'{"a":' * 3000, b"9" * 5000, b"\xed\xa0\x80", b"\r\n", b"true", b'"a\\u0000b"',
)  # fmt: skip
_KEY: Final = re.compile(rb"[-+]?\d+(?:\.\d+)?|\"(?:[^\"\\]|\\.){0,40}\"")
_LONGEST: Final = 1 << 16
_GEOMETRY: Final = Geometry(7, 20)


class Target(NamedTuple):
    """A function that takes bytes from elsewhere.

    Attributes:
        samples: what mutations begin with.
        run: takes the bytes, and a folder of its own.
        errors: what it may raise.
    """

    samples: tuple[bytes, ...]
    run: Callable[[bytes, Path], Any]
    errors: tuple[type[BaseException], ...] = (FormatError, UsageError)


def _log() -> bytes:
    """Three records and a blank, one of them with hosts of IPv6 and properties of each kind."""
    properties = (
        b"KEYS\1a b\2UNIQ_KEY\1U\2TAGS\1t\2DELAY\0013\2INNER_MULTI_DISPATCH\1a,b\2INNER_MULTI_QUEUE_OFFSET\1"
        b"1,2\2"
    )
    first = record(0, properties=properties, topic=b"SCHEDULE_TOPIC_XXXX", body=b"b" * 40)
    second = record(len(first), properties=b"TAGS\1\xff\2KEYS\1\xf0\x9f\x98\x80", queue_offset=1, sys_flag=8)
    third = record(
        len(first) + len(second), sys_flag=48, born=bytes(16), store=bytes(16), store_timestamp=BEGIN + 1
    )
    data = first + second + third
    return data + blank(400 - len(data) % 100)


def _decode(name: str, data: bytes, *, threads: int = 1) -> list[Any]:
    """Every row and gap of a file that is in memory."""
    found: list[Any] = []
    file = placed_file(name, source=Source.of_bytes(name, data))
    assert isinstance(file, StoreFile)
    known = _GEOMETRY if file.kind == "index" else None
    for every in (False, True):
        for table, batch in decode(
            [file], geometry=known, on_gap=found.append, all_entries=every, threads=threads
        ):
            found.append((table, batch.to_pylist()))
    return found


def _requests(data: bytes, *, compiled: bool) -> list[Any]:
    """The dispatch requests of a log in memory, and its gaps."""
    found: list[Any] = []
    names = TopicNames()
    with open_reader("", Source.of_bytes("log", data)) as reader:
        stretch = LogStretch(reader, 0, names, check_crc=True, compiled=compiled)
        return [*stretch.run(0, reader.size, exact=True, on_gap=found.append), *found]


def _file(read: Callable[[Path], Any], data: bytes, folder: Path) -> Any:
    path = folder / "input"
    path.write_bytes(data)
    return read(path)


def _report(path: Path) -> None:
    """A report as `conform-diff` and `compare` take it."""
    report = read_report(path)
    compare_reports(report, report)
    compare_implementations([report]).to_json()
    render_markdown(report)
    render_junit(report)


def _answer(data: bytes, _folder: Path) -> None:
    ops: Sequence[Op] = [{"op": "key.hash", "key": "a"}, {"op": "index.full"}, {"op": "queue.bounds"}]
    message = decode_line(data)
    for parse in (parse_hello, partial(parse_answer, ops=ops)):
        try:
            parse(message)
        except ProtocolError:
            continue


def _handle(adapter: Any, data: bytes, folder: Path) -> None:
    """A message to an adapter; its directory is a fresh one, and nothing is written outside it."""
    message = decode_line(data)
    small = re.compile(r'"(hash_slot_num|index_num|file_size)": ?(\d{7,})')
    if small.search(json.dumps(message)):
        return  # a file of any size may be asked for, and is made
    outer = folder / "outer"
    inside = outer / "case"
    inside.mkdir(parents=True)
    message["dir"] = str(inside)
    message.setdefault("id", "1")
    try:
        json.dumps(adapter.handle(message))
    finally:
        outside = [path.name for path in outer.iterdir() if path != inside]
        shutil.rmtree(outer)
        assert not outside


CASE_OPS: Final[list[dict[str, Any]]] = [
    {"op": "index.open", "file": "20260101000000000", "hash_slot_num": 7, "index_num": 12, "end_phy_offset": "0",
     "end_timestamp": "0", "load": False},
    {"op": "index.put", "key": "T#k", "phy_offset": "0", "store_timestamp": "1700000000000"},
    {"op": "index.select", "key": "T#k", "max_num": 32, "begin": "0", "end": "9223372036854775807"},
    {"op": "index.header"}, {"op": "key.hash", "key_utf16": "d800"}, {"op": "index.flush"},
]  # fmt: skip
QUEUE_OPS: Final[list[dict[str, Any]]] = [
    {"op": "queue.open", "topic": "T", "queue_id": 0, "file_size": 100, "load": False},
    {"op": "queue.put", "offset": "100", "size": 91, "tags_code": "7", "cq_offset": "0"},
    {"op": "queue.get", "cq_offset": "0"}, {"op": "queue.recover"}, {"op": "tags.code", "tags": "a"},
    {"op": "checkpoint.write", "physic_msg_timestamp": "1", "logics_msg_timestamp": "2", "index_msg_timestamp": "3"},
]  # fmt: skip


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _samples() -> dict[str, tuple[bytes, ...]]:
    case = {"rocketspec_case": 1, "id": "IDX-HASH-1/x", "clauses": ["IDX-HASH-1"], "ops": CASE_OPS, "seed": 1,
            "files": {"20260101000000000": {"zstd_base64": "KLUv/QRYAQAAAMk3XGQ="}}}  # fmt: skip
    hello = {"protocol": 1, "name": "x", "version": "1", "language": "y", "ops": ["key.hash"], "geometry": [[1, 2]],
             "features": ["lone_surrogates"], "max_in_flight": 4}  # fmt: skip
    answer = {"id": "1", "results": [{"hash": 1}, {"full": True}, {"min": "0", "max": "1", "max_physic_offset": "2"}],
              "files": [{"role": "index", "path": "a/b"}]}  # fmt: skip
    manifest = {"rocketspec_workload": 1, "seed": 1, "client": "4.9.3", "kills": 0, "refused": [], "answers": [],
                "sent": [{"topic": "T", "queue_id": 0, "queue_offset": 0, "keys": "k"}]}  # fmt: skip
    return {
        "case": (_json(case), _json({**case, "ops": QUEUE_OPS})),
        "baseline": (b"# known\nIDX-PUT-5/* diverged # reason\nCQ-*/x crash because\n",),
        "report": ((INPUTS.parent / "report.jsonl").read_bytes(),),
        "manifest": (_json(manifest),),
        "line": (_json(hello), _json(answer), _json({"id": "1", "results": [{"rejected": "no"}] * 3})),
        "message": (
            _json({"cmd": "hello", "protocol": 1}),
            *(_json({"cmd": "case", "id": "1", "dir": ".", "ops": ops}) for ops in (CASE_OPS, QUEUE_OPS)),
        ),
        "log": (_log(),),
        "queue": (unit(0, 91) + unit(91, 91, 5) + unit(0, 0x7FFFFFFF) + bytes(40),),
        "ext": (ext_unit(1, 2, b"abc") + ext_unit(3, 4, b"") + b"\xff\xff" + bytes(30),),
        "checkpoint": (checkpoint(1, 2, 3),),
        "index": (index_file(*_GEOMETRY, [Entry(number, 91 * number, number) for number in range(15)]),),
    }


def _targets() -> dict[str, Target]:
    samples = _samples()
    names = {"log": f"commitlog/{0:020}", "queue": f"consumequeue/T/0/{0:020}", "ext": f"consumequeue_ext/T/0/{0:020}",
             "checkpoint": "checkpoint", "index": "index/20260101000000000"}  # fmt: skip
    files = {
        f"decode {kind}": Target(
            samples[kind], partial(lambda name, data, _folder: _decode(name, data), name)
        )
        for kind, name in names.items()
    }
    adapters: dict[str, Any] = {"reference": ReferenceAdapter(), "engine": engine_adapter.Adapter()}
    return files | {
        "requests": Target(samples["log"], lambda data, _: _requests(data, compiled=False)),
        "case file": Target(samples["case"], partial(_file, read_replay)),
        "baseline": Target(samples["baseline"], partial(_file, read_baseline)),
        "report": Target(samples["report"], partial(_file, _report)),
        "manifest": Target(samples["manifest"], partial(_file, read_manifest)),
        "answer of an adapter": Target(samples["line"], _answer, (ProtocolError,)),
        # An adapter's messages come from the suite; it may fail at others, but writes nothing outside its directory.
        "message to the engine": Target(
            samples["message"],
            partial(_handle, adapters["engine"]),
            (ProtocolError, ValueError, KeyError, TypeError, AttributeError),
        ),
        "message to the reference": Target(
            samples["message"],
            partial(_handle, adapters["reference"]),
            (
                ProtocolError,
                ValueError,
                KeyError,
                TypeError,
                AttributeError,
                UnspecifiedOperationError,
                OverflowError,
            ),
        ),
    }


TARGETS: Final = _targets()


def _numbers(data: bytes, rng: random.Random) -> bytes:
    """A number or text of JSON becomes an extreme one."""
    found = list(_KEY.finditer(data))
    if not found:
        return data
    chosen = rng.choice(found)
    other = rng.choice([str(rng.choice(_NUMBERS)).encode(), rng.choice(_PIECES), rng.choice(found).group()])
    return data[: chosen.start()] + other + data[chosen.end() :]


def _field(data: bytes, rng: random.Random) -> bytes:
    """Two, four or eight bytes somewhere become an extreme number, or one that is near the length."""
    width = rng.choice((2, 4, 4, 8))
    at = rng.randrange(max(len(data) - width, 0) + 1)
    near = len(data) - at + rng.choice((-1, 0, 1))
    value = rng.choice((*_NUMBERS, near, near)) & (1 << 8 * width) - 1
    return data[:at] + value.to_bytes(width) + data[at + width :]


def mutated(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """One to four changes."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 4, 20, 200)))
        match rng.randrange(14 if data[:1] == b"{" else 8):
            case 0:
                data = data[:at] + rng.randbytes(end - at) + data[end:]
            case 1:
                data = data[:at]
            case 2:
                data = data[:at] + data[end:]
            case 3:
                data = data[:end] + data[at:end] * rng.choice((1, 2, 50)) + data[end:]
            case 4:
                data = data[:at] + rng.choice(_PIECES) + data[at:]
            case 5:
                other = rng.choice(others)
                data = data[:at] + other[rng.randrange(len(other) + 1) :]
            case 6:
                data = _field(data, rng)
            case _:
                data = _numbers(data, rng)
        data = data[:_LONGEST]
    return data


def load(path: Path) -> tuple[str, bytes]:
    """Target and bytes of an input of the corpus."""
    value = json.loads(path.read_bytes())
    return value["target"], base64.b64decode(value["data"])


def keep(name: str, data: bytes) -> Path:
    """Writes an input into the corpus."""
    text = json.dumps({"target": name, "data": base64.b64encode(data).decode()})
    INPUTS.mkdir(parents=True, exist_ok=True)
    path = INPUTS / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    path.write_text(text + "\n", "utf-8")
    return path
