"""How a decode job treats its output, beside what it reads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypedDict

from rocket_spec.errors import UsageError

PARTITIONS: Final = ("topic", "date")
"""What `partition_by` takes: a column `topic`, and the day (UTC) of a column `store_timestamp`."""


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """How a decode job treats its output.

    Attributes:
        resume: keeps the work of tasks that finished when the job fails, and uses what a killed or failed run kept.
        append: adds what came since an earlier run with `append` to the same output, and nothing twice.
        drop_expired: with `append`, removes rows of files that the broker has deleted since, part by part.
        fail_fast: fails the job at the first store that cannot be decoded, instead of listing it.
        utc: writes times as timestamp[ms, UTC] instead of int64; those beyond the years 1 to 9999 become null.
        key_list: adds a column `key_list` to `commit_log`: the keys as a list.
        partition_by: names of `PARTITIONS`; each becomes a folder `NAME=VALUE` in the tables that have it.
    """

    resume: bool = False
    append: bool = False
    drop_expired: bool = False
    fail_fast: bool = False
    utc: bool = False
    key_list: bool = False
    partition_by: tuple[str, ...] = ()


class DecodeArguments(TypedDict, total=False):
    """What a decode takes beside stores, output and tables.

    Attributes:
        overwrite: replaces what an earlier job wrote to `out`, once everything is written.
        storage: options of S3 and HDFS; see `rocket_spark.files.storage_for`.
        options: how the output is treated.
        on_skip: is called with the name of each file that is skipped, and the reason.
    """

    overwrite: bool
    storage: Mapping[str, str] | None
    options: DecodeOptions
    on_skip: Callable[[str, str], None]


def check_options(options: DecodeOptions, *, overwrite: bool) -> None:
    """Raises UsageError for options that contradict each other or have unknown values."""
    for name in options.partition_by:
        if name not in PARTITIONS:
            raise UsageError(f"partition by {name}: unknown; expected {', '.join(PARTITIONS)}")
    if overwrite and options.append:
        raise UsageError("append and overwrite are mutually exclusive")
    if options.drop_expired and not options.append:
        raise UsageError("drop-expired needs append")
