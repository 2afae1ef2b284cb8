"""When each clause was written, and when it was read again beside the Java source: SPEC.md against REVIEW.md.

    python -m tools.review IDX-PUT-5 IDX-PUT-6 --how author
    python -m tools.review IDX-PUT-5 IDX-PUT-6 --how "source and run"

The first writes or replaces the rows of clauses that were changed, the second dates the reading that follows. A row carries a
digest of the clause's facts and text, so a clause that is changed has to be read again.
"""

import argparse
import hashlib
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Final, NamedTuple

from rocket_spec.clauses import Clause, clauses
from rocket_spec.data import find_data

AUTHOR: Final = "author"
"""Only whoever wrote the clause has compared it with the source."""

HOW: Final = (AUTHOR, "source", "source and run")
"""How a clause was compared: by its author alone; by a second reading of the source; the real classes also ran on what it says."""

_ROW: Final = re.compile(
    r"^\| (?P<clause>[A-Z0-9-]+) \| (?P<written>\d{4}-\d\d-\d\d|-) \| (?P<read>\d{4}-\d\d-\d\d|-) \| (?P<how>[a-z ]+) "
    r"\| (?P<digest>[0-9a-f]{12}) \|$",
    re.MULTILINE,
)


class Review(NamedTuple):
    """A row of REVIEW.md.

    Attributes:
        clause: its id.
        written: when it was last changed; None before that was recorded.
        read: when someone read it again after that; None if nobody has.
        how: one of `HOW`.
        digest: of its text at that time.
    """

    clause: str
    written: date | None
    read: date | None
    how: str
    digest: str


def digest(clause: Clause) -> str:
    """12 hexadecimal digits of the SHA-256 of what a clause claims: level, release, source and text, spaces aside."""
    claim = f"{clause.level} {clause.since} {clause.source} {clause.text}"
    return hashlib.sha256(" ".join(claim.split()).encode()).hexdigest()[:12]


def reviews(text: str) -> dict[str, Review]:
    """The rows of a document in REVIEW.md's form, by clause.

    Raises:
        ValueError: when a clause has two rows.
    """
    found: dict[str, Review] = {}
    for match in _ROW.finditer(text):
        if match["clause"] in found:
            raise ValueError(f"two rows for {match['clause']}")
        written, read = (
            None if day == "-" else date.fromisoformat(day) for day in match.group("written", "read")
        )
        found[match["clause"]] = Review(match["clause"], written, read, match["how"], match["digest"])
    return found


def stale(known: Mapping[str, Clause], read: Mapping[str, Review]) -> list[str]:
    """The clauses that were changed since they were read, or that nobody but their author has read."""
    return [
        name
        for name, clause in known.items()
        if (row := read.get(name)) is None or row.read is None or row.digest != digest(clause)
    ]


def written(text: str, known: Mapping[str, Clause], names: Sequence[str], *, how: str, day: date) -> str:
    """The document with rows of that day for these clauses, all rows in SPEC.md's order."""
    rows = reviews(text)
    for name in names:
        written = day if how == AUTHOR else rows[name].written if name in rows else None
        rows[name] = Review(name, written, None if how == AUTHOR else day, how, digest(known[name]))
    head = text[: match.start()] if (match := _ROW.search(text)) else text
    lines = [
        f"| {r.clause} | {r.written or '-'} | {r.read or '-'} | {r.how} | {r.digest} |"
        for n in known
        if (r := rows.get(n)) is not None
    ]
    return head.rstrip("\n") + "\n" + "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes rows; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "clauses", nargs="*", metavar="CLAUSE", help="what was read; none lists what is to be read"
    )
    parser.add_argument("--how", choices=HOW, default="source", help="default: %(default)s")
    options = parser.parse_args(arguments)
    path, known = find_data("spec/REVIEW.md"), clauses()
    text = path.read_text("utf-8")
    unknown = [name for name in options.clauses if name not in known]
    if unknown:
        parser.error(f"no clause {', '.join(unknown)}")
    if not options.clauses:
        sys.stdout.writelines(f"{name}\n" for name in stale(known, reviews(text)))
        return 0
    today = datetime.now(UTC).date()
    path.write_text(written(text, known, options.clauses, how=options.how, day=today), "utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
