"""The verbs of the engine, of `conform --store` and the Spark sources as targets of the fuzzer, over the stores of `fuzz_stores`."""

import json
import re
import shutil
from collections.abc import Callable, Hashable
from functools import cache, partial
from pathlib import Path
from pkgutil import resolve_name
from tempfile import mkdtemp
from typing import Any, Final

from fuzz_inputs import Target, mutated
from fuzz_parsers import MANIFEST
from fuzz_stores import ERRORS, GEOMETRY, Verb, change, check, inputs, small, write
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
from store_bytes import BEGIN, own_contents

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


TARGETS: Final = {
    "manifest and store": Target(mutated((json.dumps(MANIFEST).encode(),)), _judge, ERRORS),
    **{
        f"{kind}{name}": Target(inputs(), partial(way, run=run), ERRORS)
        for kind, way in (("", check), ("changing ", change))
        for name, run in VERBS.items()
        if not (kind and run is _repair)  # it works on a copy, which does not change
    },
}
