"""Expected results of a case, and their comparison with the actual ones, field by field."""
# pyright: reportUnusedImport=false

from rocket_conformance.comparison.comparison import (
    Difference,
    FileKind,
    describe_file,
    differences,
    hashed_texts,
    kind_of,
    locate,
    same_results,
)
from rocket_conformance.comparison.expectation import (
    collect_files,
    expect,
    fill_directory,
    rejected_files,
    specified,
)
