meta:
  id: rocketmq_4_commitlog_lenient
  title: Apache RocketMQ commit-log file with damage
  application: Apache RocketMQ 4.9.3
  xref:
    maven: org.apache.rocketmq:rocketmq-store:4.9.3
  tags:
    - database
    - log
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - commitlog
  endian: be
doc: |
  The records of a commit-log file that a damage keeps `commitlog` from reading: wherever the magic of a record is
  found, with a length that fits, there may be one. A reader goes through `steps`, skips those without `is_record`, and
  takes `record` apart one by one: it is parsed when it is asked for, and an error there concerns that record only. A record
  is genuine if its `phy_offset` is the file's name plus `ofs_record`.

  Files of DLedger mode can be read in the same way.
doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L290-L303 LOG-FILE-2
seq:
  - id: steps
    type: step
    repeat: eos
    doc: All of the file, cut before each byte that may begin a magic.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
types:
  step:
    doc: Bytes up to the first byte of what may be a magic, and the record there, if there is one.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
    seq:
      - id: before
        terminator: 0xda
        consume: false
        eos-error: false
        doc: Bytes before it; the last four are the length of the record, if it is one.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L433-L455 LOG-REC-3
      - id: found
        size: 'ofs_magic < _io.size ? 1 : 0'
        doc: The first byte of what may be a magic; the search goes on after it, since a length can be wrong.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
    instances:
      ofs_magic:
        value: _io.pos
        doc: Offset in the file of what may be a magic. `found` asks for it first, so that it is the end of `before`.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
      ofs_record:
        value: ofs_magic - 4
        doc: Offset of the record in the file.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1357-L1359 LOG-REC-7
      magic:
        pos: ofs_magic
        type: s4
        if: ofs_magic + 4 <= _io.size
        doc: What may be a magic.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
      len_total:
        pos: ofs_magic - 4
        type: s4
        if: ofs_magic >= 4
        doc: What may be the length of a record.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L433-L455 LOG-REC-3
      is_record:
        value: ofs_magic >= 4 and ofs_magic + 4 <= _io.size and (magic == -626843481 or magic == -626843477) and len_total >= 91 and ofs_record + len_total <= _io.size
        doc: Whether a record with a length that fits may be here.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L433-L455 LOG-REC-3
      record:
        pos: ofs_magic + 4
        size: len_total - 8
        type: rocketmq_4_commitlog::record(magic == -626843477)
        if: is_record
        doc: The record after its first two fields.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
