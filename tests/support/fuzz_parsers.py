"""Parsers of what comes from elsewhere: files, case files, baselines, reports, messages, options, configurations."""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

from fuzz_inputs import Target, mutated
from fuzz_stores import CONFIG
from rocket_columnar import adapter as engine_adapter
from rocket_columnar import config
from rocket_columnar.store import read_broker_conf
from rocket_conformance.counterexamples import read_replay
from rocket_conformance.protocol import Op, ProtocolError, check_path, decode_line, parse_answer, parse_hello
from rocket_conformance.reference_adapter import ReferenceAdapter, UnspecifiedOperationError
from rocket_conformance.report import (
    compare_implementations,
    compare_reports,
    read_baseline,
    read_report,
    render_junit,
    render_markdown,
)
from rocket_conformance.workload import read_manifest
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.layout import parse_geometry
from store_bytes import BEGIN

_REPORT: Final = Path(__file__).parents[1] / "fuzz" / "report.jsonl"


def _file(data: bytes, folder: Path, *, read: Callable[[Path], Any]) -> Any:
    path = folder / "input"
    path.write_bytes(data)
    return read(path)


def _report(path: Path) -> None:
    """A report as `conform-diff` takes it."""
    report = read_report(path)
    compare_reports(report, report)
    compare_implementations([report])
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


def _handle(data: bytes, folder: Path, *, adapter: Any) -> None:
    """A message to an adapter; its directory is a fresh one, and nothing is written outside it."""
    message = decode_line(data)
    small = re.compile(r'"(hash_slot_num|index_num|file_size)": ?(\d{7,})')
    if small.search(json.dumps(message)):
        return  # a file of any size may be asked for, and is made
    inside = folder / "case"
    inside.mkdir()
    message["dir"] = str(inside)
    message.setdefault("id", "1")
    try:
        json.dumps(adapter.handle(message))
    finally:
        assert [*folder.iterdir()] == [inside]


_CASE_OPS: Final[list[dict[str, Any]]] = [
    {"op": "index.open", "file": "20260101000000000", "hash_slot_num": 7, "index_num": 12, "end_phy_offset": "0",
     "end_timestamp": "0", "load": False},
    {"op": "index.put", "key": "T#k", "phy_offset": "0", "store_timestamp": "1700000000000"},
    {"op": "index.select", "key": "T#k", "max_num": 32, "begin": "0", "end": "9223372036854775807"},
    {"op": "index.header"}, {"op": "key.hash", "key_utf16": "d800"}, {"op": "index.flush"},
]  # fmt: skip
_QUEUE_OPS: Final[list[dict[str, Any]]] = [
    {"op": "queue.open", "topic": "T", "queue_id": 0, "file_size": 100, "load": False},
    {"op": "queue.put", "offset": "100", "size": 91, "tags_code": "7", "cq_offset": "0"},
    {"op": "queue.get", "cq_offset": "0"}, {"op": "queue.recover"}, {"op": "tags.code", "tags": "a"},
    {"op": "checkpoint.write", "physic_msg_timestamp": "1", "logics_msg_timestamp": "2", "index_msg_timestamp": "3"},
]  # fmt: skip


_SENT: Final[dict[str, Any]] = {
    "topic": "T", "queue": 0, "queue_offset": 0, "phy_offset": 0, "unique_key": "U" + "0" * 31, "keys": "k0 k", "body_size": 0, "kind": "send",
}  # fmt: skip
_ROW: Final = [0, "T", 0, 0, "U" + "0" * 31, BEGIN]
_ASKED: Final = {"topic": "T", "asked": BEGIN + 60_000}
MANIFEST: Final[dict[str, Any]] = {
    "rocketspec_workload": 1, "seed": 1, "client": "4.9.3", "kills": 0, "refused": [{"do": "send", "topic": "T", "error": "no"}],
    "sent": [
        _SENT | {"body_crc": 0, "properties": {"KEYS": "k0 k"}, "batch": 7, "store_host": "127.0.0.1:10911"},
        _SENT | {"kind": "raw_batch", "phy_offset": None, "raw": "S0VZUwFr", "shows": ["LOG-PROP-1", "k"], "unique_key": ""},
    ],
    "answers": [
        _ASKED | {"do": "query", "key": "k", "max": 32, "begin": 0, "end": BEGIN, "answer": {"messages": [_ROW], "last_update": BEGIN}},
        _ASKED | {"do": "unique", "id": "U" + "0" * 31, "answer": {"messages": [_ROW]}},
        _ASKED | {"do": "read", "queue": 0, "begin": 0, "count": 9, "answer": {"messages": [_ROW]}},
        _ASKED | {"do": "by_time", "queue": 0, "time": BEGIN, "answer": {"offset": 0}},
        _ASKED | {"do": "bounds", "queue": 0, "answer": {"min": 0, "max": 6}},
        _ASKED | {"do": "keyless", "answer": {"made": True}},
        _ASKED | {"do": "refused", "key": "k", "clause": "LOG-PROP-5", "answer": {"refused": True}},
        _ASKED | {"do": "bounds", "queue": 0, "answer": {"error": "no route"}},
    ],
}  # fmt: skip
"""A manifest with a question of each kind, about the small stores of `fuzz_stores`."""


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _text(data: bytes) -> str:
    """As an argument of a command line arrives."""
    return data.decode("utf-8", "surrogateescape")


def _configuration(data: bytes, folder: Path) -> str:
    path = folder / "broker.conf"
    path.write_bytes(data)
    found = read_broker_conf(path)
    assert found.queue_file_size % 20 == 0
    assert 0 < found.geometry.hash_slot_num < 1 << 31
    return str(found)


def _lenient(data: bytes, _: Path) -> str:
    """A configuration as fastjson reads it; what is JSON too means the same."""
    found = json.dumps(config.parse(data, "input"), default=str)
    with suppress(ValueError, RecursionError):
        same = json.loads(data.decode(), parse_float=Decimal, parse_constant=lambda _: None)
        assert json.dumps(same, default=str) == found
    return found


def _path(data: bytes, _: Path) -> str:
    """A path of a case file; what is accepted stays inside its directory on any system."""
    found = check_path(_text(data))
    parts = found.split("/")
    assert not found.startswith("/")
    assert not {"", ".", ".."} & set(parts)
    assert not any(character in found for character in "\\\0\n:")
    return found


def _options(data: bytes, _: Path) -> str:
    """Options of a read by Spark, all of them text."""
    from rocket_spark.reading import request

    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return "no JSON"
    if not isinstance(value, dict):
        return "no options"
    return str(request({name: str(text) for name, text in value.items()}, "commit_log", "rocketmq-commitlog"))


_CONF: Final = (
    b"maxHashSlotNum=61\nmaxIndexNum = 200\nstorePathRootDir=/a/b\nenableLmq=true\nstorePathCommitLog=/a,/b\n",
    b"# c\n! d\nmappedFileSizeConsumeQueue:400\nmappedFileSizeCommitLog 32768\\\n  0\nstorePathRootDir=\\u0041\\t\\\n",
)
_ESCAPED: Final = rb'{"a":"\n\t\b\f\r\/\u00e9\ud83d\ude00","b":[1,-2.5e3,null,true,{}]}'
_OPTIONS: Final = {
    "path": "/a", "hashSlotNum": "7", "indexNum": "20", "columns": "topic,keys", "maxPartitionRows": "10", "mode": "PERMISSIVE",
    "timestamps": "utc", "filters": '[["topic", "=", "T"], ["phy_offset", ">=", 7]]', "recursiveFileLookup": "true",
}  # fmt: skip
_FAILURES: Final = (ProtocolError, ValueError, KeyError, TypeError, AttributeError)
"""Of an adapter: its messages come from the suite; it may fail at others, but writes nothing outside its directory."""


def _target(
    run: Callable[[bytes, Path], Any],
    *samples: bytes,
    errors: Sequence[type[BaseException]] = (FormatError, UsageError),
) -> Target:
    return Target(mutated(samples), run, tuple(errors))


def _targets() -> dict[str, Target]:
    case = {"rocketspec_case": 1, "id": "IDX-HASH-1/x", "clauses": ["IDX-HASH-1"], "ops": _CASE_OPS, "seed": 1,
            "files": {"20260101000000000": {"zstd_base64": "KLUv/QRYAQAAAMk3XGQ="}}}  # fmt: skip
    hello = {"protocol": 1, "name": "x", "version": "1", "language": "y", "ops": ["key.hash"], "geometry": [[1, 2]],
             "features": ["lone_surrogates"], "max_in_flight": 4}  # fmt: skip
    answer = {"id": "1", "results": [{"hash": 1}, {"full": True}, {"min": "0", "max": "1", "max_physic_offset": "2"}],
              "files": [{"role": "index", "path": "a/b"}]}  # fmt: skip
    cases = (_json(case), _json({**case, "ops": _QUEUE_OPS}))
    lines = (_json(hello), _json(answer), _json({"id": "1", "results": [{"rejected": "no"}] * 3}))
    messages = (
        _json({"cmd": "hello", "protocol": 1}),
        *(_json({"cmd": "case", "id": "1", "dir": ".", "ops": ops}) for ops in (_CASE_OPS, _QUEUE_OPS)),
    )
    baseline = b"# known\nIDX-PUT-5/* diverged # reason\nCQ-*/x crash because\n"
    usage = (UsageError,)
    times = (
        b"1700000000000",
        b"2026-01-31T12:00:00Z",
        b"2026-01-31T12:00:00.5+08:00",
        b"-1",
        b"20260131T120000Z",
    )
    options = (_json(_OPTIONS), _json({"paths": '["/a", "/b"]', "filters": "[]"}))
    return {
        "case file": _target(partial(_file, read=read_replay), *cases),
        "baseline": _target(partial(_file, read=read_baseline), baseline),
        "report": _target(partial(_file, read=_report), _REPORT.read_bytes()),
        "manifest": _target(partial(_file, read=read_manifest), _json(MANIFEST)),
        "answer of an adapter": _target(_answer, *lines, errors=(ProtocolError,)),
        "message to the engine": _target(partial(_handle, adapter=engine_adapter.Adapter()), *messages, errors=_FAILURES),
        "message to the reference": _target(
            partial(_handle, adapter=ReferenceAdapter()), *messages,
            errors=(*_FAILURES, UnspecifiedOperationError, OverflowError),
        ),
        "configuration in JSON": _target(_lenient, *CONFIG.values(), _ESCAPED),
        "broker configuration": _target(_configuration, *_CONF, errors=usage),
        "path of a case file": _target(_path, b"a/b", b"index/20260101000000000", b"consumequeue/T/0/000", errors=(ValueError,)),
        "option --geometry": _target(lambda data, _: parse_geometry(_text(data)), b"5000000,20000000", b"7,20", errors=usage),
        "Spark options": _target(_options, *options, errors=usage),
        "option --begin": _target(lambda data, _: _read_time(_text(data), "--begin"), *times, errors=usage),
    }  # fmt: skip


_read_time: Any = resolve_name("rocketspec._options:read_time")
TARGETS: Final = _targets()
