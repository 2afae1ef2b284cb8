"""What a start would do, for people and for scripts."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from rocket_columnar.audit_restart import Restart

__all__ = ["show"]

_SHOWN: Final = 20


def show(usual: Restart, safe: Restart, *, as_json: bool) -> None:
    """Prints the plan of a start, and how messageIndexSafe would change it."""
    if as_json:
        for one in usual.deletions:
            _line(asdict(one))
        for lost in usual.lost:
            _line({"lost": asdict(lost)})
        _line(
            {
                "clean": usual.clean,
                "dispatch_from": usual.dispatch_from,
                "log_end": usual.log_end,
                "lost_records": len(usual.lost),
                "index_safe": {"dispatch_from": safe.dispatch_from, "lost_records": len(safe.lost)},
            }
        )
        return
    typer.echo("the last stop was clean" if usual.clean else "found an abort file: a start recovers")
    for one in usual.deletions:
        place = one.file if one.offset is None else f"{one.file} from byte {one.offset:,} on"
        typer.echo(f"{one.action} {place}: {one.reason}")
    if usual.clean:
        typer.echo(f"the log is walked from {usual.dispatch_from:,}, and ends at {usual.log_end:,}")
        return
    typer.echo(f"dispatched again from {usual.dispatch_from:,} to the log's end, {usual.log_end:,}")
    for lost in usual.lost[:_SHOWN]:
        hashes = ", ".join(map(str, lost.key_hashes))
        typer.echo(
            f"lost: keys of the record at physical offset {lost.phy_offset:,} of {lost.topic} (hashes {hashes})"
        )
    if len(usual.lost) > _SHOWN:
        typer.echo(f"lost: keys of {len(usual.lost) - _SHOWN:,} more records")
    typer.echo(
        f"with messageIndexSafe: dispatched again from {safe.dispatch_from:,}, keys of {len(safe.lost):,} records lost"
    )


def _line(value: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")
