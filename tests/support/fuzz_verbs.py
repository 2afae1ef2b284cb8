"""The verbs of the engine, of `conform --store` and the Spark sources as targets of the fuzzer, over the stores of `fuzz_stores`.

And what `repair` finds in a store: the journal of an earlier repair, and links, with somebody's documents beside.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from pkgutil import resolve_name
from tempfile import mkdtemp
from typing import Any, Final

from fuzz_inputs import Target, mutated
from fuzz_parsers import MANIFEST
from fuzz_stores import ERRORS, GEOMETRY, Verb, change, check, inputs, small, write
from hypothesis import strategies as st
from judged_stores import judge_store
from rocket_columnar import repair
from rocket_columnar.audit import audit
from rocket_columnar.consumers import offset_at, progress
from rocket_columnar.decode import decode
from rocket_columnar.describe import byte_at, compare_stores, diff, digest, look_at, occupancy, summarise
from rocket_columnar.facts import Store
from rocket_columnar.query import query
from rocket_columnar.rebuild import rebuild
from rocket_columnar.report import audit as report
from rocket_columnar.restart import restarts
from rocket_columnar.store import StoreFile, find_files
from rocket_conformance.workload import read_manifest
from rocket_spec.layout import Geometry
from rocketspec import find
from store_bytes import BEGIN, contents, own_contents, put

_LARGEST_COPY: Final = 1 << 24
_METRIC: Final = re.compile(r"# (HELP|TYPE) \w+ .+|\w+\{\w+=\"([^\"\\]|\\.)*\"(,\w+=\"[^\"\\]*\")*\} \d+")
_write_metrics: Any = resolve_name("rocketspec.verbs.audit.metrics:write_metrics")


@cache
def _sound() -> Path:
    root = Path(mkdtemp())
    write(root, small()["small"])
    return root


def _each_file(
    root: Path, _: Path, geometry: Geometry | None, *, run: Callable[[StoreFile, Geometry | None], Any]
) -> Hashable:
    found = []
    for file in find_files(root):
        try:
            found.append(str(run(file, geometry if file.kind == "index" else None)))
        except ERRORS as error:
            found.append(type(error).__name__)
    return tuple(found)


def _rows(file: StoreFile, geometry: Geometry | None) -> Any:
    gaps: list[Any] = []
    rows: dict[str, int] = {}
    for table, batch in decode([file], geometry=geometry, on_gap=gaps.append):
        rows[table] = rows.get(table, 0) + batch.num_rows
    return rows, gaps


def _summary(file: StoreFile, geometry: Geometry | None) -> Any:
    return summarise(file) if geometry is None else occupancy(file.path, geometry)


def _bytes(file: StoreFile, geometry: Geometry | None) -> Any:
    """The meaning of a few of its bytes."""
    return [byte_at(file, at, geometry) for at in (0, 21, 45, 230, file.size() - 1)]


def _query(root: Path, _: Path, geometry: Geometry | None) -> Hashable:
    keys = (("T", "k0"), ("%RETRY%g", "k"), ("U", "U" + f"{3:031}"), ("AaTopic", "Aa"), ("none", ""))
    answers = [query(root, topic, key, begin=0, end=1 << 62, geometry=geometry) for topic, key in keys]
    return tuple((len(answer.offsets), len(answer.messages)) for answer in answers)


def _scan(root: Path, _: Path, geometry: Geometry | None) -> Hashable:
    return len(find(root, topic="T", key="k0", scan=True, geometry=geometry).offsets)


def _diff(root: Path, scratch: Path, geometry: Geometry | None) -> Hashable:
    """Files compared with those of the sound store."""
    whole = scratch / "whole"
    write(whole, small()["small"])
    count = 0
    for folder in ("index", "consumequeue", "commitlog", "checkpoint"):
        one, other = (
            sorted(path for path in (at, *at.rglob("*")) if path.is_file())
            for at in (root / folder, whole / folder)
        )
        for left, right in zip(one[:2], other[:2], strict=False):
            count += len(list(diff(left, right, geometry=geometry)))
    return count


def _rebuild(root: Path, scratch: Path, geometry: Geometry | None, *, only_missing: bool = False) -> Hashable:
    out = scratch / "rebuilt"
    rebuild(root, out, geometry=geometry, only_missing=only_missing)
    assert (out / "_manifest.json").is_file()
    return tuple(
        sorted(
            (path.name, path.stat().st_size)
            for path in out.rglob("*")
            if path.is_file() and path.parent.name != "index"
        )
    )


def _findings(root: Path, _: Path, geometry: Geometry | None, *, level: Any) -> Hashable:
    return tuple((one.code, one.file, one.offset) for one in audit(root, level, geometry=geometry))


def _source(root: Path, _: Path, geometry: Geometry | None, *, name: str) -> Hashable:
    """The work of Spark's Python workers: the plan, and each partition's rows."""
    from rocket_spark.sources import SOURCES

    source = next(one for one in SOURCES if one.format_name == f"rocketmq-{name}")
    shape = (
        {}
        if geometry is None
        else {"hashSlotNum": str(geometry.hash_slot_num), "indexNum": str(geometry.index_num)}
    )
    made = source({"path": str(root), "mode": "PERMISSIVE", **shape})
    reader = made.reader(made.schema())
    return sum(batch.num_rows for part in reader.partitions() for batch in reader.read(part))


def _repair(root: Path, scratch: Path, geometry: Geometry | None) -> Hashable:
    """A repair of a copy and its undoing, which gives all bytes back; so does a repair that is refused."""
    if sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) > _LARGEST_COPY:
        return str(repair.plan_repair(repair.Target(root, geometry=geometry)).left)
    store = scratch / "store"
    shutil.copytree(root, store)
    before = own_contents(store)
    try:
        done = repair.repair(repair.Target(store, geometry=geometry))
        if done.folder and not done.worse:
            repair.undo(store)
        return str((done.plan.away, done.plan.into, dict(done.plan.topics), done.worse))
    finally:
        assert own_contents(store) == before, "the repair left another store"


def _at(root: Path, _: Path, geometry: Geometry | None) -> Hashable:
    """The logical offsets at three times in each queue of two topics."""
    del geometry
    store, found = Store(root), list[str]()
    for topic, queue in (("T", 0), ("U", 0), ("SCHEDULE_TOPIC_XXXX", 0)):
        for time in (0, BEGIN + 7000, 1 << 62):
            try:
                found.append(str(offset_at(store, topic, queue, time)))
            except ERRORS as error:
                found.append(type(error).__name__)
    return tuple(found)


def _metrics(root: Path, scratch: Path, geometry: Geometry | None) -> Hashable:
    """The metrics of `audit --prometheus`, each line in the form that the collector reads; without the time."""
    path = scratch / "audit.prom"
    _write_metrics(path, root, report(root, geometry=geometry))
    lines = path.read_text("utf-8").splitlines()
    assert all(map(_METRIC.fullmatch, lines)), lines
    return "\n".join(lines[:-1])


def _conform(root: Path, _: Path, geometry: Geometry | None) -> Hashable:
    verdict = judge_store(root, geometry=geometry)
    return str((verdict.observations.kinds, verdict.observations.notes))


VERBS: Final[dict[str, Verb]] = {
    "store: conform": _conform,
    "store: decode": partial(_each_file, run=_rows),
    "store: query": _query,
    "store: query scan": _scan,
    "store: audit quick": partial(_findings, level="quick"),
    "store: audit": partial(_findings, level="default"),
    "store: audit deep": partial(_findings, level="deep"),
    "store: restart": lambda root, _, geometry: str([(one, list(one.lost)) for one in restarts(root, geometry=geometry)]),
    "store: rebuild": _rebuild,
    "store: rebuild only missing": partial(_rebuild, only_missing=True),
    "store: digest": lambda root, _, geometry: str(list(digest(root, geometry=geometry))),
    "store: diff": _diff,
    "store: repair": _repair,
    "store: consumers": lambda root, _, __: str(progress(Store(root), sizes=True)),
    "store: offset at a time": _at,
    "store: metrics": _metrics,
    "store: diff of two stores": lambda root, _, __: str(list(compare_stores(root, _sound()))),
    "store: inspect": lambda root, _, geometry: str(look_at(root, geometry=geometry)),
    "store: summary": partial(_each_file, run=_summary),
    "store: bytes": partial(_each_file, run=_bytes),
    **{
        f"Spark source: {name}": partial(_source, name=name)
        for name in ("index", "index-headers", "consumequeue", "consumequeue-ext", "commitlog", "checkpoint")
    },
}  # fmt: skip


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
    root = folder / "outer"
    shutil.rmtree(root, ignore_errors=True)
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
    root = folder / "outer"
    shutil.rmtree(root, ignore_errors=True)
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
        f"{kind}{name}": Target(inputs(), partial(way, run=run), ERRORS)
        for kind, way in (("", check), ("changing ", change))
        for name, run in VERBS.items()
        if not (kind and run is _repair)  # it works on a copy, which does not change
    },
}
