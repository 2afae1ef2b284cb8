"""Failing cases: made small, written to files, read again."""

from rocket_conformance.counterexamples.replays import read_replay, replay_name, replay_of, write_replay
from rocket_conformance.counterexamples.shrinking import shrink

__all__ = ["read_replay", "replay_name", "replay_of", "shrink", "write_replay"]
