"""Figures of lesson 03: sphere and hyperplane, tokens in a frame, sound. They draw the functions given."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rmslab.checks import geometry_parts as parts
from rmslab.checks.hand import TOKENS
from rmslab.picture import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
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
    thousandths,
    tint,
    write,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Function = Callable[[list[float]], Any]

PRESETS: dict[str, tuple[float, ...]] = {
    "均值为零": (2, -1, -1), "偏移": (3.5, 0.5, 0.5), "常数向量": (1, 1, 1), "含零": (2, 0, 1), **TOKENS,
}  # fmt: skip
SHIFTS = [i / 4 for i in range(-12, 13)]
SCALES = [i / 2 for i in range(-4, 5)]
AZIMUTH, ELEVATION = -0.5, 0.3


def frame_of(x: Sequence[float]) -> np.ndarray:
    """Three orthonormal directions (3, d) for a picture of x: in the hyperplane, in it, and all-ones.

    Three dimensions always get the same frame. Of more dimensions it is a slice through the all-ones
    direction and x, so that x, its projection and all multiples of both keep their lengths and angles.
    """
    d = len(x)
    ones = np.ones(d) / math.sqrt(d)
    first = np.array([2.0, -1, -1]) if d == 3 else np.array(parts.project(x))
    axes: list[np.ndarray] = []
    for candidate in (first, *np.eye(d)):
        for known in (ones, *axes):
            candidate = candidate - (candidate @ known) * known
        size = np.linalg.norm(candidate)
        if size > 1e-6 and len(axes) < 2:
            axes.append(candidate / size)
    return np.array([*axes, ones])


def listing(values: Sequence[float]) -> str:
    return "[" + ", ".join(number(round(float(v), 3) + 0.0) for v in values) + "]"


def called(function: Function, x: Sequence[float]) -> list[float] | None:
    """What a reader's function makes of x, if that is as many finite numbers."""
    try:
        values = [float(v) for v in function(list(x))]
    except (Exception, SystemExit):
        return None
    return values if len(values) == len(x) and all(map(math.isfinite, values)) else None


def results(base: Sequence[float], functions: Sequence[Function]) -> np.ndarray:
    """Every function on a(x + c), for every c of SHIFTS and a of SCALES; NaN where it gives nothing.

    Shape: (stops, functions, d).
    """
    stops = [[scale * (v + shift) for v in base] for shift in SHIFTS for scale in SCALES]
    return np.array([[called(function, x) or [math.nan] * len(x) for function in functions] for x in stops])


def sound_parts(given: Sequence[np.ndarray]) -> list[bool]:
    """Which of the three functions are right at every stop of every preset."""
    right = [results(base, (parts.project, parts.to_sphere, parts.layernorm)) for base in PRESETS.values()]
    return [all(np.allclose(a[:, i], b[:, i], atol=2e-3) for a, b in zip(given, right, strict=True))
            for i in range(3)]  # fmt: skip


@style()
def sphere(
    project: Function = parts.project,
    to_sphere: Function = parts.to_sphere,
    layernorm: Function | None = None,
    angles: bool = False,
) -> Picture:
    """RMSNorm and LayerNorm as movements in space: along the ray; down to the hyperplane, then along the ray.

    Args:
        project, to_sphere, layernorm: the reader's functions on lists; without ``layernorm``, the projection
            is sent to the sphere. What raises, or is not written yet, is left out.
        angles: also tell the angles of the tokens, which lesson 03 asks for.
    """
    compose = layernorm or (lambda v: to_sphere(project(v)))
    functions = (project, to_sphere, compose)
    start = "偏移"
    given = [results(base, functions) for base in PRESETS.values()]
    presets = [
        {"name": name, "base": base, "frame": frame_of(base), "results": thousandths(grid.ravel())}
        for (name, base), grid in zip(PRESETS.items(), given, strict=True)
    ]
    falls, scales, composes = sound_parts(given)
    fig, ax = drawing(8, 5.2)
    x = list(PRESETS[start])
    found = {"x": x} | {
        name: called(function, x)
        for name, function in zip(("projection", "rms", "layer"), functions, strict=True)
    }
    _scene(ax, frame_of(x), found, falls)
    told = {name: "没有结果" if v is None else listing(v) for name, v in found.items()}
    rms = f"RMSNorm {'沿 x 的方向落到球面，得' if scales else '由你的函数算出：'} {told['rms']}；"
    layer = (
        f"LayerNorm 先竖直落到超平面，得投影 {told['projection']}，再沿投影的方向落到大圆，得 {told['layer']}。"
    )
    if not (falls and composes):
        layer = f"投影和 LayerNorm 由你的函数算出：{told['projection']}，{told['layer']}。"
    caption = (
        "看两条路：圆点（RMSNorm）一直留在 x 的射线上；方块（LayerNorm）先顺着竖直的虚线落到超平面，"
        "再到大圆。加一个常数只是上下移动 x，方块一动不动，圆点沿球面滑动。"
    )
    if not (falls and scales and composes):
        caption = (
            "这里画的是你的函数，其中有的还没写完，或与检查要的不同，所以几个点还不在该在的地方。"
            "先通过上面的检查，再回来看。"
        )
    return show(
        fig,
        alt="三维图：半径 √3 的球，水平的超平面 Σx = 0 过球心，与球交成大圆；全 1 方向竖直向上。"
        f"向量 x = {told['x']} 在超平面上方。{rms}{layer}",
        caption=caption,
        script="sphere",
        data={"presets": presets, "shifts": SHIFTS, "scales": SCALES, "start": start, "azimuth": AZIMUTH,
              "elevation": ELEVATION, "angles": angles},
    )  # fmt: skip


def _near(ax: "Axes", at: Callable, points: np.ndarray) -> None:
    """The part of a line on the sphere that faces the reader, faintly."""
    a, b, h = points
    near = (b * math.cos(AZIMUTH) - a * math.sin(AZIMUTH)) * math.cos(ELEVATION) + h * math.sin(ELEVATION)
    ax.plot(*np.where(near > 0, at(points), np.nan), color="#5A82A5", linewidth=0.8, alpha=0.28, zorder=1.35)


def _scene(ax: "Axes", frame: np.ndarray, found: dict[str, list[float] | None], falls: bool) -> None:
    """The same scene as the live one's first view. ``falls``: the projection stands straight below x."""
    from matplotlib.patches import Circle

    middle, radius = np.array([3.9, 2.35]), math.sqrt(frame.shape[1])
    R = 1.42
    ca, sa, ce, se = math.cos(AZIMUTH), math.sin(AZIMUTH), math.cos(ELEVATION), math.sin(ELEVATION)

    def at(point: np.ndarray, unit: float = R) -> np.ndarray:
        """(3, …) → (2, …): right and up on the page."""
        a, b, h = point
        near = -a * sa + b * ca
        return np.array([middle[0] + unit * (a * ca + b * sa), middle[1] + unit * (h * ce - near * se)])

    def ring(r: float, start: float, end: float, h: float = 0.0) -> np.ndarray:
        angle = np.linspace(start, end, 100) + AZIMUTH
        return at(np.array([r * np.cos(angle), r * np.sin(angle), np.full_like(angle, h)]))

    plane, full, half = 1.72, 2 * math.pi, math.pi
    ax.fill(*ring(plane, 0, full), facecolor="#FCF1DA", edgecolor="#E3BC6A", linewidth=1.1, zorder=0)
    for i in range(40):  # a soft ball: pale discs, the light from the upper left
        share = i / 39
        centre = middle + share * R * 0.28 * np.array([-0.8, 0.9])
        color = tint(BLUE, 0.24 * (1 - share) ** 1.3 + 0.015)
        ax.add_patch(Circle(centre, R * (1 - 0.72 * share), facecolor=color, edgecolor="none", zorder=1))
    ax.add_patch(Circle(middle, R, facecolor="none", edgecolor="#8FB4D1", linewidth=1.1, zorder=1.1))
    front = np.concatenate([ring(plane, 0, half), ring(1, half, 0)], axis=1)
    ax.fill(*front, facecolor="#FCF1DA", edgecolor="none", alpha=0.95, zorder=1.2)
    ax.plot(*ring(plane, 0, half), color="#E3BC6A", linewidth=1.1, zorder=1.3)
    ax.plot(*ring(1, half, full), color=BLUE, linewidth=1.2, linestyle=(0, (3, 3)), zorder=1.4)
    ax.plot(*ring(1, 0, half), color=BLUE, linewidth=2.2, zorder=1.4)

    for h in (-0.5, 0.5, 0.866):
        angle = np.linspace(0, full, 200)
        around = math.sqrt(1 - h * h)
        _near(ax, at, np.array([around * np.cos(angle), around * np.sin(angle), np.full_like(angle, h)]))
    for turn in np.arange(6) * math.pi / 6:
        angle = np.linspace(0, full, 200)
        flat = np.cos(angle)
        _near(ax, at, np.array([flat * math.cos(turn), flat * math.sin(turn), np.sin(angle)]))

    axis = {h: at(np.array([0, 0, h])) for h in (-1.5, -1, 1, 1.75)}
    ax.plot(*np.transpose([axis[-1.5], axis[-1]]), color=GREY, linewidth=1.3, zorder=1.5)
    ax.plot(*np.transpose([axis[-1], axis[1]]), color=GREY, linewidth=1.1, linestyle=":", zorder=1.5)
    arrow(ax, tuple(axis[1]), tuple(axis[1.75]), color=GREY, linewidth=1.3, zorder=1.5)
    write(ax, axis[1.75][0] + 0.12, axis[1.75][1] - 0.06, "全 1 方向", ha="left", color=GREY)
    write(ax, 1.15, 1.5, "超平面 Σx = 0", color=shade(ORANGE, 0.6))
    write(ax, 7.75, 4.9, rf"球面半径 $\sqrt{{3}}$ = {radius:.3f}", ha="right", color=shade(BLUE, 0.9))

    points = {name: at(frame @ np.array(v) / radius) for name, v in found.items() if v is not None}
    x = points["x"]
    if "projection" in points:
        foot = points["projection"]
        ax.plot(*np.transpose([x, foot]), color=GREY, linewidth=1.4, linestyle=(0, (4, 3)), zorder=3)
        arrow(ax, tuple(middle), tuple(foot), color="#B87F00", linewidth=2, zorder=3)
        words = "减均值：竖直落下" if falls else "你的 project"
        write(ax, x[0] + 0.14, (x[1] + foot[1]) / 2, words, ha="left", color=GREY, fontsize=9.5)
    arrow(ax, tuple(middle), tuple(x), color=INK, linewidth=2.2, zorder=4)
    ax.plot(*middle, marker="o", color=INK, markersize=4, zorder=4)
    looks = {
        "x": ("D", INK, 7, "x", (0.16, 0.04)),
        "projection": ("^", "#B87F00", 9, "投影", (0.18, 0.0)),
        "rms": ("o", BLUE, 10.5, "RMSNorm", (-0.12, 0.2)),
        "layer": ("s", VERMILION, 9.5, "LayerNorm", (-0.05, -0.26)),
    }
    for name, (marker, color, size, words, (right, up)) in looks.items():
        if name not in points:
            continue
        ax.plot(*points[name], marker=marker, color=color, markersize=size, markeredgecolor="white", zorder=5)
        side = "left" if right > 0 else "right" if right < -0.06 else "center"
        x, y = points[name] + np.array([right, up])
        write(ax, x, y, words, ha=side, color=shade(color, 0.75), fontsize=11, zorder=6)


# --- four dimensions --------------------------------------------------------------------------------------

FRAME = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
"""Orthonormal, the all-ones direction first: in it the coordinates of 猫吃鱼 are whole numbers."""
TOKEN_LOOKS = {"猫": (BLUE, "o"), "吃": (VERMILION, "s"), "鱼": (GREEN, "^")}


@style()
def tokens() -> Picture:
    """猫, 吃 and 鱼 in one orthonormal frame of four dimensions: how high along all-ones, how far from it."""
    from matplotlib.patches import Arc

    fig, ax = drawing(8, 5.3)
    unit, left, low = 0.66, 0.55, 1.62  # inches a unit; where the origin is
    seen = {name: FRAME @ np.array(x) for name, x in TOKENS.items()}  # coordinates in the frame
    point = {name: (float(c[0]), float(np.linalg.norm(c[1:]))) for name, c in seen.items()}

    def at(across: float, up: float) -> tuple[float, float]:
        return left + unit * across, low + unit * up

    turn = np.linspace(-math.pi / 2, math.pi / 2, 120)
    ball = (left + unit * 2 * np.cos(turn), low + unit * 2 * np.sin(turn))
    ax.fill(*ball, facecolor=tint(BLUE, 0.1), edgecolor="none")
    ax.plot(*ball, color="#5B93BD", linewidth=1.6)
    arrow(ax, at(0, -2.25), at(0, 5.3), color=GREY)
    arrow(ax, at(0, 0), at(5.2, 0), color=shade(ORANGE, 0.75), linewidth=1.8)
    ax.text(left + 0.12, low + unit * 5.2, "沿全 1 方向有多高", va="center", color=GREY)
    words = "在超平面里，离全 1 方向有多远"
    ax.text(left + unit * 2.2, low - 0.22, words, va="center", color=shade(ORANGE, 0.6))
    write(ax, left + 0.6, low - 0.85, "半径 2", color=shade(BLUE, 0.9))

    for name, (up, across) in point.items():
        color, marker = TOKEN_LOOKS[name]
        size = math.hypot(up, across)
        ring = at(2 * across / size, 2 * up / size)
        ax.plot(*np.transpose([at(0, 0), at(across, up)]), color=color, linewidth=1.8, zorder=3)
        if up:
            fall = np.transpose([at(across, up), at(across, 0)])
            ax.plot(*fall, color=color, linewidth=1.2, linestyle=(0, (4, 3)))
            foot = {"color": "white", "markeredgecolor": color, "markersize": 7}
            ax.plot(*at(across, 0), marker=marker, zorder=4, **foot)
        ax.plot(*at(across, up), marker=marker, color=color, markersize=9, markeredgecolor="white", zorder=5)
        ax.plot(*ring, marker=marker, color=color, markersize=9, markeredgecolor="white", zorder=5)
        angle = parts.to_ones(TOKENS[name])
        wide = 2 * unit * {"猫": 0.95, "吃": 1.45, "鱼": 0.55}[name]
        ax.add_patch(Arc(at(0, 0), wide, wide, theta1=90 - angle, theta2=90, color=color, linewidth=1.3))
        words = {"猫": (across + 0.2, up + 0.02), "吃": (across - 1.0, up + 0.36), "鱼": (2.42, 0.3)}[name]
        ax.text(*at(*words), f"{name} {number(angle, 5)}°", color=shade(color), va="center", fontsize=11)

    # The same in numbers.
    top, first = 4.86, 4.86
    columns = {"x": list, "RMSNorm": parts.to_sphere, "LayerNorm": parts.layernorm}
    write(ax, first + 0.52, top, "全 1", color=GREY, fontsize=9.5)
    write(ax, first + 1.82, top, "超平面里的三个方向", color=shade(ORANGE, 0.6), fontsize=9.5)
    for row, (name, x) in enumerate(TOKENS.items()):
        color, marker = TOKEN_LOOKS[name]
        y = top - 0.36 - 1.42 * row
        ax.plot(first + 0.1, y, marker=marker, color=color, markersize=8)
        ax.text(first + 0.26, y, f"{name} = {listing(x)}", va="center", color=shade(color))
        for column, (words, function) in enumerate(columns.items()):
            line = y - 0.28 - 0.28 * column
            ax.text(first - 0.42, line, words, va="center", fontsize=8.5)
            for k, value in enumerate(FRAME @ np.array(function(x))):
                paper = tint(GREY, 0.22) if k == 0 else tint(ORANGE, 0.16)
                look = {"facecolor": paper, "edgecolor": "none", "radius": 0.03, "fontsize": 9}
                box(ax, first + 0.62 + 0.62 * k, line, 0.58, 0.25, listing([value])[1:-1], **look)
    said = "；".join(
        f"{name}与全 1 方向夹角 {number(parts.to_ones(x), 5)}°，坐标 {listing(seen[name])}"
        for name, x in TOKENS.items()
    )
    return show(
        fig,
        alt="左图：纵轴是沿全 1 方向的高度，横轴是在超平面里离全 1 方向的距离，半径 2 的半圆是球面。"
        f"{said}。RMSNorm 把每个 token 沿自己的射线放到半圆上；LayerNorm 先竖直落到横轴，三个都到横轴上的 2。"
        "右表：在以全 1 方向为首的标准正交标架里，RMSNorm 把四个坐标按同一个比例缩放，"
        "LayerNorm 把第一个坐标变成 0，再缩放其余三个。",
        caption="看右边的第一列：它就是“均值 × √d”。RMSNorm 把四格一起缩放，"
        "LayerNorm 把第一格清零再缩放其余三格。"
        "左图的长度和角度都是四维里的真值，只是把超平面里的三个方向合成了一个“距离”。",
    )


# --- sound ------------------------------------------------------------------------------------------------

RATE, SAMPLES = 8000, 800
OFFSETS = [0.0, 0.1, 0.2, 0.3, 0.4]
WAVES = {"原样": GREY, "RMSNorm": BLUE, "LayerNorm": VERMILION}


def tone(offset: float = 0.0) -> list[float]:
    """A tenth of a second of a soft note (220 Hz, three harmonics), 22 whole periods, plus a constant."""
    turn = 2 * math.pi * 220 * np.arange(SAMPLES) / RATE
    wave = 0.2 * np.sin(turn) + 0.1 * np.sin(2 * turn + 0.6) + 0.05 * np.sin(3 * turn)
    return (wave + offset).tolist()


@style()
def sound(to_sphere: Function = parts.to_sphere, layernorm: Function = parts.layernorm) -> Picture:
    """A short tone with a constant offset: as it is, RMSNormed, LayerNormed; to see, and to hear at will."""
    start = 0.3
    waves = {offset: [x := tone(offset), called(to_sphere, x), called(layernorm, x)] for offset in OFFSETS}
    fig = new_figure(8, 4.4)
    axes = fig.subplots(3, 1, sharex=True, sharey=True)
    time = np.arange(161) / RATE * 1000
    for ax, (name, color), wave in zip(axes, WAVES.items(), waves[start], strict=True):
        ax.axhline(0, color=INK, linewidth=0.8)
        ax.set_ylim(-2.7, 2.9)
        ax.set_yticks([-2, 0, 2])
        ax.set_title(name, loc="left", fontsize=10.5, color=shade(color), pad=3)
        if wave is not None:
            level = float(np.mean(wave))
            ax.plot(time, wave[:161], color=color, linewidth=1.8)
            ax.axhline(level, color=INK, linewidth=1.1, linestyle=(0, (4, 3)))
            size = math.sqrt(np.mean(np.square(wave)))
            words = f"均值 {number(round(level, 3) + 0.0)}　RMS {number(round(size, 3))}"
            ax.set_title(words, loc="right", fontsize=10, color=INK, pad=3)
    axes[-1].set_xlabel("时间（毫秒）")
    labels = [
        {"mean": float(np.mean(w)), "rms": math.sqrt(np.mean(np.square(w)))} if w is not None else None
        for wave in waves.values()
        for w in wave
    ]
    packed = [thousandths(w if w is not None else []) for wave in waves.values() for w in wave]
    loud = labels[3 * OFFSETS.index(start) + 1]
    rest = f"，RMSNorm 以后均值是 {number(loud['mean'], 3)}" if loud else ""
    alt = (
        f"RMSNorm：形状不变，整体放大，偏置也一起放大{rest}；"
        "LayerNorm：偏置没有了，波形回到零线两侧，起伏更大。"
    )
    caption = (
        "看虚线（均值）：RMSNorm 把它和波形一起放大，一部分“音量”花在了听不见的偏置上；"
        "LayerNorm 先把它移到零线，所以同样的 RMS，起伏更大、听起来更响。"
    )
    as_meant = (
        given is not None and np.allclose(given, function(wave[0]), atol=2e-3)
        for wave in waves.values()
        for given, function in zip(wave[1:], (parts.to_sphere, parts.layernorm), strict=True)
    )
    if not all(as_meant):
        alt = f"RMSNorm 和 LayerNorm 两段由你的函数算出{rest}。"
        caption = "后两段是你的函数算出的，有的还没写完，或与检查要的不同：先通过上面的检查，再来比较。"
    return show(
        fig,
        alt=f"三段波形，同一个短音加上直流偏置 {start}。原样：整体偏在零线上方；{alt}",
        caption=f"{caption}不播放也不影响后面的学习。",
        script="sound",
        data={"rate": RATE, "offsets": OFFSETS, "start": start, "waves": packed, "levels": labels},
    )
