"""Who is in the class: ids, names, and what a learning platform calls them. ``classroom/roster.csv``."""

import codecs
import csv
import io
import os
import re
import unicodedata
from pathlib import Path

from autograder.course import Classroom
from autograder.problem import Problem

ROSTER_COLUMNS = ("student", "name", "original", "lms_id", "login", "section", "email")
HEADINGS = {
    "student": ("student", "student_id", "学号", "id number", "username", "用户名", "id"),
    "name": ("name", "姓名", "full name", "全名"),
    "original": ("original",),
    "lms_id": ("lms_id",),
    "login": ("login",),
    "section": ("section",),
    "email": ("email", "email address", "电子邮件地址", "邮箱"),
}
CANVAS = {
    "student": ("sis login id",), "name": ("student",), "lms_id": ("id",), "login": ("sis login id",),
    "section": ("section",),
}  # fmt: skip
"""Headings of a gradebook that Canvas exports, where "Student" is the name."""


def safe_id(student: str) -> str:
    """The id as given where a file system allows it, else with the offending characters replaced."""
    cleaned = unicodedata.normalize("NFC", legible(student))
    cleaned = re.sub(r'[\x00-\x1f\x7f/\\:*?"<>|]', "_", cleaned).strip(" .")
    return cleaned.encode()[:120].decode("utf-8", "ignore").strip(" .") or "_"


def legible(name: str) -> str:
    """A file's name as text: archives made on Windows leave names in GBK, which come as surrogates."""
    raw = os.fsencode(name)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("gb18030", "replace")


def read_roster(path: Path) -> list[dict[str, str]]:
    """Rows with ``student`` and ``name`` from a CSV: a heading row, or ids in the first column.

    Raises:
        Problem: not there, not text, or empty.
    """
    if not path.is_file():
        raise Problem(f"找不到名单 {path}。")
    try:
        table = list(csv.reader(io.StringIO(read_text(path), newline="")))
    except csv.Error as error:
        raise Problem(f"名单 {path} 不是 CSV：{error}。") from None
    rows = [[cell.strip() for cell in row] for row in table if any(cell.strip() for cell in row)]
    heading = [cell.lower() for cell in rows[0]] if rows else []
    columns = {key: heading.index(cell) for key, cell in headings(heading).items()}
    if "sis login id" in heading:  # a gradebook from Canvas: the row under the heading holds full marks
        rows = [row for row in rows if row[0].lower() not in ("points possible", "student, test")]
    people = []
    for row in rows[1:] if "student" in columns else rows:
        given = next((row[i] for i in _who(heading, columns) if i < len(row) and row[i]), "")
        if given:
            safe = safe_id(given)
            person = {key: row[i] for key, i in columns.items() if i < len(row) and row[i]}
            blank = {"name": "", "original": given if given != safe else ""}
            people.append(blank | person | {"student": safe})
    if not people:
        raise Problem(f"名单 {path} 里没有学生。需要一列 student（或 学号），可以再有一列 name（或 姓名）。")
    return people


def headings(heading: list[str]) -> dict[str, str]:
    """Our columns that a heading row has, and what they are called there."""
    names = CANVAS if "sis login id" in heading else HEADINGS
    found = {key: next((cell for cell in known if cell in heading), None) for key, known in names.items()}
    return {key: cell for key, cell in found.items() if cell}


def _who(heading: list[str], columns: dict[str, int]) -> list[int]:
    """Columns that may hold the student's id, best first."""
    if "sis login id" in heading:
        return [heading.index(c) for c in ("sis user id", "sis login id", "id") if c in heading]
    return [columns.get("student", 0)]


def read_text(path: Path) -> str:
    """A text that a spreadsheet may have saved: UTF-8 with a BOM or without, UTF-16, GBK."""
    data = path.read_bytes()
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("gb18030", "replace")


def read_people(classroom: Classroom) -> dict[str, dict[str, str]]:
    """The class's roster by student id; empty if there is none yet.

    Raises:
        Problem: somebody has edited it into something else.
    """
    if not classroom.roster.is_file():
        return {}
    return {row["student"]: dict.fromkeys(ROSTER_COLUMNS, "") | row for row in read_roster(classroom.roster)}


def write_roster(classroom: Classroom, people: list[dict[str, str]]) -> None:
    """Add people to the roster; what it already says of a student stays unless it was empty."""
    if not people:
        return
    known = read_people(classroom)
    for person in people:
        row = known.setdefault(person["student"], dict.fromkeys(ROSTER_COLUMNS, ""))
        row.update({key: value for key, value in person.items() if value and not row.get(key)})
    classroom.root.mkdir(parents=True, exist_ok=True)
    temporary = classroom.roster.with_name(".roster.csv.new")
    with temporary.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, ROSTER_COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(known.values())
    os.replace(temporary, classroom.roster)
