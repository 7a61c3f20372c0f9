"""What students and instructors do, in a real JupyterLab and a real browser."""

import re

import pytest
from browser import new_page, opened, tofu, violations
from conftest import COURSE, LESSON, find, marks, solved, source

from autograder import demo
from autograder.collect import collect
from autograder.course import Classroom
from autograder.grade import grade
from autograder.report import report
from rmslab.catalogue import entry
from rmslab.checks import steps_of

# A student's path through a lesson: solution cell, a wrong answer made from the right one, its test cell, the misconception.
WRONG = {
    "01-motivation": (
        "motivation-scales-answer", (".sqrt()", ""), "motivation-scales", "no-root",
    ),
    "02-hand-calculation": ("hand-chi-rmsnorm-answer", ("rms=2.449", "rms=6"), "hand-chi-rmsnorm", "no-root"),
    "03-geometry": (
        "geometry-compose-answer", ("to_sphere(project(v))", "project(to_sphere(v))"), "geometry-compose",
        "wrong-order",
    ),
    "04-implementation": (
        "rmsnorm-class", ("mean(-1, keepdim=True)", "mean(-1)"), "rmsnorm-norm", "no-keepdim",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def student(request, lab, chrome):
    """The lesson as a student gets it, opened and run from top to bottom."""
    path = lab.put(COURSE.release(request.param), "released")
    with opened(chrome, lab, path) as notebook:
        notebook.run_all()
        yield notebook


@pytest.mark.parametrize("student", COURSE.lessons(), indirect=True)
def test_every_lesson_opens_and_runs(student):
    student.is_clean()
    student.suits_everyone()


@pytest.mark.parametrize("student", WRONG, indirect=True)
def test_a_student_answers_wrongly_then_rightly(student):
    lesson = student.name
    answer, (right, wrong), step, misconception = WRONG[lesson]
    assert entry("card", "blank") in student.card(step).inner_text()

    solution = source(find(solved(lesson), answer))
    assert right in solution
    student.write(answer, solution.replace(right, wrong))
    student.run(answer)
    student.run(step)
    card = student.card(step)
    words = entry("misconception", misconception)
    words = words | words.get(step.partition("-")[0], {})
    assert words["concept"] in card.inner_text()
    for n, hint in enumerate(words["hints"], 1):
        shown = card.get_by_text(hint)
        assert not shown.is_visible()
        card.locator("summary", has_text=entry("card", "hint").format(n=n)).focus()
        student.page.keyboard.press("Enter")
        assert shown.is_visible()
    student.suits_everyone()

    student.write(answer, solution)
    student.run(answer)
    student.run(step)
    assert entry("card", "passed") in student.card(step).locator("header").inner_text()
    student.suits_everyone()
    student.is_clean()


def test_the_checks_see_what_they_look_for(chrome):
    with new_page(chrome) as watched:
        page = watched.page
        page.set_content(
            '<html lang="zh"><title>页</title><main><h1>页</h1><p style="color:#aaa">淡淡的字</p><input></main>'
        )
        assert sorted(found.split()[0] for found in violations(page)) == ["color-contrast", "label"]
        assert tofu(page, "猫\U00016a40") == ["\U00016a40"]
        page.evaluate("() => { console.error('坏'); fetch('http://192.0.2.1/').catch(() => {}) }")
        assert "坏" in watched.errors and watched.strangers == ["http://192.0.2.1/"]


# --- instructors ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def classroom(lab, tmp_path_factory) -> Classroom:
    """The demo class, graded where JupyterLab runs."""
    folder = tmp_path_factory.mktemp("class") / "demo"
    handed_in = demo.write_class(lab.course, folder)
    classroom = Classroom(lab.course.root / "classroom")
    collect(classroom, [handed_in], folder / "class.csv")
    grade(lab.course, classroom)
    return classroom


def test_formgrader_shows_the_graded_class(lab, classroom, chrome):
    """Inside JupyterLab, as an instructor opens it: from the menu to one student's cards."""
    with new_page(chrome) as watched:
        page = watched.page
        page.goto(f"{lab.address}/lab?token=t&reset")
        page.get_by_text("Nbgrader", exact=True).click()
        page.locator(".lm-Menu-item", has_text=re.compile("^Formgrader$")).click()
        inside = page.frame_locator("iframe[src*=formgrader]")
        inside.get_by_role("link", name=LESSON, exact=True).wait_for()
        inside.locator("tr", has_text=LESSON).get_by_role("link", name="8").click()
        row = inside.locator("tr", has_text=demo.NAMES["layernorm"])
        row.wait_for()
        assert "14 / 30" in row.inner_text()
        assert "30 / 30" in inside.locator("tr", has_text=demo.NAMES["solved"]).inner_text()
        row.get_by_role("link").first.click()
        inside.get_by_role("link", name=LESSON, exact=True).last.click()
        card = inside.locator(".rms-card", has_text=entry("misconception", "layernorm", "concept")).first
        card.wait_for()
        assert tofu(page, card.inner_text()) == []


PAGES = {
    "class": (("report", "title"), ("report", "human"), ("misconception", "layernorm", "name")),
    "feedback": (
        ("misconception", "layernorm", "concept"),
        ("step", "rmsnorm-norm", "title"),
        ("card", "hint"),
    ),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_pages_for_people(name, scheme, classroom, chrome, tmp_path):
    """The class page and a student's feedback page, as files, under the reader's own theme."""
    file = classroom.feedback("layernorm", LESSON)
    if name == "class":
        file = tmp_path / "class.html"
        report(classroom, html_file=file)
    with new_page(chrome, color_scheme=scheme) as watched:
        page = watched.page
        page.goto(file.as_uri())
        for summary in page.locator("summary:visible").all():
            if not summary.evaluate("s => s.parentElement.open"):
                summary.focus()
                page.keyboard.press("Enter")
        words = page.locator("body").inner_text()
        for keys in PAGES[name]:
            assert entry(*keys).partition("{")[0] in words
        assert tofu(page, words) == []
        assert violations(page) == []
        assert watched.errors == [] and watched.strangers == []


def test_validate_button(lab, chrome):
    """nbgrader's own check in JupyterLab: each step that is not solved, by name; and then none."""
    with opened(chrome, lab, lab.put(COURSE.release(LESSON), "validated")) as in_lab:
        dialog = in_lab.page.locator(".jp-Dialog")
        in_lab.page.get_by_role("button", name="Validate").click()
        dialog.get_by_text("Partial credit").first.wait_for()
        for step in steps_of(LESSON):
            assert f'check("{step.id}", RMSNorm)' in dialog.inner_text()
        dialog.get_by_role("button", name="Ok").click()
        in_lab.write("rmsnorm-class", source(find(solved(), "rmsnorm-class")))
        in_lab.page.get_by_role("button", name="Validate").click()
        dialog.get_by_text("passes all the tests").wait_for()
        assert in_lab.watched.errors == [] and in_lab.watched.strangers == []


def test_create_assignment_panel(lab, chrome):
    """The source of a lesson shows its cells, types and points as nbgrader knows them."""
    notebook = solved()
    wanted = [(marks(c)["grade_id"], marks(c).get("points")) for c in notebook["cells"] if marks(c)]
    with opened(chrome, lab, lab.put(COURSE.solution(LESSON), "source")) as in_lab:
        page = in_lab.page
        in_lab.command("nbgrader:open-create-assignment")
        panel = page.locator(".nbgrader-CreateAssignmentWidget")
        total = panel.locator(".nbgrader-TotalPointsInput")
        total.wait_for()
        page.wait_for_function("() => document.querySelector('.nbgrader-TotalPointsInput').value > 0")
        assert float(total.input_value()) == sum(points or 0 for _, points in wanted)
        ids = panel.locator(".nbgrader-CellId input").evaluate_all(
            "all => all.map(e => e.value).filter(Boolean)"
        )
        assert ids == [grade_id for grade_id, _ in wanted]
