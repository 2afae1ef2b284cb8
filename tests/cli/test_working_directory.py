"""A store that is the working directory runs nothing: it brings no modules, no settings, and the way out stays the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rocket_golden import open_store

MODULES = ("json", "numpy", "numba", "pyarrow", "typer", "typing", "rich", "rocket_columnar", "rocket_spec")
BESIDE = Path(sys.executable).with_name("rocketspec")


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A store with modules that leave a file PWNED, and settings of matplotlib that it would complain of."""
    store = open_store("mixed", tmp_path)
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


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
@pytest.mark.parametrize("module", [b"rocketspec._usage", b"typer", b"rocket_columnar.store"])
def test_an_interrupt_while_the_command_starts(tmp_path: Path, module: bytes) -> None:
    """It comes when the interpreter says that it has imported a module."""
    store = open_store("mixed", tmp_path)
    with subprocess.Popen(
        [BESIDE, "audit", store],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPROFILEIMPORTTIME": "1"},
    ) as process:
        assert process.stderr is not None
        assert any(line.rpartition(b"|")[2].strip() == module for line in process.stderr)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read().splitlines()
        assert [line for line in rest if not line.startswith(b"import time:")] == []
        assert process.wait() in (0, 130, -signal.SIGINT)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("verb", ["decode", "rebuild"])
def test_a_signal_leaves_no_unfinished_output(tmp_path: Path, name: str, verb: str) -> None:
    store, out = open_store("mixed", tmp_path), tmp_path / "out"
    command: list[str | Path] = [BESIDE, verb, store, "-o", out, "--rate", "0.02"]  # 200 KB in ten seconds
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 60
        while not (out.exists() and any(out.iterdir())) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(getattr(signal, name))
        assert process.communicate() == (b"", b"")
        assert process.returncode == 130
    assert list(out.glob("*")) == []


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are POSIX")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(tmp_path: Path, closed: str) -> None:
    store = open_store("mixed", tmp_path)
    for arguments, status in (
        ("decode", 0),
        ("audit --restart", 0),
        ("decode -o out", 0),
        ("query --topic T", 2),
    ):
        verb, _, rest = arguments.partition(" ")
        line = f"{BESIDE} {verb} {store} {rest} {closed}"
        done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S602
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr


def test_output_that_the_disk_does_not_take_is_reported(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    store = open_store("mixed", tmp_path)
    for verb in ("digest", "decode"):  # less and more than a buffer
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [BESIDE, verb, store], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert (done.returncode, done.stderr) == (3, "rocketspec: no space left on device\n")


@pytest.mark.parametrize("columns", ["0", "1", "7"])
@pytest.mark.parametrize(
    "arguments", ["--help", "decode --help", "inspect .", "audit .", "query . --topic T --key k"]
)
def test_a_terminal_of_a_column_and_a_locale_of_ascii(tmp_path: Path, columns: str, arguments: str) -> None:
    store = open_store("mixed", tmp_path)
    (store / "consumequeue" / "T\u00fcr").mkdir()
    environment = os.environ | {
        "LC_ALL": "C",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONUTF8": "0",
        "PYTHONIOENCODING": "ascii",
        "COLUMNS": columns,
        "FORCE_COLOR": "1",
    }
    done = subprocess.run(
        [BESIDE, *arguments.split()], cwd=store, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
