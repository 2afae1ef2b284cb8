meta:
  id: rocketmq_4_dledger_index
  title: Apache RocketMQ entry-index file in DLedger mode
  application: Apache RocketMQ 4.9.3
  xref:
    maven: org.apache.rocketmq:rocketmq-store:4.9.3
  tags:
    - database
    - index
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  One file of DLedger's own index, `store/dledger-SELF_ID/index/BYTE_OFFSET`: 32-byte units, one for each entry of the
  log, at 32 times its number. Behind the last unit in use the file holds zeros, and so it does before the first one if
  the entries before it were deleted and a start has rebuilt the file.

  Not to be mixed up with the index files of `store/index/`, which find messages by key.
doc-ref: https://github.com/openmessaging/dledger DLG-6
seq:
  - id: units
    type: unit
    repeat: until
    repeat-until: _io.eof or not _.is_in_use and _index > 0 and units[_index - 1].is_in_use
    doc: |
      The units: first those that are not in use, if there are any before the first one that is, and last, if the file is
      not full, one that is not in use.
    doc-ref: https://github.com/openmessaging/dledger DLG-6
types:
  unit:
    doc: Where one entry is.
    doc-ref: https://github.com/openmessaging/dledger DLG-6
    seq:
      - id: magic
        -orig-id: magic
        type: s4
        doc: That of the entry, 1; 0 where no unit was written.
        doc-ref: https://github.com/openmessaging/dledger DLG-6
      - id: pos
        -orig-id: pos
        type: s8
        valid:
          min: 0
        doc: Position of the entry in the log in bytes.
        doc-ref: https://github.com/openmessaging/dledger DLG-6
      - id: len_entry
        -orig-id: size
        type: s4
        valid:
          min: 0
        doc: Length of the entry in bytes, its header included.
        doc-ref: https://github.com/openmessaging/dledger DLG-6
      - id: index
        -orig-id: index
        type: s8
        doc: Number of the entry.
        doc-ref: https://github.com/openmessaging/dledger DLG-7
      - id: term
        -orig-id: term
        type: s8
        doc: Term of the entry.
        doc-ref: https://github.com/openmessaging/dledger DLG-7
    instances:
      is_in_use:
        value: magic != 0
        doc: Whether a unit was written here.
        doc-ref: https://github.com/openmessaging/dledger DLG-6
