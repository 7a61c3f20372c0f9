"""Pictures that every reader can use: never tofu, always with alternative text, the same bytes each time.

This file knows nothing of RMSNorm. A figure function reads::

    @style()
    def squares() -> Picture:
        fig = new_figure(8, 4)
        ax = fig.add_subplot()
        ...
        return show(fig, alt="抛物线：……", caption="看右边：……")

Nothing here touches pyplot: a figure belongs to its function and is gone when the function returns.

A picture can be live where scripts run::

        return show(fig, alt="…", caption="…", script="squares", data={"x": x, "y": y})

``rmslab/live/squares.js`` is then the body of a function of ``(root, data, kit)``: the ``<figure>``, the
data, and the helpers of ``live/kit.js``. It asks the kit for canvases, sliders and buttons, which stand in
the image's place; where scripts do not run, or the script fails, the image stays. What a script shows of a
student's function, Python has computed beforehand and sent as data: nothing in the page asks the kernel.
"""

import base64
import hashlib
import html
import io
import json
import logging
import re
import struct
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
    from matplotlib.text import Text

# Okabe & Ito: eight colours that stay apart for colour-blind readers. Always add a second cue:
# a marker, a dash, a hatch or a label.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
PALETTE = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, YELLOW, BLACK)
INK, GREY, PALE = "#222222", "#6B6B6B", "#E3E3E3"  # text, secondary text, quiet lines

LIVE = Path(__file__).parent / "live"  # the scripts of live pictures, and their kit
FONT_FILE = Path(__file__).parent / "fonts" / "CourseSansSC-Regular.otf"
DPI = 160  # pixels in the file per inch of figure
CSS_PER_INCH = 100  # pixels on the page per inch of figure: 8 inches are 800 px wide, and sharp
CODE = {"family": ["DejaVu Sans Mono", "RMSNorm Course Sans SC"]}  # text keywords for code

HAN = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
MATHS = re.compile(r"(?<!\\)\$(.+?)(?<!\\)\$", re.DOTALL)


@contextmanager
def style() -> Iterator[None]:
    """Draw in the course's style inside this context, or in a function decorated with ``@style()``."""
    rc = {
        # The Chinese font first: text around $…$ uses only the first. The next fills in missing glyphs.
        "font.family": [_course_font(), "DejaVu Sans"],
        "font.size": 10.5,
        "mathtext.fontset": "dejavusans",
        "axes.unicode_minus": True,
        "axes.titlesize": 11.5,
        "axes.titleweight": "normal",  # the course ships no bold face
        "axes.labelweight": "normal",
        "axes.titlepad": 10,
        "axes.labelsize": 10.5,
        "axes.labelpad": 6,
        "axes.edgecolor": GREY,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.prop_cycle": mpl.cycler(color=PALETTE),
        "grid.color": PALE,
        "grid.linewidth": 0.8,
        "xtick.color": GREY,
        "ytick.color": GREY,
        "xtick.labelsize": 9.5,
        "ytick.labelsize": 9.5,
        "text.color": INK,
        "axes.labelcolor": INK,
        "lines.linewidth": 2.2,
        "lines.markersize": 7,
        "hatch.linewidth": 0.7,
        "legend.frameon": False,
        "figure.facecolor": "white",
        "axes.facecolor": "white",
        "savefig.facecolor": "white",
    }
    with mpl.rc_context(rc):
        yield


@cache
def _course_font() -> str:
    """Register the shipped font; return its family name."""
    from matplotlib import font_manager

    font_manager.fontManager.addfont(FONT_FILE)
    return font_manager.FontProperties(fname=FONT_FILE).get_name()


def new_figure(width: float = 8, height: float = 4.5) -> "Figure":
    """An empty figure, in inches, that no pyplot state knows."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height), layout="constrained")
    fig.get_layout_engine().set(w_pad=0.14, h_pad=0.12)
    return fig


def drawing(width: float = 8, height: float = 4.5) -> tuple["Figure", "Axes"]:
    """An empty sheet for boxes and arrows: coordinates are inches from the lower left corner."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height))
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.set_axis_off()
    return fig, ax


def write(ax: "Axes", x: float, y: float, text: str, **look: Any) -> "Text":
    """Text centred on (x, y)."""
    return ax.text(x, y, text, **{"ha": "center", "va": "center", "linespacing": 1.35, **look})


def box(
    ax: "Axes", x: float, y: float, width: float, height: float, text: str = "", **look: Any
) -> "FancyBboxPatch":
    """A rounded box centred on (x, y). ``fontsize``, ``family`` and ``ink`` go to its text."""
    from matplotlib.patches import FancyBboxPatch

    words = {key: look.pop(key) for key in ("fontsize", "family") if key in look}
    words["color"] = look.pop("ink", INK)
    radius = look.pop("radius", 0.06)
    look = {"facecolor": "white", "edgecolor": INK, "linewidth": 1.2, **look}
    shape = f"round,pad=0,rounding_size={radius}"
    patch = FancyBboxPatch((x - width / 2, y - height / 2), width, height, boxstyle=shape, **look)
    ax.add_patch(patch)
    write(ax, x, y, text, zorder=patch.get_zorder() + 0.1, **words)
    return patch


def arrow(ax: "Axes", start: tuple[float, float], end: tuple[float, float], **look: Any) -> "FancyArrowPatch":
    """An arrow from start to end."""
    from matplotlib.patches import FancyArrowPatch

    look = {"arrowstyle": "-|>", "mutation_scale": 12, "linewidth": 1.4, "color": INK, **look}
    patch = FancyArrowPatch(start, end, shrinkA=0, shrinkB=0, **look)
    ax.add_patch(patch)
    return patch


def tint(color: str, share: float = 0.2) -> str:
    """The colour mixed with white: ``share`` of colour, the rest white."""
    parts = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - (255 - part) * share):02X}" for part in parts)


def shade(color: str, share: float = 0.66) -> str:
    """The colour mixed with black, dark enough for words on white paper."""
    return "#" + "".join(f"{round(int(color[i : i + 2], 16) * share):02X}" for i in (1, 3, 5))


def number(value: float, digits: int = 4, *, maths: bool = False) -> str:
    """A number for people: so many significant digits at most, a true minus sign, powers of ten set high.

    Characters such as ⁻¹⁹ suit alternative text; in a figure, ``maths=True`` sets them evenly.
    """
    text = f"{value:.{digits}g}".replace("inf", "∞")
    mantissa, e, exponent = text.partition("e")
    mantissa = mantissa.replace("-", "−")
    if not e:
        return mantissa
    if maths:
        return rf"{mantissa}×$\mathdefault{{10^{{{int(exponent)}}}}}$"
    return f"{mantissa}×10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


@dataclass(frozen=True, repr=False)
class Picture:
    """A finished picture. As the last expression of a cell it shows itself.

    Attributes:
        png: the image file.
        alt: what the picture says, for those who cannot see it; never empty.
        caption: one sentence below the picture: what to see.
        script: name of the file in ``rmslab/live`` (without ``.js``) that makes it live, or empty.
        data: what the script gets: numbers, text, lists, dicts, arrays; floats keep six digits.
    """

    png: bytes
    alt: str
    caption: str = ""
    script: str = ""
    data: Any = None

    @property
    def width(self) -> int:
        """Width on the page, in CSS pixels."""
        (pixels,) = struct.unpack(">I", self.png[16:20])
        return round(pixels * CSS_PER_INCH / DPI)

    def __repr__(self) -> str:
        """What a reader without HTML gets."""
        return self.alt

    def _repr_html_(self) -> str:
        """White paper under any theme; a script, if any, puts a live picture in the image's place."""
        caption = ""
        if self.caption:
            caption = (
                '<figcaption style="margin-top:8px;font-size:14px;line-height:1.6">'
                f"{html.escape(self.caption)}</figcaption>"
            )
        return (
            f'<figure class="rms-picture" '
            f'style="margin:0;padding:12px;max-width:{self.width}px;background:#fff;color:{INK}">'
            # In a narrow column it shrinks as long as its words can be read, then it scrolls.
            f'<div style="overflow-x:auto"><img alt="{html.escape(self.alt)}" '
            f'style="width:{self.width}px;max-width:max(100%,{0.7 * self.width:.0f}px);height:auto" '
            f'src="data:image/png;base64,{base64.b64encode(self.png).decode()}"></div>'
            f"{caption}{live(self.script, self.data) if self.script else ''}</figure>"
        )


def live(script: str, data: Any = None) -> str:
    """The ``<script>`` that makes the ``<figure>`` around it live. Equal arguments give equal text.

    Raises:
        ValueError: data that are not finite numbers, text, lists, dicts or arrays of them.
    """
    kit, body = ((LIVE / f"{name}.js").read_text(encoding="utf-8") for name in ("kit", script))
    # "<" never stands in the JSON, so that no text in it can end the script.
    values = json.dumps(_plain(data), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    key = hashlib.sha256(f"{body}{values}".encode()).hexdigest()[:12]
    return f"""<script data-key="{key}">(() => {{
"use strict";
const mine = '.rms-picture:not([data-live]) > [data-key="{key}"]';
const here = document.currentScript ?? document.querySelector(mine);
const root = here?.closest("figure");
if (!root || root.dataset.live) return;
const kit = (root => {{
{kit}}})(root);
kit.start((root, data, kit) => {{
{body}}}, {values});
}})();</script>"""


def thousandths(values: Iterable[float]) -> str:
    """Many numbers in few characters, for ``kit.thousandths``: to three decimals, from −32.767 to 32.767.

    What lies outside is cut off; NaN stays NaN.
    """
    packed = [-32768 if v != v else round(1000 * min(max(v, -32.767), 32.767)) for v in values]
    return base64.b64encode(struct.pack(f"<{len(packed)}h", *packed)).decode()


def _plain(value: Any) -> Any:
    """Arrays as lists, floats with six significant digits, whole numbers without a point."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and abs(value) < 1e300:
        value = float(f"{value:.6g}")
        return int(value) if value == int(value) else value
    return value


def show(fig: "Figure", alt: str, caption: str = "", script: str = "", data: Any = None) -> Picture:
    """Render a figure made inside :func:`style`. ``script`` and ``data`` make it live, see :class:`Picture`.

    Raises:
        ValueError: no alternative text, Chinese inside ``$…$``, or a character that no font has.
    """
    from matplotlib.text import Text

    if not alt.strip():
        raise ValueError("图片缺少替代文字：请用 alt 说明图里有什么，读屏软件和看不到图的人靠它。")

    file = io.BytesIO()
    with style(), _missing_glyphs() as missing:
        fig.savefig(file, format="png", dpi=DPI, metadata={"Software": None})

    for text in (artist.get_text() for artist in fig.findobj(Text)):
        if any(HAN.search(maths) for maths in MATHS.findall(text)):
            raise ValueError(f"$…$ 里不能有中文，会变成方框。请把中文移到 $ 外面：{text}")
    if missing:
        raise ValueError("图里有字体中没有的字，会变成方框：" + "；".join(dict.fromkeys(missing)))
    return Picture(file.getvalue(), alt.strip(), caption.strip(), script, data)


class _Messages(logging.Handler):
    """Appends log messages to a list."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__(logging.WARNING)
        self.messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def _missing_glyphs() -> Iterator[list[str]]:
    """Collect what matplotlib says about glyphs it could not find: a warning for text, a log for maths."""
    missing: list[str] = []
    handler = _Messages(missing)
    logger = logging.getLogger("matplotlib.mathtext")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield missing
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    for warning in caught:
        if "missing from" in str(warning.message):
            missing.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
