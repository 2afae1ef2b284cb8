"""IDX-HASH-1 and IDX-HASH-2: key hashes one by one and in batches."""

import random

import pyarrow as pa
import pytest
from rocket_columnar.formats import hash_key, hash_keys, index_key

# each value is worked out as s[0]*31^(n-1) + ... mod 2^32, then made positive


def test_the_index_key_joins_with_a_hash_sign() -> None:
    assert index_key("AaTopic", "Aa") == "AaTopic#Aa"


def by_definition(key: str) -> int:
    raw = key.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(raw[::2], raw[1::2], strict=True):
        code = (31 * code + 256 * high + low) % 2**32
    return 0 if code == 2**31 else min(code, 2**32 - code)


def keys(alphabet: str, count: int) -> list[str]:
    source = random.Random(1)  # noqa: S311 - a sample
    return ["".join(source.choices(alphabet, k=source.choice((0, 1, 9, 63, 64, 200)))) for _ in range(count)]


@pytest.mark.parametrize("alphabet", ["ab#", "ab漢😀\ud800\udfff"])
def test_lone_surrogates_and_long_keys(alphabet: str) -> None:
    sample = keys(alphabet, 1000)
    expected = [by_definition(key) for key in sample]
    assert [hash_key(key) for key in sample] == expected
    assert hash_keys(sample).tolist() == expected
    assert hash_keys(tuple(sample)).tolist() == expected


@pytest.mark.parametrize("alphabet", ["abc#", "aé漢😀"])
def test_arrow_arrays(alphabet: str) -> None:
    sample = keys(alphabet, 500)
    expected = [by_definition(key) for key in sample]
    array = pa.array(sample)
    assert hash_keys(array).tolist() == expected
    assert hash_keys(array.slice(3, 100)).tolist() == expected[3:103]
    assert hash_keys(array.cast(pa.large_string())).tolist() == expected
    assert hash_keys(array.dictionary_encode()).tolist() == expected
    assert hash_keys(pa.chunked_array([array[:7], array[7:]])).tolist() == expected


def test_empty_batches() -> None:
    assert hash_keys([]).tolist() == []
    assert hash_keys(pa.array([], pa.string())).tolist() == []
    assert hash_keys(pa.chunked_array([], pa.string())).tolist() == []


def test_a_null_has_no_hash() -> None:
    with pytest.raises(ValueError, match="null"):
        hash_keys(pa.array(["a", None]))
