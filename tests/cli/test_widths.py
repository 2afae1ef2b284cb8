"""What the verbs print on terminals of 60, 80 and 120 columns: no line is wider, and no word is lost or broken."""

import io
import re
import shutil
import sys
from pathlib import Path

import pytest
import rocket_golden
from rich.cells import cell_len
from rich.text import Text
from rocketspec import __main__ as command
from rocketspec._terminal import fitted

WIDTHS = (60, 80, 120)
INDEX = "index/20261121132607044"
VERBS = (
    "inspect mixed",
    "inspect mixed --group *",
    "inspect mixed --space",
    "inspect broken",
    "inspect mixed/index",
    f"inspect mixed/{INDEX}",
    f"inspect mixed/{INDEX} --at 40",
    "inspect mixed/commitlog/00000000000000000000",
    "inspect mixed/consumequeue/Orders/0/00000000000000000000",
    "audit broken",
    "audit killed --restart",
    "query mixed --topic Orders --key order-1003 --exact",
    "query mixed --topic Orders --key order-1003 --explain",
    "query mixed --unique-key 7F000001049314DAD5DC69E1334A00AE",
    "case show IDX-PUT-5/slot-equals-count",
    "golden list",
)


class Terminal(io.StringIO):
    """Standard output that is a terminal, and what was printed on it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole store, one without a queue and with a cut index file, and one whose broker was killed."""
    folder = tmp_path_factory.mktemp("stores")
    rocket_golden.open_store("mixed", folder)
    shutil.copytree(folder / "mixed", folder / "broken")
    shutil.rmtree(folder / "broken/consumequeue/Orders")
    (folder / f"broken/{INDEX}").write_bytes((folder / f"mixed/{INDEX}").read_bytes()[:1000])
    shutil.copytree(folder / "mixed", folder / "killed")
    (folder / "killed/abort").touch()
    return folder


def printed(verb: str, output: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    """A verb's output, without colours."""
    monkeypatch.setattr("sys.argv", ["rocketspec", *verb.split()])
    monkeypatch.setattr(sys, "stdout", output)
    with pytest.raises(SystemExit) as caught:
        command.main()
    monkeypatch.undo()
    assert caught.value.code in (0, 1)
    return Text.from_ansi(output.getvalue()).plain


def undated(shown: str) -> str:
    """A text without the second at which a cure names its folder."""
    return re.sub(r"-\d{8}-\d{6}\b", "", shown)


def is_command(line: str) -> bool:
    """Whether a line is one that people copy into a shell."""
    word = line.split(maxsplit=1)[0].removeprefix("`") if line.startswith(" ") else ""
    return word in {"rocketspec", "mv", "cp", "echo"}


@pytest.mark.parametrize("verb", VERBS)
def test_lines_fit_the_terminal(stores: Path, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    """A line that holds one word alone may be wider: a path or an ID is never broken."""
    pipe = io.StringIO()
    monkeypatch.chdir(stores)
    monkeypatch.setenv("COLUMNS", "2000")
    words = undated(printed(verb, pipe, monkeypatch)).split()
    for width in WIDTHS:
        monkeypatch.chdir(stores)
        monkeypatch.setenv("COLUMNS", str(width))
        shown = printed(verb, Terminal(), monkeypatch)
        wide = [line for line in shown.splitlines() if cell_len(line) > width and not is_command(line)]
        assert [line for line in wide if len(line.split()) > 1] == []
        if verb.startswith(("audit", "case", "golden")):  # tables of the others cut names
            assert undated(shown).split() == words


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("table", ["commit_log", "index_headers", "consume_queue", "checkpoint"])
def test_rows_of_a_table_fit_the_terminal(
    stores: Path, monkeypatch: pytest.MonkeyPatch, table: str, width: int
) -> None:
    """If columns do not fit side by side, each value has a line."""
    monkeypatch.chdir(stores)
    monkeypatch.setenv("COLUMNS", str(width))
    verb = f"decode mixed --table {table} --limit 2 --format table"
    shown = printed(verb, Terminal(), monkeypatch).splitlines()
    assert [line for line in shown if cell_len(line) > width] == []
    if table == "commit_log":
        assert [line for line in shown if line.startswith("phy_offset ")] == [
            "phy_offset                   0",
            "phy_offset                   256",
        ]


@pytest.mark.parametrize(
    ("width", "line", "shown"),
    [
        (
            40,
            "1 problem; `rocketspec audit '/data/a store'`, on stores of any size, explains it",
            ["1 problem;", "  `rocketspec audit '/data/a store'`, on", "  stores of any size, explains it"],
        ),
        (20, "topic a` has no queue in it", ["topic a` has no", "  queue in it"]),
    ],
)
def test_a_command_in_a_sentence_stays_whole(
    monkeypatch: pytest.MonkeyPatch, width: int, line: str, shown: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert fitted(line, Terminal()).splitlines() == shown


def test_a_pipe_gets_whole_lines(stores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stores)
    monkeypatch.setenv("COLUMNS", "60")
    shown = printed("audit killed --restart", io.StringIO(), monkeypatch)
    assert "with messageIndexSafe: dispatch restarts at 65,536, 0 keys lost (without: 66)" in shown
