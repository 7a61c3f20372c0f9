"""Experiments of the lessons, on the reader's own code. An unfinished class is reported, never raised."""

import os
import random
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import Any

import torch
from torch import nn

from rmslab import engine
from rmslab.catalogue import text
from rmslab.checks import hand, hand_judge, implementation_mistakes
from rmslab.checks.hand_formulas import chain
from rmslab.compare import numbers
from rmslab.corpus import Corpus
from rmslab.diagnosis import answer
from rmslab.table import table
from rmslab.tiny_gpt import NORMS, TinyGPT, gpt2_start
from rmslab.trace import Trace, trace
from rmslab.training import Live, Runs, train

SENTENCE = {token: [float(v) for v in vector] for token, vector in hand.TOKENS.items()}


class Table:
    """A small table with a header row, or one sentence in its place. ``rows`` holds its cells as text."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[Any]], note: str = ""):
        self.header, self.note = list(header), note
        self.rows = [[str(cell) for cell in row] for row in rows]

    def __repr__(self) -> str:
        lines = [" | ".join(row) for row in ([self.header] if self.rows else []) + self.rows]
        return "\n".join([*lines, *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        rows = [map(escape, row) for row in self.rows]
        shown = table(list(map(escape, self.header)), rows) if rows else ""
        return f"{shown}<p>{escape(self.note)}</p>" if self.note else shown


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


# --- the hand calculation ---------------------------------------------------------------------------------


def told(value: float | list[float]) -> str:
    return (
        numbers(torch.tensor(value), limit=9) if isinstance(value, list) else numbers(torch.tensor(value))[1:-1]
    )


def worked(token: str = "猫") -> Table:
    """The whole calculation for one token of the sentence, each number computed from those above it."""
    x = SENTENCE[token]
    known, d = chain(x), len(x)
    plain = " + ".join(f"(−{-v:g})" if v < 0 else f"{v:g}" for v in x)
    squared = " + ".join(f"{v * v:g}" for v in x)
    off = " + ".join(f"{v * v:g}" for v in known["deviations"])
    rows = [
        ["LayerNorm", "均值 mean", f"({plain}) ÷ {d}", told(known["mean"])],
        ["", "偏差 deviations", "每个分量减去均值", told(known["deviations"])],
        ["", "方差 variance", f"({off}) ÷ {d}", told(known["variance"])],
        ["", "标准差 std", f"√{known['variance']:g}", told(known["std"])],
        ["", "输出", "偏差 ÷ 标准差", told(known["layernorm"])],
        ["RMSNorm", "② 平方 squares", "每个分量乘自己", told(known["squares"])],
        ["", "③ 均方 mean_square", f"({squared}) ÷ {d}", told(known["mean_square"])],
        ["", "④ RMS", f"√{known['mean_square']:g}", told(known["rms"])],
        ["", "⑤ 输出", "x ÷ RMS", told(known["rmsnorm"])],
    ]
    return Table([token, "数", "怎么算", "结果"], rows)


def three_rows() -> Table:
    """猫, 吃 and 鱼 through both norms; a row opens once its steps are passed."""
    steps = {"猫": (), "吃": ("hand-chi-layernorm", "hand-chi-rmsnorm"), "鱼": ("hand-yu",)}
    rows = []
    for token, x in SENTENCE.items():
        passed = all(name in engine.SCORES and engine.SCORES[name].verdict.passed for name in steps[token])
        known = chain(x)
        shown = (
            [told(known["layernorm"]), told(known["rmsnorm"])] if passed else [text("experiment", "locked")] * 2
        )
        total = f"{sum(v * v for v in known['rmsnorm']):g}" if passed else ""
        rows.append([token, told(x), *shown, total])
    return Table(["token", "x", "LayerNorm", "RMSNorm", "RMSNorm 输出的平方和"], rows)


def fooled() -> Table:
    """How many of the wrong implementations that lesson 04 knows give these three rows too (γ = 1)."""
    x = torch.tensor([list(SENTENCE.values())])
    right = torch.tensor([[chain(v)["rmsnorm"] for v in SENTENCE.values()]])
    same = {"all": 0, "fish": 0}
    for mistake in implementation_mistakes.MISTAKES:
        try:
            with torch.random.fork_rng(devices=[]):
                y = answer((mistake.part,), implementation_mistakes.RMSNormInParts)(4)(x)
            good = torch.isclose(y.float(), right, atol=5e-4)
        except Exception:
            continue
        same["all"] += bool(good.all())
        same["fish"] += bool(good[0, 2].all())
    total = len(implementation_mistakes.MISTAKES)
    return Table([], [], text("experiment", "fooled", total=total, count=same["all"], fish=same["fish"]))


class Fresh:
    """A token that nobody has seen, for practice: shown with its vector, and checked like the others."""

    NAMES = "狗鸟看跑喝水花月"

    def __init__(self, seed: int | None = None):
        source = random.Random(os.environ.get("RMSLAB_SEED") if seed is None else seed)
        self.name, self.x = source.choice(self.NAMES), hand.fresh_vector(source)

    def __repr__(self) -> str:
        vector = "[" + ", ".join(f"{v}".replace("-", "−") for v in self.x) + "]"
        return text("experiment", "fresh", name=self.name, vector=vector, width=len(self.x))

    def check(self, answers: dict[str, Any]) -> engine.Score:
        """Feedback on any of: mean, variance, std, layernorm, mean_square, rms, rmsnorm. Not scored."""
        observed, output = engine.observe(hand.PRACTICE, {"x": self.x}, answers)
        return engine.Score(hand_judge.literals(hand.PRACTICE.id, {"x": self.x}, observed), output)


def fresh_token(seed: int | None = None) -> Fresh:
    """A fresh token of another width, new on each call (the same for the same ``seed``).

    While lessons are built, the environment variable ``RMSLAB_SEED`` takes the place of chance.
    """
    return Fresh(seed)


# --- with and without norm --------------------------------------------------------------------------------


def deep(names: Sequence[str] = tuple(NORMS), seed: int = 0, steps: int = 100) -> Runs:
    """A deep, narrow GPT (8 blocks, 32 features) at learning rate 3e-2, once with each norm named.

    Names: 无归一化, LayerNorm, RMSNorm. Everything else is equal: start, batches, optimiser.
    """
    corpus = Corpus()

    def made(name: str) -> TinyGPT:
        return TinyGPT(len(corpus.vocabulary), width=32, depth=8, heads=4, context=32, norm=NORMS[name])

    makes = {name: partial(made, name) for name in names}
    return trained(makes, corpus, steps=steps, lr=3e-2, batch=8, length=32, seed=seed)


def shallow(start: str = "PyTorch", seed: int = 0, steps: int = 300) -> Runs:
    """A shallower, wider GPT (4 blocks, 64 features) at learning rate 1e-3, without norm and with RMSNorm.

    ``start``: how weights are drawn, ``"PyTorch"`` (its defaults) or ``"GPT-2"``.
    """
    corpus = Corpus()

    def made(name: str) -> TinyGPT:
        model = TinyGPT(len(corpus.vocabulary), width=64, depth=4, heads=4, context=32, norm=NORMS[name])
        return {"PyTorch": lambda m: m, "GPT-2": gpt2_start}[start](model)

    makes = {name: partial(made, name) for name in ("无归一化", "RMSNorm")}
    return trained(makes, corpus, steps=steps, lr=1e-3, batch=8, length=32, seed=seed)


def trained(makes: dict[str, Callable[[], TinyGPT]], corpus: Corpus, *, steps: int, **settings: Any) -> Runs:
    """One run for each model, drawn live. In a grading environment every run is empty."""
    live = Live(list(makes), steps)
    runs = Runs(train(n, make, corpus, steps=steps, progress=live, **settings) for n, make in makes.items())
    live.runs = runs
    live.close()
    return runs
