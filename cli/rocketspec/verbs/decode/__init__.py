"""The verb `decode`: files of a store to tables."""

from rocketspec.verbs.decode.verb import register

__all__ = ["register"]
