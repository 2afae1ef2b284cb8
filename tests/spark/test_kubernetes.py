"""The manifests of docs/kubernetes against the schemas of Kubernetes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml  # type: ignore[import-untyped]

Check = Callable[[list[dict[str, Any]]], str]
pytestmark = [pytest.mark.soak, pytest.mark.network]

MANIFESTS: Final = Path(__file__).parents[2] / "docs" / "kubernetes"
VERSIONS: Final = "1.30", "1.37"
_CHECK: Final = """
import json, sys, kubernetes_validate
for manifest in json.load(sys.stdin):
    for version in sys.argv[1:]:
        kubernetes_validate.validate(manifest, version, strict=True)
"""


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Check:
    """What is wrong with manifests by the OpenAPI schemas, which know each field."""
    folder = tmp_path_factory.mktemp("schemas")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", f"--target={folder}", "kubernetes-validate==1.37.0"],
        check=True,
    )

    def found(manifests: list[dict[str, Any]]) -> str:
        done = subprocess.run(
            [sys.executable, "-c", _CHECK, *VERSIONS],
            input=json.dumps(manifests),
            env=os.environ | {"PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stderr[-2000:] if done.returncode else ""

    return found


def test_the_manifests(check: Check) -> None:
    manifests = [
        part for path in MANIFESTS.glob("*.yaml") for part in yaml.safe_load_all(path.read_text("utf-8"))
    ]
    kinds = {"Namespace", "ServiceAccount", "Role", "RoleBinding", "PersistentVolumeClaim", "Pod"}
    assert {manifest["kind"] for manifest in manifests} == kinds
    assert not check(manifests)


def test_a_field_that_does_not_exist_is_found(check: Check) -> None:
    pod = yaml.safe_load((MANIFESTS / "pod.yaml").read_text("utf-8"))
    pod["spec"]["volumez"] = pod["spec"].pop("volumes")
    assert "volumez" in check([pod])
