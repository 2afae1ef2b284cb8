meta:
  id: rocketmq_4_commitlog
  title: Apache RocketMQ commit-log file
  application: Apache RocketMQ 4.9.3
  xref:
    maven: org.apache.rocketmq:rocketmq-store:4.9.3
  tags:
    - database
    - log
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  One file of a RocketMQ broker's commit log, `store/commitlog/BYTE_OFFSET`: records one after the other, each a
  message of any topic. A blank ends a full file; the last file ends in zeros, or in what a truncation gave up.

  Topic and properties are given as bytes: they are UTF-8, but a broker decodes malformed bytes in Java's own way
  (UTF8-1), and a reader in another language would rather fail.
doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
seq:
  - id: frames
    type: frame
    repeat: until
    repeat-until: not _.is_record or _io.size - _io.pos < 8
    doc: The records, and last the blank or the frame that is neither.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L290-L303 LOG-FILE-2
enums:
  magic:
    -626843481:
      id: message
      -orig-id: MESSAGE_MAGIC_CODE
      doc: A record follows; 0xdaa320a7.
      doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
    -626843477:
      id: message_v2
      -orig-id: MESSAGE_MAGIC_CODE_V2
      doc: A record of 5.1.0 or later follows, whose topic has a length of two bytes; 0xdaa320ab.
      doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1016-L1021 LOG-REC-10
    -875286124:
      id: blank
      -orig-id: BLANK_MAGIC_CODE
      doc: The rest of the file holds no record; 0xcbd43194.
      doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1337-L1352 LOG-BLANK-1
types:
  frame:
    doc: A length and a magic, and what the magic says.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
    seq:
      - id: len_total
        -orig-id: totalSize
        type: s4
        doc: Length of the record in bytes, these four included; in a blank, the bytes from here to the end of the file.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L433-L455 LOG-REC-3
      - id: magic
        -orig-id: magicCode
        type: s4
        enum: magic
        doc: Tells record and blank apart; any other value ends the log.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L290-L303 LOG-FILE-2
      - id: record
        size: len_total - 8
        type: record(is_v2)
        if: is_record
        doc: The record after its first two fields.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
      - id: unused
        size: len_total - 8
        if: is_blank
        doc: The bytes after a blank, up to the end of the file; nothing writes them.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1337-L1352 LOG-BLANK-1
      - id: rest
        size-eos: true
        if: is_blank
        valid: '[].as<bytes>'
        doc: Nothing; a blank whose length does not lead to the end of the file has something here.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1337-L1352 LOG-BLANK-1
    instances:
      is_record:
        value: magic == magic::message or is_v2
        doc: Whether a record follows.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
      is_v2:
        value: magic == magic::message_v2
        doc: Whether the record's topic has a length of two bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1016-L1021 LOG-REC-10
      is_blank:
        value: magic == magic::blank
        doc: Whether this is the blank that ends a full file.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L298-L299 LOG-BLANK-2
  record:
    doc: One message, as the broker stored it.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
    params:
      - id: is_v2
        type: bool
        doc: Whether the topic has a length of two bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1016-L1021 LOG-REC-10
    seq:
      - id: body_crc
        -orig-id: bodyCRC
        type: s4
        valid:
          min: 0
        doc: CRC-32 of the body with its highest bit cleared; 0 without a body.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/common/src/main/java/org/apache/rocketmq/common/UtilAll.java#L241-L253 LOG-REC-4
      - id: queue_id
        -orig-id: queueId
        type: s4
        doc: Number of the queue within the topic.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
      - id: flag
        -orig-id: flag
        type: s4
        doc: The application's own number; a broker does not look at it.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
      - id: queue_offset
        -orig-id: queueOffset
        type: s8
        valid:
          min: 0
        doc: Logical offset in the queue; 0 in PREPARED and ROLLBACK records.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1306-L1332 LOG-REC-6
      - id: phy_offset
        -orig-id: physicOffset
        type: s8
        valid:
          min: 0
        doc: The record's own physical offset, a position in the commit log in bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1357-L1359 LOG-REC-7
      - id: sys_flag
        -orig-id: sysFlag
        type: s4
        doc: Bits that the instances below take apart.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/common/src/main/java/org/apache/rocketmq/common/sysflag/MessageSysFlag.java#L20 LOG-REC-5
      - id: born_timestamp
        -orig-id: bornTimeStamp
        type: s8
        doc: The client's clock at the send, in ms since 1970.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
      - id: born_host
        -orig-id: bornHost
        type: host(is_born_host_ipv6)
        doc: The client.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L321-L335 LOG-REC-2
      - id: store_timestamp
        -orig-id: storeTimestamp
        type: s8
        doc: The broker's clock at the append, in ms since 1970.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
      - id: store_host
        -orig-id: storeHost
        type: host(is_store_host_ipv6)
        doc: The broker.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L321-L335 LOG-REC-2
      - id: reconsume_times
        -orig-id: reconsumeTimes
        type: s4
        doc: How often a consumer has sent the message back.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
      - id: prepared_transaction_offset
        -orig-id: preparedTransactionOffset
        type: s8
        doc: Physical offset of the half message that a committed or rolled-back record belongs to.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
      - id: len_body
        -orig-id: bodyLen
        type: s4
        valid:
          min: 0
        doc: Length of the body in bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L433-L455 LOG-REC-3
      - id: body
        -orig-id: body
        size: len_body
        doc: The stored bytes; compressed when `is_compressed`.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1548-L1587 LOG-REC-1
      - id: len_topic
        -orig-id: topicLen
        type: s1
        if: not is_v2
        valid:
          min: 0
        doc: Length of the topic in bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L433-L455 LOG-REC-3
      - id: len_topic_v2
        -orig-id: topicLen
        type: s2
        if: is_v2
        valid:
          min: 0
        doc: Length of the topic in bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1016-L1021 LOG-REC-10
      - id: topic
        -orig-id: topic
        size: 'is_v2 ? len_topic_v2 : len_topic'
        doc: Topic in UTF-8; SCHEDULE_TOPIC_XXXX for a message that waits for its delivery.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L360 UTF8-1
      - id: len_properties
        -orig-id: propertiesLength
        type: s2
        valid: _io.size - _io.pos
        doc: Length of the properties in bytes; they end the record, so that its lengths add up.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L1523-L1531 LOG-PROP-5
      - id: properties
        -orig-id: properties
        size: len_properties
        doc: Names and values in UTF-8, name, byte 1, value, and byte 2 between the pairs.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/common/src/main/java/org/apache/rocketmq/common/message/MessageDecoder.java#L411-L447 LOG-PROP-1
    instances:
      is_compressed:
        value: (sys_flag & 1) != 0
        doc: Whether the client compressed the body.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/common/src/main/java/org/apache/rocketmq/common/sysflag/MessageSysFlag.java#L20 LOG-REC-5
      is_multi_tags:
        value: (sys_flag & 2) != 0
        doc: Whether the client marked TAGS as several; it changes nothing.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L377-L380 CQ-TAGS-1
      transaction_type:
        value: sys_flag & 12
        doc: 0 NOT, 4 PREPARED, 8 COMMIT, 12 ROLLBACK.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/common/src/main/java/org/apache/rocketmq/common/sysflag/MessageSysFlag.java#L20 LOG-REC-5
      is_born_host_ipv6:
        value: (sys_flag & 16) != 0
        doc: Whether the client's address has 16 bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L321-L335 LOG-REC-2
      is_store_host_ipv6:
        value: (sys_flag & 32) != 0
        doc: Whether the broker's address has 16 bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L321-L335 LOG-REC-2
  host:
    doc: Internet address and port.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L321-L335 LOG-REC-2
    params:
      - id: is_ipv6
        type: bool
        doc: Whether the address has 16 bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L321-L335 LOG-REC-2
    seq:
      - id: address
        size: 'is_ipv6 ? 16 : 4'
        doc: The address in network order.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L321-L335 LOG-REC-2
      - id: port
        type: s4
        valid:
          min: 0
          max: 65535
        doc: The port, in four bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/CommitLog.java#L321-L335 LOG-REC-2
