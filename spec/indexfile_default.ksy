meta:
  id: rocketmq_4_indexfile_default
  title: Apache RocketMQ index file of the default geometry
  application: Apache RocketMQ 4.9.3
  xref:
    maven: org.apache.rocketmq:rocketmq-store:4.9.3
  tags:
    - database
    - index
  license: Apache-2.0
  ks-version: '0.11'
  imports:
    - indexfile
  endian: be
doc: |
  An index file of 420,000,040 bytes, for viewers that cannot pass parameters. For a broker with other settings of `maxHashSlotNum` and
  `maxIndexNum`, write its two numbers below.
doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L44-L48 IDX-FILE-1
seq:
  - id: file
    type: rocketmq_4_indexfile(5000000, 20000000)
    doc: The whole file.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-4.9.3/store/src/main/java/org/apache/rocketmq/store/index/IndexFile.java#L44-L48 IDX-FILE-1
