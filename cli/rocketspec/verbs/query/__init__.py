"""The verb `query`: messages by key or ID."""

from rocketspec.verbs.query.verb import query

__all__ = ["query"]
