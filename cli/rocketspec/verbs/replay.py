"""The verb `replay`: runs one case and shows the difference."""

import re
from pathlib import Path

import typer

from rocketspec import _options as option

_ID = re.compile(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)*-[0-9]+/[a-z0-9-]+\Z")


def replay(
    case: str,
    command: list[str] | None = None,
    *,
    rocketmq: str | None = None,
    jars: Path | None = None,
    case_timeout: float = 10.0,
    as_json: bool = False,
) -> None:
    """Run one case and show the difference.

    CASE is a case file - a replay file of `conform --report`, or one written by hand - or the ID of a case of the suite. The
    exit codes are those of conform.

    Examples:
      rocketspec replay out/replay/IDX-PUT-5-prop-lists.json
      rocketspec replay case.json -- ./my-adapter
      rocketspec replay IDX-PUT-5/slot-equals-count -- ./port
      rocketspec replay case.json --rocketmq 4.9.3
    """
    from rich.console import Console
    from rich.text import Text
    from rocket_conformance.counterexamples import read_replay
    from rocket_conformance.judging import FAILING, exit_code
    from rocket_conformance.planning import Planned, planned_by_id
    from rocket_conformance.report import describe_divergence
    from rocket_conformance.running import Options, run_planned
    from rocket_conformance.transport import stop_on_signals

    from rocketspec._implementation import adapter_errors, open_implementation

    path = Path(case)
    planned = planned_by_id(case) if not path.exists() and _ID.match(case) else Planned(read_replay(path))
    with (
        stop_on_signals(),
        adapter_errors(),
        open_implementation(command, rocketmq, jars, case_timeout=case_timeout) as opened,
    ):
        line, document = run_planned(opened, planned, Options())
    if as_json:
        option.write_json(document if document is not None else line.to_json(), indent=1)
    else:
        console = Console(highlight=False)
        console.print(Text(f"{line.verdict} {line.id}" + (f": {line.detail}" if line.detail else "")))
        for text in describe_divergence(line.divergence):
            console.print(Text(f"  {text}"), soft_wrap=True)
    raise typer.Exit(exit_code({line.verdict: 1}, failed=int(line.verdict in FAILING)))
