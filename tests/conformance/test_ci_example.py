"""The examples of docs/ci: the shell one is run, the workflow is compared with it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from adapter_code import GOOD, WRONG, AdapterMaker

EXAMPLES = Path(__file__).parents[2] / "docs" / "ci"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell's example")


PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
"""With the command `rocketspec` of this environment."""


def shell(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", *command], cwd=folder, env=os.environ | {"PATH": PATH} | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def gate(folder: Path, earlier: str, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs gate.sh in `folder`."""
    options = {"CONFORM_OPTIONS": "--select IDX-HASH-1/*[a-m] --examples 3"} | environment
    return shell(folder, str(EXAMPLES / "gate.sh"), earlier, *command, **options)


def test_the_gate_lets_through_what_breaks_nothing(adapter: AdapterMaker, tmp_path: Path) -> None:
    """A wrong port that was wrong before passes; one that was right does not."""
    first = gate(tmp_path, "none", *adapter(GOOD), CONFORM_OUT="good")
    assert first.returncode == 0, first.stdout
    wrong = gate(tmp_path, "good", *adapter(WRONG), CONFORM_OUT="wrong")
    assert wrong.returncode == 1
    assert "broken   6 cases of IDX-HASH-1, such as IDX-HASH-1/" in wrong.stdout
    again = gate(tmp_path, "wrong/report.jsonl", *adapter(WRONG))
    assert again.returncode == 0, again.stdout
    assert again.stdout.splitlines()[-1] == "0 broken, 0 fixed, 0 changed, 0 added, 0 removed"
    assert (tmp_path / "conform-out" / "junit.xml").is_file()


def test_without_an_earlier_report_all_that_fails_is_new(adapter: AdapterMaker, tmp_path: Path) -> None:
    run = gate(tmp_path, "none", *adapter(WRONG))
    assert run.returncode == 1
    assert run.stdout.splitlines()[-1] == "no report at none to compare with"


def test_what_gives_no_report_closes_the_gate(tmp_path: Path) -> None:
    assert gate(tmp_path, "none", "./no-such-adapter").returncode == 3
    assert gate(tmp_path, "none").returncode == 2


# --- the reusable workflow ----------------------------------------------------------------------------------


def reusable() -> dict[str, Any]:
    """The workflow; YAML 1.1 reads its key `on` as true."""
    workflow: dict[Any, Any] = yaml.safe_load((EXAMPLES / "reusable" / "conformance.yml").read_text("utf-8"))
    return {"inputs": workflow[True]["workflow_call"]["inputs"], **workflow["jobs"]["conformance"]}


@pytest.mark.parametrize(("code", "returncode"), [(GOOD, 0), (WRONG, 1)])
def test_the_reusable_workflow_s_steps_run(
    code: str, returncode: int, adapter: AdapterMaker, tmp_path: Path
) -> None:
    steps = {step["name"]: step["run"] for step in reusable()["steps"] if "run" in step}
    del steps["install"]
    assert list(steps) == ["build", "conform", "summary"]
    summary = tmp_path / "summary.md"
    environment = {
        "BUILD": "touch built",
        "ADAPTER": " ".join(adapter(code)),
        "OPTIONS": "--select IDX-HASH-1/e* --examples 1",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    assert set(reusable()["env"]) == {*environment, "ROCKETSPEC"} - {"GITHUB_STEP_SUMMARY"}
    codes = [shell(tmp_path, "-e", "-c", text, **environment).returncode for text in steps.values()]
    assert codes == [0, returncode, 0]
    assert (tmp_path / "built").exists()
    assert (tmp_path / "conform-out" / "badge.svg").exists()
    assert summary.read_text("utf-8") == (tmp_path / "conform-out" / "report.md").read_text("utf-8")


# --- a broker from its image --------------------------------------------------------------------------------

BROKER = EXAMPLES / "broker"


def test_the_broker_s_workflow_hands_over_what_the_script_reads() -> None:
    workflow: dict[Any, Any] = yaml.safe_load((BROKER / "broker.yml").read_text("utf-8"))
    job = workflow["jobs"]["broker"]
    inputs = workflow[True]["workflow_call"]["inputs"]
    used = {value.removeprefix("${{ inputs.").removesuffix(" }}") for value in job["env"].values()}
    assert used == inputs.keys()
    steps = {step["name"]: step["run"] for step in job["steps"] if "run" in step}
    handed = re.findall(r"-e \"?(\w+)", steps["judge"])
    script = (BROKER / "judge-broker.sh").read_text("utf-8")
    assert all(f"${name}" in script or f"${{{name}" in script for name in handed)
    assert {*handed, "IMAGE", "ROCKETSPEC"} == set(job["env"])
    arguments = re.findall(r"--build-arg \"(\w+)=", steps["build"])
    dockerfile = (BROKER / "Dockerfile").read_text("utf-8")
    assert all(re.search(rf"^ARG {name}\b", dockerfile, re.MULTILINE) for name in arguments)
    assert re.findall(r"^COPY (?!--from)(\S+)", dockerfile, re.MULTILINE) == ["judge-broker.sh"]
    stages = re.findall(r"^FROM \S+ AS (\w+)$", dockerfile, re.MULTILINE)
    assert set(re.findall(r"^COPY --from=(\w+)", dockerfile, re.MULTILINE)) == set(stages)


WORKLOAD = """#!/bin/sh
printf '%s\\n' "$@" > "$OUT/arguments"
[ "$1" = workload ] || exit 9
echo "# report" > "$OUT/report.md"
echo "first line"
echo "not conformant: IDX-PUT-7"
exit 1
"""


def judge_broker(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    tools = folder / "tools"
    tools.mkdir()
    (tools / "rocketspec").write_text(WORKLOAD, "utf-8")
    (tools / "rocketspec").chmod(0o755)
    environment |= {"PATH": os.environ["PATH"], "TOOLS": str(tools), "OUT": str(folder / "out")}
    return shell(folder, str(BROKER / "judge-broker.sh"), **environment)


def test_the_broker_s_script_keeps_exit_code_and_summary(tmp_path: Path) -> None:
    done = judge_broker(
        tmp_path, BROKER_START="mqbroker -c 'a b'", STORE="/s", NAMESRV_START="sleep 60", KILLS="3",
        BASELINE="/my files/known.txt",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    summary = (tmp_path / "out" / "summary.md").read_text("utf-8")
    assert summary == "```\nnot conformant: IDX-PUT-7\n```\n# report\n"
    arguments = (tmp_path / "out" / "arguments").read_text("utf-8").splitlines()
    start = arguments[arguments.index("--start") + 1]
    assert start.endswith("; export PATH; mqbroker -c 'a b'")
    assert str(tmp_path / "tools") not in start
    assert arguments[arguments.index("--kills") + 1] == "3"
    assert arguments[arguments.index("--baseline") + 1] == "/my files/known.txt"


def test_the_broker_s_script_names_what_is_missing(tmp_path: Path) -> None:
    done = judge_broker(tmp_path, BROKER_START="mqbroker")
    assert done.returncode != 0
    assert "STORE: the store directory of the broker" in done.stderr
