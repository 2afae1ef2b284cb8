"""The commands of cures: `repair` for whatever a rebuild replaces, and steps of their own for the commit log.

A repair predicts a start before and after, and takes back what makes it worse. What a log held is kept in folders beside, never
deleted or written over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding
from rocket_columnar.report.log_choices import LogChoices
from rocket_columnar.report.shell import CONF, RELEASE, REPLICA, Shell, chained

REPAIRED: Final = ("index", "queues", "aside", "checkpoint", "topics", "offsets")
"""Remedies of findings that a repair cures."""


REPAIRED_LATER: Final = ("index", "queues")
"""Those of a store of 5.x: what a rebuild writes can be put in place."""


def has(store: Store | None, kind: str) -> bool:
    """Whether a store has a file of a kind; of one that is elsewhere (None) that is not known, and taken to be so."""
    return store is None or bool(store.of(kind))


class Cures:
    """Commands for one store, each part of it at most once.

    Args:
        shell: builds them.
        store: the store; None if it is elsewhere, and only the findings are known.
        remedies: those that are allowed; None for all.
    """

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
        return (self._shell.verb("repair", *options, "--apply"),)

    def whole_log(self) -> tuple[str, ...]:
        """Copies a replica's commit log."""
        log = self._shell.file("commitlog")
        return chained(
            [
                f"test -d {REPLICA}/commitlog",
                self._shell.line("mkdir", "-p", log),
                self._shell.line("cp", "-R", f"{REPLICA}/commitlog/.", f"{log}/"),
            ]
        )

    def settings(self, found: Sequence[Finding]) -> tuple[str, ...]:
        """Corrects the broker's configuration."""
        return tuple(
            self._shell.setting(name, value) for finding in found for name, value in finding.settings
        )

    def named_back(self, files: Mapping[str, str]) -> tuple[str, ...]:
        """Gives log files the names that the values are, and unpacks them; one whose name is taken waits in a folder."""
        kept = self._shell.folder("renamed")
        waiting = {name: f"{kept}/{name.rpartition('/')[2]}" for name in files.values() if name in files}
        commands = [self._shell.line("mkdir", kept)] if waiting else []
        for file, name in files.items():
            target = waiting.get(name, self._shell.file(name))
            if file.endswith(".gz"):
                commands.append(self._shell.line("gunzip", self._shell.file(file)))
            else:
                commands.append(self._shell.line("mv", self._shell.file(file), target))
        commands += [self._shell.line("mv", place, self._shell.file(name)) for name, place in waiting.items()]
        return chained(commands)

    def trimmed(self, files: Mapping[str, int]) -> tuple[str, ...]:
        """Cuts files to the lengths that the values are; copies of them are kept."""
        kept = self._shell.folder("longer")
        names = [self._shell.file(name) for name in files]
        cut = [
            self._shell.line("truncate", "-s", str(size), self._shell.file(name))
            for name, size in files.items()
        ]
        return chained(
            [self._shell.line("mkdir", kept), self._shell.line("cp", "-p", *names, f"{kept}/"), *cut]
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

    def _config_away(self, found: Sequence[Finding]) -> list[str]:
        """Moves the files that are there to a folder, with their copies."""
        if self._store is None or self._store.path is None:
            return []
        names = {f"{one.file.removesuffix('.bak')}{end}" for one in found for end in ("", ".bak")}
        there = [self._shell.file(name) for name in sorted(names) if (self._store.path / name).exists()]
        kept = self._shell.folder("damaged")
        return [self._shell.line("mkdir", kept), self._shell.line("mv", *there, f"{kept}/")] if there else []

    def _missing(self) -> tuple[str, ...]:
        """Copies the log files that a replica has and the store lacks."""
        return (f"cp -n {REPLICA}/commitlog/* {self._shell.line(self._shell.file('commitlog'))}/",)

    def log_end(self) -> tuple[str, ...]:
        """Copies the last files of a replica's log."""
        if self._framed:
            return ()
        names = [] if self._store is None else _end_files(self._store)
        files = [self._shell.file(name) for name in names]
        kept = self._shell.folder("short")
        moved = [self._shell.line("mkdir", kept), self._shell.line("mv", *files, f"{kept}/")] if files else []
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


def _end_files(store: Store) -> list[str]:
    """Names of the last log file with records, and of those after it."""
    full = sum(file.base_offset < store.end for file in store.logs[1:])
    return [file.name for file in store.logs[full:]]


def is_missing(finding: Finding) -> bool:
    """Whether a file of the log is missing, and not only some of its bytes."""
    return finding.code == "log.gap" and finding.offset is None
