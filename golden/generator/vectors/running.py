"""Runs vectors on the real jar, through its adapter, and records what it answered and what it left."""

import base64
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rocket_golden import zstd

VERSION: Final = "4.9.3"  # the RocketMQ version whose answers the vectors hold

LEVEL: Final = 19


def adapter_command() -> list[str]:
    """The command of the adapter on the real jar, as the suite has it.

    It is asked for in a process of its own: golden data must not depend on the suite that tests with it.
    """
    ask = [sys.executable, "-m", "rocket_conformance.rocketmq", VERSION]
    command: list[str] = json.loads(subprocess.run(ask, check=True, capture_output=True).stdout)
    return command


def run(cases: Iterable[dict[str, Any]], command: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Each case with what the real jar gave; of a new one, `geometry`, `expected`, `producer` and `seed` may be missing."""
    with (
        tempfile.TemporaryDirectory(prefix="rocketspec-vectors-") as scratch,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as adapter,
    ):
        hello = _ask(adapter, {"cmd": "hello", "protocol": 1, "suite": "vectors"})
        if hello["version"] != VERSION:
            raise SystemExit(f"the adapter runs {hello['version']}, expected {VERSION}")
        for number, case in enumerate(cases):
            directory = Path(scratch, str(number))
            _lay(directory, case["files"])
            ask = {"cmd": "case", "id": case["id"], "dir": str(directory), "ops": case["ops"]}
            results = [_result(case["id"], result) for result in _ask(adapter, ask)["results"]]
            yield _answered(case, results, directory, f"{hello['name']} {hello['version']}")
        _tell(adapter, {"cmd": "bye"})


def _tell(adapter: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert adapter.stdin is not None
    adapter.stdin.write(json.dumps(message).encode() + b"\n")
    adapter.stdin.flush()


def _ask(adapter: subprocess.Popen[bytes], message: dict[str, Any]) -> dict[str, Any]:
    _tell(adapter, message)
    assert adapter.stdout is not None
    line = adapter.stdout.readline()
    if not line:
        raise SystemExit(f"the adapter died on {message.get('id', message['cmd'])}")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _lay(directory: Path, files: Mapping[str, Mapping[str, str]]) -> None:
    directory.mkdir()
    for name, file in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(zstd.decompress(base64.b64decode(file["zstd_base64"])))


def _result(case_id: str, result: dict[str, Any]) -> dict[str, Any]:
    """A result without what differs from run to run: of a reason, the exception's name stays."""
    if "errored" in result or "unsupported" in result:
        raise SystemExit(f"{case_id}: the adapter failed: {result}")
    if "rejected" in result:
        return {"rejected": result["rejected"].partition(":")[0]}
    return result


def _answered(
    case: dict[str, Any], results: list[dict[str, Any]], directory: Path, producer: str
) -> dict[str, Any]:
    ops = case["ops"]
    opened = [op for op in ops if op["op"] in ("index.open", "service.open")]
    left = {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
    if any(op["op"] == "service.build" for op in ops):
        left = _without_clock(left, case["files"])
    return {
        "rocketspec_case": 1,
        "id": case["id"],
        "description": case["description"],
        "clauses": case["clauses"],
        "geometry": [opened[0]["hash_slot_num"], opened[0]["index_num"]] if opened else None,
        "files": case["files"],
        "ops": ops,
        "expected": {
            "results": results,
            "files": {
                name: {
                    "sha256": hashlib.sha256(data).hexdigest(),
                    "zstd_base64": base64.b64encode(zstd.compress(data, LEVEL)).decode("ascii"),
                }
                for name, data in left.items()
            },
        },
        "producer": producer,
        "seed": case.get("seed"),
    }


def _without_clock(left: Mapping[str, bytes], laid: Mapping[str, object]) -> dict[str, bytes]:
    """The files that are left, those that the clock named under `index/new-1` and so on, in their order."""
    named: dict[str, bytes] = {}
    new = 0
    for name, data in left.items():
        if name not in laid and re.fullmatch(r"index/[0-9]{17}", name):
            new += 1
            named[f"index/new-{new}"] = data
        else:
            named[name] = data
    return named
