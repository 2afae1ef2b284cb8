"""rocketspec: format specification and conformance suite for RocketMQ 4.9.3's store files.

The functions here load what they need when they are first called; importing this package is nearly free.
"""

from rocketspec._facade import audit, conform, decode, open_store, query, rebuild

__all__ = ["audit", "conform", "decode", "open_store", "query", "rebuild"]
