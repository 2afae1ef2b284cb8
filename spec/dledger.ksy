meta:
  id: rocketmq_4_dledger
  title: Apache RocketMQ commit-log file in DLedger mode
  application: Apache RocketMQ 4.9.3
  xref:
    maven: org.apache.rocketmq:rocketmq-store:4.9.3
  tags:
    - database
    - log
  license: Apache-2.0
  ks-version: '0.11'
  imports:
    - commitlog
  endian: be
doc: |
  One file of the commit log of a RocketMQ broker in DLedger mode, `store/dledger-SELF_ID/data/BYTE_OFFSET`: entries one
  after the other, each a header of 48 bytes and a body, which is a record of the plain commit log. A blank ends a
  full file; the last file ends in zeros, or in entries that a truncation gave up.

  Physical offsets, in the records, in consume queues and in index files, are those of the bodies.
doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/dledger/DLedgerCommitLog.java#L85-L95 DLG-1
seq:
  - id: entries
    type: entry
    repeat: until
    repeat-until: not _.is_entry or _io.size - _io.pos < 8
    doc: The entries, and last the blank or the place that holds neither.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/dledger/DLedgerCommitLog.java#L336-L359 DLG-9
types:
  entry:
    doc: A header, and a record of the commit log after it.
    doc-ref: https://github.com/openmessaging/dledger DLG-2
    seq:
      - id: magic
        -orig-id: magic
        type: s4
        doc: 1 for an entry, -1 for a blank; zeros end the log.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/dledger/DLedgerCommitLog.java#L336-L359 DLG-9
      - id: len_entry
        -orig-id: size
        type: s4
        doc: Length of the entry in bytes, header included; in a blank, the bytes from here to the end of the file.
        doc-ref: https://github.com/openmessaging/dledger DLG-2
      - id: index
        -orig-id: index
        type: s8
        if: is_entry
        doc: Number of the entry, from 0 and without gaps.
        doc-ref: https://github.com/openmessaging/dledger DLG-7
      - id: term
        -orig-id: term
        type: s8
        if: is_entry
        doc: Term of the leader that appended the entry.
        doc-ref: https://github.com/openmessaging/dledger DLG-7
      - id: pos
        -orig-id: pos
        type: s8
        if: is_entry
        valid:
          min: 0
        doc: Position of the entry in the log in bytes, counted over all files.
        doc-ref: https://github.com/openmessaging/dledger DLG-2
      - id: channel
        -orig-id: channel
        type: s4
        if: is_entry
        doc: Reserved; 0.
        doc-ref: https://github.com/openmessaging/dledger DLG-3
      - id: chain_crc
        -orig-id: chainCrc
        type: s4
        if: is_entry
        doc: Never computed; 0.
        doc-ref: https://github.com/openmessaging/dledger DLG-3
      - id: body_crc
        -orig-id: bodyCrc
        type: s4
        if: is_entry
        doc: Never computed; 0.
        doc-ref: https://github.com/openmessaging/dledger DLG-3
      - id: len_body
        -orig-id: bodySize
        type: s4
        if: is_entry
        valid: len_entry - 48
        doc: Length of the body in bytes.
        doc-ref: https://github.com/openmessaging/dledger DLG-2
      - id: body
        -orig-id: body
        size: len_body
        type: rocketmq_4_commitlog::frame
        if: is_entry
        doc: The record.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/dledger/DLedgerCommitLog.java#L100-L105 DLG-4
      - id: unused
        size: len_entry - 8
        if: is_blank
        doc: The bytes after a blank, up to the end of the file; zeros.
        doc-ref: https://github.com/openmessaging/dledger DLG-5
      - id: rest
        size-eos: true
        if: is_blank
        valid: '[].as<bytes>'
        doc: Nothing; a blank whose length does not lead to the end of the file has something here.
        doc-ref: https://github.com/openmessaging/dledger DLG-5
    instances:
      is_entry:
        value: magic == 1
        doc: Whether an entry follows.
        doc-ref: https://github.com/openmessaging/dledger DLG-2
      is_blank:
        value: magic == -1
        doc: Whether this is the blank that ends a full file.
        doc-ref: https://github.com/openmessaging/dledger DLG-5
      phy_offset:
        value: (pos + 48).as<s8>
        if: is_entry
        doc: Physical offset of the record, as consume queues and index files hold it.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/dledger/DLedgerCommitLog.java#L100-L105 DLG-4
