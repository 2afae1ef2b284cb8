"""Records, properties, dispatch requests, decoding and the checkpoint, misread."""

from __future__ import annotations

from typing import Final

from rocket_conformance.misreadings.mutant import Mutant

__all__ = ["LOG"]

_HOST: Final = "return _HOST_V6 if sys_flag & bit else _HOST_V4"
_CHECKED: Final = "if check_crc and fields.body and body_checksum(fields.body) != fields.body_crc:"
_PAIR: Final = "if name and separator and value:"
_DELAYED: Final = "if topic == SCHEDULE_TOPIC and delay is not None:"
_LEVEL: Final = "level = min(parse_int(delay), len(delay_levels))"
_TIME: Final = "code = to_i64(delay_levels[level - 1] + store_timestamp)"
_CODE: Final = "code = tags_code(properties.get(TAGS))"
_BLANK: Final = "            return DispatchRequest(success=True)\n"
_MAGIC: Final = "        if magic != MESSAGE_MAGIC:\n            return DispatchRequest(msg_size=-1)\n"
_MALFORMED: Final = "position += _malformed(data[position : position + 4])"
_OPENED: Final = "    with map_file(path, CHECKPOINT_SIZE) as view:\n"

LOG: Final = (
    Mutant(
        "delay-from-the-birth",
        "CQ-TAGS-2",
        "dispatch",
        "code = dispatch_tags_code(topic, properties, fields.store_timestamp, delay_levels)",
        "code = dispatch_tags_code(topic, properties, fields.born_timestamp, delay_levels)",
    ),
    Mutant("delay-in-every-topic", "CQ-TAGS-2", "dispatch", _DELAYED, "if delay is not None:"),
    Mutant(
        "properties-length-of-32-bits",
        "LOG-REC-1",
        "record_bytes",
        "properties_length = cursor.get_short()",
        "properties_length = cursor.get_int()",
    ),
    Mutant(
        "queue-number-behind-flag",
        "LOG-REC-1",
        "record_bytes",
        "    queue_id = cursor.get_int()\n    flag = cursor.get_int()\n",
        "    flag = cursor.get_int()\n    queue_id = cursor.get_int()\n",
    ),
    Mutant(
        "both-hosts-by-the-born-bit",
        "LOG-REC-2",
        "record_bytes",
        "STORE_HOST_V6: Final = 0x20",
        "STORE_HOST_V6: Final = 0x10",
    ),
    Mutant("hosts-of-8-bytes-always", "LOG-REC-2", "record_bytes", _HOST, "return _HOST_V4"),
    Mutant(
        "total-size-not-compared", "LOG-REC-3", "dispatch", "if fields.total_size != length:", "if False:"
    ),
    Mutant("negative-body-length-counted", "LOG-REC-3", "record_bytes", "max(body_length, 0)", "body_length"),
    Mutant(
        "negative-properties-length-counted",
        "LOG-REC-3",
        "record_bytes",
        "max(properties_length, 0)",
        "properties_length",
    ),
    Mutant(
        "checksum-not-masked",
        "LOG-REC-4",
        "record_bytes",
        "return crc32(body) & I32_MAX",
        "return to_i32(crc32(body))",
    ),
    Mutant(
        "checksum-checked-unasked", "LOG-REC-4", "dispatch", _CHECKED, _CHECKED.replace("check_crc and ", "")
    ),
    Mutant(
        "checksum-of-no-body", "LOG-REC-4", "dispatch", _CHECKED, _CHECKED.replace("fields.body and ", "")
    ),
    Mutant("checksum-never-checked", "LOG-REC-4", "dispatch", _CHECKED, "if False:"),
    Mutant(
        "any-high-bit-is-ipv6",
        "LOG-REC-5",
        "record_bytes",
        _HOST,
        "return _HOST_V6 if sys_flag >= bit else _HOST_V4",
    ),
    Mutant(
        "transaction-type-cut-off",
        "LOG-REC-5",
        "dispatch",
        "sys_flag=fields.sys_flag,",
        "sys_flag=fields.sys_flag & ~12,",
    ),
    Mutant(
        "pair-without-end-mark-lost",
        "LOG-PROP-1",
        "properties",
        "text.split(PROPERTY_SEPARATOR)",
        "text.split(PROPERTY_SEPARATOR)[:-1]",
    ),
    Mutant("empty-value-kept", "LOG-PROP-2", "properties", _PAIR, "if name and separator:"),
    Mutant(
        "pair-without-separator-kept",
        "LOG-PROP-2",
        "properties",
        "            properties[name] = value\n",
        "            properties[name] = value\n        elif name:\n            properties[name] = name\n",
    ),
    Mutant(
        "pair-with-two-separators-dropped",
        "LOG-PROP-3",
        "properties",
        _PAIR,
        "if name and separator and value and NAME_VALUE_SEPARATOR not in value:",
    ),
    Mutant(
        "pair-split-at-every-separator",
        "LOG-PROP-3",
        "properties",
        _PAIR,
        "pieces = pair.rstrip(NAME_VALUE_SEPARATOR).split(NAME_VALUE_SEPARATOR)\n"
        "        if len(pieces) == 2 and (value := pieces[1]):",
    ),
    Mutant(
        "value-ends-at-the-second-separator",
        "LOG-PROP-3",
        "properties",
        "properties[name] = value",
        "properties[name] = value.partition(NAME_VALUE_SEPARATOR)[0]",
    ),
    Mutant(
        "name-ends-at-the-last-separator", "LOG-PROP-3", "properties", "pair.partition(", "pair.rpartition("
    ),
    Mutant(
        "first-of-equal-names-wins",
        "LOG-PROP-4",
        "properties",
        "properties[name] = value",
        "properties.setdefault(name, value)",
    ),
    Mutant(
        "blank-stepped-over",
        "LOG-BLANK-2",
        "dispatch",
        _BLANK,
        "            return DispatchRequest(success=True, msg_size=total_size)\n",
    ),
    Mutant(
        "blank-fails", "LOG-BLANK-2", "dispatch", _BLANK, "            return DispatchRequest(msg_size=-1)\n"
    ),
    Mutant(
        "zeros-end-in-silence",
        "LOG-FILE-2",
        "dispatch",
        _MAGIC,
        f"        if total_size == magic == 0:\n            return DispatchRequest(success=True)\n{_MAGIC}",
    ),
    Mutant(
        "time-of-birth-for-store-time",
        "LOG-DSP-1",
        "dispatch",
        "store_timestamp=fields.store_timestamp,\n",
        "store_timestamp=fields.born_timestamp,\n",
    ),
    Mutant(
        "offset-from-the-position",
        "LOG-DSP-1",
        "dispatch",
        "return _request(fields, delay_levels)",
        "request = _request(fields, delay_levels)\n        object.__setattr__(request, 'commit_log_offset', request.success and cursor.position - total_size or 0)\n        return request",
    ),
    Mutant(
        "queue-number-without-sign",
        "LOG-DSP-1",
        "dispatch",
        "queue_id=fields.queue_id,",
        "queue_id=fields.queue_id & 0x7FFFFFFF,",
    ),
    Mutant(
        "keys-never-null",
        "LOG-DSP-2",
        "dispatch",
        "keys = properties.get(KEYS)",
        'keys = properties.get(KEYS, "")',
    ),
    Mutant(
        "keys-null-without-properties",
        "LOG-DSP-2",
        "dispatch",
        '    keys: str | None = ""\n    uniq_key: str | None = None\n    code = 0',
        "    keys: str | None = None\n    uniq_key: str | None = None\n    code = 0",
    ),
    Mutant(
        "unique-key-never-null",
        "LOG-DSP-3",
        "dispatch",
        "uniq_key = properties.get(UNIQ_KEY)",
        'uniq_key = properties.get(UNIQ_KEY, "")',
    ),
    Mutant(
        "unique-key-from-keys",
        "LOG-DSP-3",
        "dispatch",
        "uniq_key = properties.get(UNIQ_KEY)",
        "uniq_key = properties.get(KEYS)",
    ),
    Mutant(
        "multi-tags-cut",
        "LOG-DSP-4",
        "dispatch",
        _CODE,
        'code = tags_code((properties.get(TAGS) or "").split("|")[0].strip())',
    ),
    Mutant(
        "tags-code-of-keys",
        "LOG-DSP-4",
        "dispatch",
        _CODE,
        "code = tags_code(properties.get(TAGS) or properties.get(KEYS))",
    ),
    Mutant(
        "levels-from-0",
        "LOG-DSP-5",
        "dispatch",
        _TIME,
        "code = to_i64(delay_levels[min(level, len(delay_levels) - 1)] + store_timestamp)",
    ),
    Mutant(
        "level-above-the-highest-ignored",
        "LOG-DSP-5",
        "dispatch",
        _LEVEL,
        "level = parse_int(delay)\n        level = level if level <= len(delay_levels) else 0",
    ),
    Mutant(
        "delay-levels-ignored", "LOG-DSP-5", "dispatch", "        if level > 0:\n", "        if level > 99:\n"
    ),
    Mutant("level-0-counts", "LOG-DSP-5", "dispatch", "        if level > 0:\n", "        if level >= 0:\n"),
    Mutant(
        "level-that-is-no-number-ignored",
        "LOG-DSP-5",
        "dispatch",
        _LEVEL,
        "level = min(int(delay) if delay.strip('+-').isdecimal() else 0, len(delay_levels))",
    ),
    Mutant("delivery-time-is-the-delay", "LOG-DSP-5", "dispatch", _TIME, "code = delay_levels[level - 1]"),
    Mutant(
        "mismatch-has-size-minus-1",
        "LOG-DSP-6",
        "dispatch",
        "return DispatchRequest(msg_size=fields.total_size)",
        "return DispatchRequest(msg_size=-1)",
    ),
    Mutant("magic-not-looked-at", "LOG-DSP-6", "dispatch", _MAGIC, ""),
    Mutant(
        "dispatch-goes-on-behind-a-failure",
        "LOG-DSP-6",
        "dispatch",
        "if not request.success or request.msg_size == 0:",
        "if request.msg_size <= 0:",
    ),
    Mutant(
        "torn-end-passed-over",
        "LOG-DSP-6",
        "dispatch",
        "while position < len(data):",
        "while position + 8 <= len(data):",
    ),
    Mutant(
        "topic-length-without-sign",
        "LOG-DSP-6",
        "record_bytes",
        "topic_length = cursor.get_byte()",
        "topic_length = cursor.get_byte() & 0xFF",
    ),
    Mutant(
        "parts-added-up",
        "LOG-DSP-6",
        "record_bytes",
        "properties = cursor.take(properties_length, room) if",
        "properties = cursor.take(properties_length, room - topic_length - max(body_length, 0)) if",
    ),
    Mutant("body-always-read", "LOG-DSP-6", "record_bytes", "        if read_body:\n", "        if True:\n"),
    Mutant("body-never-read", "LOG-DSP-6", "record_bytes", "        if read_body:\n", "        if False:\n"),
    Mutant("malformed-replaced-byte-by-byte", "UTF8-1", "java", _MALFORMED, "position += 1"),
    Mutant(
        "malformed-replaced-as-unicode-advises",
        "UTF8-1",
        "java",
        '        return data.decode("utf-8")\n',
        '        return data.decode("utf-8", "replace")\n',
    ),
    Mutant(
        "malformed-dropped",
        "UTF8-1",
        "java",
        '        return data.decode("utf-8")\n',
        '        return data.decode("utf-8", "ignore")\n',
    ),
    Mutant(
        "queue-time-before-log-time",
        "CKP-1",
        "checkpoint_file",
        "_CHECKPOINT.pack_into(view, 0, *astuple(times))",
        "_CHECKPOINT.pack_into(view, 0, *(astuple(times)[place] for place in (1, 0, 2)))",
        (
            (
                "return Checkpoint(*_CHECKPOINT.unpack_from(data))",
                "return Checkpoint(*(_CHECKPOINT.unpack_from(data)[place] for place in (1, 0, 2)))",
            ),
        ),
    ),
    Mutant(
        "checkpoint-of-24-bytes",
        "CKP-2",
        "checkpoint_file",
        f"{_OPENED}        return",
        "    with map_file(path, 24) as view:\n        return",
    ),
    Mutant(
        "long-checkpoint-cut",
        "CKP-2",
        "checkpoint_file",
        f"{_OPENED}        return",
        f"    os_truncate(path)\n{_OPENED}        return",
        (
            (
                '__all__ = ["Checkpoint"',
                'def os_truncate(path):\n    if path.exists():\n        path.write_bytes(path.read_bytes()[:4096])\n\n\n__all__ = ["Checkpoint"',
            ),
        ),
    ),
    Mutant(
        "rest-of-the-checkpoint-cleared",
        "CKP-4",
        "checkpoint_file",
        "        _CHECKPOINT.pack_into",
        "        view[24:] = bytes(len(view) - 24)\n        _CHECKPOINT.pack_into",
    ),
    Mutant(
        "times-not-written",
        "CKP-4",
        "checkpoint_file",
        "        _CHECKPOINT.pack_into(view, 0, *astuple(times))",
        "        astuple(times)",
    ),
    Mutant(
        "only-later-times-written",
        "CKP-4",
        "checkpoint_file",
        "*astuple(times))",
        "*map(max, astuple(times), _CHECKPOINT.unpack_from(view)))",
    ),
)
"""Each on its clause, in the order of SPEC.md."""
