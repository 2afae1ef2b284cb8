meta:
  id: rocketmq_4_checkpoint
  title: Apache RocketMQ checkpoint
  application: Apache RocketMQ 4.9.3
  xref:
    maven: org.apache.rocketmq:rocketmq-store:4.9.3
  tags:
    - database
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  The file `store/checkpoint` of a RocketMQ broker: how far commit log, consume queues and index are known to be on
  disk, as times. A broker that did not stop cleanly recovers from there.
doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/StoreCheckpoint.java#L48-L52 CKP-1
seq:
  - id: physic_msg_timestamp
    -orig-id: physicMsgTimestamp
    type: s8
    doc: Store timestamp that the last thorough flush of the log set, in ms since 1970; later records may be flushed, too.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/MappedFileQueue.java#L437-L451 CKP-6
  - id: logics_msg_timestamp
    -orig-id: logicsMsgTimestamp
    type: s8
    doc: Store timestamp of the last record that got its unit in a consume queue, in ms since 1970.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/StoreCheckpoint.java#L48-L52 CKP-1
  - id: index_msg_timestamp
    -orig-id: indexMsgTimestamp
    type: s8
    doc: End timestamp of the last index file that was flushed full, in ms since 1970.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/StoreCheckpoint.java#L48-L52 CKP-1
  - id: master_flushed_offset
    -orig-id: masterFlushedOffset
    type: s8
    doc: |
      Bytes of the log that the master flushed; since 5.0.0.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/StoreCheckpoint.java#L91-L103 CKP-5
  - id: confirm_phy_offset
    -orig-id: confirmPhyOffset
    type: s8
    doc: |
      Physical offset that is confirmed; since 5.1.1.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/StoreCheckpoint.java#L91-L103 CKP-5
  - id: logics_physical_offset
    -orig-id: logicsPhysicalOffset
    type: s8
    doc: |
      Physical offset of the last record that is in a queue; since 5.5.0.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/StoreCheckpoint.java#L91-L103 CKP-5
  - id: unused
    size: 4048
    doc: The rest of the 4096 bytes, which no release writes.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/StoreCheckpoint.java#L42-L46 CKP-2
  - id: rest
    size-eos: true
    doc: What a longer file holds behind them.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/StoreCheckpoint.java#L42-L46 CKP-2
