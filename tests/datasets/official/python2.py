"""Pickles as Python 2 wrote them, which the official files of CIFAR are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

EMPTY_ARRAY = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
UINT8 = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"


def dump(value: Any) -> bytes:
    """Dictionaries, lists, whole numbers, bytes and uint8 matrices as a pickle of protocol 2."""
    return b"\x80\x02" + b"".join(opcodes(value)) + b"."


def opcodes(value: Any) -> Iterator[bytes]:
    match value:
        case bytes():
            yield b"U" + bytes([len(value)]) if len(value) < 256 else b"T" + four_bytes(len(value))
            yield value
        case int():
            yield b"J" + four_bytes(value)
        case list():
            yield b"]("
            yield from (code for item in value for code in opcodes(item))
            yield b"e"
        case dict():
            yield b"}("
            yield from (code for pair in value.items() for item in pair for code in opcodes(item))
            yield b"u"
        case np.ndarray(shape=(rows, columns), dtype=np.dtypes.UInt8DType()):
            yield EMPTY_ARRAY + b"(K\x01J" + four_bytes(rows) + b"J" + four_bytes(columns) + b"\x86" + UINT8 + b"\x89"
            yield from opcodes(value.tobytes())
            yield b"tb"
        case _:
            raise TypeError(f"{type(value).__name__} is in no CIFAR file")


def four_bytes(number: int) -> bytes:
    return number.to_bytes(4, "little", signed=True)
