"""The workflows of docs/ci: the steps of the reusable one are run, the other hands over what its script reads."""

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


PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
"""With the command `rocketspec` of this environment."""


def shell(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", *command], cwd=folder, env=os.environ | {"PATH": PATH} | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


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
