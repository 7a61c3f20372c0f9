"""The course's figures. Each function computes its numbers, draws them, and returns a Picture."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import torch

from rmslab.geometry_figures import sound, sphere, tokens
from rmslab.picture import (
    BLUE,
    CODE,
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "axes_example", "epsilon", "half_range", "keepdim", "pipeline", "sound", "sphere", "strip", "tokens",
]  # fmt: skip

TOKENS = {"猫": (1, 2, 3, 4), "吃": (2, 0, -2, 4), "鱼": (-1, 1, -1, 1)}
ROW_COLORS = (BLUE, ORANGE, GREEN, PURPLE)
EPS = 1e-6
FOLLOWED = {  # look of the diamond that follows a component through the strip
    "marker": "D",
    "markersize": 5.5,
    "color": VERMILION,
    "markeredgecolor": shade(VERMILION),
    "zorder": 6,
}


def mean_square(x: np.ndarray) -> np.ndarray:
    """Mean of the squares over the last axis, which stays: (..., D) → (..., 1)."""
    return np.square(x).mean(axis=-1, keepdims=True)


@style()
def pipeline() -> Picture:
    """The five steps: the lane of dtype each runs in, its shape, who owns it."""
    fig, ax = drawing(8, 4.5)
    bottom, low, border, high, top = 1.12, 1.55, 1.98, 2.9, 3.44  # heights of the two lanes
    for y, height, color in ((bottom, border - bottom, ORANGE), (border, top - border, BLUE)):
        box(ax, 4, y + height / 2, 7.76, height, facecolor=tint(color, 0.13), edgecolor="none", zorder=0)
    ax.text(0.24, high, "FP32", va="center")
    ax.text(0.24, low, "FP16\nBF16", va="center")

    between = (low + high) / 2
    lift = high - low + 0.62
    columns = [  # x, y, width, height, colour, label, result, shape
        (1.0, low, 0.46, 0.46, ORANGE, "x", "", "(B, T, D)"),
        (1.82, between, 0.78, lift, GREEN, "①\n升精度\n↑", "x32", "(B, T, D)"),
        (2.76, high, 0.7, 0.82, BLUE, "②\n平方", "x32²", "(B, T, D)"),
        (3.72, high, 0.8, 0.82, BLUE, "③\n沿特征\n求均值", "mean_square", "(B, T, 1)"),
        (4.74, high, 0.86, 0.82, BLUE, "④\n加 ε\n开方取倒", "r", "(B, T, 1)"),
        (5.62, high, 0.46, 0.46, BLUE, "× r", "x32 × r", "(B, T, D)"),
        (6.48, between, 0.82, lift, GREEN, "⑤\n缩放并\n还原\ndtype\n↓", "γ × x32 × r", "(B, T, D)"),
        (7.38, low, 0.46, 0.46, ORANGE, "y", "", "(B, T, D)"),
    ]
    for x, y, width, height, color, label, result, shape in columns:
        box(ax, x, y, width, height, label, edgecolor=color, linewidth=1.6)
        one = shape.endswith("1)")
        write(ax, x, 0.74, result, va="baseline", fontsize=8.5, **CODE)
        ink, weight = (shade(VERMILION), 1.2) if one else (GREY, 0)
        box(ax, x, 0.4, 0.8, 0.28, shape, edgecolor=ink, linewidth=weight, ink=ink, fontsize=8.5, **CODE)
    ax.text(0.24, 0.74, "结果", va="baseline", fontsize=9.5, color=GREY)
    ax.text(0.24, 0.4, "形状", va="center", fontsize=9.5, color=GREY)

    for (x0, y0, w0, *_), (x1, y1, w1, *_) in pairwise(columns):
        y = min(y0, y1) if low in (y0, y1) else max(y0, y1)
        arrow(ax, (x0 + w0 / 2, y), (x1 - w1 / 2, y))
    aside = border + 0.24  # x32 also goes straight to the product
    ax.plot((2.21, 5.62), (aside, aside), color=INK, linewidth=1.4, solid_capstyle="butt")
    arrow(ax, (5.62, aside), (5.62, high - 0.23))
    paper = {"facecolor": tint(BLUE, 0.13), "edgecolor": "none", "pad": 1}
    write(ax, 4.2, aside, " x32 ", fontsize=8.5, bbox=paper, **CODE)
    words = "统计量不在这一层算：半精度的平方会溢出，也会消失"
    write(ax, 4.15, low, words, color=GREY)

    for x0, x1, name, owns in (
        (1.43, 5.85, "_norm(x)", "①–④ 和乘积 x32 × r，全程 FP32，不含 weight"),
        (6.07, 6.89, "forward(x)", "⑤：乘 weight，还原 dtype"),
    ):
        ax.plot((x0, x0, x1, x1), (3.56, 3.66, 3.66, 3.56), color=INK, linewidth=1.2)
        write(ax, (x0 + x1) / 2, 4.16, name, **CODE)
        write(ax, (x0 + x1) / 2, 3.87, owns, fontsize=9.5)
    return show(
        fig,
        alt="RMSNorm 五步流程图，上下两层：上层 FP32，下层 FP16 或 BF16。x 从下层出发，① 升精度到上层，"
        "② 平方、③ 沿特征求均值、④ 加 ε 开方取倒得到 r，x32 再乘 r，都在上层；"
        "⑤ 缩放并还原 dtype，y 回到下层。均方和 r 的形状是 (B, T, 1)，其余是 (B, T, D)。"
        "_norm 负责 ①–④ 和乘积，forward 负责 ⑤。",
        caption="看两次换层：x 在 ① 升到 FP32，②③④ 和乘积一直留在那里，到 ⑤ 才回来；"
        "每个 token 只剩一个数的地方，形状是 (B, T, 1)。",
    )


@style()
def axes_example(shown: Sequence[str] = tuple(TOKENS)) -> Picture:
    """猫吃鱼 as a (1, 3, 4) input: one token, one statistic, taken along the feature axis.

    ``shown``: tokens whose mean square is worked out; the others' show as ``?``.
    """
    x = np.array([list(TOKENS.values())], dtype=float)  # (1, 3, 4)
    stat = mean_square(x)  # (1, 3, 1)
    fig, ax = drawing(8, 3.6)
    cell, left, result, first = 0.66, 1.14, 7.1, 2.18
    end = left + 4 * cell
    for row, (name, vector, color) in enumerate(zip(TOKENS, x[0], ROW_COLORS, strict=False)):
        y = first - row * 0.74
        look = {"edgecolor": color, "radius": 0}
        write(ax, left - 0.3, y, name, fontsize=15)
        for column, value in enumerate(vector):
            middle = left + (column + 0.5) * cell
            box(ax, middle, y, cell, 0.56, number(value), facecolor=tint(color), fontsize=13, **look)
        arrow(ax, (end + 0.1, y), (end + 0.5, y), color=color)
        squares = " + ".join(number(value**2) for value in vector)
        squares = f"( {squares} ) ÷ {vector.size}" if name in shown else "②③ 轮到你来算"
        ax.text(end + 0.62, y, squares, va="center", fontsize=11.5)
        arrow(ax, (end + 2.42, y), (end + 2.82, y), color=color)
        look |= {"facecolor": tint(color, 0.45), "linewidth": 2, "fontsize": 14}
        box(ax, result, y, 0.76, 0.56, number(stat[0, row, 0]) if name in shown else "?", **look)

    high, low = first + 1.06, first + 0.66
    write(ax, (left + end) / 2, high, f"x  (B, T, D) = {x.shape}", **CODE)
    write(ax, result, high, f"{stat.shape}", **CODE)
    write(ax, result, low, "均方")
    write(ax, end + 1.44, low, "② 平方，③ 沿特征求均值")
    write(ax, (left + end) / 2, low, "特征轴，D = 4", color=GREY)
    arrow(ax, (left, low - 0.22), (end, low - 0.22), color=GREY, linewidth=1)
    write(ax, 0.44, low, "T = 3", color=GREY)
    arrow(ax, (0.44, first + 0.28), (0.44, first - 1.76), color=GREY, linewidth=1)
    rows = "；".join(
        f"{name}的均方是 {number(value) if name in shown else '？'}"
        for name, value in zip(TOKENS, stat.ravel(), strict=True)
    )
    return show(
        fig,
        alt="猫、吃、鱼三个 token 排成三行，每行四个特征：猫 1、2、3、4；吃 2、0、−2、4；鱼 −1、1、−1、1。"
        f"箭头沿特征轴向右，每行平方后求均值，得到一个数：{rows}。",
        caption="看箭头的方向：均值沿特征走，不跨 token。一个 token 一个均方，"
        f"所以形状从 {x.shape} 变成 {stat.shape}。",
    )


@style()
def keepdim() -> Picture:
    """Broadcasting with and without keepdim: aligned, refused, and the silent square case."""
    fig, ax = drawing(8, 6.7)
    ax.text(0.3, 6.42, "形状从右往左对齐：相等，或者其中一个是 1", va="center", fontsize=11.5)
    _alignment(ax, 0.3, "keepdim=True", (2, 3, 1))
    _alignment(ax, 4.25, "漏掉 keepdim", (2, 3))
    ax.plot((0.3, 7.7), (3.82, 3.82), color=GREY, linewidth=0.6)

    x = np.array([*TOKENS.values(), (4, -4, 4, -4)], dtype=float)
    rms = np.sqrt(mean_square(x))  # (4, 1)
    right, wrong = x / rms, x / rms[:, 0]
    ax.text(0.3, 3.48, "方阵 (4, 4) 最危险：漏掉 keepdim 也不报错，只是结果错了", va="center", fontsize=11.5)
    rows, every = np.arange(4)[:, None], np.ones((4, 4), dtype=int)
    labels = [f"÷{value:.2f}" for value in rms[:, 0]]
    _matrix(ax, 0.62, x, rows * every, digits=0, title="x，形状 (4, 4)", names=["猫", "吃", "鱼", "了"])
    _matrix(ax, 3.2, right, rows * every, title="x ÷ RMS，形状 (4, 1)", names=labels)
    _matrix(ax, 5.84, wrong, rows.T * every, title="x ÷ RMS，形状 (4,)", heads=labels)
    for left, words, color in (
        (0.62, "每行一种颜色", INK),
        (3.2, "第 i 行除以第 i 行的 RMS\n✓ 每行的 RMS 都成了 1", shade(GREEN)),
        (5.84, "第 j 列除以第 j 行的 RMS\n✗ 各行的 RMS 乱了", shade(VERMILION)),
    ):
        ax.text(left + 0.76, 0.9, words, ha="center", va="top", fontsize=9.5, color=color, linespacing=1.6)
    off = "、".join(f"{value:.2f}" for value in np.sqrt(mean_square(wrong)).ravel())
    return show(
        fig,
        alt="上半：x 的形状 (2, 3, 4)。统计量 (2, 3, 1) 逐轴对齐，最后的 1 拉伸成 4，成功；统计量 (2, 3) "
        "右对齐后 4 对 3、3 对 2，报错。下半：x 是 (4, 4)。"
        "除以 (4, 1) 时每行除以自己的 RMS，各行 RMS 变成 1；"
        f"除以 (4,) 时不报错，第 j 列除以第 j 行的 RMS，各行 RMS 成了 {off}。",
        caption="看下半的颜色，它说明所用的 RMS 来自哪一行：keepdim=True 时颜色按行走；"
        "漏掉它时颜色按列走，而且没有任何报错。",
    )


def _alignment(ax: "Axes", left: float, title: str, shape: tuple[int, ...]) -> None:
    """x of shape (2, 3, 4) above a statistic of this shape, aligned at the right, and what torch says."""
    try:
        torch.ones(2, 3, 4) / torch.ones(shape)
        said, ink = f"✓ 结果 {(2, 3, 4)}：每个 token 用自己的均方", shade(GREEN)
    except RuntimeError as error:
        said, ink = f"✗ RuntimeError: {error}", shade(VERMILION)
    ax.text(left, 6.02, title, va="center", **CODE)
    ax.text(left + 0.2, 5.58, "x", va="center", **CODE)
    ax.text(left + 0.2, 4.98, "均方", va="center")
    padded = (1,) * (3 - len(shape)) + shape
    for axis, (size, other) in enumerate(zip((2, 3, 4), padded, strict=True)):
        middle = left + 1.3 + axis * 0.8
        fits = other in (1, size)
        color = GREEN if fits else VERMILION
        box(ax, middle, 5.58, 0.5, 0.4, str(size), facecolor=tint(SKY), edgecolor=BLUE, fontsize=12)
        given = axis >= 3 - len(shape)
        look = {"facecolor": tint(color), "edgecolor": color, "linestyle": "-" if fits and given else "--"}
        box(ax, middle, 4.98, 0.5, 0.4, str(other) if given else "", fontsize=12, **look)
        verdict = f"{size} 对 {other} ✗" if not fits else "缺，补 1" if not given else "✓"
        if fits and given and other != size:
            verdict = f"1 → {size} ✓"
        write(ax, middle, 4.62, verdict, fontsize=9.5, color=shade(color))
    ax.text(left, 4.4, fill(said, 56), va="top", fontsize=9, color=ink, linespacing=1.4)


def _matrix(
    ax: "Axes",
    left: float,
    values: np.ndarray,
    sources: np.ndarray,
    *,
    title: str,
    digits: int = 2,
    names: Sequence[str] = (),
    heads: Sequence[str] = (),
) -> None:
    """A 4 × 4 grid coloured by the row whose RMS each cell belongs to, and at its right the rows' RMS."""
    cell, top = 0.38, 2.4
    center = left + 2 * cell
    write(ax, center, 3.02, title)
    for (row, column), value in np.ndenumerate(values):
        color = ROW_COLORS[sources[row, column]]
        text = f"{value:.{digits}f}".replace("-0.00", "0.00").replace("-", "−")
        x, y = left + (column + 0.5) * cell, top - row * cell
        look = {"facecolor": tint(color, 0.25), "edgecolor": "white", "radius": 0}
        box(ax, x, y, cell, cell, text, fontsize=9 if digits == 0 else 8.5, **look)
    for row, name in enumerate(names):
        ax.text(left - 0.08, top - row * cell, name, ha="right", va="center", fontsize=9, color=INK)
    for column, name in enumerate(heads):
        write(ax, left + (column + 0.5) * cell, top + 0.29, name, fontsize=8)
    edge = left + 4 * cell + 0.25
    write(ax, edge, top + 0.29, "RMS", fontsize=8.5, color=GREY)
    for row, value in enumerate(np.sqrt(mean_square(values))[:, 0]):
        write(ax, edge, top - row * cell, f"{value:.2f}", fontsize=9)


def square_borders(dtype: torch.dtype) -> tuple[float, float, float]:
    """The smallest |x| of this dtype whose square is not 0, has full precision, is infinite."""
    integer = torch.int32 if dtype == torch.float32 else torch.int16
    info = torch.finfo(dtype)

    def positive(bits: int) -> torch.Tensor:  # non-negative floats are ordered like their bit patterns
        return torch.tensor(bits, dtype=integer).view(dtype)

    patterns = range(int(torch.tensor(torch.inf, dtype=dtype).view(integer)))
    goals = (info.smallest_normal * info.eps, info.smallest_normal, torch.inf)
    first = [bisect_left(patterns, goal, key=lambda bits: positive(bits).square().item()) for goal in goals]
    zero, full, infinite = (positive(bits).item() for bits in first)
    return zero, full, infinite


@style()
def half_range() -> Picture:
    """Where x² survives in FP16, on a logarithmic axis of |x|; BF16 and FP32 for comparison."""
    zero, full, infinite = square_borders(torch.float16)
    least, most = 1e-8, 1e6
    fig = new_figure(8, 4.3)
    ax = fig.add_subplot(xscale="log", xlim=(least, most), ylim=(0.1, 4.95))
    ax.set_xlabel("输入的大小 |x|（对数轴）")
    ax.set_yticks((3, 1.55, 0.55), ("FP16", "BF16", "FP32"), fontsize=11, color=INK)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xticks(10.0 ** np.arange(-8, 7, 2))
    ax.minorticks_off()

    zones = (
        (least, zero, VERMILION, "xx", "x² 变成 0"),
        (zero, full, ORANGE, "///", "x² 掉位"),
        (full, infinite, GREEN, "", "x² 正常"),
        (infinite, most, VERMILION, "xx", "x² 变成 ∞"),
    )
    label = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "boxstyle": "round,pad=0.25"}
    for start, end, color, hatch, words in zones:
        _bar(ax, start, end, 3, 0.8, color, hatch)
        write(ax, (start * end) ** 0.5, 3, words, bbox=label)
    for value in (zero, full, infinite):
        ax.text(value, 2.52, number(value, 2 if value < 1 else 3), ha="center", va="top", fontsize=9.5)
    for y, dtype in ((1.55, torch.bfloat16), (0.55, torch.float32)):
        _, low, high = square_borders(dtype)
        digits = round(1 - np.log2(torch.finfo(dtype).eps))
        _bar(ax, least, most, y, 0.56, GREEN, "")
        span = f"{number(low, 2, maths=True)} 到 {number(high, 2, maths=True)}"
        words = f"←  x² 正常，一直从 {span}；有效数字 {digits} 个二进制位  →"
        write(ax, (least * most) ** 0.5, y, words)

    for value, align, color in (
        (1e-4, "right", VERMILION),
        (1e-3, "left", ORANGE),
        (4.0, "center", GREEN),
        (300.0, "center", VERMILION),
    ):
        x = torch.tensor(value, dtype=torch.float16)
        squared = x.square().item()
        words = f"x = {number(value)}\nx² → {number(squared, 3, maths=True)}"
        loss = abs(squared / x.double().square().item() - 1)
        if 1e-3 < loss < 1:
            words += f"\n偏了 {loss:.1%}"
        ink, shift = shade(color), {"right": 2, "left": 1 / 2, "center": 1}[align]
        ax.plot((value, value), (3.52, 3.74), color=ink, linewidth=1.4)
        ax.plot(value, 3.53, marker="v", color=ink)
        ax.text(value * shift, 3.82, words, ha=align, va="bottom", color=ink, linespacing=1.35)
    return show(
        fig,
        alt=f"对数轴上的 |x|。FP16：|x| 小于 {number(zero, 2)} 时平方变成 0，到 {number(full, 2)} 之前掉位，"
        f"再到 {number(infinite)} 之前正常，从 {number(infinite)} 起平方变成无穷；例子 300 已经在无穷区。"
        "BF16 和 FP32 在整个画面里都正常。",
        caption="看 FP16 那一条：正常的只有中间一段，300 落在右边的 ∞ 区。BF16 范围够宽，但有效数字少；"
        "FP32 两样都有，所以统计量在 FP32 里算。",
    )


def _bar(ax: "Axes", start: float, end: float, y: float, height: float, color: str, hatch: str) -> None:
    bar = ax.barh(y, end - start, height, left=start, color=tint(color, 0.35), edgecolor=tint(color, 0.7))
    bar[0].set(hatch=hatch)


@style()
def epsilon() -> Picture:
    """How large the output is when the input is small: ε inside the root, outside it, or absent."""

    def inside(s: np.ndarray | float) -> np.ndarray | float:
        return s / np.sqrt(s**2 + EPS)

    def outside(s: np.ndarray | float) -> np.ndarray | float:
        return s / (s + EPS)

    s = np.logspace(-8, 1, 400)
    fig = new_figure(8, 4.6)
    ax = fig.add_subplot(xscale="log", yscale="log", xlim=(1e-8, 10), ylim=(5e-4, 2.5))
    ax.set_xlabel("输入的 RMS（对数轴）")
    ax.set_title(f"输出的 RMS（对数轴），ε = {number(EPS, maths=True)}", loc="left", fontsize=10.5)
    ax.set_xticks(10.0 ** np.arange(-8, 2))
    ax.minorticks_off()
    ax.grid(True)
    ax.plot(s, inside(s), color=BLUE, linewidth=2.6)
    ax.plot(s, outside(s), color=VERMILION, linestyle="--")
    ax.plot(s, np.ones_like(s), color=INK, linestyle=":", linewidth=1.4)
    blue, red = shade(BLUE), shade(VERMILION)
    ax.text(1.5e-8, 1.2, "不加 ε：永远是 1")
    ax.text(1.3e-7, 0.2, "ε 在根号外\n" + r"$x\,/\,(\mathrm{RMS}+ε)$", ha="right", color=red, linespacing=1.5)
    ax.text(
        1e-5, 0.02, "ε 在根号内\n" + r"$x\,/\sqrt{\mathrm{RMS}^2+ε}$", ha="right", color=blue, linespacing=1.5
    )

    tiny, root = 1e-4, EPS**0.5
    ax.axvline(tiny, color=INK, linewidth=1, zorder=1)
    ax.axvline(root, color=blue, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    ax.text(tiny / 1.2, 7e-4, f"输入 {number(tiny)}", ha="right")
    ax.text(root * 1.2, 7e-4, r"$\sqrt{ε}$ = " + number(root) + "：弯在这附近", color=blue)
    for x, y, color, marker in (
        (tiny, outside(tiny), VERMILION, "s"),
        (tiny, inside(tiny), BLUE, "o"),
        (root, inside(root), BLUE, "o"),
    ):
        ax.plot(x, y, marker=marker, color=color, markersize=9, markeredgecolor="white", zorder=5)
        ax.text(x * 1.35, y / 1.1, f"{y:#.3g}", va="top", color=shade(color), fontsize=11)
    return show(
        fig,
        alt=f"双对数图：横轴输入的 RMS，纵轴输出的 RMS，ε = {number(EPS)}。不加 ε 时输出总是 1。"
        f"ε 在根号内的曲线在输入大于 {number(root)} 时接近 1，更小时随输入按比例变小，"
        f"输入 {number(tiny)} 时是 {inside(tiny):#.3g}；ε 在根号外的曲线要到输入接近 {number(EPS)} 才变小，"
        f"输入 {number(tiny)} 时还是 {outside(tiny):#.3g}。",
        caption=f"看输入 {number(tiny)} 的竖线：ε 同样是 {number(EPS)}，放在根号内输出 {inside(tiny):#.3g}，"
        f"放在根号外输出 {outside(tiny):#.3g}。根号内的曲线在 √ε = {number(root)} 附近平缓地弯下来。",
    )


@style()
def strip(token: str = "猫", vector: Sequence[float] | None = None) -> Picture:
    """The hand calculation in small bar charts: LayerNorm above, RMSNorm below. ε is ignored and γ is 1.

    Args:
        token: 猫, 吃 and 鱼 have their vectors; any other token needs one.
        vector: (D,), D from 2 to 9, numbers from −1000 to 1000.

    Raises:
        ValueError: the token has no vector, or the vector cannot be drawn.
    """
    x = _token_vector(token, vector)
    mean, shifted = _centred(x)
    squares = np.square([shifted, x])  # (2, D): LayerNorm's, RMSNorm's
    means = mean_square(np.stack([shifted, x]))[:, 0]
    roots = np.sqrt(means)
    outputs = [base / root if root else None for base, root in zip((shifted, x), roots, strict=True)]

    # Inches a unit: one scale for x, x − μ and both outputs, another for all squares.
    lengths = [[x, shifted], [x]]
    for row, output in zip(lengths, outputs, strict=True):
        row += [output] if output is not None else []
    every = np.concatenate([[0], *lengths[0], *lengths[1]])
    unit = 1.65 / (np.ptp(every) or 1)
    least = 0.95  # room above the zero line for squares and arrows, even if x is negative or 0
    square_unit = max(every.max() * unit, least) / (squares.max() or 1)
    lefts, width = (0.34, 2.26, 4.18, 6.1), 1.6
    middles = [left + width / 2 for left in lefts]
    reaches = [
        [_reach(values, unit, width) for values in row] + [_reach(square, square_unit, width)]
        for row, square in zip(lengths, squares, strict=True)
    ]
    ups = [max(least, *(up for up, _ in row)) for row in reaches]
    downs = [max(down for _, down in row) for row in reaches]
    heights = [0.42 + up + down + 0.62 for up, down in zip(ups, downs, strict=True)]

    total = 0.92 + sum(heights) + 0.1 + 0.4
    fig, ax = drawing(8, total)
    title = f"{token} = {_listing(x, maths=True)}"
    ax.text(0.2, total - 0.3, title, va="center", fontsize=min(13, 780 / len(title)))
    if not x.all():
        ax.plot(6.6, total - 0.3, **FOLLOWED)
        ax.text(6.72, total - 0.3, "跟着 x 里的 0 走", va="center", fontsize=9.5, color=shade(VERMILION))
    heads = ("输入 x", "减均值，x − μ", "② 平方，③ 沿特征求均值", "④ 开方取倒，再相乘")
    for middle, head in zip(middles, heads, strict=True):
        write(ax, middle, total - 0.8, head, va="baseline")

    top = total - 0.92
    names = (("LayerNorm", ORANGE, "(x − μ)", "方差", "标准差"), ("RMSNorm", BLUE, "x", "均方", "RMS"))
    for row, (name, color, base, spread, root_name) in enumerate(names):
        paper, ink, root = tint(color, 0.1), shade(color, 0.6), _three(roots[row], maths=True)
        box(ax, 4, top - heights[row] / 2, 7.76, heights[row], facecolor=paper, edgecolor="none", zorder=0)
        ax.text(0.24, top - 0.2, name, va="center", fontsize=11.5, color=ink)
        zero = top - 0.42 - ups[row]
        first, second = top - heights[row] + 0.37, top - heights[row] + 0.14  # lines of words below the bars
        along = zero + 0.5
        look = {"width": width, "paper": paper, "followed": x == 0}
        _bars(ax, lefts[0], zero, x, unit, GREY, **look)
        if row == 0:
            _mean_line(ax, lefts[0], width, zero + mean * unit)
            _mean_line(ax, lefts[0] + 0.17, 0.207, first + 0.05)
            ax.text(lefts[0] + 0.46, first, f"均值 μ = {_three(mean, maths=True)}")
            _bars(ax, lefts[1], zero, shifted, unit, color, shadow=x, **look)
            if mean:
                patch = {"facecolor": tint(GREY, 0.3), "edgecolor": "none", "radius": 0}
                box(ax, lefts[1] + 0.3, first + 0.05, 0.2, 0.15, **patch)
                ax.text(lefts[1] + 0.46, first, "灰影：减之前")
            else:
                write(ax, middles[1], first, "减 0，没有动", va="baseline")
        else:
            write(ax, middles[1], along + 0.18, "不减均值")
        for start, end in ((0, 1), (1, 2), (2, 3)) if row == 0 else ((0, 2), (2, 3)):
            arrow(ax, (lefts[start] + width + 0.05, along), (lefts[end] - 0.07, along), color=ink)
        _bars(ax, lefts[2], zero, squares[row], square_unit, color, hatch="////", **look)
        _mean_line(ax, lefts[2], width, zero + means[row] * square_unit)
        _mean_line(ax, lefts[2] + 0.17, 0.207, first + 0.05)
        ax.text(lefts[2] + 0.46, first, f"{spread} = {_three(means[row], maths=True)}")
        ax.text(lefts[2] + 0.46, second, f"{root_name} = {root}")
        if outputs[row] is None:
            write(ax, middles[3], along, f"{root_name} = 0\n无法相除")
        else:
            _bars(ax, lefts[3], zero, outputs[row], unit, color, share=0.85, **look)
            write(ax, middles[3], first, f"{base} ÷ {root}", va="baseline")
        top -= heights[row] + 0.1
    write(ax, 4, 0.2, "x、x − μ 和输出用同一把尺；平方另用一把，上下两排相同", fontsize=9, color=GREY)

    said = [
        f"，得 {_listing(output)}" if output is not None else "：除数是 0，无法相除" for output in outputs
    ]
    return show(
        fig,
        alt=f"两排小柱状图，{token} = {_listing(x)}。"
        f"上排 LayerNorm：均值 μ = {_three(mean)}；减均值得 {_listing(shifted)}；"
        f"② 平方得 {_listing(squares[0])}，③ 沿特征求均值得方差 {_three(means[0])}，"
        f"④ 开方得标准差 {_three(roots[0])}；x − μ 除以标准差{said[0]}。"
        f"下排 RMSNorm，不减均值：② 平方得 {_listing(squares[1])}，"
        f"③ 沿特征求均值得均方 {_three(means[1])}，④ 开方得 RMS {_three(roots[1])}；x 除以 RMS{said[1]}。",
        caption=_strip_caption(token, x, mean, outputs[0]),
        script="strip",
        data={
            "x": x,
            "mean": mean,
            "rows": [
                {"name": name, "centred": row == 0, "base": (shifted, x)[row], "squares": squares[row],
                 "mean": means[row], "root": roots[row], "output": outputs[row]}
                for row, (name, *_) in enumerate(names)
            ],
        },
    )  # fmt: skip


def _token_vector(token: str, vector: Sequence[float] | None) -> np.ndarray:
    """The vector to draw, checked: (D,)."""
    if vector is None:
        if token not in TOKENS:
            known = "、".join(TOKENS)
            raise ValueError(f"「{token}」没有现成的向量，请用 vector 给出；有现成向量的是 {known}。")
        vector = TOKENS[token]
    try:
        x = np.asarray(vector, dtype=float) + 0.0  # a −0 becomes 0
    except (TypeError, ValueError):
        raise ValueError(f"vector 应是一列数，例如 [1, 2, 3]；现在是 {vector!r}。") from None
    if x.ndim != 1 or not 2 <= x.size <= 9:
        raise ValueError(f"vector 应是一维的，有 2 到 9 个数；现在的形状是 {x.shape}。")
    if not (np.abs(x) <= 1000).all():
        raise ValueError("vector 里的数应在 −1000 到 1000 之间，不能有 NaN 或无穷。")
    return x


def _centred(x: np.ndarray) -> tuple[float, np.ndarray]:
    """The mean and x minus the mean, with 0 where only rounding differs from 0 (0.1 + 0.2 − 0.3)."""
    rounding = 1e-12 * np.abs(x).max()
    mean = x.mean() if abs(x.mean()) > rounding else 0.0
    return mean, np.where(np.abs(x - mean) > rounding, x - mean, 0.0)


def _strip_caption(token: str, x: np.ndarray, mean: float, layer: np.ndarray | None) -> str:
    if not x.any():
        see = "全是 0 的向量，标准差和 RMS 都是 0，两排都除不下去，这正是实际代码要加 ε 的原因。"
    elif layer is None:
        see = "每个数都一样，减去均值全成了 0，LayerNorm 无从除起；RMSNorm 不减均值，照样能算。"
    elif mean == 0:
        see = f"{token}的均值是 0，减了等于没减，所以上下两排的输出一模一样。"
    elif not x.all():
        moved = _three(layer[x == 0][0])
        see = (
            f"跟着菱形走：x 里的 0，下排 RMSNorm 一直是 0；上排 LayerNorm 减均值把它移开，最后成了 {moved}。"
        )
    elif (layer * x < 0).any():
        see = "上排多一步减均值，柱子整体平移，有的换了正负；下排只改长短，正负和彼此的比例都不变。"
    else:
        see = "上排多一步减均值，柱子整体平移，彼此的比例变了；下排只改长短，比例不变。"
    return f"{see}（手算略去 ④ 里的 ε；γ = 1，所以不画 ⑤。）"


def _three(value: float, *, maths: bool = False) -> str:
    """At most three decimals; 0.730 keeps its last zero because it is rounded, 2.25 has none to keep."""
    if value and abs(value) < 1e-3:
        return number(value, 2, maths=maths)
    text = f"{value + np.copysign(1e-9, value):.3f}"  # half away from zero, as by hand
    if abs(float(text) - value) < 1e-9:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", "−")


def _listing(values: np.ndarray, *, maths: bool = False) -> str:
    return "[" + ", ".join(_three(value, maths=maths) for value in values) + "]"


def _lengths(values: np.ndarray, width: float) -> list[tuple[float, bool]]:
    """For each bar's number: its extent in inches away from the tip, and whether it is set upright.

    Numbers are level where all fit side by side, else upright but for those of one or two characters.
    """
    texts = [_three(value) for value in values]
    inches = [0.066 * len(text) - 0.033 * ("." in text) for text in texts]
    level = max(inches) + 0.02 < width / values.size
    return [
        (0.16, False) if level or len(text) <= 2 else (inch + 0.03, True)
        for text, inch in zip(texts, inches, strict=True)
    ]


def _reach(values: np.ndarray, unit: float, width: float) -> tuple[float, float]:
    """How many inches bars and their numbers need above and below the zero line."""
    up, down = [0.0], [0.08]
    for value, (length, _) in zip(values, _lengths(values, width), strict=True):
        (down if value < 0 else up).append(abs(value) * unit + length + 0.1)
    return max(up), max(down)


def _bars(
    ax: "Axes",
    left: float,
    zero: float,
    values: np.ndarray,
    unit: float,
    color: str,
    *,
    width: float,
    paper: str,
    followed: np.ndarray,
    share: float = 0.35,
    hatch: str = "",
    shadow: np.ndarray | None = None,
) -> None:
    """Bars around a zero line, ``unit`` inches a unit, each with its number; diamonds on those followed.

    The shadow shows where the bars were before this step.
    """
    from matplotlib.patheffects import withStroke

    slot = width / values.size
    middles = left + (np.arange(values.size) + 0.5) * slot
    thick = min(0.62 * slot, 0.32)
    if shadow is not None:
        ax.bar(middles, shadow * unit, thick, zero, color=tint(GREY, 0.3), zorder=1)
        if (shadow != values).any():
            before = FOLLOWED | {"color": "white", "linestyle": ""}
            ax.plot(middles[followed], np.full(followed.sum(), zero), **before)
    look = {"color": tint(color, share), "edgecolor": shade(color), "hatch": hatch}
    for middle, value, follow in zip(middles, values, followed, strict=True):
        if value:
            ax.bar(middle, value * unit, thick, zero, zorder=2, **look)
        elif not follow:
            ends = (middle - thick / 2, middle + thick / 2)
            ax.plot(ends, (zero, zero), color=shade(color), linewidth=4, solid_capstyle="butt", zorder=3)
    ax.plot((left - 0.03, left + width + 0.03), (zero, zero), color=GREY, linewidth=1, zorder=3)
    ax.text(left - 0.08, zero, "0", ha="right", va="center", fontsize=8, color=GREY)
    for middle, value, (_, upright), follow in zip(
        middles, values, _lengths(values, width), followed, strict=True
    ):
        tip, side = zero + value * unit, -1 if value < 0 else 1
        if follow:
            ax.plot(middle, tip, **FOLLOWED)
        ax.text(
            middle,
            tip + side * (0.09 if follow else 0.05),
            _three(value, maths=True),
            ha="center",
            va="bottom" if side > 0 else "top",
            rotation=90 if upright else 0,
            fontsize=8.5,
            color=shade(VERMILION) if follow else INK,
            path_effects=[] if shadow is not None else [withStroke(linewidth=3.5, foreground=paper)],
            zorder=5,
        )


def _mean_line(ax: "Axes", left: float, width: float, y: float) -> None:
    ax.plot((left, left + width), (y, y), color=INK, linewidth=1.5, linestyle=(0, (4, 2)), zorder=4)
