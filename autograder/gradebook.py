"""nbgrader's gradebook, always reconciled from the results: formgrader, export and manual grading read it."""

from collections.abc import Iterable
from contextlib import closing
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader import preprocessors, utils
from nbgrader.api import Gradebook, MissingEntry

from autograder.build import RevealStubs, read_notebook
from autograder.course import Course
from autograder.problem import Problem
from autograder.results import Result

# What generate_assignment does before it strips hidden tests: so the gradebook knows the same cells.
MASTER_STEPS = (
    preprocessors.LockCells, preprocessors.ClearSolutions, RevealStubs, preprocessors.ClearOutput,
    preprocessors.ComputeChecksums,
)  # fmt: skip


def master(course: Course, lesson: str) -> NotebookNode:
    """The lesson as released, with its hidden tests and mark schemes: what submissions are rebuilt from.

    Raises:
        Problem: the lesson is not built.
    """
    notebook = read_notebook(course.solution(lesson))
    if notebook is None:
        known = "、".join(course.lessons())
        if lesson not in course.lessons():
            raise Problem(f"没有叫 {lesson} 的课。现有的课：{known}")
        raise Problem(f"{lesson} 还没有构建好，请先运行 autograder build {lesson}。")
    resources: dict[str, Any] = {}
    for step in MASTER_STEPS:
        notebook, resources = step(config=course.nbgrader()).preprocess(notebook, resources)
    return notebook


def record(db_url: str, lesson: str, notebook: NotebookNode, results: Iterable[Result], course_id: str) -> None:
    """Bring the gradebook in line with the results of one lesson. Manual scores and comments are kept.

    When the lesson's cells have changed since the last time, its rows are made anew and what people had
    written is put back by grade_id.
    """
    with closing(Gradebook(db_url, course_id)) as gradebook:
        gradebook.update_or_create_assignment(lesson)
        kept = _manual(gradebook, lesson)
        try:
            _register(db_url, lesson, notebook)
        except RuntimeError:  # nbgrader refuses added or removed cells once there are submissions
            gradebook.db.expire_all()
            gradebook.remove_assignment(lesson)
            gradebook.update_or_create_assignment(lesson)
            _register(db_url, lesson, notebook)
        gradebook.db.expire_all()
        for result in results:
            if result.notebook is not None:
                _record_one(gradebook, lesson, result, kept.get(result.student, {}))
        gradebook.db.commit()


def _register(db_url: str, lesson: str, notebook: NotebookNode) -> None:
    resources = {"nbgrader": {"notebook": lesson, "assignment": lesson, "db_url": db_url}}
    preprocessors.SaveCells().preprocess(notebook, resources)


_BY_HAND = ("manual_score", "extra_credit")


def _manual(gradebook: Gradebook, lesson: str) -> dict[str, dict[str, dict[str, Any]]]:
    """What people wrote: student → cell name → manual score, extra credit, comment."""
    kept: dict[str, dict[str, dict[str, Any]]] = {}
    for submission in gradebook.assignment_submissions(lesson):
        for notebook in submission.notebooks:
            cells = kept.setdefault(submission.student.id, {})
            for grade in notebook.grades:
                values = {key: getattr(grade, key) for key in _BY_HAND if getattr(grade, key) is not None}
                cells.setdefault(grade.name, {}).update(values)
            for comment in notebook.comments:
                if comment.manual_comment:
                    cells.setdefault(comment.name, {})["manual_comment"] = comment.manual_comment
    return kept


def _record_one(gradebook: Gradebook, lesson: str, result: Result, by_hand: dict[str, dict[str, Any]]) -> None:
    student = result.student
    gradebook.update_or_create_student(student)
    gradebook.update_or_create_submission(lesson, student)
    cells = nbformat.from_dict(result.notebook).cells
    by_name = {c.metadata.nbgrader.grade_id: c for c in cells if "nbgrader" in c.metadata}
    notebook = gradebook.find_submission_notebook(lesson, lesson, student)
    for grade in notebook.grades:
        auto = utils.determine_grade(by_name[grade.name])[0] if grade.name in by_name else 0.0
        changed = grade.auto_score is not None and grade.auto_score != auto
        grade.auto_score = auto
        for key in _BY_HAND:
            if key in by_hand.get(grade.name, {}):
                setattr(grade, key, by_hand[grade.name][key])
        # nbgrader's rule: whoever overrode a score looks again once the automatic one changes.
        overridden = grade.manual_score is not None
        grade.needs_manual_grade = (auto is None and not overridden) or (overridden and changed)
    for comment in notebook.comments:
        if comment.name in by_name:
            comment.auto_comment = None
        if "manual_comment" in by_hand.get(comment.name, {}):
            comment.manual_comment = by_hand[comment.name]["manual_comment"]
    gradebook.db.commit()


def scores(db_url: str, lesson: str) -> dict[str, dict[str, float]]:
    """Scores set by hand: student → step → points (manual score and extra credit)."""
    found: dict[str, dict[str, float]] = {}
    with closing(Gradebook(db_url)) as gradebook:
        try:
            submissions = gradebook.assignment_submissions(lesson)
        except MissingEntry:
            return {}
        for submission in submissions:
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    if grade.manual_score is not None or grade.extra_credit:
                        found.setdefault(submission.student.id, {})[grade.name] = grade.score
    return found
