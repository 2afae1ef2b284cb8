"""The commands of the section "Clusters" of docs/spark.md as they stand there, but for the ports; HOME is a folder of the test."""

import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest
from free_ports import free_port
from java_programs import SHORT_LIVED
from rocket_columnar.store import find_files
from spark_servers import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.network]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "spark.md").read_text("utf-8").partition("\n## Clusters\n")[2]
STARTED = {
    "master.Master": r"(Starting Spark master at)",
    "worker.Worker": r"(Successfully registered) with master",
    "start-connect-server": r"(Spark Connect server started)",
}
"""Commands that run until they are ended, and what they say when they are ready."""

NOT_FOR_TASKS = {"matplotlib", "pillow", "fonttools", "contourpy", "pyspark", "py4j", "grpcio", "pytest"}
"""Packages that other extras need."""


def commands(title: str) -> list[str]:
    """The commands of a section, those that are one each in a terminal of its own among them."""
    section = PAGE.split(f"### {title}")[1].split("\n### ")[0]
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", section, re.DOTALL))
    return [line for line in re.sub(r"\\\n\s*", "", blocks).splitlines() if line]


class Shell:
    """Runs commands in a folder that is their HOME; ends those that it started."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self.home = home
        self.stack = stack
        (export,) = re.findall(r"^export SPARK_HOME=.*$", PAGE, re.MULTILINE)
        self.before = f"set -e; {export}"
        self.ports = {"7077": str(free_port()), "15002": str(free_port())}
        self.environment = {
            **os.environ,
            "HOME": str(home),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "JAVA_TOOL_OPTIONS": SHORT_LIVED,
            "SPARK_CONF_DIR": str(home),
            "SPARK_WORKER_DIR": str(home / "work"),
        }
        (home / "spark-defaults.conf").write_text(f"spark.connect.grpc.binding.port {self.ports['15002']}\n")
        self.environment.pop("PYSPARK_PYTHON", None)

    def __call__(self, command: str) -> str:
        """Runs a command to its end, or until it is ready; what it wrote to stdout."""
        for port, other in self.ports.items():
            command = command.replace(port, other)
        for name, pattern in STARTED.items():
            if name in command:
                self._start(command, pattern)
                return ""
        command = command.replace(" -w wheel .", f" -w wheel {ROOT}")
        done = subprocess.run(
            ["bash", "-c", f"{self.before}; {command}"],
            cwd=self.home,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr[-4000:]}"
        return done.stdout

    def without_packages(self) -> None:
        """From now on every Python but the packed one has nothing but the standard library."""
        bare = self.home / "bare"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
        self.environment["PATH"] = f"{bare / 'bin'}{os.pathsep}{self.environment['PATH']}"
        self.before = f"set -e; export SPARK_HOME={Path(pyspark.__file__).parent}"

    def _start(self, command: str, pattern: str) -> None:
        log = self.home / f"{len(list(self.home.glob('*.log')))}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-c", f"{self.before}; exec {command}"],
                cwd=self.home,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # a script may wait for the JVM that it started
            )
        wait_for(log, pattern, process)
        self.stack.callback(process.wait, 60)
        self.stack.callback(os.killpg, process.pid, signal.SIGTERM)


@pytest.fixture
def shell(java: str, hand_made: Path, tmp_path: Path) -> Iterator[Shell]:
    shutil.copytree(hand_made, tmp_path / "store")
    with ExitStack() as stack:
        yield Shell(tmp_path, stack)


def check(shell: Shell, said: str) -> None:
    """Asserts that the decode wrote everything."""
    assert f"{len(find_files(shell.home / 'store'))} files, " in said
    assert (shell.home / "tables" / "_SUCCESS").exists()
    parts = (shell.home / "tables" / "commit_log").iterdir()
    assert sum(pq.ParquetFile(part).metadata.num_rows for part in parts) == 2


@pytest.mark.parametrize("title", ["A standalone cluster", "Spark Connect"])
def test_servers_and_a_decode(shell: Shell, title: str) -> None:
    *servers, decode = commands(title)
    assert len(servers) == (3 if title == "A standalone cluster" else 1)
    for server in servers:
        assert not shell(server)
    check(shell, shell(decode))


def test_spark_submit_with_everything_in_one_file(shell: Shell) -> None:
    """Neither driver nor workers have any other package; the file holds what tasks need alone."""
    *packing, submit = commands("spark-submit")
    for command in packing:
        shell(command)
    with zipfile.ZipFile(shell.home / "rocketspec.pex") as packed:
        names = {
            name.split("/")[1].partition("-")[0] for name in packed.namelist() if name.startswith(".deps/")
        }
        size = sum(entry.file_size for entry in packed.infolist())
    assert {"rocketspec", "numba", "llvmlite", "numpy", "pyarrow", "pandas"} <= names
    assert not {name.lower() for name in names} & NOT_FOR_TASKS
    assert size < 600e6
    shell.without_packages()
    for server in commands("A standalone cluster")[:3]:
        shell(server)
    check(shell, shell(submit))
