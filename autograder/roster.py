"""Who is in the class: ids, names, and what a learning platform calls them. ``classroom/roster.csv``."""

import codecs
import csv
import io
import os
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from autograder.course import Classroom
from autograder.harmless import CONTROL, guarded, unguarded
from autograder.problem import Problem

ROSTER_COLUMNS = ("student", "name", "original", "lms_id", "login", "section", "email")
HEADINGS = {
    "student": ("student", "student_id", "student id", "学号", "id number", "username", "用户名", "id"),
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
    cleaned = re.sub(rf'[{CONTROL}/\\:*?"<>|]', "_", cleaned).strip(" .")
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
        Problem: not there, not text, empty, or without ids.
    """
    if not path.is_file():
        raise Problem(f"找不到名单 {path}。")
    try:
        table = list(csv.reader(io.StringIO(read_text(path), newline="")))
    except csv.Error as error:
        raise Problem(f"名单 {path} 不是 CSV：{error}。") from None
    table = [[unicodedata.normalize("NFC", cell).strip() for cell in row] for row in table]
    rows = [row for row in table if any(row)]
    heading = [cell.lower() for cell in rows[0]] if rows else []
    columns = {key: heading.index(cell) for key, cell in headings(heading).items()}
    if "original" in columns:  # written by write_roster
        rows = [list(map(unguarded, row)) for row in rows]
    if "sis login id" in heading:  # a gradebook from Canvas: the row under the heading holds full marks
        rows = [row for row in rows if row[0].lower() not in ("points possible", "student, test")]
    # Without a heading that we know, only what looks like an id throughout is taken for one.
    if rows and "student" not in columns and not all(re.search(r"\d", row[0]) for row in rows):
        raise Problem(
            f"名单 {path} 里看不出哪一列是学号。请让第一行是表头："
            f"学号的一列叫 {'、'.join(HEADINGS['student'])} 之一，"
            f"姓名的一列（可以没有）叫 {'、'.join(HEADINGS['name'])} 之一。"
        )
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
    """Add people to the roster; what it already says of a student stays unless it was empty.

    No cell is a formula to a spreadsheet; :func:`read_roster` gives what it was before.
    """
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
        writer.writerows({key: guarded(cell) for key, cell in row.items()} for row in known.values())
    os.replace(temporary, classroom.roster)


# --- whom a folder's name means ---------------------------------------------------------------------------


class People:
    """Finds people of a roster by what a folder or a file is called: their ids, their names, or both."""

    def __init__(self, people: dict[str, dict[str, str]]):
        self.people = people
        self.ids = {student: as_compared(student) for student in people}
        self.by_name: dict[str, set[str]] = {}
        for student, row in people.items():
            self.by_name.setdefault(letters(row.get("name", "")), set()).add(student)

    def meant(self, text: str) -> set[str]:
        """Who may be meant; only where it is one is that certain.

        An id counts as a whole: no digits go on before or after it. A name counts as a whole too. Where a name
        stands beside another's id, or beside a number as long as its owner's id, both are meant.
        """
        if safe_id(text) in self.people:
            return {safe_id(text)}
        text = as_compared(text)
        ids = {student for student, known in self.ids.items() if known in text and stands_in(known, text)}
        ids = {one for one in ids if not any(one != other and one in other for other in ids)}
        holders = [self.by_name[name] for name in names_in(text) if name in self.by_name]
        if not holders:  # "3" may be anything; "2024103" is somebody
            return {student for student in ids if len(student) >= 4}
        named = ids.union(*(some & ids or some for some in holders))
        return named if ids else named.union(*(other_numbers(student, text) for student in named))

    def each_meant(self, texts: Iterable[str]) -> set[str]:
        """Everybody who is certainly meant by one of the texts."""
        return set().union(*(meant for text in texts if len(meant := self.meant(text)) == 1))


def as_compared(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def letters(text: str) -> str:
    return "".join(filter(str.isalpha, as_compared(text)))


def stands_in(known: str, text: str, pattern: str = "") -> list[str]:
    """Where an id, or a pattern of its shape, is in a text and not within a longer number or word."""
    before, after = (r"\d" if known[end].isdigit() else "[a-z]" for end in (0, -1))
    return re.findall(f"(?<!{before}){pattern or re.escape(known)}(?!{after})", text)


def other_numbers(student: str, text: str) -> set[str]:
    """What in a text looks like this student's id and is another."""
    known = as_compared(student)
    shape = "".join(r"\d" if c.isdigit() else re.escape(c) for c in known)
    return set(stands_in(known, text, shape)) - {known} if len(known) >= 4 else set()


def names_in(text: str) -> set[str]:
    """What may be a full name: the whole text, a piece between signs or numbers, a Chinese word."""
    pieces = re.split(r"[^\w\s]|[\d_]", re.sub("[·•‧・'’]", "", text))
    chinese = [word for piece in pieces for word in piece.split() if max(word) >= "\u2e80"]
    return {letters(some) for some in (text, *pieces, *chinese)} - {""}
