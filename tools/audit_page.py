"""Makes `docs/audit.md`: `python -m tools.audit_page`. Codes and figures come from the code and its tests."""

from __future__ import annotations

import io
import re
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

from rocket_columnar.findings import CODES
from rocket_columnar.report import Shell, audit
from rocket_columnar.restart import restart
from rocket_golden import open_damaged, open_store
from rocketspec.verbs.audit import print_causes, show_restart

from tools.audit_figures import INDEPENDENT, SEEDS, STORES, Figures

__all__ = ["PAGE", "page"]

PAGE: Final = Path(__file__).parents[1] / "docs" / "audit.md"
_DAMAGED: Final = "mixed-index-chain-cycle"

_TEXT: Final = """\
# Auditing a store

For operators of a 4.9.3 broker, and for scripts that monitor one. `audit` cross-checks index files, consume queues, commit log
and checkpoint of a store. It reports what is wrong, where, what it means, and how to cure it. It writes nothing, takes no lock,
and works on the store of a running broker. [recovery.md](recovery.md) is the runbook.

```
$ rocketspec audit STORE
{damaged}
STORE: 1 error
```

Exit codes: 0, nothing above a note; 1, errors or warnings; 2, usage; 3, the store cannot be read. Findings are grouped by cause,
the worst first; what follows from a cause is counted, and the commands below each cure work in that state. At most 50 findings
are printed (`--max-findings`). `--json` prints all, one object per line: `code, severity, clause, file, offset, message, cure`.
`--report DIR` also writes a page, `DIR/audit.html`. Neighbouring faults of one kind are one finding, at the first; of one code in
one file the first 1,000 are listed, then their number.

| level | checks | reads |
|---|---|---|
| `--quick` | names, sizes, headers, checkpoint, missing files | headers, and the log's end |
| (default) | each unit and entry against the records of the log and vice versa, slots and chains | the log once, the others twice |
| `--deep` | also the checksum of each body, and whether a query of each key reaches its entry | like the default |

## Findings

An *error* is bytes that break a clause. A *warning* is something that loses or hides a message. A *note* needs no action: a
running broker, late dispatch, messages that a recovery indexed twice.

| code | severity | clause | what it means | cure |
|---|---|---|---|---|
{codes}

Anything else among the files of the log or of a queue (a file of another name, a directory, a broken symbolic link) prevents a
broker from starting: `log.gap` or `queue.size`.

These oddities of healthy stores are not findings: pre-blank units at the start of a queue, gaps in LMQ queues, a time diff of the
first entry of a rolled file that counts from the file before, an end before the begin in a header, zeros after the last unit or
entry, units and entries that point to expired records.

## Running brokers

The end of the log is read first, then the queues, and the index files last. A record before that end that a queue or an index
file does not have is either missing or not dispatched yet (`store.lag`, a note). Later records are ignored; a unit or entry that
points past the end is looked up again before it is reported. If the file `abort` exists, a broker runs or was killed: then a torn
last record is a note, and an incomplete put into the last index file is not a finding. A file that is deleted between listing
and opening counts as absent.

## Stores of other releases

A store with signs of 5.x is judged by the rules of 4.9.3 where they still hold, and no cure is printed; one line on stderr names
the signs: a record with the magic `daa320ab`, entries of `topic#T#tag`, units of 46 bytes or `queue.type` in
`config/topics.json`, queues in `consumequeue_rocksdb`, `stateVersion` in the configuration, or longs after byte 23 of the
checkpoint. Records, units and entries that only 5.x writes, batch queues and the checkpoint's times are not judged.

## Cures

Every command is for the store that was audited: its arguments are quoted, folders that it makes have the store's name and the
time in their names, and commands that follow one another are chained by `&&`, so that pasting them twice does no harm. What they
replace is moved or copied to such a folder first. A file of the log is only moved away or given another length if the prediction
of a start then leaves more messages in the log than without; both numbers are printed.

## What a restart would do

`--restart` shows what a start of 4.9.3 on these files would delete and truncate, file by file; where dispatch would restart; and
which units and keys would be lost for good; and the same with `messageIndexSafe`. Beside a running broker, which holds the lock
on `STORE/lock`, it predicts nothing. For a broker that was killed:

```
$ rocketspec audit STORE --restart
{restart}
```

The exit code is 1 if anything would be deleted, truncated or lost. Run `rocketspec rebuild STORE -o DIR` before the start to save
it.

## How much of it is found

Damage of {kinds} kinds was planted at {seeds} places of each kind in each of the golden stores {stores}
(where it applies), {planted:,} times in all. Findings with the right code at the right byte: **{recall:.2%}** (recall).
Of the {findings:,} findings **{precision:.2%}** are the damage or a documented consequence of it (precision); the other
{strange} correctly report that index and checkpoint are ahead of a log whose last record was overwritten. On all undamaged golden
stores, including copies of a running broker's store, there are no findings above a note.

These figures are of a later run. The first run on unseen places (new seeds, a fourth store, 13 of the kinds new) found
{named:,} of {first:,} ({first_recall:.1%}), and {explained:,} of {first_findings:,} findings ({first_precision:.1%}) were
explained. What it did not find was a mistake in the planting; one finding gave the wrong code to a blank that was cut off
together with its file, which has been fixed.

The stores `lmq` and `ipv6` were added later: the first run on unseen places found 2,749 of 2,750, and the other one was
again a mistake in the planting.

In queues filled by multi-dispatch (LMQ), 4.9.3 itself omits messages: after a restart it counts from 0 again, and skips
messages whose position is below the queue's end. There, only messages that a put would have appended are reported as missing, and
only an order that no sequence of puts produces is reported as wrong. Queues that the real classes wrote from random logs have no
findings.

An audit cannot detect damage to bits of a record's fields and properties that no checksum covers and nothing else repeats,
such as the born time or a user's property.

## Large stores

The log is checked in ranges of 32 MB, by two to four threads. Little is kept of each range, so memory does not grow with the
store. The same parts can run on several
machines:

```python
from rocket_columnar.audit import Surveys, check_range, findings, plan_audit, survey_file

plan = plan_audit("STORE")
surveys = Surveys.of(survey_file(plan, file) for file in [*plan.queues, *plan.content_indexes])
results = (check_range(plan, surveys, part) for part in plan.ranges)
for finding in findings(plan, surveys, results):
    print(finding.severity, finding.code, finding.file, finding.offset)
```

On one machine, `rocket_columnar.audit.audit("STORE")` does all of this. If there are many queues, share one `ReadAhead` between all
ranges (`check_range(..., ahead=...)`), so that each queue's file is not opened again for every range.

### What limits it

Units and entries of a range are compared with its records by NumPy, sound or not; of an index file only the chains that differ
from the result of replaying all puts are walked, and the chains that they lead into. So a single fault costs little.

A log of 1 GB with 2.8 million records of 375 bytes and 5.7 million entries takes 2.7 s of processor time, of which 1.8 s are the scan of
the log. These were tried and did not pay: mapped files
(mapping a page costs much of what copying it does, and a file that is truncated meanwhile then kills the process), other window
sizes, reusing memory for records, and reading fewer entries at a time.

<!-- made by tools/audit_page.py -->
"""


def shown_paths(printed: str, store: Path) -> str:
    """Output with STORE for the store, and without the time in the names of folders."""
    return re.sub(
        rf"-{re.escape(store.name)}-[0-9]{{8}}-[0-9]{{6}}", "-TIME", printed.replace(str(store), "STORE")
    )


def page() -> str:
    """The page as it should be."""
    figures = Figures.read()
    codes = "\n".join(
        f"| `{code}` | {known.severity} | {known.clause or ''} | {known.meaning} | {known.cure} |"
        for code, known in CODES.items()
    )
    with tempfile.TemporaryDirectory() as directory:
        damaged = io.StringIO()
        with redirect_stdout(damaged):
            store = open_damaged(_DAMAGED, Path(directory) / "damaged")
            print_causes(audit(store), as_json=False)
        killed = open_store("killed", Path(directory))
        shown = io.StringIO()
        with redirect_stdout(shown):
            show_restart(restart(killed), restart(killed, index_safe=True), Shell("STORE"), as_json=False)
    first = INDEPENDENT
    return _TEXT.format(
        damaged=shown_paths(damaged.getvalue(), store).rstrip(),
        codes=codes,
        restart=shown.getvalue().rstrip(),
        kinds=len(figures.kinds),
        seeds=SEEDS,
        stores=", ".join(f"`{name}`" for name in STORES),
        planted=figures.total(0),
        recall=figures.recall,
        findings=figures.total(2),
        precision=figures.precision,
        strange=figures.total(2) - figures.total(3),
        named=first["named"],
        first=first["planted"],
        first_recall=first["named"] / first["planted"],
        explained=first["explained"],
        first_findings=first["findings"],
        first_precision=first["explained"] / first["findings"],
    )


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
