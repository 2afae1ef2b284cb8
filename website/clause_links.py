"""A Sphinx extension: every ID of a clause in running text is a link to the clause."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from docutils import nodes
from rocket_spec.clauses import clauses
from sphinx.transforms.post_transforms import SphinxPostTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx


PAGE: Final = "spec/SPEC"
_ID: Final = re.compile(r"\b[A-Z][A-Z0-9]*(?:-[A-Z]+)*-[1-9][0-9]*\b")
_LEFT_ALONE: Final = (nodes.reference, nodes.title, nodes.literal_block, nodes.raw)


class ClauseLinks(SphinxPostTransform):
    """Replaces the IDs of clauses by references to their anchors on the specification's page."""

    default_priority = 200

    def run(self, **_: Any) -> None:
        """Changes the page's tree in place."""
        known = clauses()
        page = self.app.builder.get_relative_uri(self.env.docname, PAGE)
        for text in list(self.document.findall(nodes.Text)):
            if not any(match[0] in known for match in _ID.finditer(text)) or _inside(text, _LEFT_ALONE):
                continue
            parts: list[nodes.Node] = []
            end = 0
            for match in _ID.finditer(text):
                if match[0] in known:
                    parts += [
                        nodes.Text(text[end : match.start()]),
                        nodes.reference(
                            "",
                            match[0],
                            internal=True,
                            refuri=f"{page}#{match[0].lower()}",
                            classes=["clause"],
                        ),
                    ]
                    end = match.end()
            parts.append(nodes.Text(text[end:]))
            text.parent.replace(text, parts)


def _inside(node: nodes.Node, kinds: tuple[type[nodes.Element], ...]) -> bool:
    parent = node.parent
    while parent is not None:
        if isinstance(parent, kinds):
            return True
        parent = parent.parent
    return False


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the transform."""
    app.add_post_transform(ClauseLinks)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
