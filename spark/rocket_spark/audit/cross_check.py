"""The audit again, as sort-merge joins in Spark SQL: a second formulation that shares no step but the reading.

It judges what takes two files to tell: units and entries against records, and records against both. What one file
tells by itself - sizes, headers, slots and chains, gaps in the log - is left to the first formulation.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from rocket_columnar.audit import ON_THE_WAY
from rocket_columnar.log import has_light_queues
from rocket_spec.layout import INDEX_ENTRY, QUEUE_UNIT

from rocket_spark.audit.cross_check_rows import (
    FileTask,
    entry_rows,
    ext_rows,
    frame,
    head_rows,
    record_rows,
    unit_rows,
)
from rocket_spark.files import disk_bytes
from rocket_spark.tasks import cores

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import SparkSession
    from rocket_columnar.audit import Plan
    from rocket_columnar.findings import Finding

__all__ = ["CODES", "CrossCheck", "cross_check"]

_PLACED: Final = frozenset(
    {
        "queue.dangling",
        "queue.wrong_target",
        "queue.order",
        "queue.tags_code",
        "index.entry_dangling",
        "index.entry_wrong_key",
    }
)
_MISSING: Final = frozenset({"queue.missing_unit", "index.missing_key", "index.double_entry"})

CODES: Final = _PLACED | _MISSING
"""The codes that both formulations judge."""

_PARTITION_BYTES: Final = 32 << 20
"""Bytes on disk of the stores for each partition of a join."""

_LEAST_PARTITIONS: Final = 8
"""Where the number of cores is unknown."""

Defect = tuple[str, str, str, int]
"""Store, code, file, and the number of the first unit or entry; no file and 0 for what is missing or double."""


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """What the joins found, beside the findings.

    Attributes:
        records: how many records were joined.
        units: how many units.
        entries: how many index entries.
        defects: what the joins found.
        disagreements: where the two differ, in words; none when they agree.
    """

    records: int
    units: int
    entries: int
    defects: tuple[Defect, ...]
    disagreements: tuple[str, ...]


_VIEWS: Final = {
    # Units beside the record that they point to; `copy_place` is the position that a copy for their queue names.
    "found": """
        SELECT /*+ MERGE(r), BROADCAST(p) */ u.*, p.begin,
          u.phy_offset >= 0 AND u.size > 0 AS valid,
          u.phy_offset = 0 AND u.size = 2147483647 AND u.tags_code = 0 AS blank,
          r.phy_offset IS NOT NULL AS hit,
          coalesce(r.topic = u.topic AND r.queue_id = u.queue_id, false) AS own,
          get(filter(r.copies, c -> c.topic = u.topic AND c.queue_id = u.queue_id), 0).logical AS copy_place,
          r.size AS record_size, r.queue_offset, r.tags_code AS record_tags
        FROM {units} u JOIN {plans} p ON u.store = p.store
        LEFT JOIN {records} r ON u.store = r.store AND u.phy_offset = r.phy_offset""",
    # A copy is put where its queue ends: it is after those of earlier records, and at its own place or before it.
    "judged": """
        SELECT *, NOT own AND copy_place IS NOT NULL AS copied,
          valid AND NOT blank AND (own OR copy_place IS NOT NULL OR phy_offset < begin) AS sound,
          copy_place < logical AND copy_place <> 0 OR (copy_place > logical OR copy_place = 0) AND copy_place <> logical
            AND (coalesce(before.number = number - 1 AND before.phy_offset >= phy_offset, false)
              OR coalesce(behind.number = number + 1 AND behind.phy_offset < phy_offset, false)) AS strayed
        FROM (SELECT *,
          lag(CASE WHEN valid AND copy_place IS NOT NULL THEN struct(number, phy_offset) END) OVER w AS before,
          lead(CASE WHEN valid AND copy_place IS NOT NULL THEN struct(number, phy_offset) END) OVER w AS behind
          FROM {found} WINDOW w AS (PARTITION BY store, file ORDER BY number))""",
    # Those whose tags code is an address, with the tags code that is there.
    "tagged": """
        SELECT j.store, j.file, j.number, j.record_tags,
          CASE WHEN j.tags_code <= -2147483649 THEN x.tags_code ELSE j.tags_code END AS tags
        FROM {judged} j LEFT JOIN {ext} x ON j.store = x.store AND j.topic = x.topic
          AND j.queue_id = x.queue_id AND j.tags_code = x.address
        WHERE j.valid AND NOT j.blank AND j.hit AND (j.own OR j.copied)""",
    "keys": """
        SELECT store, phy_offset, max(store_timestamp) AS time, key_hash, count(*) AS wanted
        FROM {records} LATERAL VIEW explode(keys) AS key_hash GROUP BY store, phy_offset, key_hash""",
    "seen": """
        SELECT store, phy_offset, key_hash, count(*) AS seen
        FROM {entries} GROUP BY store, phy_offset, key_hash""",
    "indexed": """
        SELECT /*+ MERGE(s) */ k.store, k.phy_offset, k.time, k.key_hash, k.wanted, coalesce(s.seen, 0) AS seen
        FROM {keys} k LEFT JOIN {seen} s
          ON k.store = s.store AND k.phy_offset = s.phy_offset AND k.key_hash = s.key_hash""",
    # Entries beside the record that they point to, and whether it has such a key.
    "pointed": """
        SELECT /*+ MERGE(r), MERGE(k), BROADCAST(p) */ e.*, p.begin, r.phy_offset IS NOT NULL AS hit, k.wanted IS NOT NULL AS right
        FROM {entries} e JOIN {plans} p ON e.store = p.store
        LEFT JOIN {records} r ON e.store = r.store AND e.phy_offset = r.phy_offset
        LEFT JOIN {keys} k
          ON e.store = k.store AND e.phy_offset = k.phy_offset AND e.key_hash = k.key_hash""",
    # How far dispatch has come: records after that are late, not lost. Where nothing is dispatched nothing is late.
    "reached": """
        SELECT /*+ BROADCAST(q), BROADCAST(i), BROADCAST(r) */ p.store, p.live, p.indexes, coalesce(greatest(q.queued, i.indexed), 9223372036854775807) AS reached,
          coalesce(i.indexed, 0) AS indexed, r.newest
        FROM {plans} p
        LEFT JOIN (SELECT store, max(phy_offset) AS queued FROM {judged}
          WHERE valid AND NOT blank AND own GROUP BY store) q ON p.store = q.store
        LEFT JOIN (SELECT store, max(phy_offset) AS indexed FROM {indexed} WHERE seen > 0 GROUP BY store) i
          ON p.store = i.store
        LEFT JOIN (SELECT store, max(store_timestamp) AS newest FROM {records} GROUP BY store) r
          ON p.store = r.store""",
    # Places in queues that hold a unit, sound or not.
    "taken": """
        SELECT DISTINCT store, topic, queue_id, logical FROM {judged}
        WHERE NOT (valid AND blank) AND NOT (valid AND hit AND NOT own AND copied)
          AND (NOT valid OR hit OR phy_offset >= begin)""",
    "copies": """
        SELECT r.store, c.topic, c.queue_id, c.logical, r.phy_offset
        FROM {records} r LATERAL VIEW explode(copies) AS c WHERE r.queued""",
    # Copies beside the units of their queues, in the order of the log: where a put finds the queue's end. A frame that
    # reaches to the end of a window takes quadratic time: `next` looks back in descending order. Most queues have no
    # copies, and stay out of it.
    "puts": """
        SELECT *,
          max(CASE WHEN is_unit THEN logical + 1 END) OVER (PARTITION BY store, topic, queue_id
            ORDER BY phy_offset, logical ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS end,
          last_value(CASE WHEN is_unit THEN logical END) IGNORE NULLS OVER (PARTITION BY store, topic, queue_id
            ORDER BY phy_offset DESC, logical DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS next,
          max(is_unit) OVER (PARTITION BY store, topic, queue_id, phy_offset) AS there
        FROM (SELECT *, false AS is_unit FROM {copies}
          UNION ALL SELECT j.store, j.topic, j.queue_id, j.logical, j.phy_offset, true FROM {judged} j
            LEFT SEMI JOIN (SELECT DISTINCT store, topic, queue_id FROM {copies}) c
              ON j.store = c.store AND j.topic = c.topic AND j.queue_id = c.queue_id
            WHERE j.sound)""",
    # Where a queue began, for all that is known: what came before has expired with its file.
    "begun": """
        SELECT store, topic, queue_id, min(logical) AS first FROM {judged}
        WHERE NOT blank AND begin > 0 GROUP BY store, topic, queue_id HAVING min_by(number, logical) = 0""",
    # 4.9.3 passes a copy over that is above 0 and below the queue's end; else its unit goes there.
    "lost": """
        SELECT *, CASE WHEN logical < coalesce(next, 9223372036854775807) THEN greatest(logical, ended) ELSE ended END AS at
        FROM (SELECT p.*, coalesce(p.end, b.first, 0) AS ended FROM {puts} p LEFT JOIN {begun} b
          ON p.store = b.store AND p.topic = b.topic AND p.queue_id = b.queue_id)
        WHERE NOT is_unit AND NOT there AND (logical = 0 OR logical >= ended)""",
}
"""Each may name those before it."""

_KEPT: Final = frozenset({"judged", "indexed", "pointed"})
"""Joins that are checked more than once."""

_DEFECTS: Final = """
    SELECT j.store, 'queue.dangling' AS code, j.file, j.number
      FROM {judged} j LEFT ANTI JOIN {heads} h ON j.valid AND j.store = h.store AND j.phy_offset = h.phy_offset
      WHERE NOT valid OR (NOT blank AND NOT hit AND phy_offset >= begin)
    UNION ALL SELECT store, 'queue.wrong_target', file, number FROM {judged}
      WHERE valid AND NOT blank AND hit AND (NOT (own OR copied) OR size <> record_size)
    UNION ALL SELECT store, 'queue.order', file, number FROM {judged}
      WHERE valid AND NOT blank AND (own AND queue_offset <> logical OR copied AND strayed)
    UNION ALL SELECT store, 'queue.tags_code', file, number FROM {tagged} WHERE NOT tags <=> record_tags
    UNION ALL SELECT e.store, 'index.entry_dangling', e.file, e.number
      FROM {pointed} e LEFT ANTI JOIN {heads} h ON e.store = h.store AND e.phy_offset = h.phy_offset
      WHERE NOT hit AND (phy_offset >= begin OR phy_offset < 0)
    UNION ALL SELECT store, 'index.entry_wrong_key', file, number FROM {pointed} WHERE hit AND NOT right
    UNION ALL SELECT /*+ MERGE(s), MERGE(t), BROADCAST(d) */ r.store, 'queue.missing_unit', '', 0
      FROM {records} r JOIN {reached} d ON r.store = d.store
      LEFT ANTI JOIN (SELECT store, phy_offset FROM {judged} WHERE valid AND NOT blank AND own) s
        ON r.store = s.store AND r.phy_offset = s.phy_offset
      LEFT ANTI JOIN {taken} t ON r.store = t.store AND r.topic = t.topic AND r.queue_id = t.queue_id
        AND r.queue_offset = t.logical
      WHERE r.queued AND r.phy_offset <= d.reached
    UNION ALL SELECT /*+ BROADCAST(d) */ l.store, 'queue.missing_unit', '', 0
      FROM {lost} l JOIN {reached} d ON l.store = d.store
      LEFT ANTI JOIN (SELECT store, topic, queue_id, logical FROM {judged} WHERE NOT blank AND NOT sound) u
        ON l.store = u.store AND l.topic = u.topic AND l.queue_id = u.queue_id AND l.at = u.logical
      WHERE l.phy_offset <= d.reached
    UNION ALL SELECT /*+ BROADCAST(d) */ i.store, 'index.missing_key', '', 0
      FROM {indexed} i JOIN {reached} d ON i.store = d.store
      WHERE i.seen < i.wanted AND d.indexes AND i.phy_offset <= d.reached
        AND NOT (d.live AND i.phy_offset >= d.indexed AND i.time >= d.newest - {on_the_way})
    UNION ALL SELECT store, 'index.double_entry', '', 0 FROM {indexed} WHERE seen > wanted"""

_FIRST: Final = "SELECT store, code, file, min(number) AS first FROM {defects} GROUP BY store, code, file"

_RECORDS: Final = (
    "place bigint, phy_offset bigint, size int, topic string, queue_id int, queue_offset bigint, tags_code bigint, "
    "store_timestamp bigint, queued boolean, keys array<int>, "
    "copies array<struct<topic: string, queue_id: int, logical: bigint>>"
)
_UNITS: Final = (
    "number bigint, logical bigint, topic string, queue_id int, phy_offset bigint, size int, tags_code bigint"
)
_ENTRIES: Final = "number bigint, key_hash int, phy_offset bigint"
_HEADS: Final = "phy_offset bigint"
_EXT: Final = "topic string, queue_id int, address bigint, tags_code bigint"


@contextmanager
def _planned_once(spark: SparkSession, plans: Mapping[str, Plan]) -> Iterator[None]:
    """Has Spark plan each query once, for as many partitions as the stores have bytes.

    Adaptive execution plans it again after each of some fifty stages, which takes longer than a small store's joins. What
    it would find out is stated in the queries: the sizes of the sides, and joins by offset, which no store or queue skews.
    """
    files = (file for plan in plans.values() for file in (*plan.logs, *plan.queues, *plan.content_indexes))
    partitions = max(-(-sum(map(disk_bytes, files)) // _PARTITION_BYTES), cores(spark) or _LEAST_PARTITIONS)
    settings = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": str(partitions)}
    before = {name: spark.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, old or "")


def cross_check(
    spark: SparkSession, plans: dict[str, Plan], findings: Iterable[tuple[str, Finding]]
) -> CrossCheck:
    """Judges stores by joins, and compares what they find with the findings of the first formulation.

    Args:
        spark: the session.
        plans: of the stores' audits, by name.
        findings: with the names of their stores, of the same plans.

    Raises:
        OSError: a file cannot be read.
        PySparkException: Spark gave up.
    """
    with _planned_once(spark, plans):
        return _joined(spark, plans, findings)


def _joined(
    spark: SparkSession, plans: dict[str, Plan], findings: Iterable[tuple[str, Finding]]
) -> CrossCheck:
    suffix = uuid4().hex[:8]
    names = {"on_the_way": str(ON_THE_WAY)}
    views: list[str] = []

    def view(name: str, made: Any) -> None:
        names[name] = f"rocketspec_{name}_{suffix}"
        made.createOrReplaceTempView(names[name])
        views.append(names[name])

    def tasks(kind: str) -> list[FileTask]:
        return [
            FileTask(name, file, plan.geometry, has_light_queues(plan.queues), plan.end)
            for name, plan in plans.items()
            for file in getattr(plan, kind)
        ]

    ends = [(name, plan.begin, plan.end, plan.live, _index_counts(plan)) for name, plan in plans.items()]
    view(
        "plans",
        spark.createDataFrame(ends, "store string, begin bigint, end bigint, live boolean, indexes boolean"),
    )
    view("read", frame(spark, record_rows, tasks("logs"), _RECORDS))
    bounded = "SELECT /*+ BROADCAST(p) */ r.* FROM {read} r JOIN {plans} p ON r.store = p.store WHERE r.phy_offset < p.end"
    bases = {
        "records": spark.sql(bounded.format(**names)),
        "units": frame(spark, unit_rows, tasks("queues"), _UNITS),
        "entries": frame(spark, entry_rows, tasks("content_indexes"), _ENTRIES),
        "ext": frame(spark, ext_rows, tasks("exts"), _EXT),
        "heads": frame(spark, head_rows, [task for task in tasks("logs") if _may_follow(task)], _HEADS),
    }
    kept = [made.persist() for made in bases.values()]
    try:
        for name, made in zip(bases, kept, strict=True):
            view(name, made)
        counted = [made.count() for made in kept]
        for name, text in _VIEWS.items():
            made = spark.sql(text.format(**names))
            if name in _KEPT:
                kept.append(made.persist())
            view(name, made)
        view("defects", spark.sql(_DEFECTS.format(**names)))
        rows = spark.sql(_FIRST.format(**names)).collect()
    finally:
        for made in kept:
            made.unpersist()
        for name in views:
            spark.catalog.dropTempView(name)
    joined: set[Defect] = {(row["store"], row["code"], row["file"], row["first"]) for row in rows}
    told = _told(plans, findings)
    disagreements = [
        *(f"the ranges alone find {_words(defect)}" for defect in sorted(told - joined)),
        *(f"the joins alone find {_words(defect)}" for defect in sorted(joined - told)),
    ]
    return CrossCheck(counted[0], counted[1], counted[2], tuple(sorted(joined)), tuple(disagreements))


def _may_follow(task: FileTask) -> bool:
    with task.file.open() as reader:
        return task.file.base_offset + reader.size > task.end


def _index_counts(plan: Plan) -> bool:
    """Whether keys that are not in the index are missing: not where its geometry cannot be inferred."""
    return plan.geometry is not None or all(header.index_count <= 1 for _, header in plan.indexes)


def _told(plans: dict[str, Plan], findings: Iterable[tuple[str, Finding]]) -> set[Defect]:
    """The findings in the terms of the joins."""
    first: dict[tuple[str, str, str], int] = {}
    for store, found in findings:
        if found.code in _MISSING:
            # Keys that are in a file, and that its chains do not lead to, are that file's own matter.
            if found.code != "index.missing_key" or not found.file.startswith("index/"):
                first[store, found.code, ""] = 0
        elif found.code in _PLACED and found.offset is not None:
            geometry = plans[store].geometry
            if found.code.startswith("queue."):
                number = found.offset // QUEUE_UNIT.size
            else:
                assert geometry is not None  # noqa: S101 - else no entry is judged
                number = (found.offset - geometry.entries_offset) // INDEX_ENTRY.size
            key = store, found.code, found.file
            first[key] = min(number, first.get(key, number))
    return {(*key, number) for key, number in first.items()}


def _words(defect: Defect) -> str:
    store, code, file, number = defect
    where = f" {file} from number {number:,} on" if file else ""
    return f"{code}{where}" + (f" in {store}" if store else "")
