"""The damaged variants that lie with the golden stores, made by others: each named and placed as they say."""

from pathlib import Path

import pytest
from rocket_columnar.audit import audit
from rocket_golden import Damaged, damaged, open_damaged


@pytest.mark.parametrize("variant", damaged(), ids=lambda variant: variant.name)
def test_it_is_named_and_placed(variant: Damaged, tmp_path: Path) -> None:
    found = list(audit(open_damaged(variant.name, tmp_path), "deep"))
    assert (variant.damage, variant.file, variant.offset) in {
        (finding.code, finding.file, finding.offset) for finding in found
    }
