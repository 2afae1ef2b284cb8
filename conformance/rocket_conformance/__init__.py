"""The conformance suite: is an implementation what RocketMQ 4.9.3 is?

`transport` opens what is tested, `running` runs the suite on it, `report` shows what came of it; `protocol`,
`cases` and `properties` are what an implementation meets. Nothing is imported here, because pytest imports
this package for its plugin in every run of an environment that has it.
"""

__all__: list[str] = []
