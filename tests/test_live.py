"""Live pictures in a real JupyterLab: they appear, answer mouse and keyboard, survive a save, and stay still
pictures where scripts do not run."""

import re
import time

import pytest
from browser import PANEL, new_page, opened
from conftest import COURSE, as_bytes, code_cell, solved, source
from nbconvert import HTMLExporter

from rmslab import geometry_figures
from rmslab.catalogue import entry
from rmslab.checks import geometry_parts as parts
from rmslab.ordering import feedback


def live_figures(lesson: str) -> int:
    """How many live pictures the solved lesson shows."""
    outputs = [o for c in solved(lesson)["cells"] if c["cell_type"] == "code" for o in c["outputs"]]
    return sum("".join(o.get("data", {}).get("text/html", "")).count("<script data-key") for o in outputs)


LESSONS = [lesson for lesson in COURSE.lessons() if live_figures(lesson)]


@pytest.fixture(scope="module")
def ran(request, lab, chrome, tmp_path_factory):
    """The solved lesson, opened and run from top to bottom; tests leave it as they find it.

    Nothing is trained: what that shows is seen where the lesson as released is run.
    """
    lesson = request.param
    notebook = solved(lesson)
    notebook["cells"].insert(
        0, code_cell("import os\nos.environ['NBGRADER_EXECUTION'] = 'short'") | {"id": "short"}
    )
    file = tmp_path_factory.mktemp("solved") / f"{lesson}.ipynb"
    file.write_bytes(as_bytes(notebook))
    with opened(chrome, lab, lab.put(file, "solved")) as notebook:
        notebook.run_all()
        notebook.page.wait_for_function(
            "n => document.querySelectorAll('figure.rms-picture[data-live]').length >= n",
            arg=live_figures(lesson),
        )
        yield notebook


def for_lessons(*lessons):
    return pytest.mark.parametrize("ran", lessons, indirect=True)


def figures(page):
    return page.locator("figure.rms-picture[data-live]")


def pixels(figure) -> str:
    """The figure's canvases as drawn, once the frames asked for are through."""
    return figure.evaluate(
        """async figure => {
        await new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
        return [...figure.querySelectorAll('canvas')].map(c => c.toDataURL()).join('');
        }"""
    )


def settled(figure) -> str:
    """The same, once nothing moves any more."""
    before = pixels(figure)
    for _ in range(40):
        figure.page.wait_for_timeout(60)
        now = pixels(figure)
        if now == before:
            return now
        before = now
    return before


# --- every lesson -----------------------------------------------------------------------------------------


@for_lessons(*COURSE.lessons())
def test_every_solved_lesson_runs(ran):
    ran.is_clean()
    ran.suits_everyone()


CONTROLS = ":is(input, button, summary, a[href], select, textarea, [tabindex='0']):not(:disabled)"
OURS = ".jp-OutputArea-output, .jp-RenderedMarkdown"


@for_lessons(*COURSE.lessons())
def test_tab_reaches_every_control(ran):
    """From a selected cell, Tab goes through all that can be operated in it, in the order of the page."""
    page = ran.page
    cells = page.locator(".jp-Notebook .jp-Cell")
    for i in range(cells.count()):
        controls = cells.nth(i).locator(f":is({OURS}) {CONTROLS}:visible")
        wanted = controls.count()
        if not wanted:
            continue
        controls.evaluate_all("all => all.forEach((one, i) => { one.dataset.control = i })")
        ran.select(i)
        reached = []
        while len(reached) < wanted:
            page.keyboard.press("Tab")
            now = page.evaluate("() => document.activeElement.dataset.control")
            inside = page.evaluate(f"i => {PANEL}.content.widgets[i].node.contains(document.activeElement)", i)
            assert inside, f"cell {i}: Tab left it after {reached} of {wanted}"
            if now is not None:
                reached.append(int(now))
        assert reached == list(range(wanted))


@for_lessons("04-implementation")
def test_an_order_by_keyboard(ran):
    """The task of putting lines in order: keys alone build an answer, take a line back, and check."""
    page = ran.page
    task = page.locator(".jp-OutputArea-output:has(button.jupyter-button)")

    def press(words, key):
        task.locator("button", has_text=re.compile(f"^{words}( |$)")).focus()
        page.keyboard.press(key)

    for letter, key in zip("EEC", ("Enter", "Space", "Enter"), strict=True):
        press(letter, key)
    task.locator("li").nth(2).wait_for()
    press(entry("ordering", "undo"), "Enter")
    task.locator("li").nth(2).wait_for(state="detached")
    press(entry("ordering", "check"), "Space")
    task.get_by_role("status").get_by_text(feedback("rmsnorm", "EE")).wait_for()
    for _ in range(2):
        press(entry("ordering", "undo"), "Enter")
    task.locator("li").first.wait_for(state="detached")

    wide = page.viewport_size
    page.set_viewport_size(wide | {"width": 800})
    cut = task.locator("button").evaluate_all(
        "all => all.filter(b => b.scrollWidth > b.clientWidth)"
        ".map(b => `${b.innerText} ${b.scrollWidth} ${b.clientWidth} ${getComputedStyle(b).whiteSpace}`)"
    )
    page.set_viewport_size(wide)
    assert cut == []


# --- live pictures ----------------------------------------------------------------------------------------


@for_lessons(*LESSONS)
def test_every_control_of_every_figure_answers_keyboard_and_mouse(ran):
    page = ran.page
    assert figures(page).count() == live_figures(ran.name)
    for figure in figures(page).all():
        figure.scroll_into_view_if_needed()
        assert figure.locator("canvas").first.get_attribute("aria-label")
        assert not figure.locator("img").is_visible()
        for control in figure.locator("input[type=range]").all():
            before, value = settled(figure), control.input_value()
            control.focus()
            active = page.evaluate(f"() => {PANEL}.content.activeCellIndex")
            key = "ArrowLeft" if value == control.get_attribute("max") else "ArrowRight"
            page.keyboard.press(key)
            assert control.input_value() != value
            assert control.get_attribute("aria-valuetext")
            assert settled(figure) != before, "a control that changes nothing"
            page.keyboard.press("ArrowDown")  # JupyterLab would go to the next cell
            assert page.evaluate(f"() => {PANEL}.content.activeCellIndex") == active
            page.keyboard.press("ArrowUp")
            assert page.evaluate("() => document.activeElement.type") == "range"
            now, box = control.input_value(), control.bounding_box()
            middle = (float(control.get_attribute("max")) + float(control.get_attribute("min"))) / 2
            share = 0.9 if float(now) < middle else 0.1
            page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
            assert control.input_value() != now
        for button in figure.locator("button:enabled").all():
            for key in ("Enter", "Space"):
                button.focus()
                button.evaluate("b => { b.onclick = () => { b.clicks = (b.clicks ?? 0) + 1 } }")
                page.keyboard.press(key)
            assert button.evaluate("b => b.clicks") == 2
            settled(figure)
    ran.is_clean()


@for_lessons("03-geometry")
def test_the_sphere_turns_smoothly_and_by_keys(ran):
    page = ran.page
    figure = figures(page).first
    canvas = figure.locator("canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    rates = []
    for _ in range(3):
        page.mouse.move(x, y)
        page.mouse.down()
        frames, start, k = canvas.evaluate("c => c.frames"), time.monotonic(), 0
        while time.monotonic() - start < 2:
            k += 1
            page.mouse.move(x + k % 160 - 80, y + k % 30 - 15)
        rates.append((canvas.evaluate("c => c.frames") - frames) / (time.monotonic() - start))
        page.mouse.up()
        if rates[-1] >= 25:
            break
    print(f"\nsphere: {rates[-1]:.0f} frames a second while dragging")
    assert max(rates) >= 25, rates
    before = settled(figure)
    page.mouse.move(x + 60, y)
    assert settled(figure) == before, "it turns although nothing is pressed"
    for key in ("ArrowRight", "ArrowUp"):
        canvas.focus()
        page.keyboard.press(key)
        assert settled(figure) != before
        before = settled(figure)


@for_lessons("03-geometry")
def test_what_the_sphere_tells(ran):
    """Presets and sliders end in the right words and rows."""
    page = ran.page
    figure = figures(page).first
    rows = figure.locator("tbody tr")

    def pick(name):
        figure.get_by_role("button", name=name).click()

    def row(i):
        return rows.nth(i).inner_text()

    pick("均值为零")
    assert "两种结果重合" in figure.locator(".rms-say").inner_text()
    pick("常数向量")
    assert "[1, 1, 1]" in row(2) and "[0, 0, 0]" in row(3)
    assert "原点" in figure.locator(".rms-say").inner_text()
    pick("含零")
    assert "[1.549, 0, 0.775]" in row(2) and "[1.225, −1.225, 0]" in row(3)
    layer, rms = row(3), row(2)
    figure.get_by_label("加常数 c").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert row(3) == layer and row(2) != rms and "[3, 1, 2]" in row(0)
    pick("猫")
    assert "[0.365, 0.73, 1.095, 1.461]" in row(2) and "[−1.342, −0.447, 0.447, 1.342]" in row(3)
    assert "24.095" not in figure.inner_text()  # lesson 03 asks for it
    rms = row(2)
    figure.get_by_label("整体乘 a").focus()
    page.keyboard.press("ArrowRight")
    assert row(2) == rms and "[1.5, 3, 4.5, 6]" in row(0)


def unit(v):
    return [a / (parts.length(v) or 1) for a in v]


def swapped(v):
    return parts.project(parts.to_sphere(v))


@pytest.mark.parametrize(
    ("functions", "off"),
    [({}, ""), ({"layernorm": swapped}, "LayerNorm"), ({"to_sphere": unit}, "RMSNorm、LayerNorm"),
     ({"project": lambda v: [a - v[0] for a in v], "layernorm": parts.layernorm}, "投影")],
)  # fmt: skip
def test_the_sphere_tells_only_what_the_reader_s_functions_do(functions, off, chrome, tmp_path):
    page_file = tmp_path / "sphere.html"
    shown = geometry_figures.sphere(**functions)._repr_html_()
    page_file.write_text(f"<!doctype html><meta charset='utf-8'>{shown}", "utf-8")
    with new_page(chrome) as watched:
        watched.page.goto(page_file.as_uri())
        figure = figures(watched.page).first
        say = figure.locator(".rms-say")
        say.wait_for()
        for name in ("偏移", "常数向量", "均值为零", "猫"):
            figure.get_by_role("button", name=name).click()
            said = say.inner_text()  # what they do, or that they do something else
            assert any(words in said for words in ("垂直落到", "极点", "重合")) != ("还不在" in said)
        figure.get_by_role("button", name="偏移").click()
        assert (f"给出的{off}还不在该在的地方" if off else "先垂直落到超平面，再到大圆上") in say.inner_text()
        assert ("垂直落到" in say.inner_text()) == (not off)


@for_lessons(*LESSONS)
def test_saved_and_reopened(ran, lab, chrome):
    ran.page.evaluate(f"async () => {{ await {PANEL}.context.save() }}")
    with opened(chrome, lab, ran.path, width=800) as again:
        page = again.page
        page.wait_for_function(
            "n => document.querySelectorAll('figure.rms-picture[data-live]').length >= n",
            arg=live_figures(again.name),
        )
        figure = figures(page).first
        figure.scroll_into_view_if_needed()
        control = figure.locator("input[type=range]").first
        before = settled(figure)
        control.focus()
        last = control.input_value() == control.get_attribute("max")
        page.keyboard.press("ArrowLeft" if last else "ArrowRight")
        assert settled(figure) != before
        for figure in figures(page).all():  # nothing wider than the column, even here
            assert figure.evaluate("f => f.scrollWidth <= f.clientWidth + 1")
        again.is_clean()


@pytest.mark.parametrize("lesson", LESSONS)
def test_as_a_web_page(lesson, chrome, tmp_path):
    """``nbconvert --to html``: live with scripts; without them the picture, its words and its caption."""
    html, _ = HTMLExporter().from_filename(str(COURSE.solution(lesson)))
    # Its own scripts come from elsewhere; ours must not need them.
    html = re.sub(r"<script[^>]*src=.*?</script>", "", html, flags=re.S)
    page_file, wanted = tmp_path / f"{lesson}.html", live_figures(lesson)
    page_file.write_text(html, "utf-8")
    with new_page(chrome) as watched:
        watched.page.goto(page_file.as_uri())
        watched.page.wait_for_function(
            "n => document.querySelectorAll('figure.rms-picture[data-live]').length === n", arg=wanted
        )
    with new_page(chrome, java_script_enabled=False) as watched:
        watched.page.goto(page_file.as_uri())
        shown = watched.page.locator("figure.rms-picture:has(script)")
        assert shown.count() == wanted
        for i in range(wanted):
            image = shown.nth(i).locator("img")
            assert image.is_visible() and len(image.get_attribute("alt")) >= 30
            assert image.bounding_box()["height"] > 150
            assert shown.nth(i).locator("figcaption").is_visible()


@for_lessons("02-hand-calculation")
def test_no_motion_for_who_wants_none(ran):
    """With reduced motion the strip's bars jump to their place."""
    figure = figures(ran.page).first
    figure.scroll_into_view_if_needed()
    settled(figure)
    canvas, control = figure.locator("canvas"), figure.locator("input[type=range]")
    ran.page.emulate_media(reduced_motion="reduce")
    frames = canvas.evaluate("c => c.frames")
    control.focus()
    last = control.input_value() == control.get_attribute("max")
    ran.page.keyboard.press("ArrowLeft" if last else "ArrowRight")
    settled(figure)
    assert canvas.evaluate("c => c.frames") - frames <= 2
    ran.page.emulate_media(reduced_motion="no-preference")


def test_every_lesson_with_a_live_figure_is_here():
    assert {"02-hand-calculation", "03-geometry"} <= set(LESSONS)
    for lesson in LESSONS:
        assert any("figures." in source(c) for c in solved(lesson)["cells"] if c["cell_type"] == "code")
