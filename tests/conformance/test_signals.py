"""Signals keep their names wherever they arrive."""

import codecs
import signal

import pytest
from rocket_conformance.transport import InterruptedBySignal, stop_on_signals


def test_a_signal_that_arrives_within_a_codec_keeps_its_name() -> None:
    """Python gives an exception of one string another text there: "decoding with 'utf-16-be' codec failed (...)"."""

    def interrupted(_data: object, _errors: str = "strict", /) -> tuple[str, int]:
        signal.raise_signal(signal.SIGTERM)
        raise AssertionError("the signal did not arrive")

    def search(name: str) -> codecs.CodecInfo | None:
        return (
            codecs.CodecInfo(codecs.ascii_encode, interrupted, name=name) if name == "interrupted" else None
        )

    codecs.register(search)
    try:
        with stop_on_signals(), pytest.raises(InterruptedBySignal) as caught:
            b"x".decode("interrupted")
    finally:
        codecs.unregister(search)
    assert caught.value.name == "SIGTERM"
