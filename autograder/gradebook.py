"""nbgrader's gradebook, always reconciled from the results: formgrader, export and manual grading read it."""

import subprocess
import warnings
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbgrader.api
from nbformat import NotebookNode
from nbgrader import preprocessors, utils
from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    GradeCell,
    MissingEntry,
    SolutionCell,
    SourceCell,
    SubmittedAssignment,
    SubmittedNotebook,
    TaskCell,
)  # fmt: skip
from sqlalchemy import func, or_
from sqlalchemy.exc import SAWarning, SQLAlchemyError

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


def with_driver(db_url: str) -> str:
    """A PostgreSQL address without a driver means the one that we ask for: psycopg 3."""
    scheme, _, rest = db_url.partition("://")
    return f"postgresql+psycopg://{rest}" if scheme in ("postgresql", "postgres") else db_url


def schema_version() -> str:
    """The version of a new gradebook's tables, as Alembic knows it."""
    from alembic.script import ScriptDirectory

    return ScriptDirectory(str(Path(nbgrader.api.__file__).parent / "alembic")).get_current_head()


nbgrader.api.get_alembic_version = schema_version  # nbgrader's own starts a whole Python to ask the same


@contextmanager
def opened(db_url: str, course_id: str = "default_course") -> Iterator[Gradebook]:
    """The gradebook at ``db_url``, made if there is none.

    Raises:
        Problem: it cannot be reached, or is none.
    """
    db_url = with_driver(db_url)
    with warnings.catch_warnings():
        # nbgrader reads while it is still adding a submission; what it means to add is added all the same.
        warnings.filterwarnings("ignore", r"Object of type <Submitted\w+> not in session", SAWarning)
        try:
            with closing(Gradebook(db_url, course_id)) as gradebook:
                yield gradebook
        except (SQLAlchemyError, ImportError, subprocess.CalledProcessError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise Problem(
                f"成绩册 {db_url} 打不开或写不进：{reason}。评分结果都在 results/，没有丢。"
            ) from error


def record(
    db_url: str,
    lesson: str,
    notebook: NotebookNode,
    results: Iterable[Result],
    course_id: str,
    names: dict[str, str],
) -> None:
    """Bring the gradebook in line with the results of one lesson. What people wrote stays.

    Args:
        notebook: the master.
        names: what students are called, by id, as far as known.
    """
    with opened(db_url, course_id) as gradebook:
        gradebook.update_or_create_assignment(lesson)
        _migrate(gradebook, lesson, notebook)
        resources = {"nbgrader": {"notebook": lesson, "assignment": lesson, "db_url": with_driver(db_url)}}
        preprocessors.SaveCells().preprocess(notebook, resources)
        gradebook.db.expire_all()
        with one_transaction(gradebook):
            stored = _stored(gradebook, lesson)
            for result in results:
                scores = {
                    step.step: None if step.status == "needs_manual" else step.points for step in result.steps
                }
                if stored.get(result.student) != scores:
                    _record_one(gradebook, lesson, result, scores, names.get(result.student, ""))


@contextmanager
def one_transaction(gradebook: Gradebook) -> Iterator[None]:
    """nbgrader commits after every row; here all rows are written, or none."""
    session, commit = gradebook.db, gradebook.db.commit
    session.commit = session.flush
    try:
        yield
        commit()
    finally:
        session.commit = commit


def _stored(gradebook: Gradebook, lesson: str) -> dict[str, dict[str, float | None]]:
    """Automatic scores in the gradebook: student → cell → score."""
    rows = (
        gradebook.db.query(SubmittedAssignment.student_id, GradeCell.name, Grade.auto_score)
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .join(GradeCell, GradeCell.id == Grade.cell_id)
        .filter(SubmittedAssignment.assignment_id == gradebook.find_assignment(lesson).id)
    )
    found: dict[str, dict[str, float | None]] = {}
    for student, cell, score in rows:
        found.setdefault(student, {})[cell] = score
    return found


def _migrate(gradebook: Gradebook, lesson: str, notebook: NotebookNode) -> None:
    """Add and remove the rows of cells that the lesson has gained and lost, in every submission.

    nbgrader refuses to, once there are submissions. One transaction; rows of the other cells, and what people
    wrote there, are not touched.
    """
    try:
        stored = gradebook.find_notebook(lesson, lesson)
    except MissingEntry:
        return
    if not stored.submissions:
        return
    wanted: dict[tuple[type, str], dict[str, Any]] = {}
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        graded = {"max_score": float(marks.get("points", 0)), "cell_type": cell.cell_type}
        if utils.is_grade(cell):
            wanted[GradeCell, marks.grade_id] = graded
        if utils.is_solution(cell):
            wanted[SolutionCell, marks.grade_id] = {}
        if utils.is_task(cell):
            wanted[TaskCell, marks.grade_id] = graded
        if utils.is_grade(cell) or utils.is_solution(cell) or utils.is_locked(cell) or utils.is_task(cell):
            wanted[SourceCell, marks.grade_id] = {"cell_type": cell.cell_type, "source": cell.source}
    cells = [*stored.grade_cells, *stored.solution_cells, *stored.task_cells, *stored.source_cells]
    known = {(type(cell), cell.name): cell for cell in cells}
    db = gradebook.db
    with db.no_autoflush:
        for key in known.keys() - wanted.keys():
            for rows in (getattr(known[key], "grades", None), getattr(known[key], "comments", None)):
                for row in rows or ():
                    db.delete(row)
            db.delete(known[key])
        for kind, name in wanted.keys() - known.keys():
            cell = kind(name=name, notebook=stored, **wanted[kind, name])
            db.add(cell)
            db.flush()
            for submitted in stored.submissions:
                if kind in (GradeCell, TaskCell):
                    db.add(Grade(cell_id=cell.id, notebook=submitted))
                if kind in (SolutionCell, TaskCell):
                    db.add(Comment(cell_id=cell.id, notebook=submitted))
    db.commit()


def _record_one(
    gradebook: Gradebook, lesson: str, result: Result, scores: dict[str, float | None], name: str
) -> None:
    """One student's automatic scores. An unreadable file is worth nothing, whatever was there before."""
    student = result.student
    gradebook.update_or_create_student(student, **({"last_name": name, "first_name": ""} if name else {}))
    if result.notebook is None:
        try:
            notebook = gradebook.find_submission_notebook(lesson, lesson, student)
        except MissingEntry:
            return
    else:
        gradebook.update_or_create_submission(lesson, student)
        notebook = gradebook.find_submission_notebook(lesson, lesson, student)
    for grade in notebook.grades:
        auto = scores.get(grade.name, 0.0)
        changed = grade.auto_score is not None and grade.auto_score != auto
        grade.auto_score = auto
        # nbgrader's rule: whoever overrode a score looks again once the automatic one changes.
        overridden = grade.manual_score is not None
        grade.needs_manual_grade = (auto is None and not overridden) or (overridden and changed)
    gradebook.db.commit()


@dataclass(frozen=True)
class Mark:
    """What a person wrote in the gradebook for one step."""

    points: float
    """Score and extra credit."""
    scored: bool = True
    """The person set the score itself, and did not only add extra credit."""
    comment: str = ""


def scores(db_url: str, lesson: str) -> dict[str, dict[str, Mark]]:
    """What was set by hand (scores, extra credit): student → step → mark."""
    found: dict[str, dict[str, Mark]] = {}
    with opened(db_url) as gradebook:
        rows = (
            gradebook.db.query(SubmittedAssignment.student_id, BaseCell.name, Grade.score, Grade.manual_score)
            .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
            .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
            .join(BaseCell, BaseCell.id == Grade.cell_id)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .filter(Assignment.name == lesson)
            .filter(or_(Grade.manual_score.is_not(None), func.coalesce(Grade.extra_credit, 0) != 0))
        )
        written = _comments(gradebook, lesson)
        for student, step, points, manual in rows:
            mark = Mark(points, manual is not None, written.get((student, step), ""))
            found.setdefault(student, {})[step] = mark
    return found


def _comments(gradebook: Gradebook, lesson: str) -> dict[tuple[str, str], str]:
    """What people wrote: (student, cell) → comment. A comment and a grade are of two cells with one name."""
    rows = (
        gradebook.db.query(SubmittedAssignment.student_id, BaseCell.name, Comment.manual_comment)
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Comment, Comment.notebook_id == SubmittedNotebook.id)
        .join(BaseCell, BaseCell.id == Comment.cell_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .filter(Assignment.name == lesson, Comment.manual_comment.is_not(None))
    )
    return {(student, cell): comment.strip() for student, cell, comment in rows}
