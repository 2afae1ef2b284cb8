"""Options of a decode job: the layout of its output."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypedDict

from rocket_spec.errors import UsageError

PARTITIONS: Final = ("store", "topic", "date")
"""The values of `partition_by`: the store, a column `topic`, and the day (UTC) of a column `store_timestamp`."""


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """The layout of a decode job's output.

    Attributes:
        fail_fast: fails the job at the first store that cannot be decoded, instead of listing it.
        utc: writes times as timestamp[ms, UTC] instead of int64; those beyond the years 1 to 9999 become null.
        key_list: adds a column `key_list` to `commit_log`: the keys as a list.
        partition_by: names of `PARTITIONS`; each becomes a folder `NAME=VALUE` in the tables that have it.
    """

    fail_fast: bool = False
    utc: bool = False
    key_list: bool = False
    partition_by: tuple[str, ...] = ()


class DecodeArguments(TypedDict, total=False):
    """Arguments of a decode besides stores, output and tables.

    Attributes:
        overwrite: replaces what an earlier job wrote to `out`, once everything is written.
        storage: options of S3 and HDFS; see `rocket_spark.files.storage_for`.
        options: how the output is laid out.
        on_skip: is called with the name of each file that is skipped, and the reason.
    """

    overwrite: bool
    storage: Mapping[str, str] | None
    options: DecodeOptions
    on_skip: Callable[[str, str], None]


def check_options(options: DecodeOptions) -> None:
    """Raises UsageError for an unknown partition."""
    for name in options.partition_by:
        if name not in PARTITIONS:
            raise UsageError(f"partition by {name}: unknown; expected {', '.join(PARTITIONS)}")
