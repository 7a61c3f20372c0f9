"""The computation trace: every tensor operation of a function, with shape and dtype, in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name

from rmslab.catalogue import text
from rmslab.evidence import dtype_name
from rmslab.table import table as html_table

LIMIT = 60
_REDUCING = ("mean", "sum", "var", "std", "norm", "rms_norm", "vector_norm")
_QUIET = ("__get__", "size", "dim", "stride", "is_floating_point", "is_complex", "numel", "__set__",
          "__len__", "requires_grad_", "detach", "ndimension")  # fmt: skip


@dataclass(frozen=True)
class Operation:
    """One operation: its torch name, and the shape and dtype of its result."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    note: str = ""
    """``raised``, ``lowered``, ``half-statistic`` (precision is lost here) or empty."""


class _Recorder(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.operations: list[Operation] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        name = (resolve_name(function) or getattr(function, "__name__", "?")).rsplit(".", 1)[-1]
        if isinstance(result, torch.Tensor) and name not in _QUIET and len(self.operations) < LIMIT:
            given = next((a for a in args if isinstance(a, torch.Tensor)), None)
            self.operations.append(
                Operation(name.strip("_"), tuple(result.shape), result.dtype, _note(name, given, result))
            )
        return result


def _note(name: str, given: torch.Tensor | None, result: torch.Tensor) -> str:
    halves = (torch.float16, torch.bfloat16)
    if given is None:
        return ""
    if name.strip("_") in (*_REDUCING, "pow", "square") and result.dtype in halves:
        return "half-statistic"
    if given.dtype in halves and result.dtype not in halves:
        return "raised"
    return "lowered" if given.dtype not in halves and result.dtype in halves else ""


class Trace(list):
    """Operations in order; shown in a notebook as a table."""

    error: BaseException | None = None

    def _repr_html_(self) -> str:
        rows = [(op.name, str(op.shape), dtype_name(op.dtype), op.note) for op in self]
        stopped = text("trace", "stopped", error=f"{type(self.error).__name__}: {str(self.error)[:200]}")
        return (table(rows) if rows else "") + (f"<p>{escape(stopped)}</p>" if self.error else "")


def table(rows: Sequence[Sequence[str]]) -> str:
    """HTML of operations given as (name, shape, dtype, note)."""
    columns = [text("trace", key) for key in ("operation", "shape", "note")]
    body = []
    for i, (name, shape, dtype, note) in enumerate(rows, 1):
        said = text("trace", note) if note else ""
        body.append((str(i), f"<code>{escape(name)}</code>", escape(f"{shape} {dtype}"), escape(said)))
    return html_table(["", *map(escape, columns)], body)


def trace(function: Callable, *args: Any) -> Trace:
    """Run ``function(*args)`` and list its tensor operations (at most 60).

    An exception ends the list; it is kept in ``error`` and shown below the table.
    """
    result = Trace()
    recorder = _Recorder()
    try:
        with recorder:
            function(*args)
    except Exception as error:
        result.error = error
    result.extend(recorder.operations)
    return result
