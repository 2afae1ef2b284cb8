"""One module per verb; each has `register(app)`, and imports what it needs only when it runs."""

from rocketspec.verbs._register import is_verb, register_all, register_one

__all__ = ["is_verb", "register_all", "register_one"]
