meta:
  id: rocketmq_4_consumequeue_ext
  title: Apache RocketMQ consume-queue ext file
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
  One file of a consume queue's extension, `store/consumequeue_ext/TOPIC/QUEUE_ID/BYTE_OFFSET`, which a broker writes
  with `enableConsumeQueueExt`: units of varying length, and after them an end mark (in a full file), zeros, or the rest of a
  longer unit over which a recovery has let the broker write.
doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L507-L529 CQ-EXT-1
seq:
  - id: units
    type: unit
    repeat: until
    repeat-until: not _.is_unit
    doc: The units, and last the two bytes after them, as an element with `is_unit` false.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L453-L478 CQ-EXT-5
instances:
  num_units:
    value: units.size - 1
    doc: Number of units, without the two bytes that end them.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L453-L478 CQ-EXT-5
types:
  unit:
    doc: What the consume queue has to know of one message beyond its unit there.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L507-L529 CQ-EXT-1
    seq:
      - id: len_unit
        -orig-id: size
        type: s2
        doc: Length of the unit in bytes, these two included; -1 is the end mark, 0 an unwritten tail.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L217-L226 CQ-EXT-3
      - id: tags_code
        -orig-id: tagsCode
        type: s8
        if: is_unit
        doc: Hash of the TAGS property, or delivery time in ms since 1970.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L507-L529 CQ-EXT-1
      - id: store_timestamp
        -orig-id: msgStoreTime
        type: s8
        if: is_unit
        doc: Store timestamp of the record in ms since 1970.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L507-L529 CQ-EXT-1
      - id: len_bit_map
        -orig-id: bitMapSize
        type: s2
        if: is_unit
        valid:
          min: 'len_unit == 20 ? -32768 : len_unit - 20'
          max: len_unit - 20
        doc: Length of the bit map in bytes; 0 or less without one.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L507-L529 CQ-EXT-1
      - id: bit_map
        -orig-id: filterBitMap
        size: 'len_bit_map > 0 ? len_bit_map : 0'
        if: is_unit
        doc: Bloom filter of the SQL92 subscriptions that the message matches.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L507-L529 CQ-EXT-1
    instances:
      ahead:
        pos: _io.pos + 16
        type: s2
        if: _io.size - _io.pos >= 18
        doc: The length of the bit map, read before the fields between.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L453-L478 CQ-EXT-5
      is_unit:
        value: 'len_unit > 0 and (_io.pos == 2 or (_io.size - _io.pos >= 18 and len_unit - 2 <= _io.size - _io.pos and len_unit == 20 + (ahead > 0 ? ahead : 0)))'
        doc: Whether this is a unit at all, and not the end of the file's units; after the first one, its lengths must add up.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/ConsumeQueueExt.java#L453-L478 CQ-EXT-5
