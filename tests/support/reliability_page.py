"""The tables of `docs/reliability.md`, from the figures that the measurements and the soak tests recorded.

`python tests/support/reliability_page.py` writes them between their markers.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from cost_figures import FIGURES as COSTS
from fuzz_figures import FIGURES as FUZZ

__all__ = ["PAGE", "page"]

_DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = _DOCS / "reliability.md"
_FAULTS: Final = _DOCS / "real-faults.json"
_MIB: Final = 1 << 20


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _costs() -> str:
    """Each verb at both sizes, and the growth between them."""
    small, large = _read(COSTS)["sizes"]
    grown = (large["bytes"] - small["bytes"]) / _MIB
    rows = [
        f"Stores of {small['bytes'] / _MIB:,.0f} and {large['bytes'] / _MIB:,.0f} MiB on disk with {small['records']:,} and {large['records']:,} messages;",
        "processor time and greatest memory of a process of its own.",
        "",
        "| verb | small | large | time for each further MiB | memory for each further MiB |",
        "|---|---|---|---|---|",
    ]
    for name, first in small["costs"].items():
        second = large["costs"][name]
        time = max(second["seconds"] - first["seconds"], 0) / grown * 1000
        memory = max(second["mib"] - first["mib"], 0) / grown * 1024
        rows.append(
            f"| `{name}` | {first['seconds']:.1f} s, {first['mib']} MiB | {second['seconds']:.1f} s, {second['mib']} MiB "
            f"| {time:.1f} ms | {memory:.0f} KiB |"
        )
    return "\n".join(rows)


def _fuzz() -> str:
    found = _read(FUZZ)
    targets = found["targets"]
    total = sum(one["inputs"] for one in targets.values())
    rows = [
        f"{total:,} distinct inputs of {len(targets)} targets, seeds {', '.join(map(str, found['seeds']))}: {found['failures']} crashes, hangs,",
        (
            f"disagreements or other failures. Processor time in all {sum(one['cpu_ns'] for one in targets.values()) / 6e10:,.0f} minutes; "
            f"greatest memory of the process {found['peak_mib']:,} MiB."
        ),
        "",
        "| target | inputs | distinct results | inputs per second | slowest input |",
        "|---|---|---|---|---|",
    ]
    for name, one in targets.items():
        speed = f"{one['inputs'] / (one['cpu_ns'] / 1e9):,.0f}" if one["cpu_ns"] else ""
        slowest = f"{one['worst_ns'] / 1e6:,.1f} ms, {one['worst_bytes']:,} bytes" if one["worst_ns"] else ""
        rows.append(f"| {name} | {one['inputs']:,} | {one['results']:,} | {speed} | {slowest} |")
    return "\n".join(rows)


def _faults() -> str:
    rows = [
        "| fault | acknowledged | of these lost | audit before the start | the start deletes | dispatches again | keys that it loses | keys not found later | messages rebuilt |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in _read(_FAULTS).values():
        findings = ", ".join(f"{count} {name}" for name, count in one["findings"].items()) or "none"
        deleted = (
            f"{one['files_deleted']} files ({', '.join(one['deletions'])})"
            if one["files_deleted"]
            else "nothing"
        )
        rows.append(
            f"| {one['fault']} | {one['acknowledged']:,} | {one['acknowledged_and_lost']:,} | {findings} | {deleted} | {one['dispatched_again_bytes']:,} bytes "
            f"| {one['keys_deleted_by_the_start']:,} | {one['keys_not_found']:,} | {one['rebuilt_messages']:,} |"
        )
    return "\n".join(rows)


def page(text: str) -> str:
    """`text` with the tables between its markers."""
    for name, table in (("costs", _costs), ("fuzz", _fuzz), ("faults", _faults)):
        mark = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        assert mark.search(text), name
        text = mark.sub(lambda found, table=table: f"{found[1]}\n{table()}\n\n{found[2]}", text)  # type: ignore[misc]
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
