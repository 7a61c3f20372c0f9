"""The course's figures. Each function computes its numbers, draws them, and returns a Picture."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import torch

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

TOKENS = {"猫": (1, 2, 3, 4), "吃": (2, 0, -2, 4), "鱼": (-1, 1, -1, 1)}
ROW_COLORS = (BLUE, ORANGE, GREEN, PURPLE)
EPS = 1e-6


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
def axes_example() -> Picture:
    """猫吃鱼 as a (1, 3, 4) input: one token, one statistic, taken along the feature axis."""
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
        ax.text(end + 0.62, y, f"( {squares} ) ÷ {vector.size}", va="center", fontsize=11.5)
        arrow(ax, (end + 2.42, y), (end + 2.82, y), color=color)
        look |= {"facecolor": tint(color, 0.45), "linewidth": 2, "fontsize": 14}
        box(ax, result, y, 0.76, 0.56, number(stat[0, row, 0]), **look)

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
        f"{name}的均方是 {number(value)}" for name, value in zip(TOKENS, stat.ravel(), strict=True)
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
