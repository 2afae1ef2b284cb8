"""Configuration of Sphinx. The source directory is the one that `website.staging` makes, not the checkout."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the packages of this folder

from website.evidence import add_evidence
from website.results import render_results
from website.staging import PAGES
from website.structures import filled

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "rocketspec"
author = "the rocketspec authors"
project_copyright = "the rocketspec authors; Apache License 2.0. Not affiliated with the ASF"
release = version = version_of("rocketspec")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "website.accessible",
    "website.clause_links",
]

include_patterns = PAGES
myst_heading_anchors = 4  # the anchors that GitHub gives: #idx-put-5
myst_enable_extensions = ["colon_fence"]
myst_links_external_new_tab = False
suppress_warnings = [
    "myst.header",  # pages that the project's own generators write may skip a level
    "toc.not_included",  # the menu fits a screen; a test finds a page that nothing leads to
    "misc.highlighting_failure",  # JSON with comments, and output of commands
]
default_role = "code"  # docstrings quote code with single backticks
highlight_language = "none"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"rocketspec {release}"
html_short_title = "rocketspec"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_use_index = False
html_domain_indices = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
html_theme_options = {"navigation_with_keys": False}
smartquotes = False

_ADDED = {
    "spec/SPEC": add_evidence,
    "docs/findings": lambda page: f"{page}\n{render_results()}",
    "structures": filled,
}
"""Functions that complete the text of a page."""


def complete(_app: "Sphinx", page: str, source: list[str]) -> None:
    """Completes the text of a page as it is read."""
    if page in _ADDED:
        source[0] = _ADDED[page](source[0])


def setup(app: "Sphinx") -> None:
    """Registers it."""
    app.connect("source-read", complete)
