"""Expected results of a case, and their comparison with the actual ones, field by field."""
# pyright: reportUnusedImport=false

from rocket_conformance.comparison.compare import Difference, differences, same_results
from rocket_conformance.comparison.expectation import (
    collect_files,
    expect,
    fill_directory,
    rejected_files,
    specified,
)
from rocket_conformance.comparison.file_fields import FileKind, describe_file, kind_of, locate
from rocket_conformance.comparison.hashed import hashed_texts
