meta:
  id: rocketmq_4_indexfile
  title: Apache RocketMQ index file
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
  Hash index over the keys of the messages in a RocketMQ broker's commit log, one file of `store/index/`: a header,
  `hash_slot_num` slots, `index_num` entries. A slot holds the number of the newest entry of its chain, an entry the
  number of the one before it.

  The file does not record how many slots and entries it has room for; a broker takes both numbers from its configuration
  (`maxHashSlotNum` and `maxIndexNum`, 5000000 and 20000000 by default), and so they are parameters here. A viewer that cannot
  pass parameters opens `indexfile_default.ksy`.
doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L44-L48 IDX-FILE-1
params:
  - id: hash_slot_num
    -orig-id: hashSlotNum
    type: s4
    doc: Number of slots, `S` in the specification.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L44-L48 IDX-FILE-1
  - id: index_num
    -orig-id: indexNum
    type: s4
    doc: Number of entries that there is room for, `N` in the specification; entry 0 is never used.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L44-L48 IDX-FILE-1
seq:
  - id: header
    -orig-id: indexHeader
    type: header
    doc: The first 40 bytes.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexHeader.java#L58-L65 IDX-HDR-1
instances:
  index_count:
    pos: 36
    type: s4
    valid:
      min: 0
      max: 'index_num > 1 ? index_num : 1'
    doc: The header's `index_count` again; no more than the file has room for.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexHeader.java#L38 IDX-HDR-5
  ofs_entries:
    value: 40 + 4 * hash_slot_num
    doc: Byte offset of entry 0.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L121-L128 IDX-ENT-1
  num_entries:
    value: 'index_count > 1 ? index_count - 1 : 0'
    doc: Number of entries that were put.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexHeader.java#L38 IDX-HDR-5
  slots:
    pos: 40
    type: s4
    repeat: expr
    repeat-expr: hash_slot_num
    valid:
      min: 0
      max: 'index_num > 1 ? index_num - 1 : 0'
    doc: |
      For each slot the number of the newest entry of its chain, 0 where it is empty. In a live file it may already
      name the entry that the header's `index_count` does not count yet.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L96 IDX-SLOT-1
  unused_entry:
    pos: ofs_entries
    size: 20
    if: index_num > 0
    valid: '[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]'
    doc: Entry 0, which nothing writes.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L121-L128 IDX-ENT-1
  entries:
    pos: ofs_entries + 20
    type: entry
    repeat: expr
    repeat-expr: num_entries
    doc: The entries that were put, entry 1 first.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L121-L128 IDX-ENT-1
types:
  header:
    doc: What the first and the last put left, and two counters. A rolled file starts with the last put of the file before it.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexHeader.java#L58-L65 IDX-HDR-1
    seq:
      - id: begin_timestamp
        -orig-id: beginTimestamp
        type: s8
        doc: Store timestamp of the first put, or the seed before it, in ms since 1970. Zero in a fresh file.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L132-L135 IDX-HDR-2
      - id: end_timestamp
        -orig-id: endTimestamp
        type: s8
        doc: Store timestamp of the last put in ms since 1970. It can be before `begin_timestamp`.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L141-L142 IDX-HDR-3
      - id: begin_phy_offset
        -orig-id: beginPhyOffset
        type: s8
        doc: Physical offset of the first put, a position in the commit log in bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L132-L135 IDX-HDR-2
      - id: end_phy_offset
        -orig-id: endPhyOffset
        type: s8
        doc: Physical offset of the last put, a position in the commit log in bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L141-L142 IDX-HDR-3
      - id: hash_slot_count
        -orig-id: hashSlotCount
        type: s4
        valid:
          min: 0
        doc: Number of puts that found their slot empty; before 4.7.1, of all puts.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L137-L139 IDX-HDR-4
      - id: index_count
        -orig-id: indexCount
        type: s4
        valid:
          min: 0
        doc: Number of the next entry, which is the number of entries plus 1; 0 in a file that saw no put and no flush.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexHeader.java#L38 IDX-HDR-5
  entry:
    doc: One key of one message.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L121-L128 IDX-ENT-1
    seq:
      - id: key_hash
        -orig-id: keyHash
        type: s4
        valid:
          min: 0
        doc: Key hash of `topic#key`. The key itself is not stored.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L164-L170 IDX-HASH-1
      - id: phy_offset
        -orig-id: phyOffset
        type: s8
        doc: Physical offset of the message's record, a position in the commit log in bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L121-L128 IDX-PUT-6
      - id: time_diff
        -orig-id: timeDiff
        type: s4
        valid:
          min: 0
        doc: Whole seconds from the header's `begin_timestamp`, as it was at the put, to the record's store timestamp.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L109-L111 IDX-PUT-2
      - id: prev_entry
        -orig-id: slotValue
        type: s4
        valid:
          min: 0
          max: _parent.index_num - 1
        doc: Number of the previous entry of the same slot, whatever its key; 0 ends the chain.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L121-L128 IDX-PUT-6
    instances:
      store_timestamp:
        value: (_parent.header.begin_timestamp + time_diff.as<s8> * 1000).as<s8>
        doc: |
          The time at which a query places the entry, in ms since 1970: exact to the second, and too late by the gap
          between two files for entry 1 of a rolled one (IDX-PUT-8).
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L233-L236 IDX-SEL-4
