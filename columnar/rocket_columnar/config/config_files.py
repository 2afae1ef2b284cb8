"""The files of `config/`, and which of two a start of the broker takes (CFG-1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rocket_spec.errors import FormatError, MalformedError

from rocket_columnar.config.config_rows import Row, rows_of
from rocket_columnar.config.lenient_json import parse
from rocket_columnar.store import CONFIG_TABLES, Reader, open_reader

_LIGHT_OFFSETS: Final = "lmqConsumerOffset.json"

_MOST: Final = 64 << 20
"""Maximum size of a file that is read: a byte may take 60 in memory, and a broker with 100,000 groups writes about 30 MB."""


def table_rows(table: str, reader: Reader) -> list[Row]:
    """The rows of a table that an open file holds, without `file`.

    Raises:
        MalformedError: the text is cut off, or is none that 4.9.3 loads (CFG-2, CFG-3).
    """
    if reader.size > _MOST:
        raise MalformedError(file=reader.name, found=f"{reader.size:,} bytes", expected=f"at most {_MOST:,}")
    if not reader.size:
        raise MalformedError(file=reader.name, found="an empty file", expected="JSON", clause="CFG-1")
    return rows_of(table, parse(reader.read(0, reader.size).tobytes(), reader.name), reader.name)


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One of the two files of a name: `X.json`, or `X.json.bak`, which holds what it held before.

    Attributes:
        path: where it is.
        rows: of its table; None if it is missing, empty or cannot be loaded.
        problem: why it cannot be loaded; None if it can, or is missing.
        modified: time of its last change in seconds since 1970; None if it is missing.
    """

    path: Path
    rows: Sequence[Row] | None
    problem: FormatError | OSError | None
    modified: float | None

    @property
    def passed_over(self) -> bool:
        """Whether a start passes over it without an error: it is missing, or holds no byte (CFG-1)."""
        return self.rows is None and self.problem is None

    @property
    def is_empty(self) -> bool:
        """Whether it is there and holds no byte."""
        return self.passed_over and self.modified is not None


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The two files of one name, of which a start of 4.9.3 loads one (CFG-1).

    Attributes:
        table: name of the table.
        main: the file itself.
        backup: the `.bak` beside it.
    """

    table: str
    main: ConfigFile
    backup: ConfigFile

    @property
    def taken(self) -> ConfigFile | None:
        """The file that a start takes; None if it starts without any rows, or does not start."""
        return next((file for file in (self.main, self.backup) if file.rows is not None), None)

    @property
    def starts(self) -> bool:
        """Whether the broker starts: not if the `.bak` is needed and cannot be loaded."""
        return self.taken is not None or self.backup.passed_over

    @property
    def rows(self) -> Sequence[Row]:
        """The rows that the broker has after a start."""
        return () if self.taken is None else self.taken.rows or ()


def _read(table: str, path: Path) -> ConfigFile:
    try:
        with open_reader(path) as reader:
            modified = path.stat().st_mtime
            if not reader.size:
                return ConfigFile(path, None, None, modified)
            return ConfigFile(path, table_rows(table, reader), None, modified)
    except FileNotFoundError:
        return ConfigFile(path, None, None, None)
    except FormatError as error:
        return ConfigFile(path, None, error, path.stat().st_mtime)
    except OSError as error:
        return ConfigFile(path, None, error, 0.0)


def load_config(store: Path, table: str, *, light: bool | None = None) -> LoadedConfig:
    """Both files of a table, read as a start reads them.

    A broker with light queues (`enableLmq`) keeps all consumer offsets in a file of its own (`LmqConsumerOffsetManager` 29-107);
    where it is not known whether it has them, it is taken for one if that file was written last.
    """
    name = next(file for file, of in CONFIG_TABLES.items() if of == table)
    main = store / "config" / name
    other = main.with_name(_LIGHT_OFFSETS)
    if table == "consumer_offsets" and (_is_later(other, main) if light is None else light):
        main = other
    return LoadedConfig(table, _read(table, main), _read(table, main.with_name(f"{main.name}.bak")))


def _is_later(one: Path, other: Path) -> bool:
    """Whether a file is there, and was written after another one that may be missing."""
    times = [path.stat().st_mtime_ns if path.exists() else 0 for path in (one, other)]
    return times[0] > times[1]
