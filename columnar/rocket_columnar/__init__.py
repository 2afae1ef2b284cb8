"""The engine: stores and files to Arrow tables, put and select on index files, queries, audits and repairs.

Import the packages, such as `store`, `index`, `log`, `decode`, `query` and `audit`; `columnar/README.md` lists all. Nothing here loads them
for you: the command starts with what a verb needs.
"""

__all__: list[str] = []
