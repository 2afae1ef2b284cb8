"""The verbs of the command and the Spark sources as targets of the fuzzer, over the stores of `fuzz_stores`.

And what `repair` finds in a store: the journal of an earlier repair, and links, with somebody's documents beside.
"""

import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Hashable
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Final
from unittest.mock import patch

from fuzz_inputs import GEOMETRY, Target, mutated
from fuzz_parsers import MANIFEST
from fuzz_stores import Subject, Verb, change, check, damaged_stores, small, write
from hypothesis import strategies as st
from judged_stores import judge_store
from rocket_columnar import repair
from rocket_conformance.workload import read_manifest
from rocket_spec.errors import FormatError, UsageError
from rocketspec import __main__ as command
from store_bytes import contents, own_contents, put

ERRORS: Final = (FormatError, UsageError, OSError)
_LARGEST_COPY: Final = 1 << 24
_METRIC: Final = re.compile(r"# (HELP|TYPE) \w+ .+|\w+\{\w+=\"([^\"\\]|\\.)*\"(,\w+=\"[^\"\\]*\")*\} \d+")
_PLACE: Final = re.compile("STORE|FILE|SOUND|OUT")
_NOW: Final = re.compile(r"20\d{6}-\d{6}(-\d{6})?")
"""In the name of a folder."""
_COMMANDS: Final = {
    "audit": "audit STORE SHAPE --json",
    "audit quick": "audit STORE SHAPE --quick",
    "audit deep": "audit STORE SHAPE --deep",
    "bytes": "inspect FILE --at 0, inspect FILE --at 21, inspect FILE --at 45, inspect FILE --at 230",
    "conform": "conform --store STORE SHAPE",
    "consumers": "inspect STORE --group *, inspect STORE --topic T --json",
    "decode": "decode STORE SHAPE, decode STORE SHAPE -o OUT --format arrow --force",
    "diff": "diff FILE SOUND SHAPE",
    "diff of two stores": "diff STORE SOUND",
    "digest": "digest STORE SHAPE --json",
    "inspect": "inspect STORE SHAPE",
    "offset at a time": "query STORE --topic T --queue 0 --at 1700000007000, query STORE --topic U --queue 0, "
    "query STORE --topic SCHEDULE_TOPIC_XXXX --queue 0 --at 4611686018427387904",
    "query": "query STORE SHAPE --topic T --key k0 --group g, query STORE SHAPE --topic %RETRY%g --key k --explain --end 4611686018427387904, "
    "query STORE SHAPE --topic AaTopic --key Aa --all, query STORE SHAPE --unique-key U0000000000000000000000000000003",
    "query scan": "query STORE SHAPE --topic T --key k0 --scan",
    "rebuild": "rebuild STORE -o OUT/made SHAPE",
    "rebuild only missing": "rebuild STORE -o OUT/made SHAPE --only-missing",
    "restart": "audit STORE SHAPE --restart",
    "summary": "inspect FILE SHAPE, inspect FILE SHAPE --json",
}
"""Of each target its command lines. FILE is each damaged file (at most four), SOUND the same of the undamaged small store, OUT an empty folder."""


@cache
def _sound() -> Path:
    root = Path(mkdtemp())
    write(root, small()["small"])
    return root


def _run(*words: str) -> tuple[int, str, str]:
    """Exit code and output of a command line; bad input is one line."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
    with patch.object(sys, "argv", ["rocketspec", *words]), redirect_stdout(out), redirect_stderr(err):
        try:
            command.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    answer, notes = (str(stream.buffer.getvalue(), "utf-8") for stream in (out, err))
    assert all(line.startswith("rocketspec: ") for line in notes.splitlines()), notes
    assert code < 2 or notes, code
    return code, _NOW.sub("NOW", answer), notes


def _shape(subject: Subject) -> str:
    return "--geometry={},{}".format(*subject.geometry) if subject.geometry else ""


def _verb(subject: Subject, *, lines: str) -> Hashable:
    """What the command lines of a target print of a store, and the sizes of what they write."""
    found: list[Hashable] = []
    for line in lines.replace("SHAPE", _shape(subject)).split(", "):
        for file in subject.damaged[:4] if "FILE" in line else (subject.root,):
            places = {"STORE": subject.root, "FILE": file, "OUT": subject.scratch}
            places["SOUND"] = _sound() / file.relative_to(subject.root)
            found.append(_run(*(_PLACE.sub(partial(_place, places), word) for word in line.split())))
    made = (path for path in subject.scratch.rglob("*") if path.is_file() and path.parent.name != "index")
    return *found, *sorted((path.name, path.stat().st_size) for path in made)


def _place(places: dict[str, Path], word: re.Match[str]) -> str:
    return str(places[word[0]])


def _metrics(subject: Subject) -> Hashable:
    """The metrics of an audit, each line in the form that the collector reads."""
    found = _verb(subject, lines="audit STORE SHAPE --prometheus OUT/audit.prom")
    for path in subject.scratch.glob("*.prom"):
        assert all(map(_METRIC.fullmatch, path.read_text("utf-8").splitlines()))
    return found


def _source(subject: Subject, *, name: str) -> Hashable:
    """The work of Spark's Python workers: the plan, and each partition's rows."""
    from rocket_spark.sources import SOURCES

    source = next(one for one in SOURCES if one.format_name == f"rocketmq-{name}")
    options = {"path": str(subject.root), "mode": "PERMISSIVE"}
    if subject.geometry:
        options |= dict(zip(("hashSlotNum", "indexNum"), map(str, subject.geometry), strict=True))
    made = source(options)
    try:
        reader = made.reader(made.schema())
        return sum(batch.num_rows for part in reader.partitions() for batch in reader.read(part))
    except ERRORS as error:
        return f"{type(error).__name__}: {error}"


def _repair(subject: Subject) -> Hashable:
    """A repair of a copy and its undoing, which gives all bytes back; so does a repair that is refused."""
    files = [path for path in subject.root.rglob("*") if not path.is_dir()]
    if not all(map(Path.is_file, files)) or sum(path.stat().st_size for path in files) > _LARGEST_COPY:
        return _verb(subject, lines="repair STORE --plan SHAPE")
    store = subject.scratch / "store"
    shutil.copytree(subject.root, store)
    before = own_contents(store)
    try:
        found = _verb(subject, lines="repair OUT/store --apply SHAPE")
        if own_contents(store) != before:
            _verb(subject, lines="repair OUT/store --undo")
    finally:
        assert own_contents(store) == before, "the repair left another store"
    return found


_SOURCES: Final = ("index", "index-headers", "consumequeue", "consumequeue-ext", "commitlog", "checkpoint")
VERBS: Final[dict[str, Verb]] = {
    **{f"store: {name}": partial(_verb, lines=lines) for name, lines in _COMMANDS.items()},
    **{f"Spark source: {name}": partial(_source, name=name) for name in _SOURCES},
    "store: metrics": _metrics,
    "store: repair": _repair,
}


def _judge(data: bytes, folder: Path) -> None:
    """A manifest with a store that did not change."""
    path = folder / "manifest.json"
    path.write_bytes(data)
    judge_store(_sound(), geometry=GEOMETRY, manifest=read_manifest(path))


_FOLDER: Final = "rocketspec-repair-20260101-000000-000000"
_QUEUE: Final = f"consumequeue/T/0/{0:020}"
_TIME: Final = 1_700_000_000_000_000_000
_FILES: Final = {
    "docs/.bashrc": b"mine", f"docs/{0:020}": b"mine", "docs/topics.json": b"mine",
    f"store/{_FOLDER}/old/{_QUEUE}": b"old", f"store/{_FOLDER}/old/index/1": b"old", f"store/{_FOLDER}/old/config/topics.json": b"old",
    f"store/{_FOLDER}/new/index/3": b"new", f"store/{_FOLDER}/new/config/x": b"", f"store/{_FOLDER}/new/{_QUEUE}x": b"", f"store/{_FOLDER}/done": b"", "store/lock": b"lock",
    "store/index/2": b"file", f"store/{_QUEUE}": b"file", "store/config/topics.json": b"file", f"store/commitlog/{0:020}": b"file",
}  # fmt: skip
"""A repair that was done, of four places, and documents beside the store."""


def _journal(**fields: object) -> bytes:
    whole = {"rocketspec_repair": 2, "away": [], "into": {}, "made": [], "newest": _TIME}
    return json.dumps(whole | fields).encode()


_JOURNALS: Final = (
    _journal(
        away=[_QUEUE, "index/1", "config/topics.json"], made=["consumequeue/T/0"],
        into={_QUEUE: [4, _TIME], "index/2": [4, _TIME], "index/3": [3, _TIME], "config/topics.json": [4, _TIME]},
    ),
    _journal(away=["../docs/.bashrc", "index/../../docs/.bashrc"], into={"../docs/topics.json": [4, _TIME]}),
    _journal(away=["/etc/passwd", "checkpoint", "lock"], into={f"commitlog/{0:020}": [4, _TIME]}, made=["config/..", "index"]),
    b"[" * 50_000, b"[]", b"{", b"", b'{"rocketspec_repair": 1, "moves": [["../docs/.bashrc", "index/1"]]}', b"\xff\xfe" + b"9" * 5_001,
)  # fmt: skip


def _undo(data: bytes, folder: Path) -> str:
    """An undo by a journal; what is not in the store, and the log, stays as it is, and of a refusal all does."""
    root = folder
    for name, content in _FILES.items():
        os.utime(put(root, name, content), ns=(_TIME, _TIME))
    put(root, f"store/{_FOLDER}/repair.json", data)
    before = contents(root)
    try:
        repair.undo(root / "store")
    except ERRORS:
        assert contents(root) == before
        raise
    after = contents(root)
    others = {name for name in before | after if not name.startswith("store/") or "/commitlog/" in name}
    assert all(after.get(name) == before.get(name) for name in others)
    return "undone"


_PLACES: Final = (
    "index", "index/20260101000000001", "index/20300101000000000", "consumequeue", "consumequeue/T", "consumequeue/Zz", "consumequeue/T/0",
    "consumequeue/T/9", _QUEUE, "consumequeue_ext", "commitlog", f"commitlog/{0:020}", "commitlog/stray", "config", "config/topics.json",
    "lock", "abort", "checkpoint", _FOLDER, f"{_FOLDER}/repair.json", f"{_FOLDER}/new", f"{_FOLDER}/old", f"{_FOLDER}/old/index",
)  # fmt: skip
_LEADS: Final = (
    "docs",
    "docs/.bashrc",
    f"docs/{0:020}",
    "docs/missing",
    "store",
    "store/index",
    "/dev/zero",
    "/dev/null",
    ".",
)


_LINKS: Final = st.tuples(
    st.sampled_from(("plan", "repair", "undo")),
    st.booleans(),
    st.lists(st.tuples(st.sampled_from(_PLACES), st.sampled_from(_LEADS)), min_size=1, max_size=3),
).map(lambda given: json.dumps(given).encode())


def _linked(data: bytes, folder: Path) -> str:
    """A verb on a small store with links; they are refused, and what they lead to stays as it is."""
    try:
        verb, damaged, links = json.loads(data)
    except (ValueError, TypeError):
        return "no links"
    root = folder
    for name in ("docs/.bashrc", f"docs/{0:020}"):
        put(root, name, b"mine")
    store = root / "store"
    write(store, small()["small"])
    if damaged:
        os.truncate(next((store / "consumequeue").rglob("0*")), 20)
    for name, lead in links:
        path = store / name
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.rename(store / "moved") if path.exists() else None
            path.symlink_to(lead if lead.startswith(("/", ".")) else root / lead)
    before = contents(root / "docs")
    target = repair.Target(store, geometry=GEOMETRY)
    try:
        verbs: dict[str, Callable[[repair.Target], object]] = {
            "plan": repair.plan_repair,
            "repair": repair.repair,
            "undo": lambda _: repair.undo(store),
        }
        return str(verbs[verb](target))
    finally:
        assert contents(root / "docs") == before


TARGETS: Final = {
    "journal of a repair": Target(mutated(_JOURNALS), _undo, ERRORS),
    "links in a store": Target(_LINKS, _linked, ERRORS),
    "manifest and store": Target(mutated((json.dumps(MANIFEST).encode(),)), _judge, ERRORS),
    **{
        f"{kind}{name}": Target(damaged_stores(), partial(way, run=run), ERRORS)
        for kind, way in (("", check), ("changing ", change))
        for name, run in VERBS.items()
        if not (kind and run is _repair)  # it works on a copy, which does not change
    },
}
