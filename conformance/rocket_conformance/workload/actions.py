"""The messages of a workload, drawn from a seed and chosen to show the clauses.

Each group of actions below states its purpose. Nothing here depends on a clock or on an answer, so one seed always
sends the same.
"""

import base64
import random
from collections.abc import Iterator
from typing import Any, Final

from rocket_reference import java

Action = dict[str, Any]
"""One line to the client: `do`, and what that takes."""

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
    """The actions that send, in their order.

    Args:
        seed: of everything that is drawn.
        count: number of plain messages that follow the directed ones, to roll index and queue files.
    """
    rng = random.Random(seed)
    actions = [
        *_keys(rng),
        *_tags(rng),
        *_bodies(rng),
        *_properties(rng),
        *_batches(rng),
        *_raw_batches(rng),
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


def _raw_batches(rng: random.Random) -> Iterator[Action]:
    """Properties that no client writes: cut, repeated and malformed pairs (LOG-PROP-2 to LOG-PROP-6, UTF8-1)."""
    yield raw_batch(_queue(rng), *RAW)


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
