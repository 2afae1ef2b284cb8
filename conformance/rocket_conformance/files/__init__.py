"""Files: read within bounds, kept as images of what is not zero, and the folders that cases run in."""
# pyright: reportUnusedImport=false

from rocket_conformance.files.files import (
    CHUNK,
    MOST_HELD,
    Allowance,
    FileImage,
    SparseFile,
    data_regions,
    image_from_base64,
    image_of,
    open_inside,
    read_image,
    read_input,
    scratch,
    scratch_root,
)
