"""The verb `audit`: a store's files cross-checked."""

from rocketspec.verbs.audit.verb import audit
from rocketspec.verbs.audit.view import print_causes, summary
from rocketspec.verbs.audit.view import show as show_restart

__all__ = ["audit", "print_causes", "show_restart", "summary"]
