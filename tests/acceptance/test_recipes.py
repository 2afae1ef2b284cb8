"""docs/python.md: its blocks run as written, each with the tool that it is for."""

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from rocket_golden import open_store
from transcript import run_command

pytestmark = pytest.mark.soak

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text("utf-8").partition("## Decoded stores")[2]
TOOLS = ("duckdb==2.0.0", "polars==2.1.0", "pyiceberg[sql-sqlite,pyarrow]==0.12.0", "deltalake==1.6.6")
_PRINTED = """
import json
print(json.dumps([{topic: count for topic, count, _ in rows}, count, dict(by_topic.iter_rows()), iceberg_rows, delta_rows]))
"""


def test_the_recipes_run(tmp_path: Path) -> None:
    """The golden store `mixed` has 394 records and 394 units, 85 of them of Orders, in 9 topics."""
    open_store("mixed", tmp_path / "golden").rename(tmp_path / "store")
    (command,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    code, printed = run_command(command, tmp_path)
    assert code == 0, printed
    venv.create(tmp_path / "tools", with_pip=True)
    python = tmp_path / "tools" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *TOOLS], check=True)
    script = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)) + _PRINTED
    here = os.pathsep.join(part for part in sys.path if part)
    done = subprocess.run(
        [python, "-c", script],
        cwd=tmp_path,
        check=True,
        env={**os.environ, "PYTHONPATH": here},
        capture_output=True,
        text=True,
    )
    topics, orders, by_topic, iceberg, delta = json.loads(done.stdout.splitlines()[-1])
    assert topics == by_topic
    assert (len(topics), topics["Orders"], sum(topics.values())) == (9, 85, 394)
    assert (orders, iceberg, delta) == (85, 394, 394)
