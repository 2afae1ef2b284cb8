"""The verb `decode`: files of a store to tables."""

from rocketspec.verbs.decode.verb import HELP, decode

__all__ = ["HELP", "decode"]
