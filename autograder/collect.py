"""``autograder collect``: what was handed in → ``classroom/submitted/<student>/<lesson>/<lesson>.ipynb``.

Nothing is overwritten silently and nothing is dropped silently: what cannot be placed is listed, and why.
"""

import codecs
import csv
import io
import json
import os
import re
import shutil
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from autograder.course import Classroom
from autograder.problem import Problem
from rmslab.checks import LESSONS

NOTEBOOK = ".ipynb"
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".7z", ".rar")
ROSTER_COLUMNS = ("student", "name", "original")
_STUDENT_HEADINGS = ("student", "student_id", "id", "学号", "username")
_NAME_HEADINGS = ("name", "姓名", "full name")
_ORIGINAL_HEADING = "original"


@dataclass
class Collected:
    """What one run did.

    Attributes:
        placed: (student, lesson) pairs.
        left: (path, reason) of notebooks that were not placed.
        other: files that are no notebooks.
    """

    placed: list[tuple[str, str]] = field(default_factory=list)
    left: list[tuple[Path, str]] = field(default_factory=list)
    other: list[Path] = field(default_factory=list)


def collect(
    classroom: Classroom,
    sources: list[Path],
    roster: Path | None = None,
    student_pattern: str | None = None,
    replace: bool = False,
) -> Collected:
    """Copy every notebook found under ``sources`` to its place.

    Args:
        sources: folders (``<student>/<lesson>/<lesson>.ipynb``, ``<student>/….ipynb``, or flat) and files.
        roster: CSV of the class; its students count as known even if they hand in nothing.
        student_pattern: regular expression with a group ``student``, searched in each relative path.
        replace: let a new submission take the place of an old one, which is kept under ``earlier/``.

    Raises:
        Problem: a source that is not there or holds no notebook, a bad pattern, an unreadable roster.
    """
    pattern = compile_pattern(student_pattern)
    people = read_roster(roster) if roster else []
    done = Collected()
    known = read_people(classroom)
    names = {safe: row["original"] for safe, row in known.items() if row.get("original")}
    found = [(root, path) for source in sources for root, path in files(source)]
    if not any(path.suffix.lower() in (NOTEBOOK, *ARCHIVES) for _, path in found):
        places = "、".join(map(str, sources))
        raise Problem(f"{places} 里没有任何 .ipynb 文件。请检查路径，或先把压缩包解开。")
    for root, path in found:
        if path.suffix.lower() in ARCHIVES:
            done.left.append((path, "压缩包：请先解压，再对解压后的文件夹运行 collect"))
            continue
        if path.suffix.lower() != NOTEBOOK:
            done.other.append(path)
            continue
        if path.is_symlink():
            done.left.append((path, "是一个链接，不是文件本身"))
            continue
        relative = path.relative_to(root)
        lesson = lesson_of(relative, path)
        student = legible(student_of(relative, lesson, pattern))
        if lesson is None:
            done.left.append((path, f"看不出是哪一课。请放进以课名命名的文件夹（{'、'.join(LESSONS)}）"))
        elif not student:
            done.left.append((path, "看不出是谁交的。请放进以学号命名的文件夹，或用 --student-pattern"))
        else:
            safe = safe_id(student)
            if names.setdefault(safe, student) != student:
                done.left.append((path, f"学号 {student} 与 {names[safe]} 在文件系统里同名，请改一个"))
                continue
            reason = place(classroom, path, safe, lesson, replace, (safe, lesson) in done.placed)
            if reason:
                done.left.append((path, reason))
            else:
                done.placed.append((safe, lesson))
    mapped = [{"student": safe, "original": given} for safe, given in names.items() if safe != given]
    write_roster(classroom, people + mapped)
    return done


def files(source: Path) -> Iterator[tuple[Path, Path]]:
    """(root, file) for every file of a source, without hidden ones and checkpoints.

    Raises:
        Problem: there is no such source.
    """
    if source.is_file():
        yield source.parent, source
    elif source.is_dir():
        for path in sorted(source.rglob("*")):
            parts = path.relative_to(source).parts
            if path.is_file() and not any(p.startswith((".", "__")) for p in parts):
                yield source, path
    else:
        raise Problem(f"找不到 {source}。请检查路径。")


def compile_pattern(text: str | None) -> re.Pattern | None:
    if text is None:
        return None
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise Problem(f"--student-pattern 不是合法的正则表达式：{error}") from None
    if "student" not in pattern.groupindex:
        raise Problem(r"--student-pattern 需要名为 student 的分组，例如 (?P<student>\d+)。")
    return pattern


def lesson_of(relative: Path, path: Path) -> str | None:
    """By a folder's name, else by the file's, else by the notebook's own metadata."""
    for part in (*reversed(relative.parts[:-1]), relative.stem):
        for lesson in LESSONS:
            if part == lesson or (part == relative.stem and lesson in part):
                return lesson
    try:
        named = json.loads(path.read_bytes())["metadata"]["rmsnorm_course"]["lesson"]
    except (ValueError, KeyError, TypeError, OSError, RecursionError):
        return None
    return named if named in LESSONS else None


def student_of(relative: Path, lesson: str | None, pattern: re.Pattern | None) -> str:
    """The pattern's group, else the first folder, else what the file's name holds besides the lesson's."""
    if pattern:
        match = pattern.search(relative.as_posix())
        return match["student"].strip() if match and match["student"] else ""
    folders = [part for part in relative.parts[:-1] if part != lesson]
    if folders:
        return folders[0].strip()
    return relative.stem.replace(lesson or "", "").strip(" _-.—()（）") if lesson else ""


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


def place(
    classroom: Classroom, path: Path, student: str, lesson: str, replace: bool, again: bool
) -> str | None:
    """Copy one file to its place. Returns None, or why it was left."""
    target = classroom.submission(student, lesson)
    try:
        data = path.read_bytes()
    except OSError as error:
        return f"读不出来：{error.strerror}"
    if again:
        return f"{student} 的 {lesson} 这一次出现了两份，已用先遇到的一份"
    if target.is_file():
        if target.read_bytes() == data:
            return f"{student} 的 {lesson} 已经收过，内容相同，没有再收"
        if not replace:
            return (
                f"{student} 的 {lesson} 已经收过，内容不同，没有覆盖。"
                f"要换成新的，请加 --replace（旧的会留底）"
            )
        keep_earlier(classroom, target, student, lesson)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.new")
    temporary.write_bytes(data)
    shutil.copystat(path, temporary)
    os.replace(temporary, target)
    return None


def keep_earlier(classroom: Classroom, target: Path, student: str, lesson: str) -> None:
    """Copy a submission to ``earlier/<student>/<lesson>/<n>.ipynb``."""
    folder = classroom.root / "earlier" / student / lesson
    folder.mkdir(parents=True, exist_ok=True)
    number = len(list(folder.iterdir())) + 1
    shutil.copy2(target, folder / f"{number}.ipynb")


# --- the roster -------------------------------------------------------------------------------------------


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
    who = next((i for i, cell in enumerate(heading) if cell in _STUDENT_HEADINGS), None)
    called = next((i for i, cell in enumerate(heading) if cell in _NAME_HEADINGS), None)
    kept = heading.index(_ORIGINAL_HEADING) if _ORIGINAL_HEADING in heading else None
    body = rows if who is None else rows[1:]
    people = []
    for row in body:
        given = row[who or 0] if len(row) > (who or 0) else ""
        if given:
            name = row[called] if called is not None and called < len(row) else ""
            safe = safe_id(given)
            original = row[kept] if kept is not None and kept < len(row) else ""
            people.append(
                {"student": safe, "name": name, "original": original or (given if given != safe else "")}
            )
    if not people:
        raise Problem(f"名单 {path} 里没有学生。需要一列 student（或 学号），可以再有一列 name（或 姓名）。")
    return people


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
