"""Training a tiny GPT before the reader's eyes: a progress bar, curves that grow, a record of what happened.

Where the environment variable ``NBGRADER_EXECUTION`` is set, nothing is trained: every run comes back empty.
"""

import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape

import torch
from IPython import get_ipython
from IPython.display import display
from torch.nn import functional as F

from rmslab.catalogue import text
from rmslab.corpus import Corpus
from rmslab.environment import device
from rmslab.picture import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION, number, shade
from rmslab.tiny_gpt import TinyGPT

LOOKS = {  # colour and dash of a run, by its norm
    "无归一化": (VERMILION, (2, 3)),
    "LayerNorm": (ORANGE, (8, 4)),
    "RMSNorm": (BLUE, ()),
}
OTHER = ((GREEN, (10, 3, 2, 3)), (PURPLE, (4, 2)), (SKY, (1, 2)))


def look(name: str, place: int = 0) -> tuple[str, tuple[int, ...]]:
    """Colour and dashes of the run called ``name``; for a name without a look of its own, by its place."""
    return LOOKS.get(name, OTHER[place % len(OTHER)])


@dataclass
class Run:
    """What one training run showed.

    Attributes:
        name: what was tried, in the reader's words.
        steps: how many steps it was meant to go.
        losses: loss (nats per token) before each step; the last is not finite where the run broke off.
        skipped: why nothing was trained; empty where something was.
    """

    name: str
    steps: int
    losses: list[float] = field(default_factory=list)
    skipped: str = ""

    @property
    def first_nan(self) -> int | None:
        """The step, counted from 1, whose loss was not finite any more."""
        return len(self.losses) if self.losses and not math.isfinite(self.losses[-1]) else None

    def mean(self, last: int = 10) -> float:
        """Mean of the last losses; NaN where there is none or the run broke off."""
        tail = self.losses[-last:]
        return sum(tail) / len(tail) if tail else math.nan

    def __repr__(self) -> str:
        if self.skipped:
            return f"{self.name}：{self.skipped}"
        if self.first_nan:
            highest = number(max(self.losses[:-1], default=math.nan), 3)
            loss = "NaN" if math.isnan(self.losses[-1]) else "∞"
            return text("training", "diverged", name=self.name, step=self.first_nan, loss=loss, highest=highest)
        first, last = (f"{value:.2f}" for value in (self.losses[0], self.mean()))
        return text("training", "finished", name=self.name, steps=len(self.losses), first=first, last=last)


class Runs(list):
    """Several runs of one experiment; shown as a line each. ``runs["RMSNorm"]`` is a run by its name."""

    def __getitem__(self, key):
        return (
            next(run for run in self if run.name == key) if isinstance(key, str) else super().__getitem__(key)
        )

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        return "".join(f"<div>{escape(repr(run))}</div>" for run in self)


Progress = Callable[[Run], None]


def train(
    name: str,
    make: Callable[[], TinyGPT],
    corpus: Corpus,
    *,
    steps: int,
    lr: float,
    batch: int,
    length: int,
    seed: int = 0,
    progress: Progress = lambda run: None,
) -> Run:
    """Train a fresh model with AdamW until ``steps`` are done or the loss is not finite any more.

    Equal seeds mean equal start and equal batches. One thread: matrices so small gain nothing from more.

    Args:
        make: builds the model; random numbers come from torch's global generator, seeded here.
        lr: learning rate.
        batch, length: B and T of a batch.
        progress: called with the run after every step.
    """
    run = Run(name, steps)
    if os.environ.get("NBGRADER_EXECUTION"):
        run.skipped = text("experiment", "skipped")
        return run
    place = device()
    source = torch.Generator().manual_seed(seed)
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = make().to(place)
        optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        for _ in range(steps):
            tokens, following = (part.to(place) for part in corpus.batch(batch, length, source))
            loss = F.cross_entropy(model(tokens).flatten(0, 1), following.flatten())
            run.losses.append(loss.item())
            progress(run)
            if run.first_nan:
                break
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return run


@contextmanager
def one_thread():
    """torch with one thread inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def in_notebook() -> bool:
    """Whether a kernel is there to show outputs and to change them afterwards."""
    return hasattr(get_ipython(), "kernel")


class Live:
    """A progress bar and the curves so far, drawn anew a few times a second, in one output of the cell.

    Plain HTML and SVG: also where widgets do not run. Outside a notebook it prints four lines a run.
    """

    EVERY = 0.25

    def __init__(self, names: Sequence[str], steps: int):
        self.names, self.steps, self.runs = list(names), steps, Runs()
        self.handle, self.drawn = None, 0.0

    def __call__(self, run: Run) -> None:
        """Take in the run that is under way."""
        if not any(run is known for known in self.runs):
            self.runs.append(run)
        if not in_notebook():
            if len(run.losses) % max(1, self.steps // 4) == 0 and not run.first_nan:
                print(self)
        elif time.monotonic() - self.drawn > self.EVERY:
            self.draw()

    def draw(self) -> None:
        self.drawn = time.monotonic()
        if self.handle is None:
            self.handle = display(self, display_id=True)
        else:
            self.handle.update(self)

    def close(self) -> None:
        """Leave only what the runs showed."""
        if self.handle is not None:
            self.handle.update(self.runs)
        else:
            display(self.runs)

    def __repr__(self) -> str:
        if not self.runs:
            return ""
        run = self.runs[-1]
        loss = number(run.losses[-1])
        return text("training", "running", name=run.name, step=len(run.losses), steps=self.steps, loss=loss)

    def _repr_html_(self) -> str:
        done = sum(self.steps if run.first_nan else len(run.losses) for run in self.runs)
        total = self.steps * len(self.names)
        return (
            f'<figure style="margin:0;padding:12px;max-width:640px;background:#fff;color:{INK}">'
            f'<progress aria-label="{escape(repr(self))}" style="width:100%" max="{total}" value="{done}">'
            "</progress>"
            f"<div>{escape(repr(self))}</div>{self._svg()}</figure>"
        )

    def _svg(self, width: int = 620, height: int = 220) -> str:
        """Loss (logarithmic, from 1; to 10 while all is well, else to 10⁷) against the step."""
        seen = [loss for run in self.runs for loss in run.losses if math.isfinite(loss)]
        decades = 1 if max(seen, default=1) <= 10 else 7
        left, bottom, top = 44, height - 22, 8

        def point(i: int, loss: float) -> str:
            y = math.log10(min(max(loss, 1.0), 10.0**decades)) / decades * (bottom - top)
            return f"{left + i / self.steps * (width - left - 10):.1f},{bottom - y:.1f}"

        marks = []
        for power in range(decades + 1):
            y = point(0, 10.0**power).partition(",")[2]
            label = f"10<tspan dy='-4' font-size='9'>{power}</tspan>" if power > 1 else str(10**power)
            marks.append(f'<line x1="{left}" x2="{width - 10}" y1="{y}" y2="{y}" stroke="#E3E3E3"/>')
            marks.append(f'<text x="{left - 6}" y="{float(y) + 4:.1f}" text-anchor="end">{label}</text>')
        for place, run in enumerate(self.runs):
            colour, dash = look(run.name, place)
            finite = [(i, loss) for i, loss in enumerate(run.losses, 1) if math.isfinite(loss)]
            points = " ".join(point(i, loss) for i, loss in finite)
            dashes = " ".join(map(str, dash))
            marks.append(
                f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" '
                f'stroke-dasharray="{dashes}"/>'
            )
            if finite:
                x, _, y = point(*finite[-1]).partition(",")
                anchor, aside = ("end", -4) if float(x) > width - 120 else ("start", 5)
                name = escape(run.name + (" ✗" if run.first_nan else ""))
                marks.append(
                    f'<text x="{float(x) + aside:.0f}" y="{float(y) - 8 - 14 * (place % 2):.0f}" '
                    f'text-anchor="{anchor}" fill="{shade(colour, 0.6)}">{name}</text>'
                )
        caption = f"{text('training', 'loss')}　{text('training', 'step')} 1–{self.steps}"
        marks.append(f'<text x="{left}" y="{height - 4}" fill="{GREY}">{escape(caption)}</text>')
        return (
            f'<svg role="img" aria-label="{escape(repr(self))}" viewBox="0 0 {width} {height}" '
            f'style="width:100%;font-size:12px" fill="{INK}">{"".join(marks)}</svg>'
        )
