"""Talks to an adapter line by line and names the rule of PROTOCOL.md that a line of it breaks."""

from rocket_conformance.adapter_check.exchanges import Exchange, Summary, check_adapter, summary
from rocket_conformance.adapter_check.line_faults import Broken

__all__ = ["Broken", "Exchange", "Summary", "check_adapter", "summary"]
