"""The progress bar: work done, rate and time left."""

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)


def make_bar(unit: str) -> Progress:
    """A bar on stderr that is erased at its end; `unit` as for `_terminal.progress`."""
    amount: list[ProgressColumn] = [MofNCompleteColumn()] if unit else [TaskProgressColumn()]
    if unit == "bytes":
        amount = [DownloadColumn(), TransferSpeedColumn()]
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        *amount,
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        console=Console(stderr=True),
        transient=True,
    )
