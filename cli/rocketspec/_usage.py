"""Wrong arguments in one line: what is wrong, and how the verb is called."""

import re
from typing import Any, Final

import typer

CommandLineError: Final[type[Exception]] = typer.BadParameter.__mro__[1]
"""What typer raises for unknown verbs and options, missing and unexpected arguments; it exports the subclass only."""

_UNEXPECTED: Final = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", re.DOTALL)
_SIMILAR: Final = re.compile(r"(?:\. Did you mean| \(Possible options:) (.*?)[?)]$")
_EXAMPLE: Final = re.compile(r"^\s*(?:Examples?: )?`?(rocketspec [^`\n]+)", re.MULTILINE)


def usage_line(error: Any) -> str | None:
    """The message, with an example of the verb or where its commands are listed; None where typer printed the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return None
    message = _UNEXPECTED.sub(r"unexpected argument: \1", error.format_message()).rstrip(".")
    message = _SIMILAR.sub(r"; did you mean \1?", message)
    message = message[:1].lower() + message[1:]
    if error.ctx is None:
        return message
    verb = error.ctx.command_path.removeprefix(error.ctx.find_root().command_path).strip()
    named = f"{verb}: {message}" if verb else message
    example = _EXAMPLE.search(error.ctx.command.help or "")
    if verb and example is not None:
        return f"{named}; example: `{example[1].strip()}`"
    return f"{named}; see `{' '.join(['rocketspec', *verb.split()])} --help`"
