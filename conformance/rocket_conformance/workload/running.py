"""Carries a workload out, and asks afterwards for what was sent."""

import base64
import random
import time
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from rocket_reference import index_header
from rocket_spec.layout import INDEX_HEADER

from rocket_conformance.workload.actions import (
    QUEUES,
    RETRIED,
    Action,
    keyless_batch,
    make_actions,
    single_entry,
    topics,
)
from rocket_conformance.workload.client import Client, ClientError
from rocket_conformance.workload.manifest import Manifest, Sent

_SETTLED: Final = 4.0
"""Seconds between the last message and the first question: dispatch ends, and clocks may differ by three seconds."""

_QUESTIONS: Final = 60
"""Keys and unique keys that are asked for, at most of each."""

_RESULTS: Final = 32
_ABSENT: Final = 8

_ALWAYS: Final = ("raw-", "absent-", "lone-", "Aa", "BB")
"""Beginnings of the keys that are asked for in any case."""

_HOUR: Final = 3_600_000


def run_workload(
    client: Client, *, seed: int, count: int, version: str, store: Path | None = None
) -> Manifest:
    """Sends a workload, waits until the broker is quiet, asks keys, ids, queues and times back.

    Args:
        client: the running client.
        seed: of the messages.
        count: number of plain messages beside the directed ones.
        version: of the client, for the manifest.
        store: the broker's store directory where it is at hand: it decides when the last index file is full.

    Raises:
        ClientError: when the client ended, or a topic cannot be made.
    """
    manifest = Manifest(seed, version)
    make_topics(client)
    actions = make_actions(seed, count)
    for number, action in enumerate(actions, 1):
        answer = carry_out(client, manifest, action, number)
        if "refused" in action:
            asked = int(time.time() * 1000)
            manifest.answers.append(
                {"do": "refused", "clause": action["refused"], "key": action["keys"], "topic": action["topic"],
                 "asked": asked, "answer": {"refused": "error" in answer}}
            )  # fmt: skip
        elif "error" in answer:
            manifest.refused.append(
                {"do": action["do"], "topic": action.get("topic"), "error": answer["error"]}
            )
    time.sleep(_SETTLED)
    for question in _questions(manifest, random.Random(seed)):
        asked = int(time.time() * 1000)
        manifest.answers.append({**question, "asked": asked, "answer": client.ask(question)})
    if store is not None:
        send = partial(carry_out, client, manifest, number=len(actions) + 1)
        manifest.answers += roll_after_idle_second(send, store)
    return manifest


def carry_out(client: Client, manifest: Manifest, action: Action, number: int = 0) -> dict[str, Any]:
    """The answer to an action; the manifest takes what was acknowledged. `number` identifies a batch."""
    answer = client.ask(action)
    if "error" not in answer and "refused" not in action:
        manifest.sent += _acknowledged(action, answer, number)
    return answer


def make_topics(client: Client) -> None:
    """Makes the workload's topics; waits for a broker that is starting.

    Raises:
        ClientError: when the broker refuses one, or there is none.
    """
    for topic in topics():
        answer = client.ask({"do": "topic", "topic": topic, "queues": QUEUES})
        if "error" in answer:
            raise ClientError(f"topic {topic} cannot be made: {answer['error']}")


def _acknowledged(action: Action, answer: dict[str, Any], number: int) -> Iterator[Sent]:
    """The messages of an action that the broker acknowledged."""
    if action["do"] in {"pause", "send_back", "rolled_back"} or answer["status"] != "SEND_OK":
        return
    batched = action["do"] in {"batch", "raw_batch"}
    messages = action["messages"] if batched else [action]
    offsets = answer["phy_offsets"]
    for place, (message, unique_key) in enumerate(zip(messages, answer["unique_keys"], strict=True)):
        body = base64.b64decode(message["body"])
        yield Sent(
            topic=message["topic"],
            queue=answer["queue"],
            queue_offset=answer["queue_offset"] + place,
            phy_offset=offsets[place] if place < len(offsets) else None,
            unique_key="" if "raw" in message else unique_key,
            keys=message.get("keys", ""),
            body_size=len(body),
            kind=action["do"],
            body_crc=zlib.crc32(body),
            properties=_properties(message),
            batch=number if batched else None,
            store_host=answer.get("store_host"),
            raw=message.get("raw"),
            shows=message.get("shows"),
        )


def _properties(message: Action) -> dict[str, str]:
    """The properties that a record of a message must have."""
    named = {"KEYS": message.get("keys"), "TAGS": message.get("tags")}
    given = {name: value for name, value in named.items() if value is not None}
    return {**given, **message.get("properties", {}), **message.get("system", {})}


def _questions(manifest: Manifest, rng: random.Random) -> Iterator[Action]:
    """Every queue from its beginning, its bounds and times; ids of some messages; keys, in all times and in windows.

    What was answered so far is in the manifest when the next question is drawn.
    """
    queues = [*((topic, queue) for topic in topics() for queue in range(QUEUES)), (RETRIED, 0)]
    for topic, queue in queues:
        here = {"topic": topic, "queue": queue}
        yield {"do": "bounds", **here}
        yield {"do": "read", **here, "begin": 0, "count": len(manifest.sent) + 1}
        rows = manifest.answers[-1]["answer"].get("messages", [])
        yield {"do": "read", **here, "begin": len(rows) + 5, "count": 1}
        for time_asked in _times([row[5] for row in rows], rng):
            yield {"do": "by_time", **here, "time": time_asked}
    for sent in rng.sample(manifest.sent, min(_QUESTIONS, len(manifest.sent))):
        if sent.kind in {"send", "batch"}:
            yield {"do": "unique", "topic": sent.topic, "id": sent.unique_key}
    yield from _queries(manifest, rng)


def _times(stored: list[int], rng: random.Random) -> list[int]:
    """Times around those of some messages of a queue, and outside of all."""
    if not stored:
        return []
    near = [moment + apart for moment in rng.sample(stored, min(3, len(stored))) for apart in (0, 1)]
    return [stored[0] - _HOUR, *near, stored[-1] + 1]


def _queries(manifest: Manifest, rng: random.Random) -> Iterator[Action]:
    now = int(time.time() * 1000)
    asked = {(sent.topic, key) for sent in manifest.sent for key in sent.keys.split(" ") if key}
    asked |= {(sent.topic, sent.shows[1]) for sent in manifest.sent if sent.shows and sent.shows[1]}
    asked |= {(topics()[0], f"absent-{number}") for number in range(_ABSENT)}
    always = [pair for pair in sorted(asked) if pair[1].startswith(_ALWAYS)]
    drawn = rng.sample(sorted(asked), min(_QUESTIONS, len(asked)))
    stored = sorted(row[5] for row in _rows_read(manifest))
    for topic, key in dict.fromkeys([*always, *drawn]):
        question = {"do": "query", "topic": topic, "key": key.replace("\ud800", "?")}
        yield {**question, "max": _RESULTS, "begin": 0, "end": now + _HOUR}
        if not stored:
            continue
        begin, end = sorted(rng.choices(stored, k=2))
        yield {**question, "max": rng.choice((1, 3, _RESULTS, 100)), "begin": begin, "end": end}
    yield from _within_the_first_file(manifest, now)
    if stored:
        often = {"do": "query", "topic": topics()[0], "key": "often", "begin": 0}
        yield {**often, "max": 3, "end": now + _HOUR}
        yield {**often, "max": 100, "end": now + _HOUR}
        yield {**often, "max": 100, "begin": stored[len(stored) // 2], "end": stored[-1]}
        yield {**often, "max": 100, "begin": stored[len(stored) // 2], "end": now + _HOUR}
        yield {**often, "max": 100, "end": stored[len(stored) // 2]}
        yield {**often, "max": 100, "begin": stored[0] - _HOUR, "end": stored[0] - _HOUR // 2}


def _rows_read(manifest: Manifest) -> Iterator[list[Any]]:
    """The messages that were read from queues."""
    for given in manifest.answers:
        if given["do"] == "read":
            yield from given["answer"].get("messages", [])


def _within_the_first_file(manifest: Manifest, now: int) -> Iterator[Action]:
    """Windows that begin or end between the first messages and the one a second later, or exactly at an entry's time.

    Those show IDX-TIME-2 and IDX-TIME-3, and that both ends of a window are included (IDX-SEL-4).
    """
    moments = {row[0]: row[5] for row in _rows_read(manifest)}
    of_key = {sent.keys: moments.get(sent.phy_offset) for sent in reversed(manifest.sent)}
    first, last = of_key.get("burst-0"), of_key.get("burst-4")
    question = {"do": "query", "topic": topics()[0], "max": _RESULTS}
    if last is not None:
        yield {**question, "key": "burst-later", "begin": last + 1, "end": now + _HOUR}
        yield {**question, "key": "burst-0", "begin": 0, "end": last + 1}
    if first is not None:  # the begin of the first file; times of entries are whole seconds after it
        yield {**question, "key": "burst-0", "begin": 0, "end": first}
        yield {**question, "key": "burst-later", "begin": first + 1000, "end": now + _HOUR}


# --- a roll after an idle second, timed by the broker's own index files ---------------------------------

_MOST: Final = 5_000
"""Maximum number of entries that are filled up: a file of 20 million is not."""

_TRIES: Final = 3

_IDLE: Final = 1.2
"""Seconds without a message: long enough to show in a time diff of whole seconds."""

_POLL: Final = 0.02
"""Seconds between polls."""

_PATIENCE: Final = 250
"""Polls within which a message must be in the index: five seconds."""


def roll_after_idle_second(send: Callable[[Action], dict[str, Any]], store: Path) -> Iterator[dict[str, Any]]:
    """Fills the last index file, waits, sends a message without a key, waits, and sends one with a key.

    The message without a key makes the new file (IDX-SVC-7), whose first entry then has a time diff from the seed
    (IDX-PUT-8). Nothing is done where no index file is full yet, since then the number of its entries is unknown.

    Args:
        send: sends an action and gives its answer.
        store: the broker's store directory, which is only read.

    Yields:
        The answer for the manifest: whether the message without a key made a file.
    """
    for _ in range(_TRIES):
        full = _fill(send, store)
        if full is None:
            return
        time.sleep(_IDLE)
        if _files(store) != full:  # another message came between
            continue
        asked = int(time.time() * 1000)
        send(keyless_batch())
        made = _changed(store, full)
        yield {"do": "keyless", "topic": None, "asked": asked, "answer": {"made": made}}
        time.sleep(_IDLE)
        send(single_entry())
        return


def _fill(send: Callable[[Action], dict[str, Any]], store: Path) -> list[int] | None:
    """Sends messages of one entry until the last file is full; the counts of all files then, None where it cannot be."""
    counts = _files(store)
    if len(counts) < 2 or counts[-2] - counts[-1] > _MOST:
        return None
    for _ in range(2 * _MOST):
        counts = _files(store)
        if counts[-1] >= counts[-2]:
            return counts
        if "error" in send(single_entry()):
            return None
        if not _changed(store, counts):
            return None
    return None


def _changed(store: Path, counts: list[int]) -> bool:
    """Whether the index files change within five seconds."""
    for _ in range(_PATIENCE):
        if _files(store) != counts:
            return True
        time.sleep(_POLL)
    return False


def _files(store: Path) -> list[int]:
    """The index_count of every index file, in the order of their names."""
    found: list[int] = []
    for path in sorted((store / "index").iterdir()) if (store / "index").is_dir() else []:
        with path.open("rb") as file:
            data = file.read(INDEX_HEADER.size)
        if len(data) == INDEX_HEADER.size:
            found.append(index_header(data).index_count)
    return found
