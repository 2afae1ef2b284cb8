"""The progress bar: work done, rate and time left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.filesize import decimal
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from rich.progress import Task

__all__ = ["make_bar"]


def make_bar(unit: str) -> Progress:
    """A bar on stderr that is erased at its end; `unit` as for `_terminal.progress`."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        _Amount(unit),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        console=Console(stderr=True),
        transient=True,
    )


class _Amount(ProgressColumn):
    """Done, all, and the rate; nothing while the amount is unknown."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text("")
        if not self._unit:
            return Text(f"{task.percentage:.0f} %")
        total, rate = self._number(task.total), task.finished_speed or task.speed
        speed = f", {self._number(rate)}/s" if rate else ""
        return Text(f"{self._number(task.completed)} of {total}{speed}")

    def _number(self, value: float) -> str:
        return decimal(int(value)) if self._unit == "bytes" else f"{value:,.0f}"
