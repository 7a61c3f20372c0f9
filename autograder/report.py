"""``autograder report``: the class as a CSV, as a page, and in a few printed lines."""

import csv
import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from autograder import gradebook, pages, results
from autograder.course import Classroom
from autograder.pages import table, title_of
from autograder.problem import Problem
from autograder.results import Result, StepResult
from autograder.roster import read_people
from rmslab.catalogue import entry, text
from rmslab.checks import steps_of

COLUMNS = ("student", "lesson", "step", "points", "max_points", "status", "diagnosis", "message")
HUMAN = ("unreadable", "timeout", "memory", "crashed", "needs_manual")


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


def rows(classroom: Classroom, db_url: str | None = None) -> list[Row]:
    """Every student known to the class × every step of every lesson graded. Scores set by hand win.

    Raises:
        Problem: nothing has been graded.
    """
    graded = {(result.student, result.lesson): result for result in results.read_all(classroom)}
    if not graded:
        raise Problem(f"{classroom.root} 里还没有评分结果。请先运行 autograder grade。")
    students = sorted({*classroom.students(), *read_people(classroom), *(student for student, _ in graded)})
    found = []
    for lesson in sorted({lesson for _, lesson in graded}):
        template = _template(lesson, graded)
        by_hand = gradebook.scores(db_url or classroom.db_url, lesson)
        for student in students:
            result = graded.get((student, lesson))
            handed_in = classroom.submission(student, lesson).is_file()
            for step in result.steps if result else _absent(template, handed_in):
                points = by_hand.get(student, {}).get(step.step)
                status = "graded" if points is not None else step.status
                found.append(
                    Row(student, lesson, step.step, step.points if points is None else points,
                        step.max_points, status, step.diagnosis, step.message)
                )  # fmt: skip
    return found


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


def safe(value: str) -> str:
    """A text cell that no spreadsheet takes for a formula."""
    return "'" + value if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def to_csv(lines: list[Row]) -> str:
    """UTF-8 text with the columns of :data:`COLUMNS`; write it with a BOM."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in lines:
        values = (getattr(row, column) for column in COLUMNS)
        writer.writerow([safe(" ".join(v.split())) if isinstance(v, str) else f"{v:g}" for v in values])
    return out.getvalue()


def to_html(lines: list[Row], names: dict[str, str], protections: str) -> str:
    """The class page: totals, steps, misconceptions, and what a person must look at."""
    totals: Counter = Counter()
    statuses: dict[tuple[str, str], Counter] = {}
    for row in lines:
        totals[row.student, row.lesson] += row.points
        statuses.setdefault((row.student, row.lesson), Counter())[text("status", row.status)] += 1
    full = Counter()
    for step in {(r.lesson, r.step): r.max_points for r in lines}.items():
        full[step[0][0]] += step[1]
    students = sorted({row.student for row in lines})
    mean = sum(totals.values()) / len(students)
    facts = {"students": len(students), "lessons": len(full), "mean": f"{mean:.1f}"}
    summary = text("report", "summary", total=f"{sum(full.values()):g}", **facts)

    head = [text("report", k) for k in ("student", "name", "lesson", "points", "max_points", "statuses")]
    scores = [
        [s, names.get(s, ""), lesson, totals[s, lesson], full[lesson],
         "、".join(f"{k} {n}" for k, n in statuses[s, lesson].items())]
        for s, lesson in sorted(statuses)
    ]  # fmt: skip
    body = [
        f"<p>{pages.escape(summary)}</p>",
        f"<p>{pages.escape(text('report', 'protections', protections=protections))}</p>",
        section("scores", table(head, scores)),
        section("steps", _steps(lines)),
        section("misconceptions", _misconceptions(lines)),
        section("human", _human(lines)),
    ]
    return pages.page(text("report", "title"), "".join(body))


def section(key: str, body: str) -> str:
    return f"<h2>{pages.escape(text('report', key))}</h2>{body}"


def _steps(lines: list[Row]) -> str:
    by_step: dict[tuple[str, str], list[Row]] = {}
    for row in lines:
        by_step.setdefault((row.lesson, row.step), []).append(row)
    body = [
        [lesson, title_of(step), float(sum(r.points == r.max_points for r in group)),
         round(sum(r.points for r in group) / len(group), 2), group[0].max_points]
        for (lesson, step), group in by_step.items()
    ]  # fmt: skip
    return table([text("report", k) for k in ("lesson", "step", "passed", "mean", "max_points")], body)


def _misconceptions(lines: list[Row]) -> str:
    struck: dict[str, set[str]] = {}
    for row in lines:
        for name in filter(None, row.diagnosis.split("+")):
            struck.setdefault(name, set()).add(row.student)
    if not struck:
        return f"<p>{pages.escape(text('report', 'no_human'))}</p>"
    concepts = {name: str(entry("misconception", name, "concept") or "").split("。")[0] for name in struck}
    body = [
        [name, concepts[name], float(len(who)), "、".join(sorted(who))]
        for name, who in sorted(struck.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    return table([text("report", k) for k in ("diagnosis", "reason", "count", "who")], body)


def _human(lines: list[Row]) -> str:
    seen = {(r.student, r.lesson, r.status, r.message) for r in lines if r.status in HUMAN}
    if not seen:
        return f"<p>{pages.escape(text('report', 'no_human'))}</p>"
    body = [[s, lesson, text("status", status), message] for s, lesson, status, message in sorted(seen)]
    return table([text("report", k) for k in ("student", "lesson", "statuses", "reason")], body)


def report(
    classroom: Classroom,
    csv_file: Path | None = None,
    html_file: Path | None = None,
    db_url: str | None = None,
) -> None:
    """Write what was asked for, and print one line per student and lesson.

    Raises:
        Problem: nothing has been graded, or a file cannot be written.
    """
    lines = rows(classroom, db_url)
    people = {student: row.get("name", "") for student, row in read_people(classroom).items()}
    protections = "；".join(sorted({r.protections for r in results.read_all(classroom)}))
    try:
        if csv_file:
            csv_file.parent.mkdir(parents=True, exist_ok=True)
            csv_file.write_text(to_csv(lines), encoding="utf-8-sig", newline="")
        if html_file:
            html_file.parent.mkdir(parents=True, exist_ok=True)
            html_file.write_text(to_html(lines, people, protections), encoding="utf-8")
    except OSError as error:
        raise Problem(f"写不进 {error.filename}：{error.strerror}。请检查路径和权限。") from None
    for (student, lesson), group in _by_student(lines).items():
        points, full = sum(r.points for r in group), sum(r.max_points for r in group)
        marks = " ".join(f"{r.step}={r.points:g}{_mark(r)}" for r in group)
        print(f"{student:<16} {lesson}  {points:g}/{full:g}  {marks}")


def _by_student(lines: list[Row]) -> dict[tuple[str, str], list[Row]]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in lines:
        groups.setdefault((row.student, row.lesson), []).append(row)
    return groups


def _mark(row: Row) -> str:
    notes = ([] if row.status == "graded" else [row.status]) + ([row.diagnosis] if row.diagnosis else [])
    return f"({','.join(notes)})" if notes else ""
