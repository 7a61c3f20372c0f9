"""Stock nbgrader on the same classroom: its real commands agree with ours, score for score."""

import csv
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from conftest import LESSON, answered, as_bytes, copy_course, find, released, source, with_class
from nbgrader.api import Gradebook

from autograder.collect import collect
from autograder.course import Classroom
from autograder.grade import grade
from autograder.report import rows
from autograder.results import read_all
from rmslab.checks import LESSONS, steps_of

pytestmark = pytest.mark.timeout(900)  # stock nbgrader starts a kernel for every submission

# Code that talks on every channel: as part of an answer it must not change a score.
NOISE = """
import logging, os, sys, warnings
logging.basicConfig(stream=sys.stderr)
"""
NOISY = """
        logging.getLogger("student").error("记录")
        warnings.warn("小心")
        print("打印", file=sys.stderr)
        os.write(2, b"descriptor 2\\n")
        os.write(1, b"descriptor 1\\n")
"""


def noisy_class(change: tuple[str, str] | None = None) -> dict:
    notebook = with_class(change)
    cell = find(notebook, "rmsnorm-class")
    first = "        x_fp32 = x.float()\n"
    cell["source"] = NOISE + source(cell).replace(first, NOISY + first)
    return notebook


def hand(**changes: tuple[str, str]) -> dict:
    """The solved lesson 02 with parts of answers replaced, by what follows ``hand-`` in the grade_id."""
    notebook = answered("02-hand-calculation")
    for name, change in changes.items():
        cell = find(notebook, f"hand-{name.replace('_', '-')}-answer")
        assert change[0] in source(cell)
        cell["source"] = source(cell).replace(*change)
    return notebook


def geometry(**changes: tuple[str, str]) -> dict:
    """The solved lesson 03 with parts of its answers replaced, by the middle of their grade_id."""
    notebook = answered("03-geometry")
    for name, change in changes.items():
        cell = find(notebook, f"geometry-{name}-answer")
        assert change[0] in source(cell)
        cell["source"] = source(cell).replace(*change)
    return notebook


def motivation(**changes: tuple[str, str]) -> dict:
    """The solved lesson 01 with parts of its answers replaced, by the part of the grade_id in the middle."""
    notebook = answered("01-motivation")
    for name, change in changes.items():
        cell = find(notebook, f"motivation-{name}-answer")
        assert change[0] in source(cell)
        cell["source"] = source(cell).replace(*change)
    return notebook


HONEST = {
    "01-motivation": {
        "untouched": lambda: released("01-motivation"),
        "solved": lambda: answered("01-motivation"),
        "follow-through": lambda: motivation(
            axes=("batchnorm_axes=(0, 1),\n    batchnorm_shape=(1, 1, 4)",
                  "batchnorm_axes=(0,),\n    batchnorm_shape=(1, 3, 4)"),
            divergence=("first_nan_step=25", "first_nan_step=31"),
        ),
        "tensors": lambda: motivation(
            scales=(".sqrt().item()", ".sqrt()"), axes=("layernorm_axes=(2,)", "layernorm_axes=-1"),
        ),
        "noisy-wrong": lambda: motivation(
            predict=("shallow=", "shallow=..., #"),
            scales=("scales.append(", "print(h); import warnings; warnings.warn('!'); scales.append(2 * "),
        ),
    },
    "02-hand-calculation": {
        "untouched": lambda: released("02-hand-calculation"),
        "solved": lambda: answered("02-hand-calculation"),
        "follow-through": lambda: hand(
            chi_rmsnorm=("mean_square=6,\n    rms=2.449", "mean_square=24,\n    rms=4.899")
        ),
        "tensors": lambda: hand(
            yu=("variance=1", "variance=__import__('torch').tensor(1.0)"),
            reading=("sum_of_squares=4", "sum_of_squares=__import__('numpy').float64(4)"),
        ),
        "noisy-wrong": lambda: hand(
            python=(
                "return [a / rms for a in v]",
                "print(v); import warnings; warnings.warn('!'); return [a / mean_square for a in v]",
            )
        ),
    },
    "03-geometry": {
        "untouched": lambda: released("03-geometry"),
        "solved": lambda: answered("03-geometry"),
        "follow-through": lambda: geometry(
            project=("return [a - mean for a in v]", "return [mean for a in v]"),
            angle=("mao=24.095", "mao=30"), invariance=('rms_twice="A"', 'rms_twice=" a）"'),
        ),
        "noisy-wrong": lambda: geometry(
            project=("mean = sum", "print(v); import warnings; warnings.warn('!'); mean = sum"),
            sphere=(
                "return [a / size * len(v) ** 0.5",
                "import sys; print('!', file=sys.stderr); return [a / size",
            ),
            compose=("to_sphere(project(v))", "project(to_sphere(v))"),
        ),
        "exits": lambda: geometry(sphere=("size = sum", "raise SystemExit; size = sum")),
    },
    "04-implementation": {
        "untouched": lambda: released(),
        "solved": lambda: answered(),
        "noisy-right": lambda: noisy_class(),
        "noisy-wrong": lambda: noisy_class(("squares.mean(-1, keepdim=True)", "squares.mean(-1)")),
        "epsilon-outside": lambda: with_class(
            ("torch.rsqrt(mean_square + self.eps)", "1 / (mean_square.sqrt() + self.eps)")
        ),
        "exits": lambda: with_class(("x_fp32 = x.float()\n", "raise SystemExit\n")),
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A course whose class ours has graded, then stock nbgrader with --force."""
    course = copy_course(tmp_path_factory.mktemp("stock"))
    classroom = Classroom(course.root / "classroom")
    handed_in = tmp_path_factory.mktemp("handed-in")
    for lesson in LESSONS:
        for student, make in HONEST[lesson].items():
            path = handed_in / student / lesson / f"{lesson}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(as_bytes(make()))
    collect(classroom, [handed_in])
    grade(course, classroom)
    ours = scores(classroom)
    logs = {}
    for lesson in LESSONS:
        logs[lesson] = nbgrader(course.root, "autograde", lesson, "--force")
    return course, classroom, ours, logs


def nbgrader(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments], cwd=folder, env=os.environ | {"PATH": path},
        capture_output=True, text=True, encoding="utf-8", timeout=600,
    )  # fmt: skip


def scores(classroom: Classroom) -> dict[tuple[str, str, str], float]:
    """(student, lesson, step) → automatic score, read from the gradebook by nbgrader's own API."""
    found = {}
    with closing(Gradebook(classroom.db_url)) as gradebook:
        for lesson in LESSONS:
            for submission in gradebook.assignment_submissions(lesson):
                for grade_ in submission.notebooks[0].grades:
                    found[submission.student.id, lesson, grade_.name] = grade_.auto_score
    return found


def test_every_honest_submission_scores_the_same(graded):
    _, classroom, ours, logs = graded
    assert all(log.returncode == 0 for log in logs.values()), logs
    assert ours == scores(classroom)
    assert {student for student, lesson, _ in ours if lesson == LESSON} == set(HONEST[LESSON])


@pytest.mark.parametrize("lesson", LESSONS)
def test_solved_is_full_and_untouched_is_nothing_in_both(graded, lesson):
    _, classroom, ours, _ = graded
    for book in (ours, scores(classroom)):
        for step in steps_of(lesson):
            assert book["solved", lesson, step.id] == step.points
            assert book["untouched", lesson, step.id] == 0


def test_noise_and_number_types_change_nothing(graded):
    _, classroom, _, _ = graded
    stock = scores(classroom)
    assert all(stock["noisy-right", LESSON, step.id] == step.points for step in steps_of(LESSON))
    assert stock["noisy-wrong", LESSON, "rmsnorm-norm"] == 0
    assert stock["tensors", "02-hand-calculation", "hand-yu"] == 3
    assert stock["tensors", "02-hand-calculation", "hand-reading"] == 3
    assert stock["noisy-wrong", "02-hand-calculation", "hand-python"] == 2
    key = ("follow-through", "03-geometry")
    through = {step: stock[*key, f"geometry-{step}"] for step in ("project", "sphere")}
    assert through == {"project": 0, "sphere": 4}
    assert stock["follow-through", "03-geometry", "geometry-compose"] == 3
    assert stock["follow-through", "03-geometry", "geometry-angle"] == 1.5
    assert stock["follow-through", "03-geometry", "geometry-invariance"] == 2
    assert stock["noisy-wrong", "03-geometry", "geometry-project"] == 4
    assert stock["noisy-wrong", "03-geometry", "geometry-sphere"] == 0
    assert stock["noisy-wrong", "03-geometry", "geometry-compose"] == 0


def test_a_person_grades_what_a_person_must(graded):
    """The explanation of lesson 03: nothing where untouched, waiting where written; in both graders."""
    course, classroom, ours, _ = graded
    name = ("03-geometry", "geometry-explain")
    for book in (ours, scores(classroom)):
        assert book["untouched", *name] == 0 and book["solved", *name] is None
    status = {(r.student, r.step): r.status for r in rows(classroom)}
    assert status["untouched", name[1]] == "blank" and status["solved", name[1]] == "needs_manual"
    with closing(Gradebook(classroom.db_url)) as gradebook:
        found = gradebook.find_grade(name[1], name[0], name[0], "solved")
        assert found.needs_manual_grade and found.max_score == 2
        found.manual_score = 1.5
        gradebook.db.commit()
    try:
        grade(course, classroom, [name[0]], students=["solved"], force=True)
        mine = {(r.student, r.step): r for r in rows(classroom)}["solved", name[1]]
        assert (mine.points, mine.status) == (1.5, "graded")
    finally:
        with closing(Gradebook(classroom.db_url)) as gradebook:
            gradebook.find_grade(name[1], name[0], name[0], "solved").manual_score = None
            gradebook.db.commit()
    assert "参考回答" not in classroom.feedback("untouched", name[0]).read_text("utf-8")


@pytest.mark.parametrize("lesson", LESSONS)
def test_stock_feedback_and_export(graded, lesson):
    course, classroom, ours, _ = graded
    assert nbgrader(course.root, "generate_feedback", lesson, "--force").returncode == 0
    assert "rms-card" in classroom.feedback("solved", lesson).read_text("utf-8")
    assert nbgrader(course.root, "export", "--to", "grades.csv").returncode == 0
    with (course.root / "grades.csv").open(encoding="utf-8") as file:
        totals = {(r["student_id"], r["assignment"]): float(r["score"]) for r in csv.DictReader(file)}
    for student in HONEST[lesson]:
        mine = sum(points or 0 for (who, what, _), points in ours.items() if (who, what) == (student, lesson))
        assert totals[student, lesson] == pytest.approx(mine)


def test_ours_again_after_stock_keeps_everything(graded):
    """Stock nbgrader leaves read-only files behind; grading and reporting go on."""
    course, classroom, ours, _ = graded
    before = {(r.student, r.lesson): r.points for r in read_all(classroom)}
    shutil.rmtree(classroom.root / "autograded" / "solved")
    grade(course, classroom, students=["solved"], force=True)
    assert {(r.student, r.lesson): r.points for r in read_all(classroom)} == before
    assert scores(classroom) == ours
    assert classroom.autograded("solved", LESSON).is_file()
