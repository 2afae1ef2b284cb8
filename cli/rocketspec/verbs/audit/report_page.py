"""`audit --report DIR`: one self-contained page with findings, the log's and the index's extent, and the queues."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jinja2
from rocket_columnar.describe import look_at, occupancy
from rocket_columnar.findings import CODES
from rocket_columnar.formats import iso
from rocket_columnar.restart import predicted
from rocket_columnar.store import later_line
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.outputs import write_whole
from rocket_spec.printable import printable
from rocket_spec.store_folders import refuse_store

from rocketspec.verbs.audit.view import answer

if TYPE_CHECKING:
    from rocket_columnar.audit import Level
    from rocket_columnar.describe import Overview
    from rocket_columnar.facts import Store
    from rocket_columnar.report import AuditReport
    from rocket_columnar.store import StoreFile

    from rocketspec._options import StoreOptions


_STATES: Final = {
    "stopped": "stopped cleanly",
    "killed": "not stopped cleanly: no process holds its lock",
    "live": "in use",
}
_WIDTH: Final = 1000
_CHAINS: Final = 100  # index files whose chains are counted
_LOG_Y, _INDEX_Y = 2, 36


def check_directory(directory: Path, settings: StoreOptions, *, force: bool) -> None:
    """Raises UsageError for a directory in a store, or with a page that may not be replaced."""
    refuse_store(directory, settings.store, *settings.commitlog)
    if (directory / "audit.html").exists() and not force:
        raise UsageError(f"{directory / 'audit.html'}: already exists; --force replaces it")


def write_page(directory: Path, store: Store, report: AuditReport, *, level: Level, summary: str) -> Path:
    """Writes `directory/audit.html` and returns its path."""
    path = store.path or Path()
    seen, listed = look_at(store), store.of("index", "log")
    found = [finding for finding in report if finding.severity != "note"]
    damaged = {
        finding.file for finding in found if not finding.code.endswith(("missing_key", "missing_unit"))
    }
    lacking = {finding.units[0] for finding in found if finding.units is not None}
    environment = jinja2.Environment(autoescape=True, trim_blocks=True)
    environment.filters["safe_text"] = lambda text: printable(str(text), limit=None)
    template = environment.from_string(
        files("rocketspec.verbs.audit").joinpath("page.html").read_text("utf-8")
    )
    log = seen.log
    times = () if log is None else (log.begin_timestamp, log.end_timestamp)
    text = template.render(
        name=printable(f"Store {os.path.abspath(path)}"),
        host=printable(socket.gethostname()),
        level=level,
        meanings={code: usual.meaning for code, usual in CODES.items()},
        state=_STATES[store.state],
        start=_start(store, report),
        summary=summary,
        version=version("rocketspec"),
        made=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        causes=report.causes,
        unchecked=report.unchecked,
        release=later_line(report.signs) if report.signs else "",
        bars=list(_bars(seen, listed, damaged)),
        damaged=damaged,
        damaged_queues={
            tuple(name.split("/")[1:3]) for name in (*damaged, *lacking) if name.startswith("consumequeue/")
        },
        first="" if log is None else f"{log.begin:,}",
        last="" if log is None else f"{log.end:,}",
        span=" to ".join(iso(time) for time in times if time is not None),
        chains=seen.geometry is not None,
        indexes=list(_indexes(seen, [file for file in listed if file.kind == "index"])),
        queues=seen.queues,
    )
    page = directory / "audit.html"
    write_whole(page, text)
    return page


def _start(store: Store, report: AuditReport) -> tuple[bool, str]:
    """Whether the store is safe to start, and what a start would do or why that is not predicted."""
    try:
        found = predicted(store)
    except (FormatError, UsageError, OSError) as error:
        return False, f"what a start of the broker would do is not predicted: {error}"
    if isinstance(found, str):
        return True, f"a broker is running ({found})"
    plan = found[store.conf is not None and store.conf.index_safe]
    differs = any(one.remedy == "settings" for one in report)
    return plan.safe and not differs, answer(plan) + (f": {plan.refused}" if plan.refused else "")


def _bars(seen: Overview, listed: Sequence[StoreFile], damaged: set[str]) -> Iterator[dict[str, Any]]:
    """Rectangles: the files of the log with the gaps between them, and the index files below."""
    log = seen.log
    if log is None or log.end <= log.begin:
        return
    scale = _WIDTH / (log.end - log.begin)

    def bar(kind: str, y: int, begin: int, end: int, text: str) -> dict[str, Any]:
        first, last = max(begin, log.begin), min(end, log.end)
        return {
            "kind": "damaged" if text in damaged else kind,
            "y": y,
            "x": round((first - log.begin) * scale, 2),
            "width": round(max((last - first) * scale, 0.5), 2),
            "text": f"{text}: physical offsets {begin:,} to {end:,}",
        }

    position = log.begin
    for file in listed:
        if file.kind != "log" or file.base_offset >= log.end:
            continue
        if file.base_offset > position:
            yield bar("gap", _LOG_Y, position, file.base_offset, "no file")
        position = file.base_offset + file.size()
        yield bar("log", _LOG_Y, file.base_offset, position, file.name)
    for index in seen.indexes:
        if index.entries:
            yield bar("index", _INDEX_Y, index.begin_phy_offset, index.end_phy_offset, index.file)


def _indexes(seen: Overview, listed: Sequence[StoreFile]) -> Iterator[dict[str, str]]:
    paths = {file.name: file.path for file in listed[:_CHAINS]}
    for index in seen.indexes:
        used = chain = ""
        if seen.geometry is not None and index.file in paths:
            try:
                filled = occupancy(paths[index.file], seen.geometry.geometry)
            except (FormatError, OSError):
                used = chain = "unreadable"
            else:
                used = f"{100 * filled.used_slots / seen.geometry.geometry.hash_slot_num:.1f} %"
                chain = f"{max((length for length, _ in filled.chains), default=0):,}"
        yield {
            "file": index.file,
            "entries": f"{index.entries:,}",
            "used": used,
            "chain": chain,
            "begin": iso(index.begin_timestamp),
            "end": iso(index.end_timestamp),
        }
