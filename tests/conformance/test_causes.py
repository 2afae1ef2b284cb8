"""Misreadings planted together: what reports name of them, and what they claim."""

import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from report_lines import cause_of, differing, line
from rich.console import Console
from rocket_conformance.attribution import Cause, Evidence, Simulation, as_examples, elsewhere, find_causes
from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import Difference
from rocket_conformance.judging import Trial, Verdict
from rocket_conformance.misreadings import MISREADINGS, Mutant, library_of
from rocket_conformance.pages import render_report
from rocket_conformance.planning import CaseState, Planned, plan
from rocket_conformance.protocol import Hello
from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_conformance.report import (
    Baseline,
    CaseLine,
    Report,
    account_of,
    footer_line,
    header_line,
    print_summary,
    render_junit,
    render_markdown,
)
from rocket_conformance.running import Options, run
from rocket_conformance.transport import open_handler

from tools.cause_scores import pairs, score, triples

SMALL = tuple(mutant for mutant in MISREADINGS if mutant.clause.startswith(("CQ-", "LOG-", "CKP-", "UTF8-")))
"""Misreadings of queues, logs and checkpoints, whose cases run quickly."""


def report_of(lines: Sequence[CaseLine], **more: object) -> Report:
    footer = footer_line(
        lines, Baseline(), missing=[], cut_short=None, more={"ops": [], "families": [], **more}
    )
    hello = Hello("port", "1", "", frozenset(), None, frozenset(), 1)
    return Report(header_line(hello, [], 0, 1), tuple(lines), footer)


def assert_claims_hold(sets: list[tuple[Mutant, ...]]) -> None:
    scores = [score(planted) for planted in sets]
    assert [item for item in scores if item.false] == []
    assert [item for item in scores if item.others] == []
    planted = sum(len(item.planted) for item in scores)
    assert sum(len(item.named.intersection(item.planted)) for item in scores) >= 0.6 * planted


def test_claims_about_pairs_hold() -> None:
    assert_claims_hold(list(islice(pairs(1, SMALL), 5)))


@pytest.mark.parametrize(
    "names",
    [
        "murmur3-sign-cut-off file-of-another-length-taken keys-kept-in-memory",  # a hash without collisions hides the third
        pytest.param(
            "fnv-1a-absolute count-starts-at-0 header-written-by-a-flush-alone number-written-into-the-entry-and-the-slot",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_another_hash_is_named_beside_faults_that_nearly_every_case_shows(names: str) -> None:
    found = score([mutant for mutant in MISREADINGS if mutant.name in names.split()])
    assert not found.false
    assert not found.others
    assert names.split(maxsplit=1)[0] in found.named


def test_causes_come_by_their_cases_with_what_hides_and_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """One passing case needs the first two of them together; another pair has two readings for one of its causes."""
    found: list[Cause] = []

    def kept(evidence: Evidence, *, most_runs: int) -> list[Cause]:
        found[:] = find_causes(evidence, most_runs=most_runs)
        return found

    monkeypatch.setattr("tools.cause_scores.find_causes", kept)

    def named(names: str) -> list[tuple[str, ...]]:
        assert score([mutant for mutant in MISREADINGS if mutant.name in names.split()]).whole
        groups = [(cause.misreadings, cause.together, cause.hidden) for cause in found]
        return [tuple(" ".join(item.name for item in group) for group in cause) for cause in groups]

    memory = "keys-kept-in-memory"
    assert named("hash-not-compared crc32-absolute expiry-goes-on-behind-a-kept-file") == [
        ("crc32-absolute", "", f"read-outside-loses-the-hits {memory}"),
        ("hash-not-compared", "crc32-absolute", memory),
        ("expiry-goes-on-behind-a-kept-file", "", ""),
    ]
    assert named("transaction-type-cut-off pair-with-two-separators-dropped") == [
        ("pair-with-two-separators-dropped pair-split-at-every-separator", "", ""),
        ("transaction-type-cut-off", "", ""),
    ]


@pytest.mark.parametrize(
    "names",
    [
        "always-loads flush-writes-nothing",  # two cases need both; another reading of the second needs the first alone
        # the second hides what speaks for the third, until it is found
        pytest.param(
            "count-is-the-number-of-entries flush-writes-nothing header-fields-read-one-too-early",
            marks=pytest.mark.soak,
        ),
        pytest.param(
            "crc32-without-a-sign count-starts-at-0 time-diff-is-the-timestamp slot-count-on-every-put header-wiped-when-reopened",
            marks=pytest.mark.soak,
        ),
        pytest.param(
            "count-starts-at-0 number-written-over-the-key-hash begin-of-the-file-exclusive",
            marks=pytest.mark.soak,
        ),
        # two others stand for them until all three are found
        pytest.param("unique-key-ignored mask-for-modulo count-starts-at-0", marks=pytest.mark.soak),
    ],
)
def test_each_fault_that_ports_have_together_is_named(names: str) -> None:
    found = score([mutant for mutant in MISREADINGS if mutant.name in names.split()])
    assert not found.false
    assert not found.others
    assert found.shown == set(names.split())
    assert found.named >= found.shown


def test_faults_of_queues_leave_runs_for_those_of_index_files() -> None:
    names = [f"{prefix}end-without-size" for prefix in ("", "recovered-", "truncated-")]
    names += ["pre-blank-of-zeros", "place-before-the-end-appended"]
    names += ["count-starts-at-0", "begin-of-the-file-exclusive"]
    found = score([mutant for mutant in MISREADINGS if mutant.name in names], most_runs=3_000)
    assert (found.named, found.false, found.others) == (frozenset(names), (), 0)


@pytest.mark.parametrize("most_runs", [0, 40, 400])
def test_claims_that_few_runs_allow_hold(most_runs: int) -> None:
    """A port with many failures uses the runs up: what is printed then is proved all the same."""
    planted = next(pairs(1, SMALL))
    found = score(planted, most_runs=most_runs)
    assert not found.false
    assert not found.others


def test_a_misreading_outside_the_catalogue_has_no_cause_of_another_clause() -> None:
    """Left out of the catalogue: what is named then has to be of its clause."""
    (mutant,) = (item for item in SMALL if item.name == "end-without-size")
    others = [item for item in MISREADINGS if item is not mutant]
    named = score([mutant], others).named
    clauses = {item.clause for item in others if item.name in named}
    assert clauses <= {mutant.clause}


@pytest.mark.parametrize(
    "name",
    [
        "loaded-file-of-another-length-refused",
        "no-pre-blanks-and-the-unit-at-the-beginning",
        pytest.param("slot-by-the-floor-modulus-of-the-signed-hash", marks=pytest.mark.soak),
        "units-at-the-places-that-they-ask-for",
        "last-file-alone-recovered",
        "repeated-offset-dropped",  # two cases hang: a chain that runs in a circle never fills the list
        pytest.param("end-looked-for-from-the-last-byte-backward", marks=pytest.mark.soak),
        pytest.param("whole-header-written-by-each-put", marks=pytest.mark.soak),
    ],
)
def test_the_first_cause_is_of_the_clause_of_a_fault_that_ports_have(name: str) -> None:
    (mutant,) = (item for item in MISREADINGS if item.name == name)
    found = score([mutant])
    assert (found.first, found.whole) == (mutant.clause, True)
    assert found.claimed == found.failing


@pytest.mark.parametrize(
    "name",
    [
        "no-pre-blanks-and-the-unit-at-the-beginning",
        pytest.param("files-without-slots-deleted-at-the-load", marks=pytest.mark.soak),
        "later-entry-not-followed",
        # as "negative offset in use" in two cases of CQ-UNIT-3, not in others
        pytest.param("end-looked-for-from-the-last-byte-backward", marks=pytest.mark.soak),
    ],
)
def test_a_fault_outside_the_catalogue_is_not_stated_as_another_one(name: str) -> None:
    """One of a clause that comes near it shows in other cases, too, which show something else, or in a single case alone."""
    (mutant,) = (item for item in MISREADINGS if item.name == name)
    found = score([mutant], [item for item in MISREADINGS if item is not mutant])
    assert found.named == frozenset()


def test_clauses_with_a_failing_case_of_their_own_come_first() -> None:
    """Drawn lists of other clauses that fail where these do may follow; a cause's places count, too."""
    lines = [
        *map(differing, ("CQ-UNIT-3/prop-a", "CQ-GET-1/prop-b", "CQ-PUT-2/prop-c", "CQ-LAST-1/prop-d")),
        differing("CQ-MIN-1/a", description="Catches units after the write position found. Cost: more."),
        differing("CQ-MIN-1/prop-e"),
        differing("CQ-DEL-1/a", description="Catches another."),
        *map(differing, ("CQ-DEL-1/prop-f", "CQ-REC-2/a", "CQ-REC-2/b", "CQ-REC-1/prop-g")),
    ]
    more = {"sure": False, "shows": 3, "otherwise": ["CQ-REC-1/prop-g"]}
    cause = cause_of("CQ-REC-2", "greatest", ["CQ-REC-2/a", "CQ-REC-2/b"], **more)
    places = {line.id: ["queue.bounds min: wrong value"] for line in lines} | {
        "CQ-UNIT-3/prop-a": ["queue.get unit: wrong value"],
        "CQ-LAST-1/prop-d": ["queue.recover max: wrong value"],
        "CQ-REC-1/prop-g": ["queue.recover min: wrong value"],
        "CQ-REC-2/b": ["queue.bounds max: wrong value", "queue.recover max: wrong value"],
    }
    examples = {"CQ-DEL-1": "CQ-DEL-1/prop-f"}
    report = report_of(lines, causes=[cause], places=places, examples=examples)
    found = account_of(report).items
    assert [(item.kind, item.clause) for item in found] == [
        ("cause", "CQ-REC-2"),
        ("clause", "CQ-MIN-1"),
        ("clause", "CQ-DEL-1"),
        ("clause", "CQ-UNIT-3"),
        *(("follows", clause) for clause in ("CQ-GET-1", "CQ-PUT-2", "CQ-REC-1", "CQ-LAST-1")),
    ]
    cost, beside = found[0].notes  # no written case states what it costs
    assert cost.startswith("Cost: it breaks CQ-REC-2: Recovery reads unit by unit")
    assert beside == "The implementation gives something else in CQ-REC-1/prop-g."
    assert found[1].notes == ["Catches units after the write position found. Cost: more."]
    drawn = found[2]  # it is not the case that catches another
    assert (drawn.example.id, drawn.notes) == ("CQ-DEL-1/prop-f", [])
    assert r"min: wrong value, expected \[1\], actual 2" in render_markdown(report)


def test_a_clause_that_fails_with_input_of_observed_clauses_alone_is_said_to() -> None:
    lines = [differing("CQ-GET-1/prop-a", level="OBSERVED"), differing("CQ-GET-1/prop-b", level="OBSERVED")]
    account = account_of(report_of(lines))
    [item] = account.items
    assert [text for text in account.verdict if "every MUST clause" in text] == []
    assert (
        item.title == "CQ-GET-1 (MUST): 2 of 2 cases fail, only with input that OBSERVED clauses govern, too"
    )
    [item] = account_of(report_of([*lines, differing("CQ-GET-1/a")])).items
    assert item.title == "CQ-GET-1 (MUST): 3 of 3 cases fail"


@pytest.mark.parametrize(
    "why", [{"elsewhere": {"IDX-SEL-9": ["index file slot[]"]}}, {"unexamined": ["IDX-SEL-9/a"]}]
)
def test_a_clause_may_follow(why: dict[str, Any]) -> None:
    """The bytes of the second case differ before any answer about a select, or are too many to look for a cause."""
    difference = {
        "op": None, "field": "slot[0]", "file": "f", "offset": 40, "kind": "wrong bytes", "expected": "1", "actual": "0",
    }  # fmt: skip
    lines = [
        line("IDX-PUT-1/a", "crash", detail="operation 1 (index.put): it died"),
        *(
            line(f"{clause}/a", divergence=(difference | {"clause": clause},))
            for clause in ("IDX-HDR-5", "IDX-SEL-9")
        ),
    ]
    printed = io.StringIO()
    report = report_of(lines, **why)
    print_summary(report, Console(file=printed, width=40))
    shown = [line for line in printed.getvalue().splitlines() if "(MUST)" in line or "follow" in line]
    assert shown == [
        "IDX-HDR-5 (MUST): 1 of 1 cases fail",
        "may follow from the above, by clause and cases: IDX-SEL-9 (1)",
    ]
    assert [item.kind for item in account_of(report).items] == ["stop", "clause", "follows"]
    alone = Report(report.header, report.cases[2:], report.footer)
    assert [item.kind for item in account_of(alone).items] == ["clause"]


def test_a_single_case_has_a_cause_if_nothing_else_comes_to_the_same() -> None:
    """`all-flags-compared` shows in one case of IDX-SVC-9 alone."""
    (mutant,) = (item for item in MISREADINGS if item.name == "all-flags-compared")
    found = score([mutant])
    assert (found.failing, found.claimed, found.first) == (1, 1, "IDX-SVC-9")
    alike = replace(mutant, name="alike", clause="IDX-SVC-1")  # the case is not of its clause
    assert score([mutant], [alike, mutant]).first == "IDX-SVC-9"


def test_a_property_whose_failing_lists_are_all_kept_is_claimed() -> None:
    """With three lists of each property, all that fail are kept."""
    (mutant,) = (item for item in SMALL if item.name == "maximum-is-the-last-unit")
    with mutant.open() as transport:
        report = run(transport, Options(select=["CQ-BND-1/*"], examples=3, shrink_seconds=0))
    (cause,) = (report.footer or {})["causes"]
    failing = {line.id for line in report.cases if line.verdict == "diverged"}
    assert any("/prop-" in name for name in failing)
    assert (set(cause["cases"]), cause["properties"]) == (failing, [])


def test_a_fault_that_only_drawn_lists_show_is_named() -> None:
    """More lists fail than are kept, and every directed case passes."""
    (mutant,) = (item for item in SMALL if item.name == "next-file-named-by-the-number-of-files")
    with mutant.open() as transport:
        select = ["CQ-PUT-5/[!n]*", "CQ-FILE-[14]/*"]  # without the case that catches it alone
        options = Options(select=select, examples=40, shrink_seconds=1)
        report = run(transport, options)
    failing = [line.id for line in report.cases if line.verdict == "diverged"]
    assert len(failing) == 3
    assert all("/prop-" in name for name in failing)
    first, *others = account_of(report).items
    assert (first.kind, first.clause, others) == ("cause", "CQ-PUT-5", [])
    assert first.title.endswith("same answers and bytes in all 3 properties in which it would show")


def test_the_example_of_a_cause_shows_that_cause_alone() -> None:
    """A count that is found anew moves the begin in most cases of IDX-HDR-4, too, and differs there first."""
    names = {"count-found-by-reading-the-entries", "slot-of-an-earlier-file-not-counted"}
    planted = frozenset(item for item in MISREADINGS if item.name in names)
    options = Options(
        select=["IDX-LOAD-1/[a-p]*", "IDX-HDR-4/*", "IDX-FILE-5/*"], examples=3, shrink_seconds=0
    )
    with open_handler(ReferenceAdapter(library_of(planted))) as transport:
        report = run(transport, options)
    items = [item for item in account_of(report).items if item.kind == "cause"]
    assert len(items) == len(planted)
    for item in items:
        (mutant,) = (one for one in planted if one.words in item.title)
        with mutant.open() as transport:
            alone = run(transport, replace(options, select=[item.example.id]))
        assert alone.cases[0].divergence == item.example.divergence


@pytest.mark.parametrize("doubted", [(True, False), (False, True)])
def test_a_doubt_in_one_part_of_a_store_is_one_in_both(doubted: tuple[bool, bool]) -> None:
    states = tuple(map(CaseState, plan(select=["IDX-HASH-*"])))
    one, other = (Cause(MISREADINGS[:1], states, states[0], doubted=doubt) for doubt in doubted)
    assert one.is_sure != other.is_sure
    assert not one.with_more(other).is_sure
    more = replace(one, misreadings=MISREADINGS[:2])
    assert more.with_more(other).misreadings == MISREADINGS[:1]
    assert replace(one, failures=states[:2], doubted=False).is_sure


def failed(clause: str, op: str, *fields: str) -> CaseState:
    """A failing case of one operation that differs in these fields."""
    case = Case(f"{clause}/{op}-{'-'.join(fields)}", (clause,), ({"op": op},))
    found = tuple(Difference(0, name, None, None, "wrong value", 1, 2) for name in fields)
    return CaseState(Planned(case), "diverged", worst=Trial(case, Observation(({},)), found=found))


def test_first_differences_elsewhere_are_three_and_the_most_frequent() -> None:
    failures = [failed("IDX-SEL-2", "index.put", name) for name in ("a", "b", "b", "c", "d", "b")]
    assert elsewhere(failures) == ["index.put b", "index.put a", "index.put c"]
    assert elsewhere([*failures, failed("IDX-SEL-2", "index.select", "offsets")]) == []
    assert elsewhere([failed("CQ-TAGS-1", "tags.code", "tags_code")]) == []


def test_an_example_differs_in_what_its_clause_is_about() -> None:
    about, other = failed("IDX-SEL-2", "index.select", "offsets"), failed("IDX-SEL-2", "index.put", "a")
    assert as_examples([other, about])[0] is about
    [drawn] = map(CaseState, plan(select=["IDX-SEL-2/prop-*"])[:1])
    drawn.worst = about.shown
    longer = replace(about.shown, case=replace(about.shown.case, ops=({"op": "index.select"},) * 2))
    about.worst = longer
    assert as_examples([about, drawn])[0] is drawn
    assert as_examples([drawn, about], written_first=True)[0] is about


def test_a_hang_at_another_operation_does_not_follow() -> None:
    """The port takes `mutant` for granted; with it the reference never returns from operation 3."""
    mutant = MISREADINGS[0]
    wrong = Observation(({"hash": 1},))

    class Stub(Simulation):
        def observe(
            self, misreadings: frozenset[Mutant], case: Case, expected: Observation
        ) -> Observation | None:
            return wrong if mutant in misreadings else expected

        def stuck_at(self, misreadings: frozenset[Mutant], case: Case) -> int | None:
            return 3

    def state(slug: str, verdict: Verdict, detail: str = "") -> CaseState:
        case = Case(f"IDX-HASH-1/{slug}", ("IDX-HASH-1",), ({"op": "key.hash", "key": "k"},))
        actual = None if detail else wrong
        return CaseState(Planned(case), verdict, detail, worst=Trial(case, Observation(({},)), actual=actual))

    hangs = [
        state(f"hang-{place}", "timeout", f"operation {place} (key.hash): hangs") for place in (3, 4, 30)
    ]
    failures = [state("a", "diverged"), state("b", "diverged"), *hangs]
    (cause,) = find_causes(Evidence(failures, Stub(Path), misreadings=[mutant]))
    assert cause.hangs == (hangs[0],)


@pytest.mark.parametrize(("sure", "first"), [(True, "1 case hangs"), (False, "3 cases hang")])
def test_hangs_that_follow_from_a_cause_come_with_it(first: str, *, sure: bool) -> None:
    detail = "operation 3 (index.select): it did not answer"
    hangs = ("IDX-SEL-3/b", "IDX-SEL-3/c", "IDX-SEL-4/d")
    lines = [
        line("IDX-SEL-3/a"),
        *(line(name, "timeout", detail=detail) for name in hangs),
    ]
    cause = cause_of("IDX-SEL-3", "dropped", ["IDX-SEL-3/a"], sure=sure, hangs=hangs[:2])
    stop, found = account_of(report_of(lines, causes=[cause])).items
    assert (stop.kind, stop.title) == ("stop", f"{first} in index.select")
    assert [line.id for line in found.cases] == ["IDX-SEL-3/a", *(hangs[:2] if sure else ())]
    note = "Its 2 hanging cases follow from it: the reference with it never returns from index.select there, either."
    assert (note in found.notes) is sure


@pytest.mark.parametrize(
    ("described", "cost"),
    [
        (["IDX-SEL-2", "IDX-SEL-1"], "Cost: IDX-SEL-1"),
        (["IDX-SEL-2"], "Cost: IDX-SEL-2"),
        ([], "Cost: it breaks IDX-SEL-1: "),
    ],
)
def test_a_cause_whose_example_was_drawn_has_a_cost(described: Sequence[str], cost: str) -> None:
    """It is that of a case of its own clause, or else of another case that fails so, or else the rule."""
    drawn = differing("IDX-SEL-1/prop-a")
    written = [differing(f"{clause}/b", description=f"Catches. Cost: {clause}") for clause in described]
    shown = {"cases": [line.id for line in written], "properties": [drawn.id], "example": drawn.id}
    cause = cause_of("IDX-SEL-1", "one", **shown)
    [item] = account_of(report_of([drawn, *written], causes=[cause])).items
    assert item.notes[0].startswith(cost)


def test_every_form_has_one_order() -> None:
    """Crashes by operation, the cause with its cost and what has to be mended with it, the clause without one, the verdict."""
    crash = line("IDX-PUT-1/a", "crash", detail="operation 2 (index.put): it exited with code 1")
    more = {"sure": False, "shows": 3, "together": ["count starts at 0 (IDX-HDR-5)"]}
    hidden = ["one", "two", "three"]
    cause, many = (
        cause_of("IDX-PUT-7", "slot never written", ["IDX-SEL-1/x", "IDX-PUT-7/b"], hidden=names, **more)
        for names in (hidden, [*hidden, "four"])
    )
    lines = (
        crash,
        line("IDX-HDR-5/c", description="Catches another. Cost: nothing."),
        line("IDX-PUT-7/b", description="Catches one. Cost: messages are lost."),
        # the cost that is stated is that of the cause's own clause
        line("IDX-SEL-1/x", description="Finds less. Cost: less is found."),
        *(
            line(f"{name}/e", "not_applicable")
            for name in ("IDX-HDR-5", "IDX-SVC-1", "LOG-REC-1", "LOG-DSP-1")
        ),
    )
    report = report_of(lines, families=["index"], causes=[cause], triples={"index": [1_000, 1_331]})
    notes = [note for item in account_of(report_of(lines, causes=[many])).items for note in item.notes]
    assert not any("hides" in note for note in notes)  # nearly everything does
    terminal = io.StringIO()
    print_summary(report, Console(file=terminal, width=200))
    order = [
        "1 case crashes in index.put",
        "possibly: slot never written (IDX-PUT-7): same answers and bytes in 2 of the 3 cases in which it would show",
        "Cost: messages are lost.",
        "Mend it together with count starts at 0 (IDX-HDR-5)",
        "It hides one or two or three, if the implementation has that, too.",
        "IDX-HDR-5 (MUST): 1 of 1 cases fail",
        "Catches another. Cost: nothing.",
    ]
    forms = (
        (terminal.getvalue(), "\nclauses "),
        (render_markdown(report), "\n| clauses |"),
        (render_report(report), "<table>"),
    )
    for form, table in forms:
        places = [form.index(text) for text in (*order, table)]
        assert places == sorted(places)
    *_, aside, sent, _, verdict = terminal.getvalue().splitlines()
    assert aside == "not applicable, by clauses and cases: IDX-SVC (1), LOG (2)"
    assert sent == "triples of moves sent: index 1,000 of 1,331"
    assert verdict.startswith("not conformant: 4 of 4 cases failed")
    junit = render_junit(report).decode()
    assert all(text in junit for text in (order[0], order[1], order[5], order[6]))
    others = [
        replace(crash, id=f"IDX-PUT-1/{name}", detail=f"operation 2 (index.{name}): it died")
        for name in ("full", "header")
    ]
    short = io.StringIO()  # of the fifth thing to mend what its case catches is printed, without the input
    print_summary(Report(report.header, (*others, *lines), report.footer), Console(file=short, width=200))
    assert "IDX-HDR-5 (MUST): 1 of 1 cases fail\n  Catches another.\n" in short.getvalue()


@pytest.mark.soak
def test_claims_about_all_pairs_of_families_and_300_triples_hold() -> None:
    assert_claims_hold([*pairs(0), *islice(triples(0), 300)])
