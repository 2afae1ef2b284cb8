"""The manifests of docs/kubernetes, and the pods that the documented command makes, against the schemas of Kubernetes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyspark
import pytest
import yaml  # type: ignore[import-untyped]
from kubernetes_api import Manifest, kubernetes_api
from short_lived import SHORT_LIVED

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.network]

ROOT: Final = Path(__file__).parents[2]
MANIFESTS: Final = ROOT / "docs" / "kubernetes"
VERSIONS: Final = "1.30", "1.37"
PATIENCE: Final = 600
_CHECK: Final = """
import json, sys, kubernetes_validate
for manifest in json.load(sys.stdin):
    for version in sys.argv[1:]:
        kubernetes_validate.validate(manifest, version, strict=True)
"""


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[Manifest]], None]:
    """Asserts that manifests have the form that the OpenAPI schemas demand, without any field that they do not know."""
    folder = tmp_path_factory.mktemp("schemas")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", f"--target={folder}", "kubernetes-validate==1.37.0"],
        check=True,
    )

    def validated(manifests: list[Manifest]) -> None:
        done = subprocess.run(
            [sys.executable, "-c", _CHECK, *VERSIONS],
            input=json.dumps(manifests),
            env=os.environ | {"PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]

    return validated


def command(url: str, *, cluster: bool) -> list[str]:
    """The page's spark-submit, with the address of the test's server."""
    page = (ROOT / "docs" / "spark-clusters.md").read_text("utf-8")
    section = page.split("## Kubernetes")[1].split("\n## ")[0]
    (block,) = re.findall(r"```sh\n(\$SPARK_HOME/bin/spark-submit .*?)```", section, re.DOTALL)
    _, *words = re.sub(r"\\\n\s*", "", block).split()
    words[words.index("k8s://https://127.0.0.1:6443")] = f"k8s://{url}"
    extra = ["--conf", "spark.kubernetes.submission.waitAppCompletion=false"]
    if not cluster:
        words[words.index("cluster")] = "client"
        words = [word.replace("local:///opt/rocketspec/", "") for word in words]
        extra = ["--conf", "spark.driver.host=127.0.0.1"]
    return [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), *extra, *words]


def environment() -> dict[str, str]:
    return os.environ | {
        "JAVA_TOOL_OPTIONS": SHORT_LIVED,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "KUBECONFIG": os.devnull,
    }


def mounts(pod: Manifest) -> dict[str, tuple[str, bool]]:
    """Path, and whether it is only read, of each volume of the template in a pod."""
    (container,) = pod["spec"]["containers"]
    found = {mount["name"]: mount for mount in container["volumeMounts"]}
    return {
        name: (found[name]["mountPath"], found[name].get("readOnly", False)) for name in ("stores", "tables")
    }


EXPECTED: Final = {"stores": ("/stores", True), "tables": ("/tables", False)}


def test_the_manifests(check: Callable[[list[Manifest]], None]) -> None:
    manifests = [
        part for path in MANIFESTS.glob("*.yaml") for part in yaml.safe_load_all(path.read_text("utf-8"))
    ]
    kinds = {"Namespace", "ServiceAccount", "Role", "RoleBinding", "PersistentVolumeClaim", "Pod"}
    assert {manifest["kind"] for manifest in manifests} == kinds
    check(manifests)


def test_a_field_that_does_not_exist_is_found(check: Callable[[list[Manifest]], None]) -> None:
    pod = yaml.safe_load((MANIFESTS / "pod.yaml").read_text("utf-8"))
    pod["spec"]["volumez"] = pod["spec"].pop("volumes")
    with pytest.raises(AssertionError, match="volumez"):
        check([pod])


def test_the_driver_that_the_command_asks_for(java: str, check: Callable[[list[Manifest]], None]) -> None:
    with kubernetes_api() as api:
        done = subprocess.run(
            command(api.url, cluster=True),
            cwd=MANIFESTS,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        check(api.sent)
        (pod,) = api.pods("driver")
    assert {manifest["kind"] for manifest in api.sent} == {"Pod", "ConfigMap", "Service", "NetworkPolicy"}
    assert mounts(pod) == EXPECTED
    assert pod["spec"]["serviceAccountName"] == "rocketspec"
    arguments: Any = pod["spec"]["containers"][0]["args"]
    assert arguments[-6:] == [
        *("local:///opt/rocketspec/rocketspec_main.py", "spark", "decode", "/stores/broker-a"),
        *("-o", "/tables/broker-a"),
    ]


def test_the_executors_that_the_driver_asks_for(
    java: str, check: Callable[[list[Manifest]], None], hand_made: Path, tmp_path: Path
) -> None:
    (tmp_path / "rocketspec_main.py").write_text("from rocketspec.__main__ import main\nmain()\n")
    (tmp_path / "pod.yaml").write_bytes((MANIFESTS / "pod.yaml").read_bytes())
    with kubernetes_api() as api:
        words = [
            {"/stores/broker-a": str(hand_made), "/tables/broker-a": str(tmp_path / "out")}.get(word, word)
            for word in command(api.url, cluster=False)
        ]
        with (
            (tmp_path / "log").open("wb") as log,
            subprocess.Popen(words, cwd=tmp_path, env=environment(), stdout=log, stderr=log) as driver,
        ):
            try:
                arrived = api.wait_for_pod("executor", PATIENCE)
            finally:
                driver.terminate()
        assert arrived, (tmp_path / "log").read_text("utf-8", "replace")[-4000:]
        check(api.sent)
        assert mounts(api.pods("executor")[0]) == EXPECTED
