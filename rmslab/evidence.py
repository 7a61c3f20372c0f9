"""Tensors and exceptions as strict, bounded JSON: all that ever crosses from student code to a judge.

Nothing here knows what is being taught. A tensor becomes ``{"dtype", "shape", "data"}`` with the raw
little-endian bytes in base64, so values survive bit for bit and NaN needs no literal. Sizes are verified
before anything is decoded, because evidence comes from a process that ran somebody else's code.
"""

import base64
import json
import linecache
import traceback
from math import prod
from typing import Any

import torch

MAX_NUMEL = 1 << 16
MAX_TEXT = 300
ATTENDED = True
"""Whether somebody could press stop. Where not, as in grading, an interrupt is an error like any other."""

_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float16, torch.bfloat16, torch.float32, torch.float64,
        torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    )
}  # fmt: skip


class BadEvidence(ValueError):
    """Evidence that does not have the form this module writes."""


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def encode(value: Any) -> dict:
    """Record ``value`` if it is a tensor, else only the name of its type (its ``repr`` may lie or hang)."""
    if not isinstance(value, torch.Tensor):
        return {"type": type(value).__name__[:80]}
    with torch._C.DisableTorchFunctionSubclass(), torch.no_grad():
        record = {"dtype": dtype_name(value.dtype), "shape": list(value.shape)[:16]}
        if value.device.type == "meta" or value.numel() > MAX_NUMEL or record["dtype"] not in _DTYPES:
            return record
        plain = value.detach().cpu().contiguous().reshape(-1)
        record["data"] = base64.b64encode(bytes(plain.view(torch.uint8).numpy())).decode("ascii")
    return record


def decode(record: Any) -> torch.Tensor:
    """The tensor that :func:`encode` recorded.

    Raises:
        BadEvidence: the record is malformed, too large, or holds no values.
    """
    if not isinstance(record, dict) or not isinstance(record.get("data"), str):
        raise BadEvidence("no tensor values")
    dtype, shape = _DTYPES.get(record.get("dtype")), record.get("shape")
    if dtype is None or not isinstance(shape, list) or len(shape) > 16:
        raise BadEvidence("unknown dtype or shape")
    if not all(type(n) is int and 0 <= n <= MAX_NUMEL for n in shape) or prod(shape) > MAX_NUMEL:
        raise BadEvidence("shape out of bounds")
    size = prod(shape) * dtype.itemsize
    if len(record["data"]) != 4 * ((size + 2) // 3):
        raise BadEvidence("data do not fit the shape")
    raw = base64.b64decode(record["data"], validate=True)
    if len(raw) != size:
        raise BadEvidence("data do not fit the shape")
    if size == 0:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(raw), dtype=dtype).reshape(shape)


def let_through(error: BaseException) -> None:
    """Raise ``error`` again if it is a person's own interrupt, which is not part of the answer."""
    if ATTENDED and issubclass(type(error), KeyboardInterrupt):
        raise error


def words_of(error: BaseException, most: int = MAX_TEXT) -> str:
    """The first words of an exception, whatever its ``__str__`` does."""
    try:
        return str.__getitem__(str(error), slice(most))  # of a plain str, as its own class may lie too
    except BaseException as another:
        let_through(another)
        return ""


def encode_error(error: BaseException) -> dict:
    """Type, first words and, where it lies in a notebook cell, the line of an exception.

    To be used after ``except BaseException``: student code may raise anything.

    Raises:
        KeyboardInterrupt: it is one, and a person may have sent it.
    """
    let_through(error)
    # Read where Python keeps them: a class may say otherwise, or raise.
    name = type.__dict__["__name__"].__get__(type(error))
    record = {"type": name[:80], "message": words_of(error)}
    # The deepest frame that is not library code is where the student should look.
    for frame in reversed(traceback.extract_tb(BaseException.__dict__["__traceback__"].__get__(error))):
        if "ipykernel_" in frame.filename or frame.filename.startswith(("<ipython-input", "<cell ")):
            line = frame.line or linecache.getline(frame.filename, frame.lineno or 0)
            record |= {"lineno": frame.lineno, "line": line.strip()[:MAX_TEXT]}
            break
    return {"error": record}


def is_error(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("error"), dict)


def dumps(evidence: Any) -> str:
    """Strict JSON text (no NaN literal), keys in order so that equal evidence is equal text."""
    return json.dumps(evidence, allow_nan=False, ensure_ascii=False, sort_keys=True)
