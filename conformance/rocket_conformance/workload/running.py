"""Carries a workload out, and asks afterwards for what was sent."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, Final

from rocket_conformance.workload.actions import QUEUES, Action, make_actions, topics
from rocket_conformance.workload.client import ClientError
from rocket_conformance.workload.manifest import Manifest, Sent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rocket_conformance.workload.client import Client

__all__ = ["acknowledged", "make_topics", "run_workload"]

_SETTLED: Final = 4.0
"""Seconds between the last message and the first question: dispatch ends, and clocks may differ by three seconds."""

_QUESTIONS: Final = 60
"""Keys and unique keys that are asked for, at most of each."""

_RESULTS: Final = 32
_HOUR: Final = 3_600_000


def run_workload(
    client: Client,
    *,
    seed: int,
    count: int,
    version: str,
    on_step: Callable[[int, int], None] = lambda _done, _total: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Manifest:
    """Sends a workload, waits until the broker is quiet, asks keys, ids, queues and times back.

    Args:
        client: the running client.
        seed: of the messages.
        count: number of plain messages beside the directed ones.
        version: of the client, for the manifest.
        on_step: called with the number of actions done, and of all of them.
        sleep: waits, seconds.

    Raises:
        ClientError: when the client ended, or a topic cannot be made.
    """
    manifest = Manifest(seed, version)
    make_topics(client)
    actions = make_actions(seed, count)
    for number, action in enumerate(actions, 1):
        answer = client.ask(action)
        if "error" in answer:
            manifest.refused.append(
                {"do": action["do"], "topic": action.get("topic"), "error": answer["error"]}
            )
        else:
            manifest.sent += acknowledged(action, answer)
        on_step(number, len(actions))
    sleep(_SETTLED)
    for question in _questions(manifest, random.Random(seed)):  # noqa: S311 - test data
        asked = int(time.time() * 1000)
        manifest.answers.append({**question, "asked": asked, "answer": client.ask(question)})
    return manifest


def make_topics(client: Client) -> None:
    """Makes the workload's topics; waits for a broker that is starting.

    Raises:
        ClientError: when the broker refuses one, or there is none.
    """
    for topic in topics():
        answer = client.ask({"do": "topic", "topic": topic, "queues": QUEUES})
        if "error" in answer:
            raise ClientError(f"topic {topic} cannot be made: {answer['error']}")


def acknowledged(action: Action, answer: dict[str, Any]) -> Iterator[Sent]:
    """The messages of an action that the broker acknowledged."""
    if action["do"] == "pause" or answer["status"] != "SEND_OK":
        return
    messages = action["messages"] if action["do"] == "batch" else [action]
    offsets = answer["phy_offsets"]
    for place, (message, unique_key) in enumerate(zip(messages, answer["unique_keys"], strict=True)):
        yield Sent(
            topic=message["topic"],
            queue=answer["queue"],
            queue_offset=answer["queue_offset"] + place,
            phy_offset=offsets[place] if place < len(offsets) else None,
            unique_key=unique_key,
            keys=message.get("keys", ""),
            body_size=len(message["body"]) // 4 * 3 - message["body"].count("="),
            kind=action["do"],
        )


def _questions(manifest: Manifest, rng: random.Random) -> Iterator[Action]:
    """Keys and ids of some messages, every queue from its beginning, and times."""
    now = int(time.time() * 1000)
    asked = [(sent.topic, key) for sent in manifest.sent for key in sent.keys.split(" ") if key]
    for topic, key in rng.sample(sorted(set(asked)), min(_QUESTIONS, len(set(asked)))):
        yield {"do": "query", "topic": topic, "key": key, "max": _RESULTS, "begin": 0, "end": now + _HOUR}
    for sent in rng.sample(manifest.sent, min(_QUESTIONS, len(manifest.sent))):
        if sent.kind != "transaction":
            yield {"do": "unique", "topic": sent.topic, "id": sent.unique_key}
    for topic in topics():
        for queue in range(QUEUES):
            yield {"do": "bounds", "topic": topic, "queue": queue}
            yield {"do": "read", "topic": topic, "queue": queue, "begin": 0, "count": len(manifest.sent) + 1}
