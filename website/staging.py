"""Copies the checkout's pages into Sphinx's source directory, in the checkout's own layout, so that their links hold."""

import re
import shutil
from pathlib import Path
from typing import Final

PAGES: Final = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/*.md",
    "spec/*.md",
    "conformance/*.md",
    "CODE_OF_CONDUCT.md",
    "gate-action/README.md",
    "golden/README.md",
    "columnar/README.md",
    "tests/README.md",
    "tools/README.md",
    "website/README.md",
    "release/README.md",
    "packages/README.md",
    "packages/*/README.md",
    "golden/rocket_golden/vectors/README.md",
    "benchmarks/*.md",
)
"""Glob patterns of the pages, relative to the checkout; a pattern may match nothing."""

_FENCE: Final = re.compile(r"^(```+|~~~+).*?^\1", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"(?<!!)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")


def stage(root: Path, target: Path) -> None:
    """Copies every page of `PAGES`, and the files that they link to, from `root` to `target`.

    A link to a directory becomes a link to the README.md in it if that is a page, else plain text.
    """
    pages = sorted({path for pattern in PAGES for path in root.glob(pattern)})
    names = {path.relative_to(root).as_posix() for path in pages}
    for page in pages:
        copy = target / page.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(_with_links(page, root, target, names), "utf-8")


def _with_links(page: Path, root: Path, target: Path, names: set[str]) -> str:
    def replaced(match: re.Match[str]) -> str:
        address, _, anchor = match["target"].partition("#")
        if not address or re.match(r"[a-z]+:", address):
            return match[0]
        linked = (page.parent / address).resolve()
        name = linked.relative_to(root).as_posix()
        if linked.is_dir():
            if f"{name}/README.md" not in names:
                return match["text"]
            return f"[{match['text']}]({address.rstrip('/')}/README.md{'#' * bool(anchor)}{anchor})"
        if linked.is_file() and name not in names:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(linked, target / name)
        return match[0]

    text = page.read_text("utf-8")
    parts: list[str] = []
    end = 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(replaced, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(replaced, text[end:])])
