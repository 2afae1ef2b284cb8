"""The page of systems and dependencies repeats what the packaging and the workflows state."""

import re
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "install.md").read_text("utf-8")


def row(first: str) -> str:
    """The row that begins with these words."""
    return next(line for line in PAGE.splitlines() if line.startswith(f"| {first}"))


def test_python_and_spark_are_those_that_the_package_requires() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == f">={row('Python').split(' | ')[1].split()[0]}"
    spark = re.findall(r"pyspark\[\w+\]>=([\d.]+)", str(project["optional-dependencies"]))
    needed = [
        re.findall(r"PySpark ([\d.]+) or later", row(name))[0] for name in ("Spark jobs", "Spark Connect")
    ]
    assert needed == spark
    lock = (ROOT / "requirements" / "dev.txt").read_text("utf-8")
    assert f"pyspark=={row('Spark jobs').split(' | ')[2].split(';')[0]}" in lock.replace(
        "pyspark[sql]", "pyspark"
    )


def test_the_wheel_is_tried_on_what_the_page_names() -> None:
    workflow = (ROOT / ".github" / "workflows" / "wheel.yml").read_text("utf-8")
    versions = re.findall(r'"([\d.]+)"', workflow.split("python: [")[1].split("]")[0])
    assert versions == re.findall(r"3\.\d+", row("Python").split("wheel")[1])
    others = {system: python for python, system in re.findall(r'python: "([\d.]+)", os: (\w+)', workflow)}
    assert others == dict.fromkeys(("macos", "windows"), row("macOS").split("Python ")[1].rstrip(" |"))
