"""Every figure is readable by everyone: real glyphs, alternative text, a caption, equal bytes each time."""

import base64
import inspect
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from fontTools.ttLib import TTFont
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from matplotlib.text import Text

from autograder.font import FOLDER, FONT_FILE, LICENCE_FILE, gb2312, make_font
from rmslab import figures, geometry_figures, picture
from rmslab.checks import geometry_parts as parts
from rmslab.picture import DPI, HAN, Picture, drawing, new_figure, number, show, style

ROOT = Path(__file__).parents[1]
FIGURES = [
    function
    for name, function in inspect.getmembers(figures, inspect.isfunction)
    if inspect.signature(function).return_annotation is Picture and function is not show
]
HANZI = re.compile(r"[\u4e00-\u9fff]")


def words(text: str, **look: object) -> Picture:
    """A picture of this text."""
    with style():
        fig, ax = drawing(4, 1)
        ax.text(0.2, 0.5, text, **look)
        return show(fig, "一行字")


@pytest.fixture(scope="module")
def glyphs() -> set[str]:
    return set(map(chr, TTFont(FOLDER / FONT_FILE).getBestCmap()))


def test_finds_the_figures():
    names = {function.__name__ for function in FIGURES}
    assert {"pipeline", "keepdim", "half_range", "epsilon", "axes_example", "strip"} <= names
    assert {"sphere", "tokens", "sound"} <= names


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.__name__)
def test_figure_is_complete_and_repeatable(figure):
    made = figure()  # show() refuses tofu
    assert len(made.alt) >= 30 and HANZI.search(made.alt)
    assert HANZI.search(made.caption)
    pixels = imread(io.BytesIO(made.png), format="png")
    assert pixels.shape[1] >= 1200 and np.ptp(pixels[..., :3]) > 0.5
    assert np.all(pixels[[0, -1]] == 1) and np.all(pixels[:, [0, -1]] == 1), "cut off at an edge"
    assert figure()._repr_html_() == made._repr_html_()


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.__name__)
def test_texts_of_a_figure_do_not_overlap(figure, monkeypatch):
    refuse_overlap(figure, monkeypatch, figure.__module__)


def drawn(draw, monkeypatch, module):
    """The matplotlib figure behind a picture."""
    figs = []
    monkeypatch.setattr(
        sys.modules[module], "show", lambda fig, *words, **more: figs.append(fig) or show(fig, *words, **more)
    )
    draw()
    (fig,) = figs
    return fig


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.__name__)
def test_texts_of_a_figure_stand_out(figure, monkeypatch):
    """Every text has the contrast of 4.5 that readers with weak eyes need, on what lies behind it."""
    fig, seen, draw = drawn(figure, monkeypatch, figure.__module__), [], Text.draw
    monkeypatch.setattr(Text, "draw", lambda text, *more: (seen.append(text), draw(text, *more)))
    with style():
        canvas = FigureCanvasAgg(fig)
        canvas.draw()
        texts = [text for text in seen if text.get_text().strip()]
        boxes = [text.get_window_extent() for text in texts]
        fig.set_layout_engine("none")  # everything stays where it is
        for text in texts:
            text.set_visible(False)
        canvas.draw()
        page = np.asarray(canvas.buffer_rgba())[::-1, :, :3] / 255
    assert len(texts) > 3
    for text, box in zip(texts, boxes, strict=True):
        behind = page[int(box.y0) : int(box.y1) + 1, int(box.x0) : int(box.x1) + 1].reshape(-1, 3)
        assert contrast(to_rgb(text.get_color()), np.median(behind, axis=0)) >= 4.5, text.get_text()


def contrast(one, other) -> float:
    """As WCAG 2 defines it."""

    def luminance(color) -> float:
        parts = np.asarray(color, float)
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ (0.2126, 0.7152, 0.0722))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def refuse_overlap(draw, monkeypatch, module=figures.__name__):
    fig = drawn(draw, monkeypatch, module)
    texts = [text for ax in fig.axes for text in ax.texts if text.get_text().strip()]
    with style():
        fig.set_dpi(DPI)
        fig.draw_without_rendering()
        boxes = [text.get_window_extent() for text in texts]
    for i, one in enumerate(boxes):
        for j in range(i):
            x0, y0 = np.maximum(one.min, boxes[j].min)
            x1, y1 = np.minimum(one.max, boxes[j].max)
            assert x1 - x0 < 1 or y1 - y0 < 1, (texts[i].get_text(), texts[j].get_text())


def test_pipeline_names_the_five_steps():
    alt = figures.pipeline().alt
    steps = ("① 升精度", "② 平方", "③ 沿特征求均值", "④ 加 ε 开方取倒", "⑤ 缩放并还原 dtype")
    positions = [alt.index(step) for step in steps]
    assert positions == sorted(positions)


def test_numbers_in_the_figures():
    assert "7.5" in figures.axes_example().alt
    epsilon = figures.epsilon().caption
    assert "0.0995" in epsilon and "0.990" in epsilon
    zero, full, infinite = figures.square_borders(torch.float16)
    assert (zero, full, infinite) == (pytest.approx(1.7e-4, rel=0.02), pytest.approx(2**-7, rel=0.01), 256)
    half = torch.arange(1, 0x7C00, dtype=torch.int16).view(torch.float16)  # every positive finite FP16
    square = half.square()
    assert zero == half[square > 0][0] and infinite == half[square.isinf()][0]
    assert full == half[square >= torch.finfo(torch.float16).smallest_normal][0]


STRIPS = {
    "猫": None,
    "吃": None,
    "鱼": None,
    "七": [3.5, -9, 0, 7.25, -2, 9, 1],
    "尽": [-9, 9, -9, 9, -8.999, 9, -9],
    "负": [-9, -8.123, -7, -6, -5.5, -4, -3, -2, -1],
    "大": [-999.999, 999.999, 0, -123.456, 1000, -1000, 1, 2, 0],
    "小": [1e-5, -2e-4, 0.001],
    "差": [0.1, 0.2, 0.3, 0.2],
    "同": [5, 5, 5],
    "十": [0.1] * 7,
    "零": [0.0, -0.0],
}


@pytest.mark.parametrize("token", STRIPS)
def test_strip_is_readable_for_any_vector(token, monkeypatch):
    refuse_overlap(lambda: figures.strip(token, STRIPS[token]), monkeypatch)
    picture = figures.strip(token, STRIPS[token])
    assert picture.alt.startswith(f"两排小柱状图，{token} = [")
    assert not re.search("nan|inf|∞|−0[^.]", picture.alt)
    pixels = imread(io.BytesIO(picture.png), format="png")
    assert np.all(pixels[[0, -1]] == 1) and np.all(pixels[:, [0, -1]] == 1), "cut off at an edge"


@pytest.mark.parametrize(
    ("token", "upper", "lower"),
    [
        (
            "猫",
            ["μ = 2.5", "[−1.5, −0.5, 0.5, 1.5]", "方差 1.25", "1.118", "[−1.342, −0.447, 0.447, 1.342]"],
            ["[1, 4, 9, 16]", "均方 7.5", "RMS 2.739", "[0.365, 0.730, 1.095, 1.461]"],
        ),
        (
            "吃",
            ["μ = 1；", "[1, −1, −3, 3]", "方差 5", "2.236", "[0.447, −0.447, −1.342, 1.342]"],
            ["[4, 0, 4, 16]", "均方 6", "RMS 2.449", "[0.816, 0, −0.816, 1.633]"],
        ),
        (
            "鱼",
            ["μ = 0；", "[−1, 1, −1, 1]", "方差 1", "标准差 1", "[−1, 1, −1, 1]"],
            ["[1, 1, 1, 1]", "均方 1", "RMS 1", "[−1, 1, −1, 1]"],
        ),
    ],
)
def test_strip_says_the_numbers_step_by_step(token, upper, lower):
    rows = re.split("上排 LayerNorm|下排 RMSNorm", figures.strip(token).alt)[1:]
    for row, wanted in zip(rows, (upper, lower), strict=True):
        place = 0
        for said in wanted:
            place = row.index(said, place) + len(said)


def test_strip_agrees_with_torch_on_another_vector():
    x = torch.tensor(STRIPS["七"], dtype=torch.float64)
    listings = re.findall(r"\[(.*?)\]", figures.strip("七", x.tolist()).alt)
    upper, lower = ([float(word) for word in listings[i].replace("−", "-").split(", ")] for i in (3, 5))
    norm = torch.nn.functional.layer_norm(x, x.shape, eps=0)
    assert upper == pytest.approx(norm.tolist(), abs=6e-4)
    assert lower == pytest.approx((x / x.square().mean().sqrt()).tolist(), abs=6e-4)


def test_strip_says_what_to_see():
    assert "−0.447" in figures.strip("吃").caption
    assert "一模一样" in figures.strip("鱼").caption
    for token in ("同", "十"):  # 0.1 minus the mean of seven 0.1 is not exactly 0
        alt = figures.strip(token, STRIPS[token]).alt
        assert alt.count("无法相除") == 1 and "标准差 0" in alt
        assert "[1, 1, 1" in alt.partition("下排")[2]
    assert figures.strip("零", STRIPS["零"]).alt.count("无法相除") == 2


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        (None, "请用 vector 给出"),
        ([1], "2 到 9 个数"),
        ([1] * 10, "2 到 9 个数"),
        ([[1, 2], [3, 4]], "2 到 9 个数"),
        ([1, "二"], "一列数"),
        ([1, ...], "一列数"),
        ([1, float("nan")], "−1000 到 1000"),
        ([1, 1001], "−1000 到 1000"),
    ],
)
def test_strip_refuses_what_it_cannot_draw(vector, words):
    with pytest.raises(ValueError, match=words):
        figures.strip("狗", vector)


def test_number_reads_well():
    assert number(-2.0) == "−2"
    assert number(1.7e-5, 2) == "1.7×10⁻⁵"
    assert number(float("inf")) == "∞"
    assert number(1e19, maths=True) == r"1×$\mathdefault{10^{19}}$"


@pytest.mark.parametrize("alt", ["", " \n"])
def test_show_refuses_a_picture_without_alternative_text(alt):
    with pytest.raises(ValueError, match="替代文字"):
        show(new_figure(), alt)


@pytest.mark.parametrize("text", [r"$x_{特征}$", r"均方 $\mathrm{均方}$", "a $b$ 中 $中$"])
def test_show_refuses_chinese_inside_maths(text):
    with pytest.raises(ValueError, match=r"\$…\$ 里不能有中文"):
        words(text)


def test_show_accepts_chinese_beside_maths():
    words(r"均方的根 $\sqrt{x}$ 和 1 元 \$ 中 \$")


@pytest.mark.parametrize("text", ["\U0001f41f", "\u1200", "✗ $x$", "$\u1200$"])
def test_show_refuses_a_missing_glyph_each_time(text):
    for _ in range(2):
        with pytest.raises(ValueError, match="字体中没有的字"):
            words(text)


def test_show_refuses_a_figure_made_outside_the_style():
    fig = new_figure()
    fig.text(0.5, 0.5, "猫")
    with pytest.raises(ValueError, match="字体中没有的字"):
        show(fig, "猫")


# --- live pictures ----------------------------------------------------------------------------------------


def test_a_live_picture_is_the_static_one_and_a_script():
    still = words("猫")
    live = Picture(still.png, still.alt, "看", "strip", {"x": [1.0, 1 / 3], "words": "</script>中"})
    html = live._repr_html_()
    without = re.sub("<script.*?</script>", "", html, flags=re.S)
    assert without == Picture(still.png, still.alt, "看")._repr_html_()
    assert html.count("<script") == html.count("</script>") == 1
    assert "[1, 0.333333]" in html and "\\u003c/script>中" in html
    assert live._repr_html_() == html


@pytest.mark.parametrize("data", [float("nan"), {"x": [1.0, float("inf")]}, {"x": {1}}, np.array([np.nan])])
def test_live_data_are_strict(data):
    with pytest.raises((ValueError, TypeError)):
        picture.live("strip", data)


def test_scripts_ask_nobody_and_name_nothing_outside():
    files = sorted(picture.LIVE.glob("*.js"))
    assert {"kit.js", "sphere.js", "sound.js", "strip.js"} <= {file.name for file in files}
    for file in files:
        code = file.read_text("utf-8")
        assert not re.search(r"https?:|import\b|fetch\(|XMLHttp|WebSocket|eval\(|innerHTML", code), file.name
        assert not re.search(r"(window|globalThis|document)\.\w+ *=[^=]", code), file.name
        assert "</script" not in code, file.name


def test_thousandths_keep_three_decimals():
    packed = picture.thousandths([1.2345, -0.5, float("nan"), 99, -99])
    values = np.frombuffer(base64.b64decode(packed), "<i2").tolist()
    assert values == [1234, -500, -32768, 32767, -32767]


def test_sphere_draws_the_functions_it_is_given():
    """Every stop of both sliders comes from the reader's functions; what they do not give is left out."""

    def read(made):
        return [np.frombuffer(base64.b64decode(p["results"]), "<i2").reshape(-1, 3, len(p["base"])) / 1000
                for p in made.data["presets"]]  # fmt: skip

    stops = len(geometry_figures.SHIFTS) * len(geometry_figures.SCALES)
    for grid, preset in zip(read(figures.sphere()), geometry_figures.PRESETS.values(), strict=True):
        assert grid.shape[0] == stops
        c, a = geometry_figures.SHIFTS[0], geometry_figures.SCALES[0]
        x = [a * (v + c) for v in preset]
        for i, function in enumerate((parts.project, parts.to_sphere, parts.layernorm)):
            assert grid[0, i] == pytest.approx(function(x), abs=6e-4)

    def unwritten(v):
        raise NotImplementedError

    mine = figures.sphere(lambda v: [7.0] * len(v), unwritten)
    for grid in read(mine):
        assert np.all(grid[:, 0] == 7) and np.all(grid[:, 1:] == -32.768)
    assert "没有结果" in mine.alt
    assert figures.sphere(unwritten, unwritten, unwritten).alt


def test_sphere_says_of_the_reader_s_functions_only_what_they_do():
    falls, rays, still = "先竖直落到超平面", "沿 x 的方向落到球面", "方块一动不动"
    right = figures.sphere()
    assert falls in right.alt and rays in right.alt and still in right.caption

    def turned(v):
        return parts.project(parts.to_sphere(v))

    wrong = figures.sphere(layernorm=turned)
    assert falls not in wrong.alt and rays in wrong.alt and still not in wrong.caption
    wrong = figures.sphere(lambda v: [a - v[0] for a in v])
    assert falls not in wrong.alt and rays in wrong.alt and still not in wrong.caption
    assert wrong.png != right.png
    wrong = figures.sphere(to_sphere=lambda v: [a / (parts.length(v) or 1) for a in v])
    assert falls not in wrong.alt and rays not in wrong.alt and still not in wrong.caption


def test_sound_says_of_the_reader_s_functions_only_what_they_do():
    right = figures.sound()
    assert "偏置没有了" in right.alt and "移到零线" in right.caption
    for functions in (
        {"layernorm": parts.to_sphere},
        {"to_sphere": parts.layernorm},
        {"layernorm": lambda v: None},
    ):
        wrong = figures.sound(**functions)
        assert "偏置没有了" not in wrong.alt and "移到零线" not in wrong.caption


@pytest.mark.parametrize("base", geometry_figures.PRESETS.values())
def test_frames_are_orthonormal_and_begin_at_the_top_with_all_ones(base):
    frame = geometry_figures.frame_of(base)
    assert frame @ frame.T == pytest.approx(np.eye(3), abs=1e-12)
    assert frame[2] == pytest.approx(np.ones(len(base)) / len(base) ** 0.5)
    for v in (base, parts.project(base), parts.to_sphere(base), parts.layernorm(base)):  # nothing gets lost
        assert np.linalg.norm(frame @ np.array(v)) == pytest.approx(parts.length(v))


def test_the_tokens_in_their_frame():
    frame = geometry_figures.FRAME
    assert frame @ frame.T == pytest.approx(np.eye(4))
    assert (frame @ [1, 2, 3, 4]).tolist() == [5, -1, -2, 0]
    alt = figures.tokens().alt
    assert "24.095°" in alt and "65.905°" in alt and "90°" in alt


def test_picture_shows_itself_as_an_escaped_figure():
    shown = Picture(words("猫").png, 'a < "b"', "说明 & 看")
    html = shown._repr_html_()
    assert html.startswith("<figure") and html.endswith("</figure>")
    assert 'alt="a &lt; &quot;b&quot;"' in html and "说明 &amp; 看</figcaption>" in html
    assert 'src="data:image/png;base64,' in html and "max-width:max(100%," in html and "background:#fff" in html
    assert "width:400px" in html
    assert repr(shown) == shown.alt
    assert "figcaption" not in words("猫")._repr_html_()


def test_importing_draws_nothing():
    code = "import sys, rmslab.picture, rmslab.figures; print('matplotlib.pyplot' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False" and run.stderr == ""


def test_figures_leave_pyplot_and_its_settings_alone():
    code = (
        "import sys, matplotlib; before = matplotlib.rcParams.copy()\n"
        "from rmslab import figures; figures.axes_example()\n"
        "print('matplotlib.pyplot' in sys.modules, matplotlib.rcParams.copy() == before)"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"] and run.stderr == ""


def test_font_has_the_common_hanzi(glyphs):
    common = gb2312(16, 55)
    assert len(common) == 3755
    assert common <= glyphs


def test_font_has_every_chinese_character_of_the_course(glyphs):
    patterns = ("rmslab/**/*.py", "rmslab/messages/*.toml", "solutions/*.md")
    files = [path for pattern in patterns for path in ROOT.glob(pattern)]
    assert ROOT / "rmslab" / "picture.py" in files
    lacking = {
        f"{path.relative_to(ROOT)}: {character}"
        for path in files
        for character in set(HAN.findall(path.read_text(encoding="utf-8"))) - glyphs
    }
    assert not lacking, "add these to EXTRA in autograder/font.py and run it"


def test_font_carries_its_licence_and_a_name_of_its_own():
    licence = (FOLDER / LICENCE_FILE).read_text(encoding="utf-8")
    assert licence.startswith("© 2014-2021 Adobe") and "SIL OPEN FONT LICENSE Version 1.1" in licence
    names = TTFont(FOLDER / FONT_FILE)["name"]
    assert names.getDebugName(1) == "RMSNorm Course Sans SC"
    assert all("Noto" not in str(record) for record in names.names if record.nameID in (1, 3, 4, 6))
    assert (FOLDER / FONT_FILE).stat().st_size < 1_000_000


def test_font_is_what_its_maker_makes(tmp_path):
    make_font(tmp_path)
    for name in (FONT_FILE, LICENCE_FILE):
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), name
