"""``autograder report``: the class as a CSV, as a page, and in a few printed lines."""

import csv
import io
from dataclasses import dataclass, replace
from pathlib import Path

from autograder import classpage, gradebook, lms, pages, results
from autograder.course import Classroom
from autograder.gradebook import Mark
from autograder.harmless import guarded, shown
from autograder.problem import Problem
from autograder.results import Result, StepResult
from autograder.roster import read_people
from rmslab.catalogue import text
from rmslab.checks import steps_of

COLUMNS = ("student", "lesson", "step", "points", "max_points", "status", "diagnosis", "message")


@dataclass(frozen=True)
class Row:
    """One student × step, as in the CSV."""

    student: str
    lesson: str
    step: str
    points: float
    max_points: float
    status: str
    diagnosis: str
    message: str


ByHand = dict[str, dict[str, dict[str, Mark]]]
"""What was set by hand: lesson → student → step → mark."""


def read(classroom: Classroom, db_url: str | None = None) -> tuple[list[Result], ByHand]:
    """What was graded, without its notebooks, and what people changed in the gradebook since.

    Raises:
        Problem: nothing has been graded.
    """
    graded = [replace(result, notebook=None) for result in results.read_all(classroom)]
    if not graded:
        raise Problem(f"{classroom.root} 里还没有评分结果。请先运行 autograder grade。")
    lessons = sorted({result.lesson for result in graded})
    return graded, {lesson: gradebook.scores(db_url or classroom.db_url, lesson) for lesson in lessons}


def rows(classroom: Classroom, db_url: str | None = None) -> list[Row]:
    """Every student known to the class × every step of every lesson graded. Scores set by hand win.

    Raises:
        Problem: nothing has been graded.
    """
    return tabulated(classroom, *read(classroom, db_url))


def tabulated(classroom: Classroom, found: list[Result], by_hand: ByHand) -> list[Row]:
    """:func:`rows` of what was read."""
    graded = {(result.student, result.lesson): result for result in found}
    students = sorted({*classroom.students(), *read_people(classroom), *(student for student, _ in graded)})
    table = []
    for lesson, changed in by_hand.items():
        template = _template(lesson, graded)
        for student in students:
            result = graded.get((student, lesson))
            handed_in = classroom.handed_in(student, lesson)
            for step in result.steps if result else _absent(template, handed_in):
                counts = in_the_end(step, changed.get(student, {}).get(step.step))
                table.append(
                    Row(student, lesson, step.step, counts.points, step.max_points, counts.status,
                        counts.diagnosis, counts.message)
                )  # fmt: skip
    return table


def in_the_end(step: StepResult, mark: Mark | None) -> StepResult:
    """The step as it counts. What a check said stays only where it had graded, too."""
    if mark is None:
        return step
    if not mark.scored and step.status == "needs_manual":
        return replace(step, points=mark.points)
    if not pages.automatic(step.step):
        message = mark.comment
    else:
        message = step.message if step.status == "graded" else ""
    return replace(step, points=mark.points, status="graded", message=message)


def _template(lesson: str, graded: dict[tuple[str, str], Result]) -> dict[str, float]:
    """The lesson's steps and their points: automatic ones, then those graded by hand."""
    steps = {step.id: step.points for step in steps_of(lesson)}
    for (_, name), result in graded.items():
        if name == lesson:
            steps |= {step.step: step.max_points for step in result.steps}
    return steps


def _absent(template: dict[str, float], handed_in: bool) -> list[StepResult]:
    """Rows of a student without a result: nothing handed in, or handed in and not graded yet."""
    message = text("report", "none") if handed_in else text("remedy", "missing")
    status = "needs_manual" if handed_in else "missing"
    return [StepResult(step, 0.0, points, status, message=message) for step, points in template.items()]


def cell(value: str) -> str:
    """A text in one line, that is no formula and has nothing in it that a terminal obeys."""
    return guarded(shown(" ".join(value.split())))


def to_csv(lines: list[Row]) -> str:
    """UTF-8 text with the columns of :data:`COLUMNS`; write it with a BOM."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in lines:
        values = (getattr(row, column) for column in COLUMNS)
        writer.writerow([cell(v) if isinstance(v, str) else f"{v:g}" for v in values])
    return out.getvalue()


def report(
    classroom: Classroom,
    csv_file: Path | None = None,
    html_file: Path | None = None,
    db_url: str | None = None,
    lms_file: tuple[str, Path] | None = None,
) -> None:
    """Write what was asked for, bring feedback pages up to date, print one line per student and lesson.

    Args:
        lms_file: the platform, ``moodle`` or ``canvas``, and where to write what it imports.

    Raises:
        Problem: nothing has been graded, or a file cannot be written.
    """
    graded, by_hand = read(classroom, db_url)
    lines = tabulated(classroom, graded, by_hand)
    for result in graded:
        pages.publish(classroom, result, by_hand[result.lesson].get(result.student, {}))
    people = read_people(classroom)
    names = {student: row.get("name", "") for student, row in people.items()}
    protections = sorted({result.protections for result in graded if result.protections})
    made: list[tuple[Path | None, str, str]] = [
        (csv_file, to_csv(lines) if csv_file else "", "utf-8-sig"),
        (html_file, classpage.html(lines, names, protections) if html_file else "", "utf-8"),
    ]
    if lms_file:
        made.append((lms_file[1], lms.FORMATS[lms_file[0]](lines, people), "utf-8"))
    try:
        for path, content, encoding in made:
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, encoding=encoding, newline="")
    except OSError as error:
        raise Problem(f"写不进 {error.filename}：{error.strerror}。请检查路径和权限。") from None
    for (student, lesson), group in _by_student(lines).items():
        points, full = sum(r.points for r in group), sum(r.max_points for r in group)
        marks = " ".join(f"{r.step}={r.points:g}{_mark(r)}" for r in group)
        print(shown(f"{student:<16} {lesson}  {points:g}/{full:g}  {marks}"))


def _by_student(lines: list[Row]) -> dict[tuple[str, str], list[Row]]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in lines:
        groups.setdefault((row.student, row.lesson), []).append(row)
    return groups


def _mark(row: Row) -> str:
    notes = ([] if row.status == "graded" else [row.status]) + ([row.diagnosis] if row.diagnosis else [])
    return f"({','.join(notes)})" if notes else ""
