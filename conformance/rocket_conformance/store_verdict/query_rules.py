"""Which rules of a select and a query decide an answer: without one of them the answer would be another."""

from collections.abc import Sequence

from rocket_conformance.store_verdict.index_bytes import StoredIndex


def rules_that_decide(
    files: Sequence[StoredIndex], hashed: int, window: tuple[int, int], most: int
) -> set[str]:
    """The clauses that decide what a query finds.

    Args:
        files: the index files, in the order of their names.
        hashed: the key's hash.
        window: first and last time, ms since the epoch.
        most: hits at most.
    """
    begin, end = window
    rules: set[str] = set()
    hits = 0
    for number, file in reversed(list(enumerate(files))):
        first, last = file.header.begin_timestamp, file.header.end_timestamp
        met = {
            "IDX-TIME-1": begin < first and end > last,
            "IDX-TIME-2": first <= begin <= last,
            "IDX-TIME-3": first <= end <= last,
        }
        if any(met.values()):
            found = _walk(file, hashed, window, most - hits, rules)
            if found:
                rules |= {name for name, is_met in met.items() if is_met and sum(met.values()) == 1}
                rules |= {"IDX-SVC-13"} if hits else set()
            hits += found
        if hits >= most:
            rules |= {"IDX-SVC-11", "QRY-2"}
            break
        if first < begin:
            rules |= {"IDX-SVC-14"} if number else set()
            break
    return rules


def _walk(file: StoredIndex, hashed: int, window: tuple[int, int], most: int, rules: set[str]) -> int:
    """The number of hits in one file; adds the rules that decide it."""
    begin, end = window
    hits = 0
    number = file.slot(hashed % file.geometry.hash_slot_num)
    if not 0 < number <= len(file.entries):
        rules.add("IDX-SEL-1")
        return 0
    for _ in range(len(file.entries)):
        if hits >= most:
            rules.add("IDX-SEL-3")
            break
        entry = file.entries[number - 1]
        moment = file.header.begin_timestamp + 1000 * entry.time_diff
        inside = begin <= moment <= end
        if entry.key_hash == hashed:
            rules.add("IDX-SEL-4")
        elif inside:
            rules.add("IDX-SEL-2")  # the walk goes on after an entry of another key
        hits += entry.key_hash == hashed and inside
        if not 0 < entry.prev_entry <= len(file.entries) or entry.prev_entry == number:
            rules.add("IDX-SEL-6")
            break
        if moment < begin:
            rules.add("IDX-SEL-7")
            break
        number = entry.prev_entry
    return hits
