"""The real name server, broker, client and tools of 4.9.3 on loopback addresses and free ports."""

import hashlib
import json
import os
import runpy
import shlex
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from free_ports import free_port
from java_programs import compile_java, fetched
from one_at_a_time import one_at_a_time

NAME: Final = "broker-a"
ROOT: Final = Path(__file__).parents[2]
MAKE: Final = ROOT / "golden" / "generator" / "make.py"
DRIVER: Final = ROOT / "tests" / "acceptance" / "Driver.java"
_LOOPBACK: Final = "127.0.0.1"
_PATIENCE: Final = 90  # seconds
_POM: Final = (
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    "<groupId>rocketspec</groupId><artifactId>broker</artifactId><version>1</version><dependencies><dependency>"
    "<groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-broker</artifactId><version>{version}</version>"
    "</dependency></dependencies></project>"
)
_LOGBACK: Final = (
    '<configuration><appender name="file" class="ch.qos.logback.core.FileAppender"><file>{log}</file><encoder>'
    '<pattern>%d %p %t %logger{{0}} - %m%n</pattern></encoder></appender><root level="INFO">'
    '<appender-ref ref="file"/></root></configuration>'
)
# A disk that is nearly full must not make the broker delete or refuse anything; nobody asks for TLS, whose keys take seconds.
_FLAGS: Final = (
    "-Drocketmq.broker.diskSpaceWarningLevelRatio=0.99",
    "-Drocketmq.broker.diskSpaceCleanForciblyRatio=0.98",
    "-Dtls.server.mode=disabled",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
)


class Acknowledged(NamedTuple):
    """A message that the broker said it stored."""

    key: str
    offset: int
    queue_id: int
    queue_offset: int
    unique_key: str
    offset_id: str


def generator_jars() -> tuple[list[str], list[str]]:
    """The class path and the JVM flags of the golden generator; Maven fetches the jars where they are missing."""
    make = runpy.run_path(str(MAKE))
    jars: Path = make["BUILD"] / "jars"
    pom = MAKE.with_name("pom.xml")
    fetched = make["BUILD"] / "fetched"
    with one_at_a_time("generator"):
        if not fetched.exists() or fetched.stat().st_mtime < pom.stat().st_mtime:
            make["build"]()
            fetched.touch()
    flags = [flag for flag in make["JVM_FLAGS"] if not flag.startswith("-Duser.home")]
    return [str(jars / "*")], flags


def classes_of(source: Path, jars: Sequence[str]) -> Path:
    """The folder of a Java program's classes, compiled once in a checkout and not at each start."""
    classes = ROOT / "build" / source.stem.lower() / hashlib.sha256(source.read_bytes()).hexdigest()
    with one_at_a_time(source.stem.lower()):
        if not classes.exists():
            made = classes.with_suffix(".new")
            compile_java([source], os.pathsep.join(jars), made)
            made.rename(classes)
    return classes


def run_program(source: Path, home: Path, *arguments: str | Path) -> str:
    """Runs a Java program beside the jars of 4.9.3, with a folder for what they write; what it prints."""
    jars, flags = generator_jars()
    class_path = os.pathsep.join([str(classes_of(source, jars)), *jars])
    command = ["java", *flags, f"-Duser.home={home}", "-cp", class_path, source.stem, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr
    return done.stdout


def broker_jars(version: str, folder: Path) -> Path:
    """The folder of the jars of a release's broker, which Maven puts there."""
    folder.mkdir(parents=True)
    (folder / "pom.xml").write_text(_POM.format(version=version), "ascii")
    return fetched(folder / "jars", "copy-dependencies", "-f", folder / "pom.xml")


class RealBroker:
    """One name server with a client, for as many starts of one broker as are wanted; use it in a `with` block.

    Only processes that this object started are ended, each by its own handle.

    Args:
        folder: where configuration and logs go; made where it is missing.
        java: path of `java`.
        config: settings of every start of the broker.
        jars: a folder of another release's jars, for the broker alone.
    """

    def __init__(
        self, folder: Path, java: str, config: Mapping[str, str], *, jars: Path | None = None
    ) -> None:
        self.folder = folder
        self.store = folder / "store"  # the store directory of the next start
        self.log = folder / "home" / "rocketmq.log"
        self.config = dict(config)  # settings of every start of the broker
        # a folder of classes that goes before the broker's jars from the next start on
        self.overlay: Path | None = None
        class_path, flags = generator_jars()
        folder.mkdir(parents=True, exist_ok=True)
        nice = ["nice"] if shutil.which("nice") else []  # tests leave the machine to others
        self._java = [*nice, java, *flags, *_FLAGS, f"-Duser.home={folder / 'home'}"]
        self._class_path = ["-cp", os.pathsep.join([str(classes_of(DRIVER, class_path)), *class_path])]
        self._broker_jars = class_path if jars is None else [str(jars / "*")]
        self._port = free_port(-2, 1)
        self._namesrv = f"{_LOOPBACK}:{free_port()}"
        self._broker: subprocess.Popen[str] | None = None
        conf = folder / "home" / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        for part in ("broker", "namesrv", "tools"):
            (conf / f"logback_{part}.xml").write_text(_LOGBACK.format(log=self.log), "utf-8")
        self._environment = {**os.environ, "ROCKETMQ_HOME": str(folder / "home")}
        namesrv = self._save("namesrv", {"listenPort": self._namesrv.rpartition(":")[2]})
        driver = [*self._java, *self._class_path, DRIVER.stem, namesrv, self._namesrv, self.address, NAME]
        self._driver = self._started("driver", driver)
        self._answer()

    @property
    def namesrv(self) -> str:
        """The address of the name server."""
        return self._namesrv

    @property
    def address(self) -> str:
        """The address of the broker."""
        return f"{_LOOPBACK}:{self._port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._broker is not None:
            self.kill()
        self._driver.kill()
        self._driver.communicate()

    def _started(self, name: str, command: list[str]) -> subprocess.Popen[str]:
        with (self.folder / f"{name}.log").open("ab") as errors:
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                text=True, encoding="utf-8", env=self._environment,
            )  # fmt: skip

    def _save(self, name: str, properties: Mapping[str, str]) -> str:
        path = self.folder / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), "ascii")
        return str(path)

    def command(self, **config: str) -> list[str]:
        """The command that starts the broker over the store, with settings beside those of all starts."""
        file = self._save(
            "broker",
            {
                "brokerClusterName": "DefaultCluster",
                "brokerName": NAME,
                "brokerId": "0",
                "brokerIP1": _LOOPBACK,
                "brokerIP2": _LOOPBACK,
                "namesrvAddr": self._namesrv,
                "listenPort": str(self._port),
                "autoCreateTopicEnable": "false",
                "diskMaxUsedSpaceRatio": "95",
                "waitTimeMillsInSendQueue": "10000",  # a busy machine is no reason to refuse a message
                "osPageCacheBusyTimeOutMills": "10000",
                "storePathRootDir": str(self.store),
                "storePathCommitLog": str(self.store / "commitlog"),
                **self.config,
                **config,
            },
        )
        over = [] if self.overlay is None else [str(self.overlay)]
        class_path = os.pathsep.join([*over, *self._broker_jars])
        return [*self._java, "-cp", class_path, "org.apache.rocketmq.broker.BrokerStartup", "-c", file]

    def shell_command(self) -> str:
        """The same for a shell."""
        return f"ROCKETMQ_HOME={shlex.quote(self._environment['ROCKETMQ_HOME'])} exec {shlex.join(self.command())}"

    def start(self, **config: str) -> None:
        """Starts the broker and waits until it is ready."""
        assert self._broker is None, "it runs"
        self._broker = self._started("broker", self.command(**config))
        assert self._broker.stdout is not None
        printed = []
        for line in self._broker.stdout:
            if "boot success" in line:
                return
            printed.append(line)
        raise AssertionError(f"the broker did not start:\n{''.join(printed)}\n{self._tail()}")

    def start_within(self, seconds: float, **config: str) -> bool:
        """Starts the broker; whether it came up in that time. One that did not is killed."""

        def end() -> None:
            if self._broker is not None:
                self._broker.kill()

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            self.start(**config)
        except AssertionError:
            self.kill()
            return False
        finally:
            timer.cancel()
        return True

    def stop(self) -> None:
        """Stops the broker cleanly."""
        assert self.shut_down(), "the broker did not stop cleanly"

    def shut_down(self) -> bool:
        """Stops the broker as `mqshutdown` does; whether it stopped cleanly."""
        with ExitStack() as stack:
            # Each of its two servers waits up to 3 s for a last event, such as one of these connections being cut.
            for port in (self._port, self._port - 2) * 20:
                with suppress(OSError):
                    stack.enter_context(socket.create_connection((_LOOPBACK, port)))
            self._end(signal.SIGTERM)
        return not (self.store / "abort").exists()

    def kill(self) -> None:
        """Kill -9."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        assert self._broker is not None, "it does not run"
        self._broker.send_signal(number)
        self._broker.communicate(timeout=_PATIENCE)
        self._broker = None

    def _tail(self) -> str:
        return (
            "".join(self.log.read_text("utf-8").splitlines(keepends=True)[-20:]) if self.log.exists() else ""
        )

    def ask(self, what: str, **arguments: object) -> Any:
        """One command of the driver."""
        assert self._driver.stdin is not None
        self._driver.stdin.write(json.dumps({"do": what, **arguments}) + "\n")
        self._driver.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            if line.startswith("= "):
                answer = json.loads(line[2:])
                assert not (isinstance(answer, dict) and "error" in answer), f"{answer}\n{self._tail()}"
                return answer
        raise AssertionError((self.folder / "driver.log").read_text("utf-8")[-3000:])

    def stop_load(self) -> list[Acknowledged]:
        """Ends the load; what was acknowledged since the last time."""
        return [Acknowledged(*one) for one in self.ask("stop")]

    def query(self, topic: str, keys: Sequence[str]) -> list[list[int]]:
        """Physical offsets that the tools' query by key finds, for each key."""
        answer: list[list[int]] = self.ask("query", topic=topic, keys=list(keys))
        return answer

    def snapshot(self, name: str) -> dict[str, Path]:
        """Hard links to every file of the store: one that is left alone shows a deletion, whatever came after under that name."""
        folder = self.folder / name
        links = {}
        for path in (path for path in self.store.rglob("*") if path.is_file()):
            file = path.relative_to(self.store).as_posix()
            links[file] = folder / file
            links[file].parent.mkdir(parents=True, exist_ok=True)
            os.link(path, links[file])
        return links
