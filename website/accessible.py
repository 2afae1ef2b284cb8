"""A Sphinx extension: what axe asks for and the theme leaves out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx


_SCROLLS: Final = re.compile(r'<pre(?=>)|<div(?= class="table-wrapper)')
"""The beginnings of elements that scroll: code, and the box that the theme puts around a table."""


def complete(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Gives captions of the navigation a level, and makes code and tables that scroll reachable by keyboard."""
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = context["furo_navigation_tree"].replace(
            'role="heading"', 'role="heading" aria-level="2"'
        )
    if "body" in context:
        context["body"] = _SCROLLS.sub(r'\g<0> tabindex="0"', context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the change, after the theme has made its own."""
    app.connect("html-page-context", complete, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
