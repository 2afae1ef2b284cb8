"""Reference pages made from code: the command, the tables, the Python package."""

import inspect
import re
from pathlib import Path
from typing import Final

import rocketspec
import typer
from rocket_spec.tables import TABLES
from rocketspec.command import register_all
from typer.cli import get_docs_for_click

from website.table_columns import ROWS, describe_columns

_VERBATIM: Final = re.compile(r"^\x08?\n?((?:Examples?|Exit codes):\n(?:  .*\n?)+)", re.MULTILINE)


def write_reference(target: Path) -> None:
    """Writes command.md, tables.md and python.md into the directory `target`."""
    target.mkdir(parents=True, exist_ok=True)
    for name, text in (("command", _command()), ("tables", _tables()), ("python", _python())):
        (target / f"{name}.md").write_text(text, "utf-8")


def _command() -> str:
    app = typer.Typer(name="rocketspec", help=rocketspec.__doc__, rich_markup_mode="rich")
    app.callback()(lambda: None)
    register_all(app)
    command = typer.main.get_command(app)
    text = get_docs_for_click(
        obj=command, ctx=typer.Context(command, info_name="rocketspec"), name="rocketspec"
    )
    verbs = text[text.index("\n## ") :].replace("\x08", "")
    return (
        "# The command\n\n`rocketspec VERB --help` prints the same. Exit codes are 0 clean, 1 findings, 2 usage and "
        "3 unreadable input unless a verb lists its own.\n" + _VERBATIM.sub(r"```\n\1```\n", verbs)
    )


def _tables() -> str:
    lines = [
        "# Tables",
        "",
        "`decode`, the Python package and the Spark sources return these columns, in this order. Integers are signed;",
        "`map` is a map from string to string. A column without a clause is added by rocketspec.",
    ]
    for table in TABLES:
        lines += [
            "",
            f"## {table}",
            "",
            ROWS[table],
            "",
            "| column | type | meaning | clause |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| `{column.name}` | {column.type} | {column.meaning} | {column.clause} |"
            for column in describe_columns(table)
        ]
    return "\n".join([*lines, ""])


def _python() -> str:
    lines = [
        "# The Python package",
        "",
        "`import rocketspec` is nearly free: each name is loaded when it is first used. Functions that read stores need the",
        "extra `engine`. Errors in the input are `FormatError`, wrong arguments `UsageError`; both are a `ValueError`.",
    ]
    for name in rocketspec.__all__:
        if name == "__version__":
            continue
        value = getattr(rocketspec, name)
        kind = "autoexception" if inspect.isclass(value) else "autofunction"
        lines += ["", f"## {name}", "", "```{eval-rst}", f".. {kind}:: rocketspec.{name}", "```"]
    return "\n".join([*lines, ""])
