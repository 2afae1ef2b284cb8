"""The files of a store: finding them, detecting their kind, reading parts of them."""

from rocket_columnar.store.broker_conf import (
    DELETE_WHEN,
    RESERVED_HOURS,
    BrokerConf,
    logs_of,
    read_broker_conf,
    same_place,
)
from rocket_columnar.store.later_release import (
    Sign,
    folder_signs,
    later_line,
    later_signs,
    signs_at,
    topics_in_rocksdb,
)
from rocket_columnar.store.listing import DIRECTORY, NO_ENTRY, NO_NUMBER, find_files
from rocket_columnar.store.lock import hold_lock, lock_holder, lock_text
from rocket_columnar.store.places import (
    REPAIRS,
    entry_position,
    is_safe,
    links_in,
    placed_file,
    protected_directories,
    require_store,
)
from rocket_columnar.store.reader import (
    PAUSES,
    GentleReads,
    Reader,
    Source,
    files_kept_open,
    lower_priority,
    open_reader,
    raise_of_process,
    read_gently,
)
from rocket_columnar.store.store_file import (
    ALL_KINDS,
    CONFIG_TABLES,
    KINDS,
    LATER_KINDS,
    LIGHT,
    Kind,
    StoreFile,
    Unreadable,
    WorkDone,
    by_queue,
    despite_unreadable,
    file_at,
    in_order,
    is_gone,
    leaves_out_unreadable,
    of_usual_size,
    read_at,
    shown_name,
    size_of,
    sized,
    usual_size,
    while_listed,
    while_there,
)
