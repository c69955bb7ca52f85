"""Weights in files: the safetensors format, which holds arrays and text and can run nothing.

A file is the length of a header in eight bytes, the header in JSON, and the arrays end to end. What does not fit is
refused in a sentence. The `safetensors` package reads and writes the same files; here NumPy is enough.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from veritally.errors import InputError
from veritally.files import write_whole

_TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
_CHECK = "sha256"  # under which a file has the checksum of its arrays
_LARGEST_HEADER = 100_000_000  # bytes, as everywhere


def save(path: str | os.PathLike[str], arrays: Mapping[str, Any], about: Mapping[str, str]) -> None:
    """Write arrays and what there is to say about them; a file of that name is replaced whole or not at all."""
    header: dict[str, Any] = {}
    parts, place = [], 0
    for name, array in arrays.items():
        part = np.asarray(array, order="C")
        part = part.astype(part.dtype.newbyteorder("<"), copy=False)
        end = place + part.nbytes
        header[name] = {"dtype": _NAMES[part.dtype], "shape": list(part.shape), "data_offsets": [place, end]}
        parts.append(part.tobytes())
        place = end
    data = b"".join(parts)
    text = json.dumps({"__metadata__": {**about, _CHECK: _checksum(header, data)}, **header}).encode()
    text += b" " * (-len(text) % 8)
    write_whole(path, len(text).to_bytes(8, "little") + text + data)


def _checksum(header: Mapping[str, Any], data: bytes) -> str:
    """Return a checksum of the arrays and their names."""
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode() + data).hexdigest()


def load(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Read arrays and what is said about them."""
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    try:
        return _parse(content)
    except _DamagedError as error:
        raise InputError(f"{path}: is not a safetensors file, or is damaged ({error})") from None


class _DamagedError(Exception):
    pass


def _parse(content: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(len(content) - 8, _LARGEST_HEADER):
        raise _DamagedError("its header does not fit into it")
    data = content[8 + length :]
    try:
        header = json.loads(content[8 : 8 + length])
        about = dict(header.pop("__metadata__", {}))
        arrays = {name: _array(data, entry) for name, entry in header.items()}
        places = sorted(entry["data_offsets"] for entry in header.values())
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise _DamagedError("its header is not a list of arrays") from error
    if [end for _, end in places[:-1]] != [start for start, _ in places[1:]] or (places or [[0, 0]])[0][0] != 0:
        raise _DamagedError("its arrays do not lie end to end")
    if (places or [[0, 0]])[-1][1] != len(data):
        raise _DamagedError("its arrays do not fill it")
    if not all(isinstance(text, str) for text in about.values()):
        raise _DamagedError("its metadata are not text")
    if about.pop(_CHECK, None) not in (None, _checksum(header, data)):
        raise _DamagedError("its checksum is wrong")
    return arrays, about


def _array(buffer: bytes, entry: dict[str, Any]) -> Any:
    dtype, shape, (start, end) = _TYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
    numbers = [*shape, start, end]
    if not all(isinstance(number, int) and not isinstance(number, bool) and number >= 0 for number in numbers):
        raise _DamagedError("its header has invalid numbers")
    if end > len(buffer) or end - start != math.prod(shape) * dtype.itemsize:
        raise _DamagedError("an array does not have the size that its header says")
    array = np.frombuffer(buffer[start:end], dtype).reshape(shape)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise _DamagedError("it has numbers that are not finite")
    return array
