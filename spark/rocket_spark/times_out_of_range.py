"""How many times a read with `option("timestamps", "utc")` left null."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocket_columnar.arrow import is_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["count_times_out_of_range"]


def count_times_out_of_range(frame: DataFrame) -> dict[str, int]:
    """For each column of times the number of its values outside the years 1 to 9999, which are null; one action.

    In mode PERMISSIVE the rows that report a problem have no times either, and are counted.

    Args:
        frame: what a source gave with the option `timestamps` set to `utc`.
    """
    from pyspark.sql import functions

    names = [name for name in frame.columns if is_time(name)]
    if not names:
        return {}
    counts = [functions.count_if(functions.col(name).isNull()).alias(name) for name in names]
    (row,) = frame.agg(*counts).collect()
    return {name: int(row[name]) for name in names}
