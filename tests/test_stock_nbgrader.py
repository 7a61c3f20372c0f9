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
from autograder.results import read_all
from rmslab.checks import LESSONS, steps_of

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


HONEST = {
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
        capture_output=True, text=True, encoding="utf-8", timeout=280,
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


@pytest.mark.parametrize("lesson", LESSONS)
def test_stock_feedback_and_export(graded, lesson):
    course, classroom, ours, _ = graded
    assert nbgrader(course.root, "generate_feedback", lesson, "--force").returncode == 0
    assert "rms-card" in classroom.feedback("solved", lesson).read_text("utf-8")
    assert nbgrader(course.root, "export", "--to", "grades.csv").returncode == 0
    with (course.root / "grades.csv").open(encoding="utf-8") as file:
        totals = {(r["student_id"], r["assignment"]): float(r["score"]) for r in csv.DictReader(file)}
    for student in HONEST[lesson]:
        mine = sum(points for (who, what, _), points in ours.items() if (who, what) == (student, lesson))
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
