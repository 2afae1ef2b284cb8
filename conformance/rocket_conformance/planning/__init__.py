"""Plans a run: cases and properties, fitted to what an adapter declares."""
# pyright: reportUnusedImport=false

from rocket_conformance.planning.fitting import fit_expected, is_odd, is_within, limit_broken, variant_of
from rocket_conformance.planning.planned import (
    LISTS,
    SEED,
    CaseState,
    Level,
    Planned,
    all_ids,
    beyond_must,
    clean_numbers,
    level_of,
    plan,
    planned_by_id,
    shown_by,
)
