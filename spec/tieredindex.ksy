meta:
  id: tieredindex
  title: Apache RocketMQ index file of the tiered store
  application: Apache RocketMQ 5.5.0
  tags:
    - database
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  An index file of the tiered store of 5.x. Its geometry is not in the file. `Table` reads one in use, of a number of slots
  and items; `Compacted` one of `tiered_index_file/compacting`, whose first slot shows the number of slots.
doc-ref: SPEC.md#tix-1 TIX-1
seq:
  - id: header
    type: header
    doc: The first 28 bytes.
    doc-ref: SPEC.md#tix-1 TIX-1
types:
  header:
    doc: Magic, times and numbers.
    doc-ref: SPEC.md#tix-1 TIX-1
    seq:
      - id: magic
        -orig-id: magicCode
        type: s4
        valid:
          any-of: [-1127939447, -1127939451]
        doc: |
          0xBCC50289 while in use, 0xBCC50285 when ended.
        doc-ref: SPEC.md#tix-1 TIX-1
      - id: begin_timestamp
        -orig-id: beginTimestamp
        type: s8
        doc: |
          The number that is the file's name, ms since the epoch.
        doc-ref: SPEC.md#tix-1 TIX-1
      - id: end_timestamp
        -orig-id: endTimestamp
        type: s8
        doc: |
          Greatest store timestamp, ms since the epoch.
        doc-ref: SPEC.md#tix-1 TIX-1
      - id: num_used_slots
        -orig-id: hashSlotCount
        type: s4
        doc: |
          Number of slots in use.
        doc-ref: SPEC.md#tix-1 TIX-1
      - id: num_items
        -orig-id: indexItemCount
        type: s4
        doc: |
          Number of the last item.
        doc-ref: SPEC.md#tix-1 TIX-1
  table:
    doc: A file in use.
    doc-ref: SPEC.md#tix-2 TIX-2
    params:
      - id: hash_slot_num
        type: u4
        doc: Number of slots.
        doc-ref: SPEC.md#tix-2 TIX-2
      - id: index_num
        type: u4
        doc: Number of items that the file has room for.
        doc-ref: SPEC.md#tix-2 TIX-2
    seq:
      - id: header
        type: header
        doc: The first 28 bytes.
        doc-ref: SPEC.md#tix-1 TIX-1
      - id: slots
        type: slot
        repeat: expr
        repeat-expr: hash_slot_num
        doc: The slots.
        doc-ref: SPEC.md#tix-2 TIX-2
      - id: items
        type: item
        repeat: expr
        repeat-expr: index_num
        doc: The items from item 0 on, which is never written.
        doc-ref: SPEC.md#tix-3 TIX-3
  slot:
    doc: The newest item of a chain.
    doc-ref: SPEC.md#tix-2 TIX-2
    seq:
      - id: item
        type: s4
        doc: Its number; 0 when empty.
        doc-ref: SPEC.md#tix-2 TIX-2
      - id: unused
        type: s4
        doc: Not used.
        doc-ref: SPEC.md#tix-2 TIX-2
  item:
    doc: One key of one message.
    doc-ref: SPEC.md#tix-3 TIX-3
    seq:
      - id: key_hash
        -orig-id: hashCode
        type: s4
        doc: |
          Hash of topic#key.
        doc-ref: SPEC.md#tix-3 TIX-3
      - id: topic_id
        -orig-id: topicId
        type: s4
        doc: |
          Number of the topic in the tiered store's metadata.
        doc-ref: SPEC.md#tix-3 TIX-3
      - id: queue_id
        -orig-id: queueId
        type: s4
        doc: |
          Queue number.
        doc-ref: SPEC.md#tix-3 TIX-3
      - id: ofs_record
        -orig-id: offset
        type: s8
        doc: |
          Position of the record in the queue's tiered commit log, bytes.
        doc-ref: SPEC.md#tix-3 TIX-3
      - id: len_record
        -orig-id: size
        type: s4
        doc: |
          Length of the record, bytes.
        doc-ref: SPEC.md#tix-3 TIX-3
      - id: time_diff
        -orig-id: timeDiff
        type: s4
        doc: |
          Whole seconds from begin_timestamp.
        doc-ref: SPEC.md#tix-3 TIX-3
      - id: prev_item
        -orig-id: itemIndex
        type: s4
        doc: |
          Number of the previous item of the same slot; 0 ends the chain.
        doc-ref: SPEC.md#tix-3 TIX-3
  compacted:
    doc: A compacted file.
    doc-ref: SPEC.md#tix-4 TIX-4
    seq:
      - id: header
        type: header
        doc: The first 28 bytes.
        doc-ref: SPEC.md#tix-1 TIX-1
      - id: first_slot
        type: compacted_slot
        doc: Slot 0.
        doc-ref: SPEC.md#tix-4 TIX-4
      - id: other_slots
        type: compacted_slot
        repeat: expr
        repeat-expr: (first_slot.ofs_items - 28) / 8 - 1
        doc: The slots from slot 1 on.
        doc-ref: SPEC.md#tix-4 TIX-4
      - id: items
        type: compacted_item
        repeat: eos
        doc: The items of one slot after the other.
        doc-ref: SPEC.md#tix-4 TIX-4
  compacted_slot:
    doc: Where the items of a slot are.
    doc-ref: SPEC.md#tix-4 TIX-4
    seq:
      - id: ofs_items
        type: s4
        doc: Byte offset of its first item in the file.
        doc-ref: SPEC.md#tix-4 TIX-4
      - id: len_items
        type: s4
        doc: Length of its items in bytes.
        doc-ref: SPEC.md#tix-4 TIX-4
  compacted_item:
    doc: One key of one message.
    doc-ref: SPEC.md#tix-4 TIX-4
    seq:
      - id: key_hash
        -orig-id: hashCode
        type: s4
        doc: |
          Hash of topic#key.
        doc-ref: SPEC.md#tix-4 TIX-4
      - id: topic_id
        -orig-id: topicId
        type: s4
        doc: |
          Number of the topic in the tiered store's metadata.
        doc-ref: SPEC.md#tix-4 TIX-4
      - id: queue_id
        -orig-id: queueId
        type: s4
        doc: |
          Queue number.
        doc-ref: SPEC.md#tix-4 TIX-4
      - id: ofs_record
        -orig-id: offset
        type: s8
        doc: |
          Position of the record in the queue's tiered commit log, bytes.
        doc-ref: SPEC.md#tix-4 TIX-4
      - id: len_record
        -orig-id: size
        type: s4
        doc: |
          Length of the record, bytes.
        doc-ref: SPEC.md#tix-4 TIX-4
      - id: time_diff
        -orig-id: timeDiff
        type: s4
        doc: |
          Whole seconds from begin_timestamp.
        doc-ref: SPEC.md#tix-4 TIX-4
