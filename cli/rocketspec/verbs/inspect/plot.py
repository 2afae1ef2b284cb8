"""The picture of an index file: chain lengths, use of the slots, times of the entries."""

from __future__ import annotations

import os
from contextlib import chdir
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocket_spec.printable import printable

with chdir(Path(__file__).parent):  # from the working directory, which may be a store, it reads settings
    import matplotlib as mpl

import matplotlib.dates as mdates
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rocket_columnar.describe import Occupancy
    from rocket_columnar.store import StoreFile
    from rocket_spec.layout import Geometry


_INK: Final = "#22313f"
_FILL: Final = "#2f6f9f"
_MARK: Final = "#c8553d"
_GRID: Final = "#d9dee2"
_CALENDAR: Final = range(-62_000_000_000_000, 253_000_000_000_000)  # ms that matplotlib's dates can show
_BARS: Final = 60
_STYLE: Final = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _GRID,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "svg.hashsalt": "rocketspec",
    "svg.fonttype": "path",
}
_THOUSANDS: Final = FuncFormatter(lambda value, _: f"{value:,.0f}")


def draw(file: StoreFile, geometry: Geometry, filled: Occupancy, target: Path) -> None:
    """Writes the picture; the same file gives the same bytes."""
    with mpl.rc_context(_STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=(10, 6.2), layout="constrained")
        panels = figure.subplot_mosaic([["chains", "slots"], ["times", "times"]])
        figure.suptitle(
            f"{printable(file.name)}   {filled.entries:,} of {filled.capacity:,} entries   "
            f"{filled.used_slots:,} of {geometry.hash_slot_num:,} slots",
            x=0.01,
            ha="left",
            fontsize=11,
            parse_math=False,  # of a name with $
        )
        _draw_chains(panels["chains"], filled)
        _draw_slots(panels["slots"], geometry, filled)
        _draw_times(panels["times"], filled)
        metadata = {"Date": None} if target.suffix.lower() == ".svg" else None
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            figure.savefig(part, format=target.suffix[1:].lower(), dpi=150, metadata=metadata)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def _whole() -> MaxNLocator:
    """Ticks at whole numbers alone, even if there is room for one only."""
    return MaxNLocator(integer=True, min_n_ticks=1)


def _empty(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes)
    axes.set_xticks([])
    axes.set_yticks([])


def _draw_chains(axes: Axes, filled: Occupancy) -> None:
    axes.set_title("Chains by length")
    if not filled.chains:
        _empty(axes, "no entries")
        return
    longest = filled.chains[-1][0]
    width = -(-longest // _BARS)
    bars: dict[int, int] = {}
    for length, number in filled.chains:
        bars[(length - 1) // width] = bars.get((length - 1) // width, 0) + number
    places = [bar * width + (width + 1) / 2 for bar in bars]
    axes.bar(places, list(bars.values()), width=0.85 * width, color=_FILL)
    if max(bars.values()) > 100 * min(bars.values()):
        axes.set_yscale("log")
    else:
        axes.yaxis.set_major_locator(_whole())
    axes.yaxis.set_major_formatter(_THOUSANDS)
    axes.xaxis.set_major_locator(_whole())
    axes.grid(axis="y", color=_GRID)
    axes.set_xlabel("entries in the chain")
    axes.set_ylabel("chains")


def _draw_slots(axes: Axes, geometry: Geometry, filled: Occupancy) -> None:
    slots = geometry.hash_slot_num
    mean = filled.used_slots / slots
    axes.set_title(f"Use of the slots: {100 * mean:.3g} % of all")
    count = len(filled.slot_shares)
    edges = [slots * number // count for number in range(count + 1)]
    axes.stairs(filled.slot_shares, edges, fill=True, color=_FILL)
    axes.axhline(mean, color=_MARK, linewidth=1)
    axes.set_xlim(0, slots)
    axes.set_ylim(0, min(1.0, 1.25 * (max(filled.slot_shares, default=0) or 1)))
    axes.xaxis.set_major_formatter(_THOUSANDS)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(axis="y", color=_GRID)
    axes.xaxis.set_major_locator(_whole())
    axes.set_xlabel("slot")
    axes.set_ylabel("used")


def _draw_times(axes: Axes, filled: Occupancy) -> None:
    axes.set_title("Time at which the index places each entry")
    if not filled.times:
        _empty(axes, "no entries")
        return
    numbers, times = zip(*filled.times, strict=True)
    header = filled.header
    ends = (("begin", header.begin_timestamp), ("end", header.end_timestamp))
    dated = all(time in _CALENDAR for time in (*times, *(time for _, time in ends)))
    shown = [_date(time) if dated else time for time in times]
    axes.plot(numbers, shown, color=_FILL, linewidth=1.4, drawstyle="steps-post")  # type: ignore[arg-type]
    for name, time in ends:
        place = _date(time) if dated else time
        axes.axhline(place, color=_MARK, linewidth=0.9, linestyle="--")  # type: ignore[arg-type]
        axes.annotate(
            f"header {name}",
            (1 if name == "begin" else 0, place),
            xycoords=("axes fraction", "data"),
            xytext=(-3, 3) if name == "begin" else (3, -11),
            textcoords="offset points",
            ha="right" if name == "begin" else "left",
            color=_MARK,
            fontsize=8,
        )
    if dated:
        locator = mdates.AutoDateLocator(tz=UTC)  # type: ignore[no-untyped-call]
        axes.yaxis.set_major_locator(locator)
        formatter = mdates.ConciseDateFormatter(locator, tz=UTC)  # type: ignore[no-untyped-call]
        axes.yaxis.set_major_formatter(formatter)
    axes.xaxis.set_major_formatter(_THOUSANDS)
    axes.margins(x=0.01, y=0.12)
    axes.grid(color=_GRID)
    axes.xaxis.set_major_locator(_whole())
    axes.set_xlabel("entry")
    axes.set_ylabel("UTC" if dated else "ms since the epoch")


def _date(time: int) -> datetime:
    return datetime.fromtimestamp(time / 1000, UTC)
