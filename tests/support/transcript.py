"""Runs transcripts: pages of the documentation and of `tests/cli/transcripts/`, with files, edits, commands and what they print.

- `<!-- file: NAME -->` before a fenced block: the block is that file.
- `<!-- edit: NAME -->` before a `diff` block: each run of lines with `-` occurs once in that file and becomes those with `+`.
- A block whose first line begins with `$ `: commands, each with its output below. `...` on a line of its own stands for any
  lines, elsewhere for any text. A command ends with `# exit code N` if that is not 0. For a shell, $CHECKOUT has the pages.

A case of a transcript is a section of level 2; it begins in an empty directory, with the commands before the first section.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

from verb_run import Verb

CHECKOUT: Final = Path(__file__).parents[2]
_BLOCK: Final = re.compile(
    r"(?:^<!-- (?P<kind>file|edit): (?P<name>\S+) -->\n)?^(?P<fence>```+)(?P<language>\w*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_SHELL: Final = set("|&;<>()$`*?~#")
"""What only a shell understands."""
_EXIT: Final = re.compile(r"  # exit code (\d+)$")
_QUOTED: Final = re.compile(r"'[^']*'")
_PASSED_ON: Final = re.compile(rf"((?:{_QUOTED.pattern}|[^'|>])*?)( (?:\||>).*)?")
"""A command, and the rest of a line that takes its output."""


def block(page: str, beginning: str) -> str:
    """The page's block that begins with a text; the page is a path below the checkout."""
    text = (CHECKOUT / page).read_text("utf-8")
    found = re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (only,) = [body for body in found if body.startswith(beginning)]
    return str(only)


def matches(shown: str, printed: str) -> bool:
    """Whether the output that a page shows is what was printed, blanks at the ends of lines aside."""
    pattern = "".join(
        r"(?:.*\n)*?"
        if line.strip() == "..."
        else ".*".join(map(re.escape, line.rstrip().split("..."))) + r"\n"
        for line in shown.splitlines()
    )
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in printed.splitlines())) is not None


def search_path() -> str:
    """PATH, with the environment's commands first."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def run_command(line: str, folder: Path, *, given: str = "", **variables: str) -> tuple[int, str]:
    """Runs a command line in a directory, with the environment's commands first on PATH; its exit code, stdout and stderr."""
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env={**os.environ, "PATH": search_path(), "COLUMNS": "100", "CHECKOUT": str(CHECKOUT), **variables},
        input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def run_line(line: str, folder: Path, verb: Verb | None) -> tuple[int, str]:
    """Runs a line of a page; exit code and output. If it begins with `rocketspec`, `verb` runs that, and a shell has what follows."""
    found = _PASSED_ON.fullmatch(line)
    if verb is None or not line.startswith("rocketspec ") or found is None:
        return run_command(line, folder)
    asked, rest = found[1], found[2] or ""
    if set(_QUOTED.sub("", asked)) & _SHELL:
        return run_command(line, folder)
    done = verb(*shlex.split(asked)[1:])
    if not rest:
        return done.code, done.out + done.err
    code, printed = run_command(f"cat{rest}", folder, given=done.out)
    return done.code if rest.startswith(" >") else code, done.err + printed


def apply_edit(text: str, diff: str) -> str:
    """The text with each run of `-` lines, with the ` ` lines around them, replaced."""
    lines = diff.splitlines()
    old = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    new = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
    assert text.count(old) == 1, f"occurs {text.count(old)} times:\n{old}"
    return text.replace(old, new)


def cases(page: str) -> dict[str, str]:
    """The sections of level 2 by their titles, each with the text before the first one, which sets up."""
    before, *sections = re.split(r"^## ", page, flags=re.MULTILINE)
    return {title: before + text for title, _, text in (section.partition("\n") for section in sections)}


def run_page(page: str, folder: Path, *, verb: Verb | None = None) -> None:
    """Does every step of a page's text in a directory; AssertionError at the first command that does something else.

    Args:
        page: Markdown.
        folder: the directory.
        verb: runs `rocketspec` in this process, whose directory is `folder`; None starts a process for each command.
    """
    ran = 0
    for block in _BLOCK.finditer(page):
        text = block["text"]
        if block["kind"] == "file":
            (folder / block["name"]).write_text(text, "utf-8")
        elif block["kind"] == "edit":
            path = folder / block["name"]
            path.write_text(apply_edit(path.read_text("utf-8"), text), "utf-8")
        elif text.startswith("$ "):
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, _, output = part.partition("\n")
                ends = _EXIT.search(line)
                line, expected = _EXIT.sub("", line), int(ends[1]) if ends else 0
                code, printed = run_line(line, folder, verb)
                assert code == expected, f"{line}\nexit code {code}, expected {expected}\n{printed}"
                assert matches(output, printed), f"{line}\nprinted\n{printed}\nthe page shows\n{output}"
                ran += 1
    assert ran
