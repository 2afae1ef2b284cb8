"""The messages of a workload, drawn from a seed and chosen to show the clauses; it is carried out, and asks for what was sent.

Each group of actions states its purpose. None of them depends on a clock or on an answer, so one seed always sends the same.
"""

import base64
import random
import time
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from rocket_reference import index_header, java
from rocket_spec.layout import INDEX_HEADER

from rocket_conformance.workload.client import Action, Client, ClientError, Manifest, Sent

GROUP: Final = "rocketspec-workload"

RETRIED: Final = f"%RETRY%{GROUP}-reader"
"""Topic that the broker makes, with one queue, for messages that were sent back to it; it may forbid to read dead letters."""

QUEUES: Final = 3
_PLAIN: Final = "rocketspec-Plain"
_COLLIDING: Final = ("rocketspec-AaTopic", "rocketspec-BBTopic")
_HALF: Final = "rocketspec-Paid"
_LATER: Final = "rocketspec-Later"
_MOST_KEYS: Final = 60
_LONGEST_TOPIC: Final = 127
_LONGEST_PROPERTIES: Final = 30_000
_TOO_LONG: Final = 33_000
_LARGE: Final = 20_000

_OFTEN: Final = 70
"""More messages with one key than a query finds (IDX-SVC-11)."""

_COMPRESSED: Final = 8_000

_FLUSHED: Final = 13_000
"""ms in which a thorough flush begins: one does every 10 s, unless the broker is configured to flush less often."""


def topics() -> list[str]:
    """The topics that a workload makes, each with `QUEUES` queues; the last has the longest name that a client takes."""
    return [_PLAIN, *_COLLIDING, _HALF, _LATER, "rocketspec-".ljust(_LONGEST_TOPIC, "x")]


def make_actions(seed: int, count: int) -> list[Action]:
    """The actions that send, in their order: the directed ones, and `count` plain messages to roll index and queue files."""
    rng = random.Random(seed)
    actions = [
        *_keys(rng),
        *_tags(rng),
        *_bodies(rng),
        *_properties(rng),
        *_batches(rng),
        raw_batch(_queue(rng), *RAW),
        *_light_queues(rng),
        *_transactions(rng),
        *_delays(rng),
        *_sent_back(),
    ]
    rng.shuffle(actions)
    bulk = [plain_message(rng, number) for number in range(count)]
    half = len(bulk) // 2
    return [*_within_a_second(rng), *bulk[:half], *actions, *bulk[half:], *_flushed()]


def _send(topic: str, queue: int, body: bytes, **more: object) -> Action:
    return {"do": "send", "topic": topic, "queue": queue, "body": _base64(body), **more}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _queue(rng: random.Random) -> int:
    return rng.randrange(QUEUES)


def plain_message(rng: random.Random, number: int) -> Action:
    """A message with one to three keys, some of which repeat."""
    keys = [f"order-{rng.randrange(1 + number)}" for _ in range(rng.randint(1, 3))]
    return _send(
        _PLAIN,
        _queue(rng),
        rng.randbytes(rng.randrange(1, 200)),
        keys=" ".join(keys),
        tags=f"Tag{rng.randrange(5)}",
    )


def large_message(rng: random.Random) -> Action:
    """A message of one index entry, whose body the client compresses in vain: log files fill up, index files do not."""
    return _send(_PLAIN, _queue(rng), rng.randbytes(_LARGE))


def first_messages() -> list[Action]:
    """A message for each queue of the longest topic, of which all but one have none before (CQ-PUT-1 at 0)."""
    return [_send(topics()[-1], queue, b"the first") for queue in range(QUEUES)]


def _within_a_second(rng: random.Random) -> Iterator[Action]:
    """Times that share a second and a millisecond, and then a second's distance (IDX-PUT-2)."""
    for number in range(5):
        yield _send(_PLAIN, 0, b"burst", keys=f"burst-{number}")
    yield {"do": "pause", "ms": 1_100 + rng.randrange(200)}
    yield _send(_PLAIN, 0, b"later", keys="burst-later")


def _flushed() -> Iterator[Action]:
    """A pause in which every broker flushes its log thoroughly, which the checkpoint's time of the log shows (CKP-6)."""
    yield {"do": "pause", "ms": _FLUSHED}
    yield _send(_PLAIN, 0, b"after a flush", keys="flushed")


def _keys(rng: random.Random) -> Iterator[Action]:
    """Keys that collide, repeat, are many, odd or absent (IDX-HASH-1, IDX-HASH-2, IDX-SVC-2, UTF8-2)."""
    for topic in _COLLIDING:
        for key in ("Aa", "BB"):
            yield _send(topic, _queue(rng), b"collides", keys=key)
    yield _send(_PLAIN, 1, b"repeated", keys="again again again")
    yield _send(_PLAIN, 1, b"many", keys=" ".join(f"many-{number}" for number in range(_MOST_KEYS)))
    yield _send(_PLAIN, 1, b"empty parts", keys="  a   b  ")
    yield _send(_PLAIN, 1, b"text", keys="订单1 \U0001f600 é ключ")
    yield _send(_PLAIN, 1, b"control", keys="tab\tbell\x07 del\x7f")
    yield _send(_PLAIN, 1, b"commas", keys="a,b;c")
    yield _send(_PLAIN, 1, b"number signs", keys="a#b #c d# #")
    yield _send(_PLAIN, 1, b"long", keys="k" * 4_000)
    yield _send(_PLAIN, 2, b"least hash", keys=key_of_least_hash(_PLAIN))
    yield _send(_PLAIN, 2, b"no key")
    yield _send(_PLAIN, 2, b"lone surrogate", keys="lone-\ud800")
    for _ in range(_OFTEN):
        yield _send(_PLAIN, _queue(rng), b"often", keys="often")


def key_of_least_hash(topic: str) -> str:
    """A key whose indexed form has the Java hash code -2^31, which has no absolute value (IDX-HASH-2)."""
    digits = 7
    modulus = 1 << 32
    base = java.string_hash(f"{topic}#" + "0" * digits)
    rest = (-(1 << 31) - base) % modulus
    key: list[str] = []
    for power in range(digits - 1, -1, -1):
        digit, rest = divmod(rest, 31**power)
        key.append(chr(ord("0") + digit))
    return "".join(key)


def _tags(rng: random.Random) -> Iterator[Action]:
    """Tags that collide, have a negative hash, begin or end with blanks, or are absent (CQ-TAGS-1)."""
    for tag in ("Aa", "BB", "TagA", "标签", "\U0001f600", "polygenelubricants", " Aa", "Aa ", " Aa "):
        yield _send(_PLAIN, _queue(rng), b"tagged", tags=tag)
    yield _send(_PLAIN, _queue(rng), b"untagged")


def _bodies(rng: random.Random) -> Iterator[Action]:
    """Bodies without a byte, of one, of zeros, and so long that the client compresses them (LOG-REC-4, LOG-REC-5).

    A client refuses to send an empty body, except in a batch that is given as bytes.
    """
    yield raw_batch(_queue(rng), (b"KEYS\x01raw-empty", "LOG-PROP-1", "raw-empty"), body=b"")
    yield _send(_PLAIN, 0, b"\0")
    yield _send(_PLAIN, 0, bytes(100))
    yield _send(_PLAIN, 0, b"compress me " * (_COMPRESSED // 12), keys="compressed")
    yield _send(_PLAIN, 0, rng.randbytes(_COMPRESSED), keys="incompressible")


def _properties(rng: random.Random) -> Iterator[Action]:
    """User properties, nearly as many bytes as a record takes (LOG-PROP-1, LOG-PROP-5), and a flag."""
    yield _send(_PLAIN, 0, b"properties", properties={"colour": "red", "size": "xl", "名": "值"}, flag=7)
    yield _send(_PLAIN, 0, b"long properties", properties={"long": "p" * _LONGEST_PROPERTIES})
    yield _send(
        _PLAIN, 0, b"too long", keys="too-long", properties={"long": "p" * _TOO_LONG}, refused="LOG-PROP-5"
    )
    yield _send(topics()[-1], _queue(rng), b"the longest topic", keys="longest")


def _batches(rng: random.Random) -> Iterator[Action]:
    """Batches, whose messages are records of one store time (LOG-REC-8)."""
    for number in range(3):
        messages = [
            {"topic": _PLAIN, "body": _base64(rng.randbytes(20)), "keys": f"batch-{number}-{place}"}
            for place in range(2 + number * 3)
        ]
        yield {"do": "batch", "topic": _PLAIN, "queue": _queue(rng), "messages": messages}


RAW: Final = (
    (b"KEYS\x01raw-cut\x02tail\x02ab\x02KEYS\x01", "LOG-PROP-2", "raw-cut"),
    (b"KEYS\x01raw-name\x01value", "LOG-PROP-3", "raw-name\x01value"),
    (b"KEYS\x01raw-first\x02KEYS\x01raw-last", "LOG-PROP-4", "raw-last"),
    (b"KEYS\x01raw-ends\x02", "LOG-PROP-6", "raw-ends"),
    (b"KEYS\x01raw-\xed\xa0\x80", "UTF8-1", "raw-\ufffd"),
)
"""Properties in bytes, the clause that decides how they are read, and the key that 4.9.3 reads."""


def raw_batch(queue: int, *rows: tuple[bytes, str, str], body: bytes = b"raw") -> Action:
    """A batch whose properties are bytes, which the broker stores as they are (LOG-PROP-6)."""
    messages = [
        {"topic": _PLAIN, "body": _base64(body), "raw": _base64(raw), "shows": [clause, key]}
        for raw, clause, key in rows
    ]
    return {"do": "raw_batch", "topic": _PLAIN, "queue": queue, "messages": messages}


def keyless_batch() -> Action:
    """One message without a key, not even the client's unique key."""
    return raw_batch(0, (b"a\x01bc", "IDX-SVC-7", ""))


def single_entry() -> Action:
    """A message of one index entry, that of its unique key."""
    return _send(_PLAIN, 0, b"one entry")


def _light_queues(rng: random.Random) -> Iterator[Action]:
    """Messages for further queues, which a broker with multi-dispatch fills (CQ-LMQ-1 to CQ-LMQ-3)."""
    for number in range(8):
        names = ",".join(f"%LMQ%rocketspec-{name}" for name in range(1 + number % 4))
        further = {"INNER_MULTI_DISPATCH": names}
        yield _send(_PLAIN, _queue(rng), b"light", keys=f"light-{number}", tags="Light", system=further)


def _transactions(rng: random.Random) -> Iterator[Action]:
    """Half messages that are committed, rolled back and left unknown, and a record of a rollback (LOG-DSP-7, IDX-SVC-9)."""
    for number, outcome in enumerate(("commit", "rollback", "unknown", "commit")):
        body = _base64(rng.randbytes(10))
        yield {
            "do": "transaction", "topic": _HALF, "body": body, "keys": f"paid-{number}", "tags": "Paid", "outcome": outcome
        }  # fmt: skip
    yield {
        "do": "rolled_back",
        "topic": _HALF,
        "queue": 0,
        "body": _base64(b"not paid"),
        "keys": "not-paid",
        "tags": "Paid",
    }


def _delays(rng: random.Random) -> Iterator[Action]:
    """Every delay level; the short ones are delivered while the workload runs (CQ-TAGS-2, LOG-DSP-5)."""
    for level in range(1, 19):
        yield _send(_LATER, _queue(rng), b"later", keys=f"later-{level}", tags="Later", delay=level)


def _sent_back() -> Iterator[Action]:
    """A message that a consumer gives back: once as a retry, delivered again after a second, once as a dead letter."""
    for delay in (1, -1):
        yield {"do": "send_back", "topic": _PLAIN, "queue": 0, "delay": delay}


# --- carried out --------------------------------------------------------------------------------------

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

    Raises ClientError: when the client ended, or a topic cannot be made.
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

    Raises ClientError: when the broker refuses one, or there is none.
    """
    for topic in topics():
        answer = client.ask({"do": "topic", "topic": topic, "queues": QUEUES})
        if "error" in answer:
            raise ClientError(f"topic {topic} cannot be made: {answer['error']}")


def _acknowledged(action: Action, answer: dict[str, Any], number: int) -> Iterator[Sent]:
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
            properties=_must_have(message),
            batch=number if batched else None,
            store_host=answer.get("store_host"),
            raw=message.get("raw"),
            shows=message.get("shows"),
        )


def _must_have(message: Action) -> dict[str, str]:
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
