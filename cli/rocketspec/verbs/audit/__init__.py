"""The verb `audit`: a store's files cross-checked."""

from rocketspec.verbs.audit.restart_view import show as show_restart
from rocketspec.verbs.audit.verb import print_findings, register

__all__ = ["print_findings", "register", "show_restart"]
