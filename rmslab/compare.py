"""Comparing a student's tensors with a reference, and telling numbers to a reader."""

import math
from typing import Any

import torch

from rmslab import evidence

RTOL = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
"""Half precision: both legal cast orders differ by up to one unit in the last place."""
RTOL_SINGLE = 1e-4


def rtol(dtype: torch.dtype) -> float:
    return RTOL.get(dtype, RTOL_SINGLE)


def close(actual: torch.Tensor, expected: torch.Tensor, tolerance: float, atol: float = 1e-6) -> torch.Tensor:
    """Element by element, in float64; shapes must be equal. NaN equals NaN, inf equals inf."""
    return torch.isclose(actual.double(), expected.double(), rtol=tolerance, atol=atol, equal_nan=True)


def alike(a: Any, b: Any) -> bool:
    """Whether two pieces of evidence show the same behaviour, up to rounding.

    Tensors agree in dtype, shape and values; exceptions in type and in the numbers they mention (their words
    depend on how a line is written); the rest must be equal.
    """
    if evidence.is_error(a) or evidence.is_error(b):
        return evidence.is_error(a) and evidence.is_error(b) and _error_key(a) == _error_key(b)
    if isinstance(a, dict) and isinstance(b, dict):
        if isinstance(a.get("data"), str) and isinstance(b.get("data"), str):
            return _tensors_alike(a, b)
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    return a == b


def _tensors_alike(a: dict, b: dict) -> bool:
    try:
        x, y = evidence.decode(a), evidence.decode(b)
    except evidence.BadEvidence:
        return False
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    # Statistics taken in half precision wobble by more than the result's last place.
    tolerance = {torch.float16: 1e-2, torch.bfloat16: 4e-2}.get(x.dtype, 5e-4)
    scale = y.double().abs().nan_to_num(0, 0, 0).max().item() if y.numel() else 0.0
    return bool(close(x, y, tolerance, atol=1e-5 * scale + 1e-7).all())


def _error_key(record: dict) -> tuple:
    error = record["error"]
    words = "".join(c if c.isdigit() else " " for c in str(error.get("message"))).split()
    return error.get("type"), tuple(sorted(words))


def numbers(tensor: torch.Tensor, limit: int = 6) -> str:
    """``[0.365, 0.730, …]``: a vector as a reader writes it."""
    values = tensor.reshape(-1).double()
    text = ", ".join(number(float(v)) for v in values[:limit])
    return f"[{text}{', …' if values.numel() > limit else ''}]"


def short(value: float) -> str:
    """As :func:`number`, but a whole number without decimals."""
    whole = math.isfinite(value) and abs(value) < 1e6 and value == int(value)
    return str(int(value)).replace("-", "−") if whole else number(value)


def number(value: float) -> str:
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "−inf"
    size = abs(value)
    text = f"{value:.3g}" if size and (size < 0.01 or size >= 10000) else f"{value:.3f}"
    return text.replace("-", "−")


def rounded(value: float) -> str:
    """Three decimals, and no trace of floating-point dust."""
    return number(round(value, 3) + 0.0)
