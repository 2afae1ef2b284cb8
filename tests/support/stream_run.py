"""Streams of a store into Parquet, in a process of their own that can be killed.

Run as `stream_run.py STORE FOLDER HOW TABLE...`: HOW is `on` (until it is killed) or `end` (until everything is read). Each
table goes to `FOLDER/TABLE`; its checkpoint is `FOLDER/TABLE-checkpoint`.
"""

import sys

from rocket_spark import SOURCES, open_session, register


def main(store: str, folder: str, how: str, *tables: str) -> None:
    """Runs one query for each table."""
    spark = open_session("local[2]", conf={"spark.sql.shuffle.partitions": "2"})
    register(spark)
    formats = {source.table: source.format_name for source in SOURCES}
    running = []
    for table in tables:
        source = spark.readStream.format(formats[table]).option("maxRowsPerTrigger", 500).load(store)
        writer = source.writeStream.format("parquet")
        writer = writer.option("checkpointLocation", f"{folder}/{table}-checkpoint")
        writer = (
            writer.trigger(availableNow=True) if how == "end" else writer.trigger(processingTime="0 seconds")
        )
        running.append(writer.start(f"{folder}/{table}"))
    if how == "on":
        spark.streams.awaitAnyTermination()  # raises what ended one of them
    for query in running:
        query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
