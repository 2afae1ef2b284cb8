"""What implementations in other languages were found to do instead, beside the misreadings of single clauses."""

from __future__ import annotations

from typing import Final

from rocket_conformance.misreadings.mutant import Mutant

__all__ = ["PORTS"]

_HASH: Final = """    positive = abs_i32(string_hash(key))
    return max(positive, 0)
"""
_UNIQUE: Final = 'yield f"{request.topic}#{request.uniq_key}"'
_CRC32: Final = "__import__('zlib').crc32(data)"
_FNV1A: Final = """2166136261
    for byte in data:
        total = (total ^ byte) * 16777619 & 0xFFFFFFFF"""
_MURMUR3: Final = """0
    for start in range(0, len(data), 4):
        word = int.from_bytes(data[start : start + 4], 'little') * 0xCC9E2D51 & 0xFFFFFFFF
        total ^= (word << 15 | word >> 17) * 0x1B873593 & 0xFFFFFFFF
        if start + 4 <= len(data):
            total = ((total << 13 | total >> 19) * 5 + 0xE6546B64) & 0xFFFFFFFF
    total ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        total = (total ^ total >> shift) * factor & 0xFFFFFFFF"""


def _hashes() -> tuple[Mutant, ...]:
    """Other hashes of the UTF-8 bytes, made positive in two ways."""
    signs = {"sign-cut-off": "total & I32_MAX", "absolute": "max(0, abs_i32(to_i32(total)))"}
    ways = {"crc32": _CRC32, "fnv-1a": _FNV1A, "murmur3": _MURMUR3}
    return tuple(
        Mutant(
            f"{name}-{sign}",
            "IDX-HASH-1",
            "index_file",
            _HASH,
            f"    data = key.encode('utf-8', 'surrogatepass')\n    total = {way}\n    return {made_positive}\n",
            cause_only=True,
        )
        for name, way in ways.items()
        for sign, made_positive in signs.items()
    )


PORTS: Final = (
    *_hashes(),
    Mutant(
        "least-hash-kept-negative",
        "IDX-HASH-2",
        "index_file",
        "return max(positive, 0)",
        "return positive",
        cause_only=True,
    ),
    Mutant(
        "header-wiped-when-reopened",
        "IDX-LOAD-1",
        "index_file",
        "        self._header.load()\n",
        "        self._header.update_bytes()\n",
        cause_only=True,
    ),
    Mutant(
        "header-written-by-a-flush-alone",
        "IDX-HDR-5",
        "index_header",
        "        self._bytes.put_long(0, value)\n",
        "",
        (
            ("        self._bytes.put_long(8, value)\n", ""),
            ("        self._bytes.put_long(16, value)\n", ""),
            ("        self._bytes.put_long(24, value)\n", ""),
            (
                "(self.hash_slot_count + 1)\n        self._bytes.put_int(32, self.hash_slot_count)\n",
                "(self.hash_slot_count + 1)\n",
            ),
            (
                "self.index_count += 1\n        self._bytes.put_int(36, self.index_count)\n",
                "self.index_count += 1\n",
            ),
        ),
        cause_only=True,
    ),
    Mutant(
        "count-starts-at-0",
        "IDX-HDR-5",
        "index_header",
        "self.index_count = 1  # IDX-HDR-5",
        "self.index_count = 0  # IDX-HDR-5",
        (("self.index_count = 1  # IDX-LOAD-2", "self.index_count = 0  # IDX-LOAD-2"),),
        cause_only=True,
    ),
    Mutant(
        "slot-never-written",
        "IDX-PUT-7",
        "index_file",
        "        buffer.put_int(slot_position, count)  # IDX-PUT-7\n",
        "",
        cause_only=True,
    ),
    Mutant(
        "number-written-into-the-entry-and-the-slot",
        "IDX-PUT-7",
        "index_file",
        "        buffer.put_int(slot_position, count)  # IDX-PUT-7\n",
        "        buffer.put_int(slot_position, count)\n        buffer.put_int(position, count)\n",
        cause_only=True,
    ),
    *(
        Mutant(name, "IDX-SVC-2", "index_service", _UNIQUE, f'yield f"{text}"', cause_only=True)
        for name, text in (
            ("unique-key-without-topic", "{request.uniq_key}"),
            ("unique-key-beside-topic", "{request.topic}{request.uniq_key}"),
            ("unique-key-before-topic", "{request.uniq_key}#{request.topic}"),
            ("unique-key-of-another-kind", "{request.topic}#U#{request.uniq_key}"),
        )
    ),
)
"""In the order of SPEC.md."""
