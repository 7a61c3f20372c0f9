"""Scores in the form that a learning platform imports.

- **Moodle** (Grades → Import → CSV file): a heading row, one column that identifies the user (``ID number``,
  to be mapped to the user's ID number or username), one column a grade item.
- **Canvas** (Grades → Import): ``Student``, ``ID``, ``SIS User ID``, ``SIS Login ID``, ``Section``, then one
  column an assignment; the row under the heading holds the points possible. With a gradebook that Canvas
  exported as roster, ``ID`` and ``Section`` are Canvas's own.

Cells that a spreadsheet on the way would take for formulas get a ``'`` before them. An id with that is another
id to the platform, so ids like ``-rf`` and ``+86138`` stay as they are: at worst a spreadsheet shows another
number. Ids with what a formula needs to do harm (``=``, brackets, bars, …) get it all the same: no platform has
such, but a student may call a folder so.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable
from typing import Protocol

from autograder.harmless import guarded, shown

People = dict[str, dict[str, str]]


class Line(Protocol):
    """What is used of a row of the report."""

    student: str
    lesson: str
    step: str
    points: float
    max_points: float
    status: str


def totals(lines: Iterable[Line]) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """(student → lesson → points, without lessons that were not handed in; lesson → full marks)."""
    scores: dict[str, dict[str, float]] = {}
    full: dict[str, dict[str, float]] = {}
    for line in lines:
        full.setdefault(line.lesson, {})[line.step] = line.max_points
        mine = scores.setdefault(line.student, {})
        if line.status != "missing":
            mine[line.lesson] = mine.get(line.lesson, 0.0) + line.points
    return scores, {lesson: sum(steps.values()) for lesson, steps in full.items()}


def number(value: float | None) -> str:
    return "" if value is None else f"{round(value, 2):g}"


def plain(value: str) -> str:
    """No spreadsheet on the way may take it for a formula."""
    return guarded(shown(value))


def identifying(value: str) -> str:
    return value if re.fullmatch(r"[-+][\w.@-]*", value) else plain(value)


def written(rows: Iterable[Iterable[str]], ids: tuple[int, ...]) -> str:
    """As CSV, where the columns ``ids`` say who it is."""
    out = io.StringIO(newline="")
    for row in rows:
        cells = [identifying(value) if column in ids else plain(value) for column, value in enumerate(row)]
        csv.writer(out).writerow(cells)
    return out.getvalue()


def moodle(lines: Iterable[Line], people: People) -> str:
    scores, full = totals(lines)
    rows = [["ID number", "Full name", "Email address", *full]]
    for student, mine in scores.items():
        row = people.get(student, {})
        who = [row.get("original") or student, row.get("name", ""), row.get("email", "")]
        rows.append([*who, *(number(mine.get(lesson)) for lesson in full)])
    return written(rows, ids=(0, 2))


def canvas(lines: Iterable[Line], people: People) -> str:
    scores, full = totals(lines)
    rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *full]]
    rows.append(["    Points Possible", "", "", "", "", *(number(points) for points in full.values())])
    for student, mine in scores.items():
        row = people.get(student, {})
        given = row.get("original") or student
        who = [row.get("name") or given, row.get("lms_id", ""), given, row.get("login") or given]
        rows.append([*who, row.get("section", ""), *(number(mine.get(lesson)) for lesson in full)])
    return written(rows, ids=(1, 2, 3))


FORMATS: dict[str, Callable[[Iterable[Line], People], str]] = {"moodle": moodle, "canvas": canvas}
