"""Configuration of Sphinx. The source directory is the one that `website.staging` writes, not the checkout."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for website.clause_links

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
