meta:
  id: batchconsumequeue
  title: Apache RocketMQ batch consume-queue file
  application: Apache RocketMQ 5.5.1
  tags:
    - database
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  One file of a batch consume queue of 5.x, `store/batchconsumequeue/TOPIC/QUEUE_ID/BYTE_OFFSET`: 46-byte units, one for
  each record of the queue, which may contain several messages. After the last unit in use the file holds zeros.
doc-ref: SPEC.md#bcq-1 BCQ-1
seq:
  - id: units
    size: 46
    type: unit
    repeat: eos
    doc: All units up to the end of the file, those that are not in use included.
    doc-ref: SPEC.md#bcq-2 BCQ-2
types:
  unit:
    doc: Where one record is in the commit log, and which messages it contains.
    doc-ref: SPEC.md#bcq-1 BCQ-1
    seq:
      - id: phy_offset
        -orig-id: offset
        type: s8
        doc: |
          Physical offset of the record, bytes.
        doc-ref: SPEC.md#bcq-1 BCQ-1
      - id: len_record
        -orig-id: size
        type: s4
        doc: |
          Length of the record, bytes.
        doc-ref: SPEC.md#bcq-1 BCQ-1
      - id: tags_code
        -orig-id: tagsCode
        type: s8
        doc: |
          Hash of TAGS.
        doc-ref: SPEC.md#bcq-1 BCQ-1
      - id: store_timestamp
        -orig-id: storeTime
        type: s8
        doc: |
          Store timestamp of the record, ms since the epoch.
        doc-ref: SPEC.md#bcq-1 BCQ-1
      - id: base_offset
        -orig-id: msgBaseOffset
        type: s8
        doc: |
          Logical offset of the record's first message.
        doc-ref: SPEC.md#bcq-1 BCQ-1
      - id: len_batch
        -orig-id: batchSize
        type: s2
        doc: |
          Number of messages in the record.
        doc-ref: SPEC.md#bcq-1 BCQ-1
      - id: compacted_offset
        -orig-id: compactedOffset
        type: s4
        doc: |
          -1.
        doc-ref: SPEC.md#bcq-1 BCQ-1
      - id: reserved
        -orig-id: reserved
        type: s4
        doc: |
          0.
        doc-ref: SPEC.md#bcq-1 BCQ-1
    instances:
      is_in_use:
        value: phy_offset >= 0 and len_record > 0 and base_offset >= 0 and len_batch > 0
        doc: Whether recovery takes this for a unit.
        doc-ref: SPEC.md#bcq-4 BCQ-4
