meta:
  id: rocketmq_5_batchconsumequeue
  title: Apache RocketMQ batch consume-queue file
  application: Apache RocketMQ 5.5.1
  xref:
    maven: org.apache.rocketmq:rocketmq-store:5.5.1
  tags:
    - database
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  One file of a batch consume queue of 5.x, `store/batchconsumequeue/TOPIC/QUEUE_ID/BYTE_OFFSET`: 46-byte units, one for
  each record of the queue, which may contain several messages. After the last unit in use the file holds zeros.
doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/queue/BatchConsumeQueue.java#L63-L68 BCQ-1
seq:
  - id: units
    size: 46
    type: unit
    repeat: eos
    doc: All units up to the end of the file, those that are not in use included.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/config/StorePathConfigHelper.java#L30-L32 BCQ-2
types:
  unit:
    doc: Where one record is in the commit log, and which messages it contains.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/queue/BatchConsumeQueue.java#L63-L68 BCQ-1
    seq:
      - id: phy_offset
        -orig-id: offset
        type: s8
        doc: |
          Physical offset of the record, bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/queue/BatchConsumeQueue.java#L63-L68 BCQ-1
      - id: len_record
        -orig-id: size
        type: s4
        doc: |
          Length of the record, bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/queue/BatchConsumeQueue.java#L63-L68 BCQ-1
      - id: tags_code
        -orig-id: tagsCode
        type: s8
        doc: |
          Hash of TAGS.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/queue/BatchConsumeQueue.java#L63-L68 BCQ-1
      - id: store_timestamp
        -orig-id: storeTime
        type: s8
        doc: |
          Store timestamp of the record, ms since the epoch.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/queue/BatchConsumeQueue.java#L63-L68 BCQ-1
      - id: base_offset
        -orig-id: msgBaseOffset
        type: s8
        doc: |
          Logical offset of the record's first message.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/queue/BatchConsumeQueue.java#L63-L68 BCQ-1
      - id: len_batch
        -orig-id: batchSize
        type: s2
        doc: |
          Number of messages in the record.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/queue/BatchConsumeQueue.java#L63-L68 BCQ-1
      - id: compacted_offset
        -orig-id: compactedOffset
        type: s4
        doc: |
          -1.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/queue/BatchConsumeQueue.java#L63-L68 BCQ-1
      - id: reserved
        -orig-id: reserved
        type: s4
        doc: |
          0.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/queue/BatchConsumeQueue.java#L63-L68 BCQ-1
    instances:
      is_in_use:
        value: phy_offset >= 0 and len_record > 0 and base_offset >= 0 and len_batch > 0
        doc: Whether recovery takes this for a unit.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/queue/BatchConsumeQueue.java#L231-L286 BCQ-4
