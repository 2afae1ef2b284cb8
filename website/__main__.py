"""Builds the documentation site: `python -m website [OUT]`. A broken link or anchor is an error."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

from website.reference import write_reference
from website.results import badges, read_runs
from website.staging import stage

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent


def build(out: Path) -> int:
    """Builds the site into `out`, which is created or replaced; the exit code of Sphinx."""
    if out.exists():
        shutil.rmtree(out)
    with tempfile.TemporaryDirectory(prefix="rocketspec-site-") as scratch:
        source = Path(scratch) / "source"
        stage(ROOT, source)
        write_reference(source / "api")
        code = run_sphinx(source, out, Path(scratch) / "doctrees")
    (out / "badges").mkdir(parents=True, exist_ok=True)
    for name, picture in badges(read_runs()):
        (out / "badges" / name).write_text(picture, "utf-8")
    return code


def run_sphinx(source: Path, out: Path, doctrees: Path) -> int:
    """Builds the pages of a directory; the exit code, 1 after a warning."""
    options = ["-W", "--keep-going", "-q", "-d", str(doctrees)]
    return build_main([*options, "-c", str(HERE), "-b", "html", str(source), str(out)])


def main() -> int:
    """Reads the command line; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m website", description="Build the documentation site.")
    parser.add_argument("out", metavar="OUT", type=Path, nargs="?", default=ROOT / "out" / "site")
    out: Path = parser.parse_args().out
    code = build(out)
    if code == 0:
        sys.stdout.write(f"site: {out / 'index.html'}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
