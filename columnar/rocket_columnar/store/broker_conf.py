"""The configuration file of a 4.9.3 broker, as far as it decides what the store's files look like."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.layout import DEFAULT_GEOMETRY, Geometry

from rocket_columnar.formats import DELAYS
from rocket_columnar.store.reader import open_reader

_LOG_FILE_SIZE: Final = 1 << 30
_QUEUE_FILE_SIZE: Final = 6_000_000
_UNIT: Final = 20  # bytes of a consume-queue unit
RESERVED_HOURS: Final = 72
DELETE_WHEN: Final = "04"
_LONGEST: Final = 1 << 20
_PATHS: Final = ("storePathRootDir", "storePathCommitLog", "readOnlyCommitLogStorePaths")
_DELAY_UNITS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class BrokerConf:
    """The settings of the file, with 4.9.3's defaults for all others.

    Attributes:
        path: the file.
        geometry: `maxHashSlotNum` and `maxIndexNum`.
        log_file_size: `mappedFileSizeCommitLog`, bytes.
        queue_file_size: `mappedFileSizeConsumeQueue`, bytes, rounded up to whole units.
        store: `storePathRootDir`, or None if the file does not set it.
        commit_logs: the directories of `storePathCommitLog`, and if there are several, of `readOnlyCommitLogStorePaths`;
            blanks beside a comma belong to a name (STORE-17).
        index_safe: `messageIndexSafe`.
        index_enabled: `messageIndexEnable`.
        dledger: `enableDLegerCommitLog`.
        light_queues: `enableLmq`, which gives light queues the number 0.
        multi_dispatch: `enableMultiDispatch`.
        reserved_hours: `fileReservedTime`.
        delete_when: `deleteWhen`, hours of the broker's local time.
        delays: `messageDelayLevel`, ms of each level.

    Source: `MessageStoreConfig` 25-175; `ConsumeQueue.multiDispatchLmqQueue` 432-453 (4.9.3).
    """

    path: Path
    geometry: Geometry
    log_file_size: int
    queue_file_size: int
    store: str | None
    commit_logs: tuple[str, ...]
    index_safe: bool
    index_enabled: bool
    dledger: bool
    light_queues: bool
    multi_dispatch: bool
    reserved_hours: int
    delete_when: str
    delays: tuple[int, ...] = DELAYS


def read_broker_conf(path: Path) -> BrokerConf:
    """Reads a broker's configuration.

    Raises:
        UsageError: a number or a path that the broker would not take.
        MalformedError: longer than 1 MiB.
        OSError: the file cannot be read, or is not a regular one.
    """
    with open_reader(path) as reader:
        if reader.size > _LONGEST:
            expected = f"the configuration file of a broker of at most {_LONGEST:,} bytes"
            raise MalformedError(file=str(path), found=f"{reader.size:,} bytes", expected=expected)
        values = _properties(reader.read(0, reader.size).tobytes().decode("utf-8", "replace"))
    for name in _PATHS:
        if re.search("[\0\ud800-\udfff]", values.get(name, "")):  # a \u escape can be either
            raise UsageError(f"{path}: found {name}={values[name]!a}, expected a path")

    def number(name: str, default: int) -> int:
        text = values.get(name, str(default))
        if not re.fullmatch(r"[0-9]{1,10}", text) or not 0 < int(text) < 1 << 31:
            raise UsageError(f"{path}: found {name}={text}, expected a positive number of 32 bits")
        return int(text)

    def switch(name: str, *, default: bool = False) -> bool:
        return values.get(name, str(default)).lower() == "true"

    return BrokerConf(
        path=path,
        geometry=Geometry(
            number("maxHashSlotNum", DEFAULT_GEOMETRY.hash_slot_num),
            number("maxIndexNum", DEFAULT_GEOMETRY.index_num),
        ),
        log_file_size=number("mappedFileSizeCommitLog", _LOG_FILE_SIZE),
        queue_file_size=-(-number("mappedFileSizeConsumeQueue", _QUEUE_FILE_SIZE) // _UNIT) * _UNIT,
        store=values.get("storePathRootDir"),
        commit_logs=_commit_logs(values),
        index_safe=switch("messageIndexSafe"),
        index_enabled=switch("messageIndexEnable", default=True),
        dledger=switch("enableDLegerCommitLog"),
        light_queues=switch("enableLmq"),
        multi_dispatch=switch("enableMultiDispatch"),
        reserved_hours=number("fileReservedTime", RESERVED_HOURS),
        delete_when=values.get("deleteWhen", DELETE_WHEN),
        delays=_delays(path, values["messageDelayLevel"]) if "messageDelayLevel" in values else DELAYS,
    )


def _delays(path: Path, text: str) -> tuple[int, ...]:
    """The delays of all levels, ms (`ScheduleMessageService.parseDelayLevel` 248-276)."""
    levels = text.strip().split(" ")
    if not all(re.fullmatch("[0-9]{1,9}[smhd]", level) for level in levels):
        raise UsageError(f"{path}: found messageDelayLevel={text}, expected delays such as 1s 5m 2h")
    return tuple(int(level[:-1]) * _DELAY_UNITS[level[-1]] for level in levels)


def logs_of(conf: BrokerConf, store: Path) -> list[Path]:
    """The configured directories of the log; those in the configured store are in `store`, wherever that is."""
    folders = [Path(text) for text in conf.commit_logs]
    root = conf.store
    return [
        store / folder.relative_to(root) if root is not None and folder.is_relative_to(root) else folder
        for folder in folders
    ]


def same_place(one: Path, other: Path) -> bool:
    """Whether two paths lead to one directory."""
    return os.path.realpath(one) == os.path.realpath(other)


def _commit_logs(values: Mapping[str, str]) -> tuple[str, ...]:
    """STORE-17. An empty part is left out: nothing is loaded from it."""
    own, read_only = (values.get(name, "").split(",") for name in _PATHS[1:])
    return tuple(dict.fromkeys(part for part in own + (read_only if len(own) > 1 else []) if part))


def _properties(text: str) -> dict[str, str]:
    """The pairs of a Java properties file."""
    pairs: dict[str, str] = {}
    for line in re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*", r"\1", text).splitlines():
        stripped = line.lstrip(" \t\f")
        if not stripped or stripped[0] in "#!":
            continue
        found = re.fullmatch(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", stripped, re.DOTALL)
        if found is not None:
            pairs[_plain(found[1])] = _plain(found[2]).strip()
    return pairs


def _plain(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        escape = found[1]
        return chr(int(escape[1:], 16)) if len(escape) > 1 else _ESCAPES.get(escape, escape)

    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", character, text)
