"""The broker's configuration in `config/*.json`: consumer offsets, delay offsets, topics, groups, filters."""

from rocket_columnar.config.config_files import (
    ConfigFile,
    LoadedConfig,
    Row,
    load_config,
    parse,
    spelling,
    table_rows,
)

__all__ = ["ConfigFile", "LoadedConfig", "Row", "load_config", "parse", "spelling", "table_rows"]
