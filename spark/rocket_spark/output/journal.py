"""What finished tasks of a job returned, kept beside their attempts: a killed job starts from these.

The entry of a task is named by a digest of the task, so a run with the same plan finds it, and a task whose files changed
is run again.
"""

from __future__ import annotations

import json
from functools import wraps
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["ENTRY", "entry_text", "journalled", "merge_finished", "read_entries", "task_id"]

ENTRY: Final = "done-"
"""What the names of entries begin with."""


def task_id(task: Any) -> str:
    """A digest of a task: equal for the same task of a later run."""
    return sha256(repr(task).encode()).hexdigest()[:32]


def entry_text(outcome: Any) -> str:
    """An entry, to be written as a whole."""
    return json.dumps({"outcome": outcome})


def read_entries(texts: Mapping[str, str]) -> dict[str, Any]:
    """The outcomes in entries, by the ids of their tasks. What was cut off by a kill is skipped."""
    found: dict[str, Any] = {}
    for name, text in texts.items():
        try:
            found[name.removeprefix(ENTRY)] = json.loads(text)["outcome"]
        except (ValueError, KeyError, TypeError):
            continue
    return found


def journalled(work: Callable[..., Any], write: Callable[[str, str], None]) -> Callable[..., Any]:
    """`work` that also writes the entry of each task: `write` takes its name and text."""

    @wraps(work)
    def run(task: Any, *rest: Any) -> Any:
        outcome = work(task, *rest)
        write(f"{ENTRY}{task_id(task)}", entry_text(outcome))
        return outcome

    return run


def merge_finished(
    tasks: Sequence[Any], finished: Mapping[str, Any], run: Callable[[list[Any], list[int]], list[Any]]
) -> list[Any]:
    """The outcomes of all tasks: those of `finished`, and those that `run` gives for the others and their places."""
    outcomes = [finished.get(task_id(task)) for task in tasks] if finished else [None] * len(tasks)
    places = [place for place, outcome in enumerate(outcomes) if outcome is None]
    for place, outcome in zip(places, run([tasks[place] for place in places], places), strict=True):
        outcomes[place] = outcome
    return outcomes
