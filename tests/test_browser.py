"""Lessons in a real JupyterLab, and the graded class in formgrader, in a real browser."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest
from browser import Notebook, browser_page, jupyterlab, tofu

from autograder import demo
from autograder.collect import collect
from autograder.course import Classroom, Course
from autograder.grade import grade
from rmslab.catalogue import entry

COURSE = Course.find(Path(__file__).parent)

# For every lesson: solution cell, a wrong answer made from the right one, its test cell, the misconception.
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


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    root = tmp_path_factory.mktemp("lessons")
    for lesson in COURSE.lessons():
        shutil.copy(COURSE.release(lesson), root / f"{lesson}.ipynb")
    with jupyterlab(root, tmp_path_factory.mktemp("home")) as address:
        yield address


def solution(lesson: str, grade_id: str) -> str:
    cells = nbformat.read(COURSE.solution(lesson), as_version=4).cells
    return next(c.source for c in cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_a_student_answers_wrongly_then_rightly(lab, lesson):
    answer, (right, wrong), step, misconception = WRONG[lesson]
    with browser_page() as watched:
        notebook = Notebook(watched.page, lab, f"{lesson}.ipynb")
        notebook.run_all()
        assert notebook.outputs("error") == []
        assert notebook.outputs("stderr") == []
        assert entry("card", "blank") in notebook.card(step).inner_text()

        solved = solution(lesson, answer)
        assert right in solved
        notebook.write(answer, solved.replace(right, wrong))
        notebook.run(answer)
        notebook.run(step)
        card = notebook.card(step)
        words = entry("misconception", misconception)
        words = words | words.get(step.partition("-")[0], {})
        assert words["concept"] in card.inner_text()
        assert tofu(watched.page, card.inner_text()) == []

        hint = card.get_by_text(words["hints"][0])
        assert not hint.is_visible()
        card.locator("summary", has_text=entry("card", "hint").format(n=1)).click()
        assert hint.is_visible()

        notebook.write(answer, solved)
        notebook.run(answer)
        notebook.run(step)
        assert entry("card", "passed") in notebook.card(step).locator("header").inner_text()
        assert watched.errors == []
        assert watched.strangers == []


def test_formgrader_shows_the_graded_class(tmp_path):
    root = tmp_path / "course"
    for name in ("solutions", "notebooks"):
        shutil.copytree(COURSE.root / name, root / name)
    shutil.copy(COURSE.root / "nbgrader_config.py", root)
    course, classroom = Course(root), Classroom(root / "classroom")
    handed_in = tmp_path / "handed-in"
    for student in ("solved", "layernorm"):
        path = handed_in / student / demo.LESSON / f"{demo.LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(demo.submissions(COURSE)[student])
    collect(classroom, [handed_in])
    grade(course, classroom)
    with jupyterlab(root, tmp_path) as address, browser_page() as watched:
        page = watched.page
        page.goto(f"{address}/lab?token=t")  # signs in; formgrader itself asks for a cookie
        page.goto(f"{address}/formgrader/manage_submissions/{demo.LESSON}")
        row = page.locator("tr", has_text="layernorm")
        row.wait_for()
        assert "14 / 30" in row.inner_text()
        assert "30 / 30" in page.locator("tr", has_text="solved").inner_text()
        page.goto(f"{address}/formgrader/gradebook/{demo.LESSON}/{demo.LESSON}")
        page.locator("tr", has_text="14 / 30").get_by_role("link", name=re.compile("Submission")).click()
        card = page.locator(".rms-card", has_text=entry("misconception", "layernorm", "concept")).first
        card.wait_for()
        assert tofu(page, card.inner_text()) == []
