"""The computation trace: every tensor operation of a function, with shape and dtype, in order."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name

from rmslab.evidence import dtype_name

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
        return "⚠ 半精度里做统计：可能溢出或变成 0"
    if given.dtype in halves and result.dtype not in halves:
        return "↑ 升精度"
    if given.dtype not in halves and result.dtype in halves:
        return "↓ 降回半精度"
    return ""


class Trace(list):
    """Operations in order; shown in a notebook as a table."""

    error: BaseException | None = None

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{i}</td><td><code>{escape(op.name)}</code></td><td>{escape(str(op.shape))}</td>"
            f"<td>{dtype_name(op.dtype)}</td><td>{escape(op.note)}</td></tr>"
            for i, op in enumerate(self, 1)
        )
        head = "".join(f'<th scope="col">{label}</th>' for label in ("", "运算", "形状", "dtype", "备注"))
        stopped = f"<p>算到这里停下了：{escape(type(self.error).__name__)}：{escape(str(self.error)[:200])}</p>"
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if self else ""
        return table + (stopped if self.error else "")


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
