"""The commands of cures. What the store held is kept in folders beside, never deleted or written over."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rocket_columnar.findings import Finding
from rocket_columnar.report.log_choices import LogChoices
from rocket_columnar.report.shell import CONF, REPLICA, Shell, chained


@dataclass(frozen=True, slots=True)
class Facts:
    """What cures depend on beside the findings.

    Attributes:
        has_index: whether the store has any index file.
        has_queues: whether it has any consume-queue file.
        has_checkpoint: whether it has a checkpoint.
        knows_geometry: whether a rebuild infers the geometry from the store's index files.
        end_files: names of the last log file with records, and of those after it.
        framed: whether the log is of DLedger mode.
        choices: predicts what a start does with damaged log files; None if that is not possible.
    """

    has_index: bool = True
    has_queues: bool = True
    has_checkpoint: bool = True
    knows_geometry: bool = True
    end_files: tuple[str, ...] = ()
    framed: bool = False
    choices: Callable[[Sequence[Finding]], LogChoices] | None = None


class Cures:
    """Commands for one store, each part of it at most once.

    Args:
        shell: builds them.
        facts: of the store.
        damaged_log: whether `rebuild` and `decode` will report findings on the log.
    """

    def __init__(self, shell: Shell, facts: Facts, *, damaged_log: bool) -> None:
        self._shell = shell
        self._facts = facts
        self._finds = damaged_log
        self._done: set[str] = set()

    def _first(self, *parts: str) -> bool:
        """Whether no cure has replaced any of these so far."""
        new = self._done.isdisjoint(parts)
        self._done.update(parts)
        return new

    def _rebuilt(self, folder: str, *options: str) -> str:
        return self._shell.verb("rebuild", "-o", folder, *options, finds=self._finds)

    def whole_log(self) -> tuple[str, ...]:
        """Copies a replica's commit log."""
        log = self._shell.file("commitlog")
        return chained(
            [
                self._shell.line("mkdir", "-p", log),
                self._shell.line("cp", "-R", f"{REPLICA}/commitlog/.", f"{log}/"),
            ]
        )

    def settings(self, found: Sequence[Finding]) -> tuple[str, ...]:
        """Corrects the broker's configuration."""
        return tuple(
            self._shell.setting(name, value) for finding in found for name, value in finding.settings
        )

    def aside(self, found: Sequence[Finding]) -> tuple[str, ...]:
        """Moves files out of the store, each under its own name."""
        names = list(dict.fromkeys(finding.file for finding in found))
        root = self._shell.folder("old")
        commands = []
        for name in names:
            folder = f"{root}/{name.rpartition('/')[0]}"
            commands += [
                self._shell.line("mkdir", "-p", folder),
                self._shell.line("mv", self._shell.file(name), f"{folder}/"),
            ]
        return chained(dict.fromkeys(commands))

    @property
    def knows_log_end(self) -> bool:
        """Whether queues or the checkpoint would show that the log lacks its end."""
        return self._facts.has_queues or self._facts.has_checkpoint

    def is_after_end(self, file: str) -> bool:
        """Whether a log file begins after the last record, outside of DLedger mode."""
        return file in self._facts.end_files[1:] and not self._facts.framed

    def named_back(self, files: Mapping[str, str]) -> tuple[str, ...]:
        """Gives log files the names that the values are, and unpacks them."""
        return chained(
            self._shell.line("gunzip", self._shell.file(file))
            if file.endswith(".gz")
            else self._shell.line("mv", self._shell.file(file), self._shell.file(name))
            for file, name in files.items()
        )

    def log_files(self, found: Sequence[Finding]) -> tuple[str, ...]:
        """Copies the damaged and missing files of the log; the members of a DLedger group have folders of other names."""
        if self._facts.framed:
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

    def _missing(self) -> tuple[str, ...]:
        """Copies the log files that a replica has and the store lacks."""
        return (f"cp -n {REPLICA}/commitlog/* {self._shell.line(self._shell.file('commitlog'))}/",)

    def log_end(self) -> tuple[str, ...]:
        """Copies the last files of a replica's log."""
        if self._facts.framed:
            return ()
        files = [self._shell.file(name) for name in self._facts.end_files]
        kept = self._shell.folder("short")
        moved = [self._shell.line("mkdir", kept), self._shell.line("mv", *files, f"{kept}/")] if files else []
        there = [f"test -d {REPLICA}/commitlog"] if files else []
        return chained([*there, *moved, *self._missing()])

    def damaged_log(self, found: Sequence[Finding]) -> tuple[str, tuple[str, ...]]:
        """What to do about a damaged log without a replica, and the commands for it."""
        if self._facts.choices is None:
            return "", ()
        choices = self._facts.choices(found)
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
        if commands and choices.only_last:
            commands += self._replaced()
        return f"without a replica: {choices.advice}", chained(commands)

    def accepted_loss(self) -> tuple[str, ...]:
        """Replaces everything that follows from the log."""
        return chained(self._replaced())

    def _replaced(self) -> list[str]:
        if not self._first("index", "consumequeue"):
            return []
        shell = self._shell
        new, old = shell.folder("rebuilt"), shell.folder("old")
        there = {
            "index": self._facts.has_index,
            "consumequeue": self._facts.has_queues,
            "checkpoint": self._facts.has_checkpoint,
        }
        places = [shell.file(name) for name, held in there.items() if held]
        return [
            self._rebuilt(new),
            shell.line("mkdir", old),
            *([shell.line("mv", *places, f"{old}/")] if places else []),
            shell.line("cp", "-R", f"{new}/index", f"{new}/consumequeue", f"{shell.store}/"),
        ]

    def _with_conf(self) -> tuple[str, ...]:
        """The option that names the broker's configuration, if it is not among those of every command."""
        return () if "--broker-conf" in self._shell.options else ("--broker-conf", CONF)

    def new_files(self, part: str) -> tuple[str, ...]:
        """Puts a part of the store in place that is gone."""
        if not self._first(part):
            return ()
        new, place = self._shell.folder(f"rebuilt-{part}"), self._shell.file(part)
        return chained(
            [
                self._rebuilt(new, *self._with_conf()),
                self._shell.line("mkdir", "-p", place),
                self._shell.line("cp", "-R", f"{new}/{part}/.", f"{place}/"),
            ]
        )

    def index(self) -> tuple[str, ...]:
        """Replaces the index files."""
        if not self._first("index"):
            return ()
        new, place = self._shell.folder("rebuilt-index"), self._shell.file("index")
        return chained(
            [
                self._rebuilt(new, *(() if self._facts.knows_geometry else self._with_conf())),
                self._shell.line("mv", place, self._shell.folder("old-index")),
                self._shell.line("cp", "-R", f"{new}/index", place),
            ]
        )

    def queues(self, found: Sequence[Finding]) -> tuple[str, ...]:
        """Replaces the queue files that differ from the log."""
        if not self._first("consumequeue"):
            return ()
        shell = self._shell
        new, old = shell.folder("rebuilt-queues"), shell.folder("old-queues")
        place = shell.file("consumequeue")
        misplaced = sorted({finding.file for finding in found if _is_misplaced(finding)})
        return chained(
            [
                shell.line("mkdir", old),
                shell.line("cp", "-R", place, f"{old}/"),
                *(shell.line("rm", shell.file(file)) for file in misplaced),
                self._rebuilt(new, "--only-missing"),
                shell.line("cp", "-R", f"{new}/consumequeue/.", f"{place}/"),
            ]
        )

    def alone(self, group: Sequence[Finding]) -> tuple[str, ...]:
        """The cure of findings of one code."""
        first = group[0]
        if first.code == "store.abort":
            return (self._shell.verb("audit", "--restart"),)
        if first.severity == "note":
            return ()
        if first.remedy == "checkpoint" and self._first("checkpoint"):
            return (
                self._shell.line("mv", self._shell.file("checkpoint"), self._shell.folder("old-checkpoint")),
            )
        return self.aside(group) if first.remedy == "aside" else ()


def is_missing(finding: Finding) -> bool:
    """Whether a file of the log is missing, and not only some of its bytes."""
    return finding.code == "log.gap" and finding.offset is None


def _is_misplaced(finding: Finding) -> bool:
    """Whether a queue file holds another queue's units, or another file's, from its first on: none may be written in its place."""
    return finding.code in ("queue.order", "queue.wrong_target") and finding.offset == 0
