"""The engine: stores and files to Arrow tables, put and select on index files, queries.

Import the modules: `store` (find files), `geometry` (tell it), `decode` (files to record batches), `write`
(batches to files), `schema`, `index_file`, `query`, `adapter`. Nothing here loads them for you: the command starts
with what a verb needs.
"""

__all__: list[str] = []
