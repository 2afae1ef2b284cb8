"""`audit --prometheus FILE`: what an audit found, for the textfile collector of Prometheus's node exporter."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rocket_columnar.report import AuditReport
from rocket_spec.errors import UsageError
from rocket_spec.outputs import write_whole
from rocket_spec.printable import printable
from rocket_spec.store_folders import refuse_store

from rocketspec._options import StoreOptions

_NAME: Final = "rocketspec_audit"
_SEVERITIES: Final = ("error", "warning", "note")


def check_file(path: Path, settings: StoreOptions) -> None:
    """Raises UsageError for a file in a store, of a name that the collector does not read, or of another program."""
    refuse_store(path, settings.store, *settings.commitlog)
    if path.suffix != ".prom":
        raise UsageError(f"--prometheus {path}: expected a name that ends with .prom")
    if path.exists() and not (path.is_file() and _is_own(path)):
        raise UsageError(f"{path}: was not written by rocketspec; refusing to overwrite")


def _is_own(path: Path) -> bool:
    beginning = f"# HELP {_NAME}_".encode()
    with path.open("rb") as file:
        return file.read(len(beginning)) == beginning


def write_metrics(path: Path, store: Path, report: AuditReport) -> None:
    """Writes the file whole: the collector never reads half of one."""
    write_whole(path, "".join(f"{line}\n" for line in _lines(store, report)))


def _lines(store: Path, report: AuditReport) -> Iterator[str]:
    label = f'store="{_escaped(str(store.absolute()))}"'
    yield from _head("findings", "Findings of the last audit by severity; errors and warnings need action.")
    for severity in _SEVERITIES:
        yield f'{_NAME}_findings{{{label},severity="{severity}"}} {report.counts[severity]}'
    yield from _head(
        "code_findings", "Findings of the last audit by code; a code without findings is absent."
    )
    codes = Counter((finding.code, finding.severity) for finding in report)
    for (code, severity), count in sorted(codes.items()):
        yield f'{_NAME}_code_findings{{{label},code="{code}",severity="{severity}"}} {count}'
    yield from _head("timestamp_seconds", "When the last audit ended, seconds since the epoch.")
    yield f"{_NAME}_timestamp_seconds{{{label}}} {int(time.time())}"


def _head(name: str, text: str) -> Iterator[str]:
    yield f"# HELP {_NAME}_{name} {text}"
    yield f"# TYPE {_NAME}_{name} gauge"


def _escaped(text: str) -> str:
    """A label's value: backslash and quote escaped, after whatever is not printable."""
    return printable(text, limit=None).replace("\\", r"\\").replace('"', r"\"")
