"""Where the jars of the real store come from: a folder, or Maven, which is asked once; and the command that runs them."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from child_adapter import Adapter
from rocket_conformance.rocketmq import JarSet, JarUnavailableError, command, jars, resolve
from rocket_spec.errors import UsageError
from verb_run import Verb


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setattr(jars, "cache_directory", lambda: path)
    return path


@pytest.fixture
def fake_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts an `mvn` on the PATH that runs a line of Python with `target`, the folder to fill, as a Path."""

    def install(line: str) -> None:
        script = tmp_path / "bin" / "fake.py"
        script.parent.mkdir()
        target = "next(a.partition('=')[2] for a in sys.argv if a.startswith('-DoutputDirectory='))"
        script.write_text(f"import sys, pathlib\ntarget = pathlib.Path({target})\n{line}\n")
        mvn = script.with_name("mvn")
        mvn.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
        mvn.chmod(0o755)
        monkeypatch.setenv("PATH", str(mvn.parent), prepend=os.pathsep)

    return install


def touch(folder: Path, *names: str) -> Path:
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    return folder


@pytest.mark.parametrize("version", ["", "4", "4.9.3/..", "-Dx=y", "4.9.3 5", "latest"])
def test_version_is_checked(version: str) -> None:
    with pytest.raises(UsageError, match="is no RocketMQ version"):
        resolve(version)


@pytest.mark.parametrize(
    ("names", "error", "text"),
    [
        (["gson-2.11.0.jar"], JarUnavailableError, r"no rocketmq-store-4\.9\.8\.jar"),
        (["rocketmq-store-4.9.7.jar"], UsageError, r"holds rocketmq-store 4\.9\.7, not 4\.9\.8"),
    ],
)
def test_folder_without_the_store(
    tmp_path: Path, names: list[str], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        resolve("4.9.8", touch(tmp_path / "lib", *names))
    with pytest.raises(JarUnavailableError, match=r"no rocketmq-store-4\.9\.8\.jar"):
        resolve("4.9.8", tmp_path / "none")


def test_folder_with_gson_needs_no_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    names = ("rocketmq-store-5.3.1.jar", "gson-2.9.0.jar", "logback-classic-1.3.jar", "netty-all-4.jar")
    folder = touch(tmp_path / "lib", *names)
    jars = (folder / "gson-2.9.0.jar", folder / "netty-all-4.jar", folder / "rocketmq-store-5.3.1.jar")
    assert resolve("5.3.1", folder) == JarSet("5.3.1", jars)


def test_maven_that_fails(cache: Path, fake_maven: Callable[[str], None]) -> None:
    fake_maven("(target / 'half.jar').touch(); print('[ERROR] no such artifact\\n[ERROR] more'); sys.exit(1)")
    with pytest.raises(JarUnavailableError) as caught:
        resolve("4.9.3")
    assert str(caught.value) == "Maven could not fetch RocketMQ 4.9.3: no such artifact"
    with pytest.raises(
        JarUnavailableError, match=r"4\.99: no such artifact; releases that resolve: 3\.2\.6, .*, 5\.5\.1$"
    ):
        resolve("4.99")
    assert list(cache.iterdir()) == []


def test_a_jar_of_another_content_is_not_used(cache: Path, fake_maven: Callable[[str], None]) -> None:
    fake_maven("(target / 'rocketmq-store-4.9.3.jar').write_bytes(b'')")
    with pytest.raises(JarUnavailableError) as caught:
        resolve("4.9.3")
    nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # sha256sum /dev/null
    assert f"rocketmq-store-4.9.3.jar: fetched with SHA-256 {nothing}, expected " in str(caught.value)
    assert list(cache.iterdir()) == []


def test_maven_is_asked_once(cache: Path, fake_maven: Callable[[str], None]) -> None:
    fake_maven("(target / 'store.jar').touch(); open(target.parent / 'calls', 'a').write('x')")
    assert resolve("4.9.3") == resolve("4.9.3")
    assert (cache / "calls").read_text() == "x"


def test_parallel_runs_share_one_folder(cache: Path, fake_maven: Callable[[str], None]) -> None:
    fake_maven("import time; (target / 'a.jar').touch(); time.sleep(0.2); (target / 'b.jar').touch()")
    with ThreadPoolExecutor(4) as pool:
        sets = list(pool.map(resolve, ["4.9.3"] * 4))
    assert {tuple(jar.name for jar in jar_set.jars) for jar_set in sets} == {("a.jar", "b.jar")}
    assert len(list(cache.iterdir())) == 1


@pytest.mark.java
@pytest.mark.usefixtures("maven")
def test_command_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    for jar in resolve("4.9.3").jars:
        (folder / jar.name).symlink_to(jar)
    adapter = Adapter(command("4.9.3", folder))
    try:
        assert adapter.hello()["version"] == "4.9.3"
    finally:
        adapter.stop()


def run_module(version: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rocket_conformance.rocketmq", version],
        capture_output=True, text=True, check=False, env=os.environ | environment,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("version", "environment", "text"),
    [("nope", {}, "is no RocketMQ version"), ("4.9.3", {"PATH": "", "JAVA_HOME": ""}, "no java on the PATH")],
)
def test_module_fails_in_one_line(version: str, environment: dict[str, str], text: str) -> None:
    run = run_module(version, **environment)
    assert (run.returncode, run.stderr.count("\n")) == (3, 1)
    assert text in run.stderr


@pytest.mark.java
@pytest.mark.usefixtures("maven")
def test_oracle_and_rocketmq(verb: Verb) -> None:
    select = ("conform", "--select", "IDX-HDR-4/chain")
    assert verb(*select, "--oracle").code == 0
    run = verb(*select, "--rocketmq", "4.7.0")
    assert run.code == 1
    assert run.out.splitlines()[0] == "rocketmq-store 4.7.0"
