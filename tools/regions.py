"""Regions of Markdown pages that are made from data, each between `<!-- NAME -->` and `<!-- /NAME -->`."""

import re


def filled(text: str, **made: str) -> str:
    """The page with the content of each named region; ValueError if it has no such region."""
    for name, content in made.items():
        region = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", re.DOTALL)
        if not region.search(text):
            raise ValueError(f"the page has no lines <!-- {name} --> and <!-- /{name} -->")
        text = region.sub(lambda _, content=content: content, text)  # type: ignore[misc]
    return text
