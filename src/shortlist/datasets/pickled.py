"""The pickles that CIFAR comes in: read without running anything, and written the way Python 2 did.

A pickle is a program that may call whatever it names. The official files name three things of NumPy, which are only
needed to make an array from bytes; here each has a stand-in that does that and nothing else, so not even NumPy's own
reconstruction is run on what a stranger wrote.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shortlist.types import ShortlistError

# --- reading ---------------------------------------------------------------------------------------------------


def load(path: Path) -> Any:
    """What a file holds: plain containers, numbers and texts (Python 2's as bytes), and arrays as `Stored`."""
    try:
        with path.open("rb") as file:
            return Restricted(file, path).load()
    except ShortlistError:
        raise
    except OSError as error:
        raise ShortlistError(f"{path}: cannot be read ({error.strerror})") from error
    except Exception as error:  # a broken pickle raises many types; each means the same here
        raise ShortlistError(f"{path}: cannot be unpickled ({error}); unpack the official archive again") from error


class Restricted(pickle.Unpickler):
    """An unpickler that knows the stand-ins below and no other name."""

    def __init__(self, file: Any, path: Path) -> None:
        super().__init__(file, encoding="bytes")  # Python 2's texts were bytes
        self._path = path

    def find_class(self, module: str, name: str) -> type:
        if (module, name) not in STAND_INS:
            raise ShortlistError(
                f"{self._path}: asks for {module}.{name}, which no official file does, so it was not read and nothing "
                "in it was run; unpack the official archive again"
            )
        return STAND_INS[module, name]


# Classes with a __setstate__, all of them: a pickle could set attributes of anything else that it is handed.


class Stored:
    """Stands in for numpy.ndarray, which a pickle first makes empty and then fills."""

    values: npt.NDArray[Any] | None = None  # until filled

    def __init__(self, *of_an_empty_one: object) -> None: ...

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, by_column, content = state
        values = np.frombuffer(content, kind.dtype)
        self.values = values.reshape(tuple(map(int, shape)), order="F" if by_column else "C")


class StoredFromBuffer(Stored):
    """Stands in for what makes an array in the newest pickles."""

    def __init__(self, content: Any, kind: Any, shape: Any, order: str) -> None:
        self.__setstate__((1, shape, kind, order == "F", content))


class StoredKind:
    """Stands in for numpy.dtype: whole numbers only. Its own state says their byte order."""

    def __init__(self, code: str | bytes, *rest: object) -> None:
        name = code.decode("ascii") if isinstance(code, bytes) else code
        if not re.fullmatch(r"[iu][1248]", name):
            raise ValueError(f"an array of type {name!r}, where whole numbers were expected")
        self.dtype = np.dtype(name)

    def __setstate__(self, state: Any) -> None:
        order: Any = state[1].decode("ascii") if isinstance(state[1], bytes) else state[1]
        self.dtype = self.dtype.newbyteorder(order)


class StoredBytes:
    """Stands in for codecs.encode, by which Python 3 writes bytes for Python 2."""

    def __new__(cls, text: str, encoding: str) -> Any:
        return text.encode("latin1")

    def __setstate__(self, state: Any) -> None: ...


STAND_INS: dict[tuple[str, str], type] = {
    ("numpy", "ndarray"): Stored,
    ("numpy", "dtype"): StoredKind,
    ("numpy.core.multiarray", "_reconstruct"): Stored,
    ("numpy._core.multiarray", "_reconstruct"): Stored,
    ("numpy.core.numeric", "_frombuffer"): StoredFromBuffer,
    ("numpy._core.numeric", "_frombuffer"): StoredFromBuffer,
    ("_codecs", "encode"): StoredBytes,
}


# --- writing ---------------------------------------------------------------------------------------------------

EMPTY_ARRAY = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
UINT8 = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"


def dump(value: Any) -> bytes:
    """Dictionaries, lists, whole numbers, bytes and uint8 matrices as a pickle of protocol 2.

    >>> pickle.loads(dump({b"labels": [3, 300], b"batch_label": b"made up"}), encoding="bytes")
    {b'labels': [3, 300], b'batch_label': b'made up'}
    """
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
