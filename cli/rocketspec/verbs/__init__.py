"""One module per verb; each has `register(app)`, and imports what it needs only when it runs."""

from rocketspec.verbs._register import register_all

__all__ = ["register_all"]
