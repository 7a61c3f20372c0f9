"""Experiments of the lessons, on the reader's own code. An unfinished class is reported, never raised."""

from collections.abc import Sequence
from html import escape
from typing import Any

import torch
from torch import nn

from rmslab.catalogue import text
from rmslab.compare import numbers
from rmslab.trace import Trace, trace

SENTENCE = {"猫": [1.0, 2.0, 3.0, 4.0], "吃": [2.0, 0.0, -2.0, 4.0], "鱼": [-1.0, 1.0, -1.0, 1.0]}


class Table:
    """A small table with a header row, or one sentence in its place. ``rows`` holds its cells as text."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[Any]], note: str = ""):
        self.header, self.note = list(header), note
        self.rows = [[str(cell) for cell in row] for row in rows]

    def __repr__(self) -> str:
        lines = [" | ".join(row) for row in ([self.header] if self.rows else []) + self.rows]
        return "\n".join([*lines, *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in self.header)
        body = "".join(
            "<tr>" + "".join(f'<td style="text-align:left">{escape(c)}</td>' for c in row) + "</tr>"
            for row in self.rows
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if self.rows else ""
        return f"{table}<p>{escape(self.note)}</p>" if self.note else table


def unfinished(error: Exception) -> Table:
    key = "todo" if isinstance(error, NotImplementedError) else "raised"
    return Table([], [], text("experiment", key, error=f"{type(error).__name__}: {error}"))


def sentence(cls: type[nn.Module]) -> Table:
    """The reader's RMSNorm (γ = 1) on 猫, 吃 and 鱼, with the RMS of input and output."""
    x = torch.tensor(list(SENTENCE.values()))
    try:
        y = cls(4)(x).detach()
    except Exception as error:
        return unfinished(error)
    rows = [
        [token, numbers(a), f"{a.square().mean().sqrt():.3f}", numbers(b), f"{b.square().mean().sqrt():.3f}"]
        for token, a, b in zip(SENTENCE, x, y, strict=True)
    ]
    return Table(["token", "x", "RMS(x)", "输出", "RMS(输出)"], rows)


def overflow(cls: type[nn.Module]) -> Table:
    """x = [300, 1, 2, 3] in FP16: statistics in FP16, in FP32, and the reader's module."""
    x = torch.tensor([300.0, 1.0, 2.0, 3.0], dtype=torch.float16)

    def normalised(x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    def row(label: str, square: torch.Tensor, y: torch.Tensor) -> list[str]:
        return [label, numbers(square), numbers(y)]

    rows = [
        row("全程 FP16", x.pow(2), normalised(x)),
        row("统计用 FP32", x.float().pow(2), normalised(x.float()).to(x.dtype)),
    ]
    try:
        rows.append(["你的 RMSNorm", "", numbers(cls(4).to(x.dtype)(x).detach())])
        note = ""
    except Exception as error:
        note = unfinished(error).note
    return Table(["怎么算", "x²", "输出"], rows, note)


def trace_rmsnorm(cls: type[nn.Module], dtype: torch.dtype = torch.float16) -> Trace:
    """Every tensor operation of the reader's ``forward`` on 猫吃鱼 in ``dtype``, shape (1, 3, 4)."""
    x = torch.tensor([list(SENTENCE.values())], dtype=dtype)
    try:
        module = cls(4).to(dtype)
    except Exception as error:
        failed = Trace()
        failed.error = error
        return failed
    return trace(module, x)


def parity(cls: type[nn.Module], eps: float = 1e-5) -> Table:
    """Largest relative gap to ``torch.nn.RMSNorm`` (torch ≥ 2.4), same ε and γ, three dtypes, ranks 1 to 4.

    The gap is measured against the largest output of each input; half a unit in the last place is about
    5e-4 in FP16 and 4e-3 in BF16.
    """
    if not hasattr(nn, "RMSNorm"):
        return Table([], [], text("experiment", "no_builtin"))
    generator = torch.Generator().manual_seed(7)
    rows = []
    try:
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            worst = 0.0
            for shape in ((6,), (5, 6), (2, 3, 6), (2, 2, 3, 6)):
                x = torch.randn(shape, generator=generator).to(dtype)
                mine, builtin = cls(6, eps=eps).to(dtype), nn.RMSNorm(6, eps=eps).to(dtype)
                with torch.no_grad():
                    gamma = torch.tensor([1.0, -0.5, 2.0, 0.3, 1.5, 0.8])
                    mine.weight.copy_(gamma)
                    builtin.weight.copy_(gamma)
                    a, b = mine(x).double(), builtin(x).double()
                worst = max(worst, float((a - b).abs().max() / b.abs().max()))
            rows.append([str(dtype).removeprefix("torch."), f"{worst:.1e}"])
    except Exception as error:
        return unfinished(error)
    return Table(["dtype", "最大相对差距"], rows)
