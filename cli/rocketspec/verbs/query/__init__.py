"""The verb `query`: messages by key or ID."""

from rocketspec.verbs.query.verb import register

__all__ = ["register"]
