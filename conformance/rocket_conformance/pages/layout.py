"""What all pages share: the frame with its style and script, and a policy that allows nothing else.

Every text is escaped by the templates; what an adapter chose is made printable before (`rocket_spec.printable`). The
policy admits the one style and the one script by their hashes, and no address at all.
"""

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

import jinja2

_PACKAGE: Final = "rocket_conformance.pages"


def render_page(template: str, values: Mapping[str, Any]) -> str:
    """A page from one of the templates of this package."""
    style, script = _text("page.css"), _text("page.js")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_text),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    return environment.get_template(template).render(style=style, script=script, policy=policy, **values)


def _text(name: str) -> str:
    return files(_PACKAGE).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
