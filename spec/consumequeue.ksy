meta:
  id: rocketmq_4_consumequeue
  title: Apache RocketMQ consume-queue file
  application: Apache RocketMQ 4.9.3
  xref:
    maven: org.apache.rocketmq:rocketmq-store:4.9.3
  tags:
    - database
    - index
  license: Apache-2.0
  ks-version: '0.11'
  endian: be
doc: |
  One file of a consume queue, `store/consumequeue/TOPIC/QUEUE_ID/BYTE_OFFSET`: 20-byte units, one for each message of
  the queue in its order. Unit `i` of a file has the logical offset (the file's name) / 20 + i. Behind the last unit
  in use the file holds zeros, or units that a truncation gave up.
doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L486-L490 CQ-UNIT-1
seq:
  - id: units
    size: 20
    type: unit
    repeat: eos
    doc: All units up to the end of the file, those that are not in use included.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/config/MessageStoreConfig.java#L219-L223 CQ-FILE-1
instances:
  num_units:
    value: units.size
    doc: Number of units that the file has room for.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/config/MessageStoreConfig.java#L219-L223 CQ-FILE-1
types:
  unit:
    doc: Where one message is in the commit log.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L486-L490 CQ-UNIT-1
    seq:
      - id: phy_offset
        -orig-id: offset
        type: s8
        valid:
          min: 0
        doc: Physical offset of the record, a position in the commit log in bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L486-L490 CQ-UNIT-1
      - id: len_record
        -orig-id: size
        type: s4
        valid:
          min: 0
        doc: Length of the record in bytes; 0x7fffffff in a pre-blank unit, 0 where no unit was written.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L486-L490 CQ-UNIT-1
      - id: tags_code
        -orig-id: tagsCode
        type: s8
        doc: Hash of the TAGS property, or delivery time in ms since 1970, or the address of an ext unit.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L377-L380 CQ-TAGS-1
    instances:
      is_in_use:
        value: phy_offset >= 0 and len_record > 0
        doc: Whether recovery takes this for a unit; pre-blank units count.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L107-L123 CQ-UNIT-3
      is_pre_blank:
        value: phy_offset == 0 and len_record == 0x7fffffff and tags_code == 0
        doc: Whether the unit only fills the place of a logical offset that was never written.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L497-L504 CQ-UNIT-2
      is_ext_address:
        value: tags_code <= -2147483649
        doc: Whether the tags code is the address of a unit in the ext queue.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L388-L403 CQ-TAGS-3
      tags_code_high:
        pos: 12
        type: s4
        doc: The higher 4 bytes of the tags code.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L486-L490 CQ-UNIT-1
      tags_code_low:
        pos: 16
        type: u4
        doc: The lower 4 bytes of the tags code.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueue.java#L486-L490 CQ-UNIT-1
      ofs_ext_unit:
        value: ((tags_code_high.as<s8> + 2147483648) * 4294967296 + tags_code_low).as<s8>
        if: is_ext_address
        doc: |
          Byte offset of the ext unit, counted over all files of the ext queue. It comes from the two halves, so that it is
          right up to 2^53 also where a language's numbers do not hold 64 bits, as in JavaScript; a greater one is rounded
          there, as every 64-bit field is.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L125-L130 CQ-EXT-2
