"""A store that is the working directory runs nothing: it brings no modules, no settings, and the way out stays the same."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MODULES = ("json", "numpy", "numba", "pyarrow", "typer", "typing", "rich", "rocket_columnar", "rocket_spec")
BESIDE = Path(sys.executable).with_name("rocketspec")


@pytest.fixture
def planted(store: Path, tmp_path: Path) -> Path:
    """A store with modules that leave a file PWNED, and settings of matplotlib that it would complain of."""
    for name in MODULES:
        (store / f"{name}.py").write_text(f"open({str(tmp_path / 'PWNED')!r}, 'a').write({name!r})\n")
    (store / "matplotlibrc").write_text("no.such.setting: 1\nlines.linewidth: none\n")
    return store


def ended(store: Path, command: list[str | Path], *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [*command, *arguments], cwd=store, capture_output=True, text=True, check=False, env=environment
    )


@pytest.mark.parametrize(
    "command", [[BESIDE], [sys.executable, "-m", "rocketspec"]], ids=["script", "module"]
)
@pytest.mark.parametrize("arguments", ["audit .", "decode . --limit 1", "rebuild . -o ../out"])
def test_modules_of_the_store_are_not_imported(
    planted: Path, command: list[str | Path], arguments: str
) -> None:
    done = ended(planted, command, *arguments.split())
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert not (planted.parent / "PWNED").exists()


def test_settings_of_matplotlib_are_not_read(planted: Path) -> None:
    """A name with $ is no formula either."""
    index = next((planted / "index").iterdir())
    odd = planted / "index" / "$a$$"
    odd.write_bytes(index.read_bytes())
    done = ended(planted, [BESIDE], "inspect", f"index/{odd.name}", "--plot", "../plot.svg")
    assert (done.returncode, done.stderr) == (0, "")
    assert (planted.parent / "plot.svg").stat().st_size


INTERRUPTED = """\
import builtins, signal, sys
real, module = builtins.__import__, sys.argv.pop(1)
def hooked(name, *arguments):
    if name == module:
        builtins.__import__ = real
        signal.raise_signal(signal.SIGINT)
    return real(name, *arguments)
builtins.__import__ = hooked
from rocketspec.__main__ import run
run()
"""


@pytest.mark.parametrize(
    "module", ["rocketspec._command", "typer", "rocketspec.verbs", "rocket_columnar.report"]
)
def test_an_interrupt_while_the_command_starts(store: Path, module: str) -> None:
    """It arrives at the import of a module."""
    done = ended(store, [sys.executable, "-c", INTERRUPTED, module], "audit", ".")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize(
    ("name", "verb"), [("SIGINT", "decode"), ("SIGTERM", "rebuild"), ("SIGHUP", "decode")]
)
def test_a_signal_leaves_no_unfinished_output(store: Path, tmp_path: Path, name: str, verb: str) -> None:
    out = tmp_path / "out"
    command: list[str | Path] = [BESIDE, verb, store, "-o", out, "--rate", "0.02"]  # 200 KB in ten seconds
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 60
        while not (out.exists() and any(out.iterdir())) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(getattr(signal, name))
        assert process.communicate() == (b"", b"")
        assert process.returncode == 130
    assert list(out.glob("*")) == []


@pytest.mark.parametrize(
    ("arguments", "status", "closed"),
    [
        ("decode", 0, ">&-"),
        ("decode", 0, "<&- >&- 2>&-"),
        ("decode -o out", 0, "<&-"),
        ("audit --restart", 0, "<&- >&- 2>&-"),
        ("query --topic T", 2, "2>&-"),
    ],
)
def test_closed_streams(store: Path, tmp_path: Path, arguments: str, status: int, closed: str) -> None:
    verb, _, rest = arguments.partition(" ")
    line = f"{BESIDE} {verb} {store} {rest} {closed}"
    done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S602
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr


def test_output_that_the_disk_does_not_take_is_reported(store: Path) -> None:
    for verb in ("digest", "decode"):  # less and more than a buffer
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [BESIDE, verb, store], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert (done.returncode, done.stderr) == (3, "rocketspec: no space left on device\n")


@pytest.mark.parametrize(
    ("columns", "arguments"),
    [
        ("0", "--help"),
        ("7", "decode --help"),
        ("1", "--help"),
        ("1", "inspect ."),
        ("1", "golden list"),
        ("0", "audit ."),
        ("1", "query . --topic T --key k"),
    ],
)
def test_a_terminal_of_a_column_and_a_locale_of_ascii(store: Path, columns: str, arguments: str) -> None:
    (store / "consumequeue" / "T\u00fcr").mkdir()
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    environment = os.environ | ascii_only | {"COLUMNS": columns, "FORCE_COLOR": "1"}
    done = subprocess.run(
        [BESIDE, *arguments.split()], cwd=store, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
