"""Talks to an adapter line by line and names the rule of PROTOCOL.md that a line of it breaks."""

from rocket_conformance.adapter_check.exchanges import Broken, Exchange, Summary, check_adapter, summary

__all__ = ["Broken", "Exchange", "Summary", "check_adapter", "summary"]
