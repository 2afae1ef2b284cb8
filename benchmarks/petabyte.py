"""The page `docs/petabyte.md`: what a petabyte on a thousand cores would take, by the figures of `benchmarks.spark`.

`python -m benchmarks.petabyte` writes it from `SPARK.json` and `GROWTH.json`, without measuring anything.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

__all__ = ["page"]

_LOG: Final = 10**15
_CORES: Final = 1_000
_NODE_CORES: Final = 32
_LOG_FILE: Final = 1 << 30
_QUEUE_FILE: Final = 6_000_000
_INDEX_ENTRIES: Final = 19_999_999
_LINK: Final = 25e9 / 8
_TASK_ENTRIES: Final = 20_000_000
_TASK_QUEUES: Final = 1 << 30
_GROUP: Final = 64 << 30

_PAGE: Final = """\
# A petabyte on a thousand cores

This is a model, not a measurement. `python -m benchmarks.spark` measures its constants on one machine (`benchmarks/SPARK.json`
has the figures, `benchmarks/SPARK.md` the machine); the rest is the arithmetic shown. Only the cluster is assumed:
{cores:,} cores of that kind, {node} per node, a link of 25 Gbit/s from each node to the stores and the output,
and no core waiting for another's disk.

## The data

1 PB of commit log, with consume queues and index files in the ratio of the measured store:

| | bytes | files |
|---|---:|---:|
| commit log | {log:.2e} | {log_files:,} of 1 GiB |
| consume queues | {queue:.2e} | {queue_files:,} of 6,000,000 bytes |
| index files | {index:.2e} | {index_files:,} of 420,000,040 bytes |
| all | {all:.2e} | {files:,} |

`consume queues = 1e15 * {queue_ratio:.4f}` and `index = 1e15 * {index_ratio:.4f}`, bytes per byte of log in the measured store.

## The cores

| job | measured on one core | per core | {cores:,} cores, all {all:.2e} bytes |
|---|---:|---:|---:|
| decode to Parquet | {store:,} bytes in {decode_s:.2f} s | {decode_rate:.1f} MB/s | `{all:.3e} / ({cores:,} * {decode_rate:.1f}e6)` = {decode_h:.1f} h |
| audit | {store:,} bytes in {audit_s:.2f} s | {audit_rate:.1f} MB/s | `{all:.3e} / ({cores:,} * {audit_rate:.1f}e6)` = {audit_h:.1f} h |
| rebuild (reads only the log) | {measured_log:,} bytes in {rebuild_s:.2f} s | {rebuild_rate:.1f} MB/s | `{log:.3e} / ({cores:,} * {rebuild_rate:.1f}e6)` = {rebuild_h:.1f} h |

Each task costs {task_ms:.1f} ms on a core before it does anything. A decode of this size has {tasks:,} tasks (one per
log file, per {entries:,} index entries, and per 1 GiB of queues; eight times as much as in a small job), so `{tasks:,} * {task_ms:.1f} ms / {cores:,}` = {task_h:.2f} h in all.

## The links

A node's {node} cores read `{node} * rate` and write, in a decode, `{node} * rate * {parquet_ratio:.2f}` (bytes of Parquet per byte read):

| job | reads | writes | share of a link of 3,125 MB/s |
|---|---:|---:|---:|
| decode | {decode_in:,.0f} MB/s | {decode_out:,.0f} MB/s | {decode_link:.0%} |
| audit | {audit_in:,.0f} MB/s | | {audit_link:.0%} |
| rebuild | {rebuild_in:,.0f} MB/s | {rebuild_out:,.0f} MB/s | {rebuild_link:.0%} |

## The driver

The driver is one process; its work does not spread over the cores.

| work | measured | in all |
|---|---:|---:|
| listing and planning, per file | {plan_us:.0f} us | `{files:,} * {plan_us:.0f} us` = {plan_h:.2f} h |
| committing, per part: rename, stat, manifest | {commit_us:.0f} us | `{tasks:,} * {commit_us:.0f} us` = {commit_h:.2f} h |
| an audit's surveys, per byte of log | {look:.5f} bytes | `1e15 * {look:.5f}` = {looks_gb:,.0f} GB; never all at once: stores are audited in groups of 64 GiB of queues and index, {group_mb:,.0f} MB each, {groups:,} groups |

Times are for local disks. An HTTP listing of 1,000 names takes about 100 ms, a rename on HDFS about 1 ms.

## What saturates first

{order}

{verdict}
"""

_SMALL_LOG: Final = 10**9
_SMALL_QUEUES: Final = 200

_SMALL: Final = """
## Many small stores

The same petabyte, as the brokers of many small clusters hold it: stores of {small_log:,} bytes of log with {queues} consume
queues each, most of them short. The cost of a file is that of a short queue and its share of the index at {count:,} queues,
in `benchmarks/GROWTH.md`.

| | files |
|---|---:|
| stores | {stores:,} |
| commit-log files | {stores:,} |
| consume queues | {queue_files:,} |
| index files | {index_files:,} |
| all | {files:,} |

| job | bytes, from above | files | both, {cores:,} cores |
|---|---:|---:|---:|
{rows}

| the driver | measured | in all |
|---|---:|---:|
| listing and planning, per file | {plan_us:.0f} us | `{files:,} * {plan_us:.0f} us` = {plan_h:.2f} h |

{verdict}
"""

_VERDICTS: Final = {
    "cores": "The cores saturate first: more of them shorten the jobs until the next limit in the table is reached.",
    "links": "The links saturate first: cores wait for bytes. Nodes with fewer cores, or tasks that run where the disks are, help; "
    "a faster engine does not.",
    "driver": "The driver saturates first: it lists and commits one file after the other. Several jobs, each for some of the "
    "brokers and with an output folder of its own, divide that work; nothing in a store refers to another store.",
}


def _small_stores(figures: dict[str, Any], growth: list[dict[str, Any]], hours: dict[str, float]) -> str:
    """The section on small stores, from `GROWTH.json` and the hours that the bytes alone take."""
    of_files = [run for run in growth if run["series"] == "files"]
    count = max(run["size"] for run in of_files)
    costs = {run["verb"]: run["cpu"] / run["size"] for run in of_files if run["size"] == count}
    stores = _LOG // _SMALL_LOG
    queue_files, index_files = stores * _SMALL_QUEUES, stores
    files = stores + queue_files + index_files
    rows, most = [], 0.0
    for name, whole in hours.items():
        spent = files * costs[name] / _CORES / 3600
        most = max(most, whole + spent)
        rows.append(
            f"| {name} | {whole:.2f} h | `{files:,} * {costs[name] * 1e6:.0f} us / {_CORES:,}` = {spent:.2f} h | {whole + spent:.2f} h |"
        )
    plan_us = figures["driver"]["plan_file"] * 1e6
    plan_h = files * plan_us / 1e6 / 3600
    verdict = (
        "The driver takes longest: it lists one file after the other. Several jobs, each for some of the stores, divide that."
        if plan_h > most
        else "The cores take longest, not the driver that lists the files."
    )
    return _SMALL.format(
        small_log=_SMALL_LOG,
        queues=_SMALL_QUEUES,
        count=count,
        stores=stores,
        queue_files=queue_files,
        index_files=index_files,
        files=files,
        cores=_CORES,
        rows="\n".join(rows),
        plan_us=plan_us,
        plan_h=plan_h,
        verdict=verdict,
    )


def page(figures: dict[str, Any], growth: list[dict[str, Any]] | None = None) -> str:
    """The page, from what `SPARK.json` and `GROWTH.json` hold; without the latter nothing about small stores."""
    sizes, one, driver = figures["sizes"], figures["local[1]"], figures["driver"]
    stored = sizes["log"] + sizes["queue"] + sizes["index"]
    queue_ratio, index_ratio = sizes["queue"] / sizes["log"], sizes["index"] / sizes["log"]
    queue, index = _LOG * queue_ratio, _LOG * index_ratio
    every = _LOG + queue + index
    entries = index / 20
    counts = {
        "log_files": -(-_LOG // _LOG_FILE),
        "queue_files": int(queue / _QUEUE_FILE) + 1,
        "index_files": int(entries / _INDEX_ENTRIES) + 1,
    }
    files = sum(counts.values())
    tasks = counts["log_files"] + int(entries / _TASK_ENTRIES) + int(queue / _TASK_QUEUES) + 2
    rates = {
        "decode": stored / one["store"],
        "audit": stored / one["audit"],
        "rebuild": sizes["log"] / one["rebuild"],
    }
    hours = {
        name: (_LOG if name == "rebuild" else every) / (_CORES * rate) / 3600 for name, rate in rates.items()
    }
    written = {"decode": sizes["parquet"] / stored, "audit": 0.0, "rebuild": queue_ratio + index_ratio}
    read = {name: _NODE_CORES * rate for name, rate in rates.items()}
    links = {name: max(read[name], read[name] * written[name]) / _LINK for name in rates}
    task_h = tasks * one["empty_task"] / _CORES / 3600
    plan_h, commit_h = (files * driver["plan_file"] / 3600, tasks * driver["commit_part"] / 3600)
    limits = {
        "cores": ("the cores: decode, and the overhead of tasks", hours["decode"] + task_h),
        "links": (
            "the links: reads and writes of a decode at the same time",
            hours["decode"] * links["decode"],
        ),
        "driver": ("the driver: planning and committing", plan_h + commit_h),
    }
    order = sorted(limits, key=lambda name: -limits[name][1])
    lines = ["| decode, if limited only by | hours |", "|---|---:|"]
    lines += [f"| {limits[name][0]} | {limits[name][1]:.2f} |" for name in order]
    small = "" if growth is None else _small_stores(figures, growth, hours)
    text = _PAGE.format(
        cores=_CORES,
        node=_NODE_CORES,
        log=float(_LOG),
        queue=queue,
        index=index,
        all=every,
        files=files,
        **counts,
        queue_ratio=queue_ratio,
        index_ratio=index_ratio,
        store=stored,
        measured_log=sizes["log"],
        entries=_TASK_ENTRIES,
        tasks=tasks,
        task_ms=one["empty_task"] * 1e3,
        task_h=task_h,
        parquet_ratio=written["decode"],
        plan_us=driver["plan_file"] * 1e6,
        plan_h=plan_h,
        commit_us=driver["commit_part"] * 1e6,
        commit_h=commit_h,
        look=driver["look_bytes_per_log_byte"],
        looks_gb=_LOG * driver["look_bytes_per_log_byte"] / 1e9,
        groups=int((queue + index) / _GROUP) + 1,
        group_mb=driver["look_bytes_per_log_byte"] * _LOG / ((queue + index) / _GROUP) / 1e6,
        order="\n".join(lines),
        verdict=_VERDICTS[order[0]],
        **{f"{name}_s": one["store" if name == "decode" else name] for name in rates},
        **{f"{name}_rate": rate / 1e6 for name, rate in rates.items()},
        **{f"{name}_h": value for name, value in hours.items()},
        **{f"{name}_in": value / 1e6 for name, value in read.items()},
        **{f"{name}_out": read[name] * written[name] / 1e6 for name in rates},
        **{f"{name}_link": value for name, value in links.items()},
    )
    return text + small


def main() -> None:
    """Writes the page from the figures that are there."""
    folder = Path(__file__).parent
    kept = folder / "GROWTH.json"
    figures: dict[str, Any] = json.loads((folder / "SPARK.json").read_text("utf-8"))
    growth = json.loads(kept.read_text("utf-8")) if kept.exists() else None
    (folder.parent / "docs" / "petabyte.md").write_text(page(figures, growth), "utf-8")


if __name__ == "__main__":
    main()
