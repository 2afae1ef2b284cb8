meta:
  id: rocketmq_5_timerlog
  title: Apache RocketMQ timer-log file
  application: Apache RocketMQ 5.5.1
  xref:
    maven: org.apache.rocketmq:rocketmq-store:5.5.1
  tags:
    - database
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  One file of the timer log of 5.x, `store/timerlog/BYTE_OFFSET`: 52-byte units, linked per slot of the timer wheel, and a
  blank that ends a full file.
doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41 TIM-3
seq:
  - id: frames
    type: frame
    repeat: until
    repeat-until: not _.is_unit or _io.size - _io.pos < 16
    doc: The units, and last the blank or the frame that is neither.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L65-L96 TIM-4
types:
  frame:
    doc: The fields that units and blanks have, and the rest of a unit.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L65-L96 TIM-4
    seq:
      - id: len_unit
        -orig-id: size
        type: s4
        doc: |
          52.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41 TIM-3
      - id: ofs_prev
        -orig-id: prevPos
        type: s8
        doc: |
          Position of the slot's unit before; -1 for its first.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41 TIM-3
      - id: magic
        -orig-id: magicValue
        type: s4
        doc: |
          1, + 2 to be enqueued again later, + 4 for a deletion.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41 TIM-3
      - id: unit
        type: unit
        if: is_unit
        doc: The unit after its first three fields.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41 TIM-3
    instances:
      is_blank:
        value: magic == -875286124
        doc: Whether this is the blank that ends a full file; `len_unit` is then the number of bytes up to its end.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L65-L96 TIM-4
      is_unit:
        value: len_unit == 52 and not is_blank
        doc: Whether a unit follows.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41 TIM-3
  unit:
    doc: One message that waits, or a deletion of one.
    doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41 TIM-3
    seq:
      - id: write_time
        -orig-id: currWriteTime
        type: s8
        doc: |
          Time of the wheel at the put, ms since the epoch.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41 TIM-3
      - id: delay
        -orig-id: delayedTime
        type: s4
        doc: |
          Delivery time - write_time, ms.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41 TIM-3
      - id: phy_offset
        -orig-id: offsetPy
        type: s8
        doc: |
          Physical offset of the record of rmq_sys_wheel_timer, bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41 TIM-3
      - id: len_record
        -orig-id: sizePy
        type: s4
        doc: |
          Length of that record, bytes.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41 TIM-3
      - id: topic_hash
        -orig-id: hashCode
        type: s4
        doc: |
          Hash of REAL_TOPIC; 0 without one.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41 TIM-3
      - id: reserved
        -orig-id: reserved
        type: s8
        doc: |
          0.
        doc-ref: https://github.com/apache/rocketmq/blob/rocketmq-all-5.5.1/store/src/main/java/org/apache/rocketmq/store/timer/TimerLog.java#L33-L41 TIM-3
