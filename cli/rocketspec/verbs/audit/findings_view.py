"""How findings are shown: as JSON lines, or as text by cause, with each cure once."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import typer
from rocket_spec.printable import shell_word

from rocketspec._options import counted, write_json
from rocketspec._terminal import fitted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocket_columnar.audit import Cause
    from rocket_columnar.findings import Finding

    from rocketspec._settings import Settings

__all__ = ["Places", "print_causes", "summary"]

_STYLES: Final = {"error": "red", "warning": "yellow", "note": "blue"}
_HANG: Final = 8
_COMMAND: Final = " " * 10


@dataclass(frozen=True, slots=True)
class Places:
    """What the names in a cure's commands stand for.

    Attributes:
        store: STORE.
        options: options that a rebuild of this store needs too, for a shell; empty or with a leading space.
        conf: BROKER.CONF; None leaves that name.
    """

    store: str
    options: str = ""
    conf: str | None = None

    @classmethod
    def of(cls, settings: Settings) -> Places:
        """Those of an audit with these settings."""
        options = "".join(f" {shell_word(option)}" for option in settings.options)
        return cls(str(settings.store), options, None if settings.conf is None else str(settings.conf.path))

    def fill(self, text: str) -> str:
        """A command, or text with commands, with these names."""
        if self.conf is not None:  # which is among the options
            text = text.replace(" --broker-conf BROKER.CONF", "")
            text = text.replace("BROKER.CONF", shell_word(self.conf))
        for verb in ("rebuild", "decode", "audit"):
            text = text.replace(f"rocketspec {verb} STORE", f"rocketspec {verb} STORE{self.options}")
        return text.replace("STORE", shell_word(self.store))


def summary(counts: Counter[str]) -> str:
    """Numbers of findings by severity, in words."""
    return ", ".join(counted(counts[name], name) for name in _STYLES if counts[name]) or "no findings"


def print_causes(
    causes: Sequence[Cause], places: Places, *, as_json: bool, most: int | None = None, **extra: str
) -> Counter[str]:
    """Prints findings by cause; returns their number by severity.

    Args:
        causes: of one store.
        places: what the names in the cures' commands stand for.
        as_json: one JSON object per finding instead of text.
        most: greatest number of findings that are printed as text.
        extra: members that each JSON object begins with.
    """
    counts: Counter[str] = Counter(finding.severity for cause in causes for finding in cause.findings)
    if as_json:
        for cause in causes:
            for finding in cause.findings:
                write_json({**extra, **asdict(finding), "cure": places.fill(finding.cure)})
        return counts
    left = counts.total() if most is None else most
    hidden = 0
    for cause in causes:
        shown = cause.roots[: max(left, 0)]
        left -= len(shown)
        hidden += len(cause.roots) - len(shown)
        if shown:
            for line in _lines(cause, shown, places):
                typer.echo(_styled(line))
    if hidden:
        typer.echo(f"and {counted(hidden, 'more finding')}; --max-findings N shows more, --json shows all")
    return counts


def _styled(line: str) -> str:
    """A line for the terminal, with its severity in colour; a command stays whole."""
    if line.startswith(_COMMAND):
        return line
    shown, (severity, _, _) = fitted(line, hang=_HANG), line.partition(" ")
    return typer.style(severity, fg=_STYLES[severity]) + shown.removeprefix(severity) if severity else shown


def _lines(cause: Cause, shown: Sequence[Finding], places: Places) -> Iterator[str]:
    if cause.title:
        yield f"{cause.severity:7} {cause.title}"
    for finding in shown:
        place = one_line(finding.file) + ("" if finding.offset is None else f" at byte {finding.offset:,}")
        clause = f" ({finding.clause})" if finding.clause else ""
        severity = "" if cause.title else finding.severity
        yield f"{severity:7} {finding.code}{clause}  {place}"
        yield f"        {one_line(finding.message)}"
    if cause.consequences:
        parts = ", ".join(f"{number:,} {code}" for code, number in cause.counts().most_common())
        follows = (
            "1 finding follows"
            if len(cause.consequences) == 1
            else f"{len(cause.consequences):,} findings follow"
        )
        yield f"        {follows} from it: {parts}"
    yield f"        cure: {cause.cure}"
    for command in cause.commands:
        yield f"{_COMMAND}{places.fill(command)}"
    if cause.otherwise:
        yield f"        otherwise: {cause.otherwise}"
    for command in cause.other_commands:
        yield f"{_COMMAND}{places.fill(command)}"
