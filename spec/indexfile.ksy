meta:
  id: indexfile
  title: Apache RocketMQ index file
  application: Apache RocketMQ 4.9.3
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

  The header parses on its own. Slots and entries are in the type `table`, whose parameters are the two numbers that
  the file does not record; a broker takes them from its configuration (`maxHashSlotNum` 5000000, `maxIndexNum` 20000000
  by default, which give the one file size for which `default_table` is there). A .ksy file of one's own says
  `type: indexfile::table(7, 12)` at position 0; a program constructs a `table` on the same stream.

  Slots and entries are instances: they are read when they are asked for.
doc-ref: SPEC.md#idx-file-1 IDX-FILE-1
seq:
  - id: header
    -orig-id: indexHeader
    type: header
    doc: The first 40 bytes.
    doc-ref: SPEC.md#idx-hdr-1 IDX-HDR-1
instances:
  default_table:
    pos: 0
    type: table(5000000, 20000000)
    if: _io.size == 420000040
    doc: The table of a file that has the size of the default geometry.
    doc-ref: SPEC.md#idx-file-1 IDX-FILE-1
types:
  table:
    doc: The whole file, read with a given geometry.
    doc-ref: SPEC.md#idx-file-1 IDX-FILE-1
    params:
      - id: hash_slot_num
        -orig-id: hashSlotNum
        type: s4
        doc: Number of slots, `S` in the specification.
        doc-ref: SPEC.md#idx-file-1 IDX-FILE-1
      - id: index_num
        -orig-id: indexNum
        type: s4
        doc: Number of entries that there is room for, `N` in the specification; entry 0 is never used.
        doc-ref: SPEC.md#idx-file-1 IDX-FILE-1
    instances:
      header:
        pos: 0
        type: header
        doc: The first 40 bytes.
        doc-ref: SPEC.md#idx-hdr-1 IDX-HDR-1
      index_count:
        pos: 36
        type: s4
        valid:
          min: 0
          max: 'index_num > 1 ? index_num : 1'
        doc: The header's `index_count` again; no more than the file has room for.
        doc-ref: SPEC.md#idx-hdr-5 IDX-HDR-5
      ofs_entries:
        value: 40 + 4 * hash_slot_num
        doc: Byte offset of entry 0.
        doc-ref: SPEC.md#idx-ent-1 IDX-ENT-1
      num_entries:
        value: 'index_count > 1 ? index_count - 1 : 0'
        doc: Number of entries that were put.
        doc-ref: SPEC.md#idx-hdr-5 IDX-HDR-5
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
        doc-ref: SPEC.md#idx-slot-1 IDX-SLOT-1
      unused_entry:
        pos: ofs_entries
        size: 20
        if: index_num > 0
        valid: '[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]'
        doc: Entry 0, which nothing writes.
        doc-ref: SPEC.md#idx-ent-1 IDX-ENT-1
      entries:
        pos: ofs_entries + 20
        type: entry
        repeat: expr
        repeat-expr: num_entries
        doc: The entries that were put, entry 1 first.
        doc-ref: SPEC.md#idx-ent-1 IDX-ENT-1
  header:
    doc: What the first and the last put left, and two counters. A rolled file starts with the last put of the file before it.
    doc-ref: SPEC.md#idx-hdr-1 IDX-HDR-1
    seq:
      - id: begin_timestamp
        -orig-id: beginTimestamp
        type: s8
        doc: Store timestamp of the first put, or the seed before it, in ms since 1970. Zero in a fresh file.
        doc-ref: SPEC.md#idx-hdr-2 IDX-HDR-2
      - id: end_timestamp
        -orig-id: endTimestamp
        type: s8
        doc: Store timestamp of the last put in ms since 1970. It can be before `begin_timestamp`.
        doc-ref: SPEC.md#idx-hdr-3 IDX-HDR-3
      - id: begin_phy_offset
        -orig-id: beginPhyOffset
        type: s8
        doc: Physical offset of the first put, a position in the commit log in bytes.
        doc-ref: SPEC.md#idx-hdr-2 IDX-HDR-2
      - id: end_phy_offset
        -orig-id: endPhyOffset
        type: s8
        doc: Physical offset of the last put, a position in the commit log in bytes.
        doc-ref: SPEC.md#idx-hdr-3 IDX-HDR-3
      - id: hash_slot_count
        -orig-id: hashSlotCount
        type: s4
        valid:
          min: 0
        doc: Number of puts that found their slot empty; before 4.7.1, of all puts.
        doc-ref: SPEC.md#idx-hdr-4 IDX-HDR-4
      - id: index_count
        -orig-id: indexCount
        type: s4
        valid:
          min: 0
        doc: Number of the next entry, which is the number of entries plus 1; 0 in a file that saw no put and no flush.
        doc-ref: SPEC.md#idx-hdr-5 IDX-HDR-5
  entry:
    doc: One key of one message.
    doc-ref: SPEC.md#idx-ent-1 IDX-ENT-1
    seq:
      - id: key_hash
        -orig-id: keyHash
        type: s4
        valid:
          min: 0
        doc: Key hash of `topic#key`. The key itself is not stored.
        doc-ref: SPEC.md#idx-hash-1 IDX-HASH-1
      - id: phy_offset
        -orig-id: phyOffset
        type: s8
        doc: Physical offset of the message's record, a position in the commit log in bytes.
        doc-ref: SPEC.md#idx-put-6 IDX-PUT-6
      - id: time_diff
        -orig-id: timeDiff
        type: s4
        valid:
          min: 0
        doc: Whole seconds from the header's `begin_timestamp`, as it was at the put, to the record's store timestamp.
        doc-ref: SPEC.md#idx-put-2 IDX-PUT-2
      - id: prev_entry
        -orig-id: slotValue
        type: s4
        valid:
          min: 0
          max: _parent.index_num - 1
        doc: Number of the previous entry of the same slot, whatever its key; 0 ends the chain.
        doc-ref: SPEC.md#idx-put-6 IDX-PUT-6
    instances:
      store_timestamp:
        value: (_parent.header.begin_timestamp + time_diff.as<s8> * 1000).as<s8>
        doc: |
          The time at which a query places the entry, in ms since 1970: exact to the second, and too late by the gap
          between two files for entry 1 of a rolled one (IDX-PUT-8).
        doc-ref: SPEC.md#idx-sel-4 IDX-SEL-4
