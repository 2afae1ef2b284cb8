"""The packages of vectors in fresh projects of their languages, and the real store in the JUnit runners."""

import json
import os
import shutil
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from java_programs import SHORT_LIVED, fetched
from one_at_a_time import BUILD
from rocket_golden import vectors
from rocket_spec.data import find_data
from transcript import block

from packages.build import LANGUAGES, POM, VERSION, build, cases_text, run
from packages.trial import try_cases, try_package

HERE = Path(__file__).parent
ADAPTER = "conformance/adapters/rocketmq"
CASES = "rocketspec/vectors/cases.json"
GSON = "com.google.code.gson:gson:2.11.0"
TOOLS = {"go": "go", "rust": "cargo", "javascript": "npm"}


@pytest.fixture(params=TOOLS)
def language(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> str:
    """A language whose tool is here; what its projects depend on is built once."""
    name: str = request.param
    if shutil.which(TOOLS[name]) is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{TOOLS[name]} is missing, and with CI=true nothing is skipped", pytrace=False)
        pytest.skip(f"{TOOLS[name]} is missing")
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path_factory.getbasetemp() / "cargo"))
    for profile in ("DEV", "TEST"):
        monkeypatch.setenv(f"CARGO_PROFILE_{profile}_DEBUG", "0")
    return name


@pytest.mark.network
def test_a_fresh_project(language: str, tmp_path: Path) -> None:
    try_package(language, build(language, tmp_path / "dist"), tmp_path / "fresh")


LEADING_OUT = ("../led-out", "a/../../led-out", "/led-out", "a//b", "..", "", "C:led-out", "a\\..\\led-out")
JAVA_RUNNER = """
import rocketspec.vectors.IndexFileUnderTest;
import rocketspec.vectors.Vector;
import rocketspec.vectors.Vectors;

public class Runner {
    public static void main(String[] none) throws Exception {
        for (final Vector one : Vectors.all()) {
            try {
                one.check(new IndexFileUnderTest() { });
            } catch (final AssertionError refused) {
                System.out.println(refused.getMessage());
            }
        }
    }
}
"""


def _with_names_that_lead_out() -> list[dict[str, object]]:
    return [
        {
            "id": f"IDX-HASH-1/{place}-{number}",
            "description": "",
            "files": {name: {"length": 1, "runs": []}} if place == "files" else {},
            "ops": [{"op": "key.hash", "key": "k", **({} if place == "files" else {"file": name})}],
            "results": [{"hash": 1}],
            "left": {},
        }
        for place in ("files", "ops")
        for number, name in enumerate(LEADING_OUT)
    ]


@pytest.mark.network
def test_a_name_that_leads_out_is_refused(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In cases.json of a package that somebody changed: each case fails, and no file is written."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    output = try_cases(language, _with_names_that_lead_out(), tmp_path)
    assert output.count("is not a relative path without ..") >= 2 * len(LEADING_OUT)
    assert not list(tmp_path.rglob("*led-out"))


def test_a_case_that_the_newest_release_only_answers_otherwise_has_its_answer() -> None:
    """5.5.1 refuses a blank whose size is more than the bytes that are left (`CommitLog.checkMessageAndReturnSize`)."""
    (case,) = (
        case for case in json.loads(cases_text())["cases"] if case["id"] == "LOG-BLANK-2/size-not-looked-at"
    )
    newest = case["releases"]["5.5.1"]
    assert newest["left"] == case["left"]
    answers = [found["results"][0]["requests"][-1]["success"] for found in (case, newest)]
    assert answers == [True, False]


@pytest.fixture(scope="module")
def jar(maven: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Maven artifact."""
    assert maven
    return build("java", tmp_path_factory.mktemp("dist"))


@pytest.mark.java
def test_a_name_that_leads_out_is_refused_in_java(java: str, jar: Path, tmp_path: Path) -> None:
    """The changed cases.json is before the jar on the class path."""
    with zipfile.ZipFile(jar) as packed:
        data = json.loads(packed.read(CASES))
    changed = tmp_path / "changed" / CASES
    changed.parent.mkdir(parents=True)
    changed.write_text(json.dumps({**data, "cases": _with_names_that_lead_out()}), "utf-8")
    (tmp_path / "Runner.java").write_text(JAVA_RUNNER, "ascii")
    gson = fetched(BUILD / "gson", "copy", f"-Dartifact={GSON}")
    class_path = os.pathsep.join([str(tmp_path / "changed"), str(jar), f"{gson}/*"])
    output = run(
        [java, *SHORT_LIVED.split(), f"-Djava.io.tmpdir={tmp_path}", "-cp", class_path, "Runner.java"],
        tmp_path,
    )
    assert output.count("is not a relative path without ..") == 2 * len(LEADING_OUT)
    assert not list(tmp_path.rglob("*led-out"))
    assert not list(tmp_path.glob("rocketmq-vector*"))


@pytest.mark.java
@pytest.mark.soak
def test_a_fresh_project_of_java(jar: Path, tmp_path: Path) -> None:
    try_package("java", jar, tmp_path)


@pytest.mark.java
@pytest.mark.parametrize("release", ["4.9.3", pytest.param("5.5.1", marks=pytest.mark.soak)])
def test_the_real_store_passes_both_runners(
    release: str, jar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IndexFile by the ten methods; consume queues, service, log and checkpoint by the tenth."""
    monkeypatch.setenv("ROCKETMQ_RELEASE", release)
    shutil.unpack_archive(jar, tmp_path / "jar", "zip")
    tests = tmp_path / "src" / "test" / "java"
    tests.mkdir(parents=True)
    shutil.copyfile(HERE / "real" / "pom.xml", tmp_path / "pom.xml")
    for source in [*(HERE / "real").glob("*.java"), *find_data(ADAPTER).rglob("*.java")]:
        shutil.copyfile(source, tests / source.name)
    versions = [f"-Dvectors.version={VERSION}", f"-Drocketmq.version={release}"]
    installed = ["install:install-file", f"-Dfile={jar}", f"-DpomFile=jar/{POM}"]
    run(["mvn", "-q", "-B", *installed, "test", *versions], tmp_path)
    recorded = len([*vectors(), *vectors(store=True)])
    for name, number in (("RealStoreTest", recorded + 1), ("RealStore4Test", recorded)):
        report = tmp_path / "target" / "surefire-reports" / f"TEST-rocketspec.adapter.{name}.xml"
        suite = ET.parse(report).getroot()
        counts = {key: int(suite.attrib[key]) for key in ("tests", "failures", "errors", "skipped")}
        assert counts == {"tests": number, "failures": 0, "errors": 0, "skipped": 0}


@pytest.mark.soak
@pytest.mark.java
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_lines_of_the_readme(language: str, maven: str, tmp_path: Path) -> None:
    """Each line of the block, beside `dist`."""
    assert maven
    archive = build(language, tmp_path / "dist")
    commands = block("README.md", "# Java: JUnit 5").split("# ")
    (lines,) = [lines.partition("\n")[2] for lines in commands if archive.name in lines]
    run(["bash", "-ec", lines], tmp_path)
