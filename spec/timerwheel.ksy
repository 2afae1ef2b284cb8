meta:
  id: rocketmq_5_timerwheel
  title: Apache RocketMQ timer wheel
  application: Apache RocketMQ 5.5.1
  xref:
    maven: org.apache.rocketmq:rocketmq-store:5.5.1
  tags:
    - database
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  The file `store/timerwheel` of 5.x, or a snapshot of it: 32-byte slots, one for each delivery time, which point to the
  units of the timer log that are delivered then.
doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerWheel.java#L63-L81 TIM-2
seq:
  - id: slots
    size: 32
    type: slot
    repeat: eos
    doc: All slots; one that was never used is zeros.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerWheel.java#L63-L81 TIM-2
types:
  slot:
    doc: A delivery time, and the units of the timer log for it.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/Slot.java#L28-L33 TIM-1
    seq:
      - id: delayed_time
        -orig-id: timeMs
        type: s8
        doc: |
          Delivery time / timerPrecisionMs; in s since the epoch by default.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/Slot.java#L28-L33 TIM-1
      - id: ofs_first
        -orig-id: firstPos
        type: s8
        doc: |
          Position of the slot's first unit in the timer log, bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/Slot.java#L28-L33 TIM-1
      - id: ofs_last
        -orig-id: lastPos
        type: s8
        doc: |
          Position of its last unit, bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/Slot.java#L28-L33 TIM-1
      - id: num
        -orig-id: num
        type: s4
        doc: |
          Number of messages, less those that delete one.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/Slot.java#L28-L33 TIM-1
      - id: magic
        -orig-id: magic
        type: s4
        doc: |
          0.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/Slot.java#L28-L33 TIM-1
