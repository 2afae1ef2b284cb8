"""The commands of cures: `repair` for whatever a rebuild replaces, and steps of their own for the commit log.

A repair predicts a start before and after, and takes back what makes it worse. What a log held is kept in folders beside, never
deleted or written over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import RECORD
from rocket_spec.printable import counted, shell_word

from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding
from rocket_columnar.log import RequestScan, TopicNames, each_units
from rocket_columnar.report.configured import log_beside
from rocket_columnar.restart import predict
from rocket_columnar.store import StoreFile, of_usual_size, sized

# Commands for a shell: each is built here, from arguments that are quoted one by one. A folder that a command makes has the store's name
# and the time in its name, so that it meets no other store's files. Where commands follow one another, each but the last ends in `&&`:
# none runs after one that failed.


REPLICA: Final = "REPLICA"
"""Stands for a copy of the store, such as a slave's, in commands."""

CONF: Final = "BROKER.CONF"
"""Stands for the broker's configuration file in commands, if it is not known."""


RELEASE: Final = "RELEASE"
"""Stands for the release of a broker of 5.x in commands, if neither an option nor its files show it."""


def chained(commands: Iterable[str]) -> tuple[str, ...]:
    """Commands, each run only if the one before it succeeded."""
    every = [command.removesuffix(" &&") for command in commands]
    return (*(f"{command} &&" for command in every[:-1]), *every[-1:])


@dataclass(frozen=True, slots=True)
class Shell:
    """Commands for one store."""

    store: str  # the directory of the store, or its address
    options: tuple[str, ...] = ()  # those that `rebuild`, `decode` and `audit` need for this store
    conf: str | None = None  # the broker's configuration file; None if it is not known
    stamp: str = field(default="", compare=False)  # the end of the names of folders that commands make

    @classmethod
    def of(cls, store: Path | str, options: Sequence[str] = (), conf: Path | str | None = None) -> Shell:
        """The commands for a store on this machine, which work in any directory."""
        whole = os.path.abspath(store)
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", Path(whole).name)
        stamp = f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        return cls(whole, tuple(options), None if conf is None else os.path.abspath(conf), stamp)

    def file(self, name: str) -> str:
        """A file of the store, or one of its log elsewhere."""
        return name if name.startswith("/") else f"{self.store}/{name}"

    def folder(self, what: str) -> str:
        """A folder that a command makes."""
        return f"{what}-{self.stamp}" if self.stamp else what

    @staticmethod
    def line(*arguments: str) -> str:
        """A command with these arguments, whatever characters they contain."""
        return " ".join(map(shell_word, arguments))

    def verb(self, name: str, *arguments: str, finds: bool = False) -> str:
        """A verb on the store; with `finds` its exit code 1, for findings, counts as success."""
        line = self.line("rocketspec", name, self.store, *self.options, *arguments)
        return f"{{ {line}; test $? -le 1; }}" if finds else line

    def setting(self, name: str, value: int | str) -> str:
        """Appends a setting to the broker's configuration."""
        return f"{self.line('echo', f'{name}={value}')} >> {shell_word(self.conf or CONF)}"


# Predicts a start with damaged log files left as they are, filled with zeros to their usual length, or moved away. Each choice is predicted
# on a plan of the files as they would be then; nothing is written. The best one leaves the most messages in the log; of equal ones the
# one that changes less.


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to treat the damaged files, and the messages that a start then keeps."""

    # files that get their usual length, with it; bytes that are added are zeros
    resized: tuple[tuple[str, int], ...]
    moved: tuple[str, ...]
    kept: int  # messages that the log still holds after the start; 0 if it is refused
    refused: str | None  # why no broker would start, or None
    walk_from: int  # physical offset from which the start reads the log
    log_end: int  # physical offset at which the log ends after it


@dataclass(frozen=True, slots=True)
class LogChoices:
    """All choices for the damaged files of one store."""

    as_it_is: Choice  # nothing is done
    best: Choice  # the choice after which a start keeps the most messages
    damaged: bool  # whether any of the files is damaged, and not only missing
    read: bool  # whether a start reads any of the damaged files as they are
    only_end: bool  # whether nothing but the log's end is damaged, missing or moved away

    @classmethod
    def of(cls, store: Store, found: Sequence[Finding]) -> LogChoices:
        """Predicts a start for each choice that the findings on a store's log leave."""
        names = {file.name for file in store.logs}
        damaged = sorted({finding.file for finding in found} & names)
        lengths = {
            finding.file: finding.length
            for finding in found
            if finding.length is not None and finding.file in names
        }
        others = [name for name in damaged if name not in lengths]
        count = cache(
            lambda name, end: messages_in(next(file for file in store.logs if file.name == name), 0, end)
        )
        before, after = _around_gap(store)
        usual = tuple(lengths.items())
        asked: Sequence[tuple[tuple[tuple[str, int], ...], tuple[str, ...]]] = (
            ((), ()),
            (usual, ()),
            ((), tuple(lengths)),
            (usual, tuple(others)),
            ((), tuple(damaged)),
            ((), after),
            ((), before),
        )
        different = dict.fromkeys(asked)
        choices = [_predicted(store, dict(resized), moved, count) for resized, moved in different]
        foreign = any(
            finding.foreign for finding in found
        )  # of such a file consumers get nothing but wrong bytes
        last = {file.name for file in store.logs[-1:]}

        def gives_wrong_bytes(moved: Sequence[str]) -> bool:
            """Whether consumers get nothing but wrong bytes of files: they are not this store's, or hold no record."""
            return bool(moved) and (
                foreign or not (last & {*moved} or any(count(name, store.end) for name in moved))
            )

        best = max(choices, key=lambda choice: (choice.kept, gives_wrong_bytes(choice.moved)))
        ends = [end for file, end in zip(store.logs, store.log_ends, strict=True) if file.name in damaged]
        as_it_is = choices[0]
        read = any(end > as_it_is.walk_from for end in ends)
        only_end = {finding.file for finding in found} == last or bool(after and best.moved == after)
        return cls(as_it_is, best, bool(damaged), read, only_end)

    @property
    def advice(self) -> str:
        """The advice, in words, with the number of messages that the log holds after a start."""
        now, best = self.as_it_is, self.best
        skipped = "consumers and queries skip what is missing, which is lost for good"
        if best is not now:
            steps = ["decode what is left of the files"]
            steps += (
                [f"move away {', '.join(name.rpartition('/')[2] for name in best.moved)}"]
                if best.moved
                else []
            )
            steps += ["give those of another length their usual one"] if best.resized else []
            as_now = f"no start succeeds ({now.refused})" if now.refused else f"it holds {now.kept:,}"
            if best.kept == now.kept:
                as_now = "it holds as many, but gives consumers wrong bytes for what is lost"
            lost = (
                ""
                if not best.resized
                else ", of which a consumer loses those that follow a lost one in the same pull"
            )
            return f"{', '.join(steps)}: the log then holds {counted(best.kept, 'message')}{lost}; as they are {as_now}"
        if now.refused is not None:
            return f"nothing that is done to these files lets a broker start ({now.refused})"
        if not self.damaged:
            return f"leave the store as it is: a start keeps {counted(now.kept, 'message')}; {skipped}"
        if not self.read:
            return f"leave the files as they are: a start does not read them, and keeps {counted(now.kept, 'message')}; {skipped}"
        return (
            f"leave the files as they are, and decode what is left of them: a start ends the log at physical offset "
            f"{now.log_end:,} and keeps {counted(now.kept, 'message')}, and no more if they are moved away"
        )


def _around_gap(store: Store) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files before the first missing one, and those after it; none if none is missing."""
    gap = next((begin for end, begin in store.log_breaks if begin > end), store.begin)
    before = tuple(file.name for file in store.logs if file.base_offset < gap)
    return before, tuple(file.name for file in store.logs[len(before) :] if before)


def _predicted(
    store: Store, resized: Mapping[str, int], moved: Sequence[str], count: Callable[[str, int], int]
) -> Choice:
    logs = [
        file.resized(resized[file.name]) if file.name in resized else file
        for file in store.logs
        if file.name not in moved
    ]
    indexes = [file for file, _ in store.indexes]
    queues = of_usual_size(sized(store.queues))  # other files have a cure of their own, and so have strays
    files = [*indexes, *queues, *store.exts, *logs, *store.checkpoints]
    start = predict(Store.of_files(files, state=store.state, geometry=store.geometry))
    kept = 0
    if start.refused is None:
        kept = sum(count(file.name, start.log_end) for file in logs)
    return Choice(
        tuple(resized.items()), tuple(moved), kept, start.refused, start.walk_from, start.log_end
    )  # fmt: skip


def messages_in(file: StoreFile, begin: int, end: int, held: NDArray[np.int64] | None = None) -> int:
    """Number of records of a log file between two physical offsets that a consumer can get; with `held` only those at these offsets."""
    if max(begin, file.base_offset) >= end:
        return 0
    total = 0
    with file.open() as reader:
        scan = RequestScan(reader, file.base_offset, TopicNames())
        first = max(begin - file.base_offset, 0)
        for batch in scan.run(first, reader.size, exact=not first, on_gap=lambda _: None):
            counted = batch.queued & (batch.phy_offset < end)
            if held is not None:
                counted &= np.isin(batch.phy_offset, held)
            total += int(np.count_nonzero(counted))
    return total


def gone_with(store: Store, names: Collection[str], dispatched_from: int) -> dict[str, int]:
    """The messages that consumers do not get any more without some files, of each log and queue file.

    `dispatched_from` is the physical offset from which a start without them dispatches into the queues.
    """
    gone: dict[str, int] = {}
    for file in (file for file in store.listed if file.name in names):
        if file.kind == "log":
            gone[file.name] = messages_in(file, 0, store.end)
        elif file.kind == "queue":
            found = (units for _, units in each_units(file))
            gone[file.name] = sum(
                int(
                    np.count_nonzero(
                        (store.begin <= one["phy_offset"])
                        & (one["phy_offset"] < dispatched_from)
                        & (one["size"] > 0)
                    )
                )
                for one in found
            )
    return gone


# The commands of each cure.


REPAIRED: Final = ("index", "queues", "aside", "checkpoint", "topics", "offsets")
"""Remedies of findings that a repair cures."""


REPAIRED_LATER: Final = ("index", "queues")
"""Those of a store of 5.x: what a rebuild writes can be put in place."""


def has(store: Store | None, kind: str) -> bool:
    """Whether a store has a file of a kind; of one that is elsewhere (None) that is not known, and taken to be so."""
    return store is None or bool(store.of(kind))


class Cures:
    """Commands for one store, each part of it at most once; None for a store that is elsewhere, and for all remedies."""

    def __init__(self, shell: Shell, store: Store | None, remedies: Sequence[str] | None) -> None:
        self._shell = shell
        self._store = store
        self._remedies = remedies
        self._framed = store is not None and store.framed
        self._done = False

    def may_cure(self, found: Sequence[Finding]) -> bool:
        """Whether all of these findings have a remedy that is allowed, and none is on another store's file."""
        return self._remedies is None or all(
            one.remedy in self._remedies and not one.foreign for one in found
        )

    def repaired(self) -> tuple[str, ...]:
        """Has the store repaired, once for all causes."""
        first, self._done = not self._done, True
        return self.repair() if first else ()

    def repair(self) -> tuple[str, ...]:
        """Has the store repaired."""
        store = self._store
        sized = store is None or (
            store.indexes and not store.foreign_index and store.queues and store.geometry is not None
        )
        options: tuple[str, ...] = (
            () if sized or "--broker-conf" in self._shell.options else ("--broker-conf", CONF)
        )
        if store is not None and (store.release or (store.signs and not store.indexes)):
            options += (
                "--rocketmq-profile",
                store.release or RELEASE,
            )  # else the index files show what is indexed
        return chained(
            [*self._aside("index", "consumequeue", "config"), self._shell.verb("repair", *options, "--apply")]
        )

    def _aside(self, *folders: str) -> list[str]:
        """Moves files that are in the place of folders away; a link to nothing in that of the configuration, too."""
        path = None if self._store is None else self._store.path
        others = [name for name in folders if path and (path / name).is_file()]
        if path is not None and "config" in folders and not (path / "config").exists():
            others += ["config"] if (path / "config").is_symlink() else []
        return self._away("aside", others)

    def _away(self, what: str, names: Collection[str]) -> list[str]:
        """Moves files of the store into a new folder."""
        kept, files = self._shell.folder(what), map(self._shell.file, names)
        return [self._shell.line("mkdir", kept), self._shell.line("mv", *files, f"{kept}/")] if names else []

    def whole_log(self) -> tuple[str, ...]:
        """Moves the log that is beside the store into its place, or copies a replica's."""
        log = self._shell.file("commitlog")
        beside = () if self._store is None else self._store.once(log_beside)
        if beside:
            files = (os.path.abspath(file.path) for file in beside)
            made = [*self._aside("commitlog"), self._shell.line("mkdir", "-p", log)]
            return chained([*made, self._shell.line("mv", *files, f"{log}/")])
        return chained(
            [
                f"test -d {REPLICA}/commitlog",
                *self._aside("commitlog"),
                self._shell.line("mkdir", "-p", log),
                self._shell.line("cp", "-R", f"{REPLICA}/commitlog/.", f"{log}/"),
            ]
        )

    def settings(self, found: Sequence[Finding]) -> tuple[str, ...]:
        """Corrects the broker's configuration; a last line without an end gets one."""
        conf = None if self._store is None else self._store.conf
        open_end = conf is not None and conf.path.read_bytes()[-1:] not in (b"", b"\n")
        return (
            *((f"echo >> {shell_word(self._shell.conf or CONF)}",) if open_end else ()),
            *(self._shell.setting(name, value) for finding in found for name, value in finding.settings),
        )

    def named_back(self, files: Mapping[str, str]) -> tuple[str, ...]:
        """Gives log files the names that the values are, and unpacks them.

        One whose name is taken waits in a folder, and so does a folder of log files inside the folder whose name it gets.
        """
        kept = self._shell.folder("renamed")
        outer = [name for file, name in files.items() if file.startswith(f"{name}/")]
        waiting = {
            name: f"{kept}/{name.rpartition('/')[2]}"
            for name in files.values()
            if name in files or name in outer
        }
        commands = [self._shell.line("mkdir", kept)] if waiting else []
        for file, name in files.items():
            target = waiting.get(name, self._shell.file(name))
            if file.endswith(".gz"):
                commands.append(self._shell.line("gunzip", self._shell.file(file)))
            else:
                commands.append(self._shell.line("mv", self._shell.file(file), target))
        commands += [self._shell.line("rmdir", self._shell.file(name)) for name in outer]
        commands += [self._shell.line("mv", place, self._shell.file(name)) for name, place in waiting.items()]
        return chained(commands)

    def set_back(self, found: Sequence[Finding]) -> tuple[str, ...]:
        """Writes the position of each record into it, which findings name; copies of the files are kept."""
        files = list(dict.fromkeys(self._shell.file(finding.file) for finding in found))
        kept = self._shell.folder("damaged")
        commands = [self._shell.line("mkdir", kept), self._shell.line("cp", "-p", *files, f"{kept}/")]
        begins = {file.name: file.base_offset for file in (self._store.logs if self._store else ())}
        for file, place in ((one.file, one.offset or 0) for one in found):
            position = begins[file] + place - RECORD.offset_of("phy_offset")
            digits = "".join(f"\\{byte:03o}" for byte in position.to_bytes(8))
            written = self._shell.line("dd", f"of={self._shell.file(file)}", "bs=1", f"seek={place}")
            commands.append(f"printf '{digits}' | {written} conv=notrunc status=none")
        return chained(commands)

    def trimmed(self, found: Sequence[Finding]) -> tuple[str, ...]:
        """Gives files the lengths of the others; copies of them are kept."""
        kept = self._shell.folder("resized")
        files = {self._shell.file(finding.file): str(finding.length) for finding in found}
        cut = [self._shell.line("truncate", "-s", size, file) for file, size in files.items()]
        return chained(
            [self._shell.line("mkdir", kept), self._shell.line("cp", "-p", *files, f"{kept}/"), *cut]
        )

    def log_files(self, found: Sequence[Finding]) -> tuple[str, ...]:
        """Copies the damaged and missing files of the log; the members of a DLedger group have folders of other names."""
        if self._framed:
            return ()
        damaged = sorted({finding.file for finding in found if not is_missing(finding)})
        kept = self._shell.folder("damaged")
        commands = [self._shell.line("test", "-f", f"{REPLICA}/{file}") for file in damaged]
        commands += [self._shell.line("mkdir", kept)] if damaged else []
        for file in damaged:
            commands += [
                self._shell.line("mv", self._shell.file(file), f"{kept}/"),
                self._shell.line("cp", f"{REPLICA}/{file}", self._shell.file(file)),
            ]
        return chained([*commands, *(self._missing() if any(map(is_missing, found)) else ())])

    def config_files(self, found: Sequence[Finding]) -> tuple[str, ...]:
        """Copies files of `config/`."""
        files = list(dict.fromkeys(finding.file.removesuffix(".bak") for finding in found))
        commands = [self._shell.line("test", "-f", f"{REPLICA}/{file}") for file in files]
        commands += self._config_away(found)
        commands += [self._shell.line("cp", f"{REPLICA}/{file}", self._shell.file(file)) for file in files]
        return chained(commands)

    def without_config(self, found: Sequence[Finding]) -> tuple[str, tuple[str, ...]]:
        """The advice for files of `config/` that keep a broker from starting, without a replica, and its commands."""
        moved = self._config_away(found)
        text = "without either: move them away; a start then has the default, and a repair lists the topics of the queues"
        return (text, chained([*moved, *self.repair()])) if moved else ("", ())

    def second(self, found: Sequence[Finding]) -> tuple[str, ...]:
        """Moves one of two files of a name away."""
        return chained(self._away("second", [finding.file for finding in found]))

    def without_links(self, found: Sequence[Finding]) -> tuple[str, tuple[str, ...]]:
        """The advice for links to what is gone, and its commands."""
        kept = self._shell.folder("links")
        links = [self._shell.file(finding.file) for finding in found]
        moved = [self._shell.line("mkdir", kept)]
        moved += (
            self._shell.line("mv", link, f"{kept}/{number}") for number, link in enumerate(links, 1)
        )  # which may have one name
        text = "if that is gone for good: move the links away, and "
        if all(one.part in ("queue", "index") for one in found):
            return f"{text}have the files rebuilt", chained([*moved, *self.repair()])
        return f"{text}audit the store again", chained([*moved, self._shell.verb("audit", finds=True)])

    def _config_away(self, found: Sequence[Finding]) -> list[str]:
        """Moves the files that are there to a folder, with their copies."""
        if self._store is None or self._store.path is None:
            return []
        names = {f"{one.file.removesuffix('.bak')}{end}" for one in found for end in ("", ".bak")}
        return self._away("damaged", [name for name in sorted(names) if (self._store.path / name).exists()])

    def _missing(self) -> tuple[str, ...]:
        """Copies the log files that a replica has and the store lacks."""
        return (f"cp -n {REPLICA}/commitlog/* {self._shell.line(self._shell.file('commitlog'))}/",)

    def log_end(self) -> tuple[str, ...]:
        """Copies the last files of a log beside it, or else of a replica's."""
        if self._framed:
            return ()
        names = [] if self._store is None else end_files(self._store)
        beside = () if self._store is None else self._store.once(log_beside)
        moved = self._away("short", names)
        if beside:
            folder = self._shell.file(names[0].rpartition("/")[0])
            copied = self._shell.line("cp", *(os.path.abspath(file.path) for file in beside), f"{folder}/")
            return chained([*moved, copied])
        there = [self._shell.line("test", "-f", f"{REPLICA}/{name}") for name in names[:1]]
        return chained([*there, *moved, *self._missing()])

    def damaged_log(self, found: Sequence[Finding]) -> tuple[str, tuple[str, ...]]:
        """The advice for a damaged log without a replica, and its commands."""
        if self._store is None:
            return "", ()
        choices = LogChoices.of(self._store, found)
        best = choices.best
        commands = []
        if best.resized or best.moved:
            left = self._shell.folder("left")
            commands.append(
                self._shell.verb(
                    "decode", "-o", left, "--table", "commit_log", "--format", "parquet", finds=True
                )
            )
        if best.moved:
            kept = self._shell.folder("damaged")
            commands.append(self._shell.line("mkdir", kept))
            commands += [
                self._shell.line("mv", self._shell.file(file), f"{kept}/") for file in sorted(best.moved)
            ]
        commands += [
            self._shell.line("truncate", "-s", str(size), self._shell.file(file))
            for file, size in best.resized
        ]
        if commands and choices.only_end:
            commands += self.repair()
        return f"without a replica: {choices.advice}", chained(commands)

    def alone(self, group: Sequence[Finding]) -> tuple[str, ...]:
        """The cure of findings of one code."""
        first = group[0]
        if first.code == "store.abort":
            return (self._shell.verb("audit", "--restart"),)
        if first.settings:
            return self.settings(group)
        if first.remedy == "config":
            return self.config_files(group)
        return self.repaired() if first.severity != "note" and first.remedy in REPAIRED else ()


def end_files(store: Store) -> list[str]:
    """Names of the last log file with records, and of those after it."""
    full = sum(file.base_offset < store.end for file in store.logs[1:])
    return [file.name for file in store.logs[full:]]


def is_missing(finding: Finding) -> bool:
    """Whether a file of the log is missing, and not only some of its bytes."""
    return finding.code == "log.gap" and finding.offset is None
