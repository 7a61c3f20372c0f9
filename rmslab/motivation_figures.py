"""Figures of 01-motivation: sizes at each depth, who shares a statistic, how runs went."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import nn

from rmslab.catalogue import text
from rmslab.checks.motivation_mistakes import measuring, rms
from rmslab.experiments import Table, unfinished
from rmslab.picture import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Picture,
    arrow,
    box,
    drawing,
    new_figure,
    number,
    shade,
    show,
    style,
    tint,
    write,
)
from rmslab.prediction import Unknown
from rmslab.tiny_gpt import NORMS
from rmslab.training import Run, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAINS = (0.5, 0.58, 0.7, 1.0, 1.2, 1.41, 1.7, 2.0, 2.5, 3.0)
"""Gains of the depth figure; 0.58 is what PyTorch's nn.Linear starts with (1/√3), 1.41 is √2."""
DEPTH, WIDTH, ROWS = 30, 64, 64
LINES = {0.5: (PURPLE, "v"), 1.0: (BLUE, "o"), 1.41: (GREEN, "s"), 2.0: (ORANGE, "^"), 3.0: (VERMILION, "D")}


class BatchNorm(nn.Module):
    """Per feature over all rows, no parameters: enough to see sizes. (N, D) → (N, D)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x - x.mean(0)) * torch.rsqrt(x.var(0, correction=0) + 1e-6)


CHOICES: dict[str, Callable[[int], nn.Module]] = {
    "无归一化": NORMS["无归一化"],
    "BatchNorm": lambda width: BatchNorm(),
    "LayerNorm": nn.LayerNorm,
    "RMSNorm": NORMS["RMSNorm"],
}


def stack(gain: float, norm: str = "无归一化", depth: int = DEPTH, seed: int = 0) -> list[nn.Module]:
    """Layers x → ReLU(W · norm(x)) of width 64, W ~ N(0, gain²/64).

    Equal seeds give the same W times the gain.
    """
    source = torch.Generator().manual_seed(seed)
    layers = []
    for _ in range(depth):
        linear = nn.Linear(WIDTH, WIDTH, bias=False)
        with torch.no_grad():
            linear.weight.copy_(torch.randn(WIDTH, WIDTH, generator=source) * gain / math.sqrt(WIDTH))
        layers.append(nn.Sequential(CHOICES[norm](WIDTH), linear, nn.ReLU()))
    return layers


def inputs(seed: int = 1) -> torch.Tensor:
    """64 rows of 64 features with RMS about 1."""
    return torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(seed))


def numbers_of(layer_scales: Callable, gain: float, norm: str) -> list[float] | None:
    """What the reader's function says of one stack: one number a layer, or None."""
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        found = layer_scales(inputs(), stack(gain, norm))
    try:
        found = [float(value) for value in found]
    except (TypeError, ValueError, RuntimeError):
        return None
    good = len(found) == DEPTH and all(math.isfinite(value) and abs(value) < 1e30 for value in found)
    return found if good else None


def is_rms(found: list[float], norm: str) -> bool:
    """Whether these numbers for gain 1 are the RMS after each layer."""
    right = numbers_of(measuring(rms), 1.0, norm)
    return all(math.isclose(given, wanted, rel_tol=0.01) for given, wanted in zip(found, right, strict=True))


def depth_result(layer_scales: Callable) -> str:
    """The answer to the first prediction, as the reader's function measures it: gain 1, no norm."""
    try:
        found = numbers_of(layer_scales, 1.0, "无归一化")
    except Exception as error:
        return Unknown(unfinished(error).note)
    if found is None:
        return Unknown(text("training", "scales"))
    if not is_rms(found, "无归一化"):
        return Unknown(text("training", "other_scales"))
    letter = "A" if found[-1] > 30 else "B" if found[-1] < 1 / 30 else "C"
    return text("training", "depth", letter=letter, first=number(found[0], 2), last=number(found[-1], 2))


def depth(layer_scales: Callable) -> Picture | Table:
    """RMS after each of 30 layers, by gain and norm, as measured by the reader's ``layer_scales``."""
    try:
        measured = {norm: [numbers_of(layer_scales, gain, norm) for gain in GAINS] for norm in CHOICES}
    except Exception as error:
        return unfinished(error)
    if any(found is None for rows in measured.values() for found in rows):
        return Table([], [], text("training", "scales"))
    as_meant = all(is_rms(measured[norm][GAINS.index(1.0)], norm) for norm in ("无归一化", "RMSNorm"))
    return depth_picture(measured, as_meant)


@style()
def depth_picture(measured: dict[str, list[list[float]]], as_meant: bool) -> Picture:
    """Left without norm, right with RMSNorm; live: one line, chosen by gain and norm.

    ``as_meant``: these are the RMS after each layer, so that words may say what follows from that.
    """
    fig = new_figure(8, 4.2)
    left, right = fig.subplots(1, 2, sharey=True)
    layers = range(1, DEPTH + 1)
    for ax, norm in ((left, "无归一化"), (right, "RMSNorm")):
        ax.set_yscale("log")
        ax.set_ylim(1e-16, 1e12)
        ax.set_xlim(0, DEPTH + 7.5)
        ax.set_xticks((1, 10, 20, 30))
        ax.set_yticks([10.0**power for power in range(-16, 13, 4)])
        ax.minorticks_off()
        ax.grid(axis="y")
        ax.set_title(norm)
        ax.set_xlabel("第几层")
        for gain, (color, marker) in LINES.items():
            values = [max(value, 1e-15) for value in measured[norm][GAINS.index(gain)]]
            ax.plot(layers, values, color=color, marker=marker, markevery=(4, 5), markersize=5, linewidth=1.8)
            if norm == "无归一化":
                ax.text(DEPTH + 0.8, values[-1], f"g = {gain:g}", va="center", fontsize=9, color=shade(color))
    left.set_ylabel("这一层输出的 RMS（对数轴）")
    low, high = min(measured["RMSNorm"][0]), max(measured["RMSNorm"][-1])
    if as_meant:
        write(right, 19, 1e4, f"五条线都挤在\n{number(low, 2)} 到 {number(high, 2)} 之间", color=INK)
    end = {gain: measured["无归一化"][GAINS.index(gain)][-1] for gain in LINES}
    ends = "；".join(f"g = {gain:g} 时是 {number(value, 2)}" for gain, value in end.items())
    alt = (
        f"左：无归一化，五条线像扇子一样散开，第 30 层的 RMS，{ends}。右：每层先做 RMSNorm，五条线都是水平的，"
        f"在 {number(low, 2)} 到 {number(high, 2)} 之间。"
    )
    caption = (
        "没有归一化时，每层只差一点点倍数，30 层就差出十几个数量级，只有 g = 1.41（√2）附近大致持平。"
        "每层先归一化，线就是平的：大小只取决于这一层，不再累积。曲线由你的 layer_scales 量出。"
    )
    if not as_meant:
        alt = f"左：无归一化，你的 layer_scales 给第 30 层的数，{ends}。右：每层先做 RMSNorm，也由它量出。"
        caption = text("training", "other_scales")
    return show(
        fig,
        alt=f"两幅折线图，横轴是第 1 到 30 层，纵轴是每层输出的 RMS，对数轴。{alt}",
        caption=caption,
        script="depth",
        data={
            "gains": GAINS,
            "norms": list(measured),
            "scales": [measured[norm] for norm in measured],
            "trusted": as_meant,
        },
    )


# --- axes -------------------------------------------------------------------------------------------------

B, T, D = 2, 3, 4


@style()
def axes() -> Picture:
    """A (2, 3, 4) block as two sheets, three times: cells of one colour and letter share one statistic."""
    fig, ax = drawing(8, 4.5)
    panels = (
        ("BatchNorm", "沿轴 0、1：每个特征一组", lambda b, t, d: d, "(1, 1, 4)，4 组", "均值和方差"),
        ("LayerNorm", "沿轴 2：每个 token 一组", lambda b, t, d: b * T + t, "(2, 3, 1)，6 组", "均值和方差"),
        ("RMSNorm", "沿轴 2：每个 token 一组", lambda b, t, d: b * T + t, "(2, 3, 1)，6 组", "均方"),
    )
    colors = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)
    cell, first = 0.4, 3.34
    for place, (name, words, group, shape, statistic) in enumerate(panels):
        left = 0.86 + place * 2.5
        middle = left + D * cell / 2
        write(ax, middle, 4.28, name, fontsize=13, va="baseline")
        write(ax, middle, 3.92, words, fontsize=9.5, color=GREY)
        for b in range(B):
            top = first - b * 1.4
            if place == 0:
                write(ax, left - 0.52, top - cell, f"第 {b + 1} 句", fontsize=9, color=GREY, rotation=90)
                arrow(
                    ax,
                    (left - 0.22, top + cell / 2),
                    (left - 0.22, top - 2.5 * cell),
                    color=GREY,
                    linewidth=1,
                )
            for t in range(T):
                for d in range(D):
                    one = group(b, t, d)
                    look = {"edgecolor": "white", "radius": 0.03, "facecolor": tint(colors[one], 0.45)}
                    x, y = left + (d + 0.5) * cell, top - t * cell
                    box(ax, x, y, cell, cell, "ABCDEF"[one], fontsize=10, **look)
        low = first - 1.4 - 2.5 * cell - 0.14
        arrow(ax, (left, low), (left + D * cell, low), color=GREY, linewidth=1)
        write(ax, middle, low - 0.17, "特征（轴 2）", fontsize=9, color=GREY)
        write(ax, middle, 0.2, f"算{statistic}，形状 {shape}", fontsize=9.5)
    write(ax, 0.12, first - 1.1, "token（轴 1）", fontsize=9, color=GREY, rotation=90)
    return show(
        fig,
        alt="三组方格，每组是两句话叠在一起，每句 3 行（token）4 列（特征），同一个字母的格子共用一组统计量。"
        "BatchNorm：每一列一个字母，跨两句、三行，共 4 组，算均值和方差，形状 (1, 1, 4)。"
        "LayerNorm：每一行一个字母，共 6 组，算均值和方差，形状 (2, 3, 1)。"
        "RMSNorm：分组与 LayerNorm 相同，但只算均方，形状 (2, 3, 1)。",
        caption="看字母：BatchNorm 一列一个字母，别的句子、别的 token 都来参与；LayerNorm 和 RMSNorm "
        "一行一个字母，每个 token 只看自己。后两者分组相同，差别在算什么：RMSNorm 不算均值。",
    )


# --- training ---------------------------------------------------------------------------------------------


@style()
def training(*groups: Sequence[Run], titles: Sequence[str] = (), smooth: int = 1) -> Picture | Table:
    """Loss against step, a panel for each group of runs; a cross where a run broke off.

    ``smooth``: each point is the mean of so many steps.
    """
    if any(run.skipped for runs in groups for run in runs):
        return Table([], [], text("experiment", "skipped"))
    fig = new_figure(8, 4)
    broken = any(run.first_nan for runs in groups for run in runs)
    views = [*groups, *groups] if broken else list(groups)  # what broke off once more, from near
    panels = fig.subplots(1, len(views), sharey=not broken, squeeze=False)[0]
    for place, (ax, runs) in enumerate(zip(panels, views, strict=True)):
        near = place >= len(groups)
        ax.grid(axis="y")
        ax.set_xlabel("第几步")
        ax.set_xlim(0, max(run.steps for run in runs) * 1.02)
        for order, run in enumerate(runs):
            draw_run(ax, run, order, smooth, crossed=not near)
        ax.legend(loc="center right" if broken and not near else "upper right")
        if near:
            ax.set_ylim(1.3, 5.2)
        elif broken:
            ax.set_yscale("log")
        if titles or broken:
            ax.set_title("只看 5 以下（普通轴）" if near else titles[place] if titles else "全部（对数轴）")
    panels[0].set_ylabel("loss")
    return show(fig, alt=told(groups, titles), caption=seen(groups))


def draw_run(ax: "Axes", run: Run, order: int, smooth: int, crossed: bool = True) -> None:
    color, dash = look(run.name, order)
    losses = run.losses[: run.first_nan - 1] if run.first_nan else run.losses
    points = [sum(part) / len(part) for part in windows(losses, smooth)]
    steps = [smooth * (i + 0.5) + 0.5 for i in range(len(points))]
    kept = {"marker": ("o", "s", "^")[order % 3], "markersize": 4.5, "markevery": max(1, len(points) // 8)}
    (line,) = ax.plot(steps, points, color=color, label=run.name, linewidth=1.8, **kept)
    if dash:
        line.set_dashes(dash)
    if run.first_nan and points and crossed:
        ax.plot(run.first_nan, points[-1], marker="X", markersize=11, color=shade(color), zorder=5)
        ax.annotate(
            f"第 {run.first_nan} 步：NaN", (run.first_nan, points[-1]), (10, 0), textcoords="offset points",
            va="center", color=shade(color),
        )  # fmt: skip


def windows(values: Sequence[float], size: int) -> list[Sequence[float]]:
    """The values in pieces of ``size``; a short rest is left out unless it is all there is."""
    cuts = list(range(0, len(values) + 1, size))
    return [values[a:b] for a, b in pairwise(cuts)] or [values]


def told(groups: Sequence[Sequence[Run]], titles: Sequence[str]) -> str:
    parts = []
    for place, runs in enumerate(groups):
        head = f"{titles[place]}。" if titles else ""
        parts.append(head + "；".join(map(repr, runs)) + "。")
    return "训练曲线，横轴是步数，纵轴是 loss。" + "".join(parts)


def seen(groups: Sequence[Sequence[Run]]) -> str:
    """What to see, from the runs themselves."""
    broken = [run for runs in groups for run in runs if run.first_nan]
    if broken:
        names = "、".join(dict.fromkeys(run.name for run in broken))
        return f"看打叉的地方：“{names}”的 loss 先涨上天，然后不再是数；其余的线一直走到最后，右边放大了看。"
    leaders = [min(runs, key=lambda run: run.mean(30)).name for runs in groups]
    if len(groups) > 1 and len(set(leaders)) > 1:
        return f"看两幅图里哪条线在下面：左边“{leaders[0]}”更低，右边“{leaders[1]}”更低；四条线都没有发散。"
    return f"看哪条线在下面：最后 30 步平均，“{leaders[0]}”更低；所有线都没有发散。"
