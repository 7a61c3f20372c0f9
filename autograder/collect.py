"""``autograder collect``: what was handed in → ``classroom/submitted/<student>/<lesson>/<lesson>.ipynb``.

Folders, files, zip and tar archives, downloads from Moodle and Canvas. Nothing is overwritten silently and
nothing is dropped silently: what cannot be placed is listed, and why.
"""

import os
import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from dataclasses import replace as changed
from pathlib import Path, PurePath, PurePosixPath

from autograder.archives import HIDDEN, MAX_FILE, Member, Reader, hidden, kind, plain, stem
from autograder.course import Classroom
from autograder.problem import Problem
from autograder.rebuild import Unreadable, parse
from autograder.roster import People, legible, read_people, read_roster, safe_id, write_roster
from rmslab.checks import LESSONS

MOODLE = re.compile(r"^(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)$")
"""A folder, or the beginning of a file's name: full name, number of this hand-in, kind of submission."""
CANVAS = re.compile(r"^(?P<name>[^_]+)_(?:LATE_)?(?P<id>\d+)_(?P<hand_in>\d+)_(?P<file>.+)$")
"""A file's name: name without spaces, perhaps LATE, the user's number, the hand-in's number."""
ATTEMPT = re.compile(r"(?:-| ?\(|（)(\d{1,3})[)）]?$")
"""At the end of a name: "-1" from Canvas, "(1)" from a browser."""
STEPS = ("source", "release", "submitted", "autograded", "feedback")
"""Folders of an nbgrader course, beside each other."""
COURSE = re.compile(r"rmsnorm-course(-main|-master| ?\(\d+\))?|notebooks|work|solutions|" + "|".join(STEPS))
"""Folders of the course, which students hand in as they are, and of nbgrader: they are nobody's name."""


@dataclass
class Collected:
    """What one run did, or with ``dry_run`` would do.

    Attributes:
        placed: (student, lesson) pairs.
        origin: where each of them came from.
        left: (path, reason) of notebooks and archives that were not placed.
        other: files that are no notebooks.
        solutions: the course's own solutions in a copy of the course that a student handed in.
        steps: how many files lay in an nbgrader course beside ``submitted/``, by its folders.
        earlier: how many earlier attempts were kept beside the latest, by (student, lesson).
        same: pairs of which the same content was there already.
        unknown: pairs whose student is not on the roster, and whom of it the name might mean.
        strange: whether the roster has people and none of them was among those who handed in.
    """

    placed: list[tuple[str, str]] = field(default_factory=list)
    origin: dict[tuple[str, str], Path] = field(default_factory=dict)
    left: list[tuple[Path, str]] = field(default_factory=list)
    other: list[Path] = field(default_factory=list)
    solutions: list[Path] = field(default_factory=list)
    steps: Counter[str] = field(default_factory=Counter)
    earlier: dict[tuple[str, str], int] = field(default_factory=dict)
    same: list[tuple[str, str]] = field(default_factory=list)
    unknown: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    strange: bool = False


ANY_CLASS = Path()
"""In place of a source: one whose folders are named after students."""


@dataclass(frozen=True)
class HandIn:
    """One notebook whose student and lesson are known."""

    student: str
    lesson: str
    member: Member
    shown: Path
    source: Path

    @property
    def age(self) -> tuple[int, float, bool, str]:
        """The latest attempt is the largest: by number, then by time, then in ``work/``, then by name."""
        name = self.member.name
        number = ATTEMPT.search(PurePath(name.name).stem)
        return int(number[1]) if number else 0, self.member.when, self.lies_in("work"), str(name)

    def lies_in(self, *folders: str) -> bool:
        return not set(folders).isdisjoint(self.member.name.parts[:-1])


def collect(
    classroom: Classroom,
    sources: list[Path],
    roster: Path | None = None,
    student_pattern: str | None = None,
    replace: bool = False,
    dry_run: bool = False,
) -> Collected:
    """Copy every notebook found under ``sources`` to its place. Of several attempts the latest counts.

    Args:
        sources: folders (``<student>/<lesson>/<lesson>.ipynb``, ``<student>/….ipynb``, or flat), files,
            archives.
        roster: CSV of the class; its students count as known even if they hand in nothing, and what is called
            by their ids or names is theirs.
        student_pattern: regular expression with a group ``student``, searched in each relative path.
        replace: let a new submission take the place of an old one, which is kept under ``earlier/``.
        dry_run: write nothing.

    Raises:
        Problem: a source that is not there or holds no notebook, a bad pattern, an unreadable roster.
    """
    pattern = compile_pattern(student_pattern)
    people = read_roster(roster) if roster else []
    done = Collected()
    known = read_people(classroom)
    everybody = dict(known)
    for person in people:
        everybody[person["student"]] = everybody.get(person["student"], {}) | person
    names = {safe: row["original"] for safe, row in known.items() if row.get("original")}
    with tempfile.TemporaryDirectory(prefix="rmsnorm-collect-") as scratch:
        reader, named = Reader(Path(scratch)), People(everybody)
        found = [one for source in sources for one in unwrapped(source, sources, reader, named, done.steps)]
        if not any(kind(member.name.name) or member.reason for member, *_ in found):
            places = "、".join(map(str, sources))
            raise Problem(f"{places} 里没有任何 .ipynb 文件。请检查路径。")
        handed_in: list[HandIn] = []
        whose = Whose([(member, shown) for member, shown, _ in found], pattern, everybody)
        for member, shown, source in found:
            if member.reason:
                done.left.append((shown, member.reason))
            elif kind(member.name.name) != "notebook":
                if kind(member.name.name):
                    done.left.append((shown, "这种压缩包读不了：请先解压，再对解压后的文件夹运行 collect"))
                else:
                    done.other.append(shown)
            else:
                one = recognise(member, shown, source, whose, names)
                if isinstance(one, str):
                    done.left.append((shown, one))
                else:
                    handed_in.append(one)
        groups: dict[tuple[str, str], list[HandIn]] = {}
        at_work = {(one.student, one.source) for one in handed_in if one.lies_in("work", "notebooks")}
        for one in handed_in:
            if one.lies_in("solutions") and (one.student, one.source) in at_work:
                done.solutions.append(one.shown)
            else:
                groups.setdefault((one.student, one.lesson), []).append(one)
        for pair in [pair for pair in groups if pair[0] not in everybody and not pattern]:
            if len({one.source for one in groups[pair]}) > 1:
                reason = (
                    f"不止一个来源里有 {pair[0]} 的 {pair[1]}，分不清是不是同一个人的。请用 --roster 给名单；"
                    f"若是同一个人，也可以分几次收，后收的加 --replace"
                )
                done.left += [(one.shown, reason) for one in groups.pop(pair)]
        # A row without a name may say no more than how an id was written that no folder can be called.
        if any(row.get("name") or not row.get("original") for row in everybody.values()):
            done.unknown = {
                pair: sorted(whose.roster.meant(pair[0])) for pair in groups if pair[0] not in everybody
            }
            listed = {person["student"] for person in people} or everybody.keys()
            done.strange = bool(groups) and listed.isdisjoint(student for student, _ in groups)
        for attempts in groups.values():
            settle(classroom, sorted(attempts, key=lambda one: one.age), replace, dry_run, done)
    if not dry_run:
        mapped = [{"student": safe, "original": given} for safe, given in names.items() if safe != given]
        write_roster(classroom, people + mapped)
    return done


# --- what there is ----------------------------------------------------------------------------------------


def members(source: Path, reader: Reader) -> Iterator[tuple[Member, Path]]:
    """Every file of a source, those in archives too; and how to call it when speaking to a person.

    Each is named below the source's own name, unless the source is a notebook.
    """
    above = (legible(Path(os.path.abspath(source)).name) or "folder",) if source.is_dir() else ()
    for root, path in files(source):
        name = PurePosixPath(*above, *map(legible, path.relative_to(root).parts))
        if source.is_dir() and hidden(path.relative_to(root).parts):
            yield Member(name, None, reason=HIDDEN), path
        elif path.is_symlink():
            yield Member(name, None, reason="是一个链接，不是文件本身"), path
        elif not path.is_file():
            yield Member(name, None, reason="不是普通的文件"), path
        elif kind(path.name) in ("zip", "tar"):
            # An archive is a folder of its name.
            for member in reader.members(path, PurePosixPath(stem(legible(path.name)) or "archive")):
                shown = path.joinpath(*member.name.parts[1:])
                yield changed(member, name=PurePosixPath(*name.parts[:-1], member.name)), shown
        elif path.stat().st_size > MAX_FILE and kind(path.name) == "notebook":
            yield Member(name, None, reason=f"文件太大，超过 {MAX_FILE // 2**20} MB"), path
        else:
            yield Member(name, path, path.stat().st_mtime), path


def files(source: Path) -> Iterator[tuple[Path, Path]]:
    """(root, file) for every file of a source, without checkpoints and what else is nobody's.

    Links, and pipes and empty folders that are called like a notebook or an archive, are among them: somebody
    has handed them in.

    Raises:
        Problem: there is no such source.
    """
    if source.is_file():
        yield source.parent, source
    elif source.is_dir():
        for path in sorted(source.rglob("*")):
            empty = path.is_dir() and not path.is_symlink() and any(path.iterdir())
            is_one = path.is_file() or path.is_symlink() or (kind(path.name) and not empty)
            if is_one and hidden(path.relative_to(source).parts) != "skipped":
                yield source, path
    else:
        raise Problem(f"找不到 {source}。请检查路径。")


def unwrapped(
    source: Path, sources: list[Path], reader: Reader, roster: People, steps: Counter[str]
) -> Iterator[tuple[Member, Path, Path]]:
    """The members of a source without the folders around all students; and what tells them from others'.

    What an nbgrader course holds beside ``submitted/`` is counted in ``steps``.

    Of one name in two sources nobody knows whether it is one person, but beside each other (``a.zip`` and
    ``a/``, ``a-04.ipynb`` and ``a-04 (1).ipynb``), and in two classes laid out as
    ``<student>/<lesson>/<lesson>.ipynb``, it is the same name.
    """
    found = [
        (changed(member, name=composed(member.name.with_name(plain(member.name.name)))), shown)
        for member, shown in members(source, reader)
    ]
    courses = nbgrader_courses([member for member, _ in found])
    beside = [beside_submitted(member.name, courses) for member, _ in found]
    steps.update(filter(None, beside))
    found = [one for one, step in zip(found, beside, strict=True) if not step]
    others = [one for one in sources if one.is_dir() or kind(one.name) in ("zip", "tar")]
    alone = len(sources) == 1 or (source.is_dir() and len(others) == 1)
    around = around_students([member for member, _ in found], source.is_dir(), alone, roster)
    place = Path(os.path.abspath(source))
    named = {without(m.name, around).parts[0] for m, _ in found if m.name.parent.name in LESSONS}
    origin = ANY_CLASS if around and len(named) > 1 else place if around else place.parent
    for member, shown in found:
        yield changed(member, name=without(member.name, around)), shown, origin


def nbgrader_courses(found: list[Member]) -> set[tuple[str, ...]]:
    """Folders with ``submitted/`` and beside it a step of nbgrader that no student has."""
    inside: dict[tuple[str, ...], set[str]] = {}
    for parts in {member.name.parts[:-1] for member in found}:
        for i, part in enumerate(parts):
            if part in STEPS:
                inside.setdefault(parts[:i], set()).add(part)
    return {one for one, steps in inside.items() if "submitted" in steps and steps - {"submitted", "feedback"}}


def beside_submitted(name: PurePosixPath, courses: set[tuple[str, ...]]) -> str:
    """Which folder or file of one of these courses it is in, or nothing where it was submitted."""
    within = (name.parts[len(one)] for one in courses if name.parts[: len(one)] == one)
    return next((part for part in within if part != "submitted"), "")


def composed(name: PurePosixPath) -> PurePosixPath:
    """The name in one form of Unicode: macOS writes "é" as two characters, and other systems as one."""
    return PurePosixPath(unicodedata.normalize("NFC", str(name)))


def around_students(found: list[Member], is_folder: bool, alone: bool, roster: People) -> list[str]:
    """The folders around all students of a source, outermost first; none where its own name is the student's.

    The roster decides. Without it, a source is a class if several folders in it hold the same lesson; of a
    source that is alone, any folders are people. Notebooks beside these folders do not matter.
    """
    books = [(m, lesson_of(m.name, m.path)) for m in found if kind(m.name.name) == "notebook" and not m.reason]
    inside = [(levels(m.name), m, lesson) for m, lesson in books if lesson]
    own = [name.parts[0] for name in (m.name for m in found) if len(name.parts) > 1][:1]
    chain, below = own, below_of(own, inside)
    while len(below) == 1 and not (is_folder and alone):
        chain = [*chain, *below]
        below = below_of(chain, inside)
    flat = {without_lesson(m.name.stem, lesson) for parts, m, lesson in inside if parts == own}
    people, by_files = roster.each_meant(below), roster.each_meant(flat)
    people |= by_files if len(by_files) > 1 else set()
    known = next((i for i, name in enumerate(chain) if len(roster.meant(name)) == 1), len(chain))
    several = len(below) > 1 and (alone or len(set().union(*below.values())) < sum(map(len, below.values())))
    if len(people) < 2 and known < len(chain):
        return chain[:known]
    if people or several or any(CANVAS.match(m.name.name) or MOODLE.match(m.name.name) for _, m, _ in inside):
        return chain
    if is_folder:
        return own if alone or (len(flat) > 1 and "" not in flat) else []
    return own if alone and inside and all(len(parts) > 1 for parts, *_ in inside) else []


def below_of(chain: list[str], inside: list[tuple[list[str], Member, str]]) -> dict[str, set[str]]:
    """The folders in the innermost of these, and the lessons each of them holds."""
    below: dict[str, set[str]] = {}
    for parts, _, lesson in inside:
        if len(parts) > len(chain) and parts[: len(chain)] == chain:
            below.setdefault(parts[len(chain)], set()).add(lesson)
    return below


def levels(name: PurePosixPath) -> list[str]:
    """The source's own name, then the folders that may be somebody's."""
    return [*name.parts[:-1][:1], *folders(name.relative_to(*name.parts[:1]))]


def folders(name: PurePath) -> list[str]:
    """The folders on the way that may be somebody's: no lesson's, and none of the course itself."""
    return [part for part in name.parts[:-1] if part not in LESSONS and not COURSE.fullmatch(part)]


def without(name: PurePosixPath, around: list[str]) -> PurePosixPath:
    """The name without these folders; those of a lesson or of the course between them stay."""
    parts, left = [], list(around)
    for part in name.parts[:-1]:
        if left and part == left[0]:
            left.pop(0)
        else:
            parts.append(part)
            if folders(PurePath(part, "_")):
                left = []
    return PurePosixPath(*parts, name.name)


# --- whose it is, and which lesson ------------------------------------------------------------------------


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


def lesson_of(relative: PurePath, path: Path) -> str | None:
    """By a folder's name, else by the file's, else by the notebook's own metadata."""
    for part in (*reversed(relative.parts[:-1]), relative.stem):
        for lesson in LESSONS:
            if part == lesson or (part == relative.stem and lesson in part):
                return lesson
    try:
        named = parse(path.read_bytes())["metadata"]["rmsnorm_course"]["lesson"]
    except (Unreadable, KeyError, TypeError, OSError):
        return None
    return named if named in LESSONS else None


class Whose:
    """Tells a student's id from where a notebook lay, knowing the roster and the rest of the download."""

    def __init__(
        self, found: list[tuple[Member, Path]], pattern: re.Pattern | None, people: dict[str, dict[str, str]]
    ):
        self.pattern = pattern
        self.by_lms = {row["lms_id"]: student for student, row in people.items() if row.get("lms_id")}
        self.roster = People(people)
        self.shared = shared_names(found)
        # A folder that is nobody's and has several people in it is a class, not a student.
        below: dict[str, set[str]] = {}
        for member, _ in found:
            first, *rest = [*folders(member.name), member.name.name]
            if rest and not self.roster.meant(first):
                below.setdefault(first, set()).update(self._first_meant(rest))
        self.classes = {folder for folder, students in below.items() if len(students) > 1}

    def __call__(self, relative: PurePath, lesson: str | None) -> str:
        """The student, or nothing. The pattern decides where to look if there is one."""
        if self.pattern:
            match = self.pattern.search(relative.as_posix())
            return self._one(match["student"].strip() if match and match["student"] else "")
        if match := _moodle(relative):
            name = match["name"].strip()
            several = name in self.shared or len(self.roster.meant(name)) > 1
            return f"{name}_{match['id']}" if several else self._one(name)
        if match := CANVAS.match(relative.name):
            return self.by_lms.get(match["id"]) or self._one(f"{match['name']}_{match['id']}")
        around = folders(relative)
        if around and around[0] in self.classes:
            around = around[1:]
        if around:
            return self._one(around[0].strip())
        return self._one(without_lesson(relative.stem, lesson)) if lesson else ""

    def _one(self, called: str) -> str:
        """The one person of the roster who is called so; else the name as it is."""
        meant = self.roster.meant(called)
        if len(meant) != 1 or meant == {safe_id(called)}:
            return called
        (student,) = meant
        return self.roster.people.get(student, {}).get("original") or student

    def _first_meant(self, parts: list[str]) -> set[str]:
        """Whom the outermost of these folders, or at last the file, means."""
        texts = (*parts[:-1], without_lesson(PurePath(parts[-1]).stem))
        return next((meant for text in texts if len(meant := self.roster.meant(text)) == 1), set())


def without_lesson(stem: str, lesson: str | None = None) -> str:
    """What a file's name says beside the lesson's, and beside a browser's "(1)" right after that."""
    for one in (lesson,) if lesson else LESSONS:
        stem = re.sub(re.escape(one) + r"( ?[(（]\d{1,3}[)）]$)?", "", stem)
    return stem.strip(" _-.—()（）")


def _moodle(relative: PurePath) -> re.Match | None:
    return next((match for part in relative.parts if (match := MOODLE.match(part))), None)


def shared_names(found: list[tuple[Member, Path]]) -> set[str]:
    """Names that one download from Moodle has twice: its number tells the two apart, in that download only.

    An archive is one download. Into a folder several may have been unpacked, each of another lesson.
    """
    numbers: dict[tuple, set[str]] = {}
    for member, shown in found:
        if match := _moodle(member.name):
            place = shown.absolute().parents[len(member.name.parts) - 1 - member.name.parts.index(match.string)]
            packed = any(folder.is_file() for folder in (place, *place.parents))
            is_book = kind(member.name.name) == "notebook" and member.path
            lesson = lesson_of(member.name, member.path) if is_book and not packed else None
            if packed or lesson:
                key = (place, lesson, match["name"].strip())
                numbers.setdefault(key, set()).add(match["id"])
    return {name for (*_, name), ids in numbers.items() if len(ids) > 1}


def recognise(member: Member, shown: Path, source: Path, whose: Whose, names: dict[str, str]) -> HandIn | str:
    """Student and lesson of one notebook; or why they are not clear."""
    lesson = lesson_of(member.name, member.path)
    student = legible(whose(member.name, lesson))
    if lesson is None:
        return f"看不出是哪一课。请放进以课名命名的文件夹（{'、'.join(LESSONS)}）"
    if not student:
        return "看不出是谁交的。请放进以学号命名的文件夹，或用 --student-pattern"
    safe = safe_id(student)
    if names.setdefault(safe, student) != student:
        return f"学号 {student} 与 {names[safe]} 在文件系统里同名，请改一个"
    return HandIn(safe, lesson, member, shown, source)


# --- into its place ---------------------------------------------------------------------------------------


def settle(classroom: Classroom, attempts: list[HandIn], replace: bool, dry_run: bool, done: Collected) -> None:
    """Place the last attempt; keep those before it."""
    latest = attempts[-1]
    student, lesson = latest.student, latest.lesson
    target = classroom.submission(student, lesson)
    try:
        data = latest.member.path.read_bytes()
        before = [one.member.path.read_bytes() for one in attempts[:-1]]
    except OSError as error:
        done.left.append((latest.shown, f"读不出来：{error.strerror}"))
        return
    there = target.read_bytes() if target.is_file() else None
    if there is not None and there != data:
        if not replace:
            reason = (
                f"{student} 的 {lesson} 已经收过，内容不同，没有覆盖。要换成新的，请加 --replace（旧的会留底）"
            )
            done.left.append((latest.shown, reason))
            return
        before.insert(0, there)
    if there == data:
        done.same.append((student, lesson))
        before = [old for old in before if old != data and not is_kept(classroom, old, student, lesson)]
    else:
        done.placed.append((student, lesson))
        done.origin[student, lesson] = latest.shown
    if before:
        done.earlier[student, lesson] = len(before)
    if dry_run:
        return
    for old in before:
        keep_earlier(classroom, old, student, lesson)
    if there == data:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.new")
    temporary.write_bytes(data)
    if latest.member.when > 0:
        os.utime(temporary, (latest.member.when, latest.member.when))
    os.replace(temporary, target)


def earlier(classroom: Classroom, student: str, lesson: str) -> list[Path]:
    """The attempts kept so far: ``earlier/<student>/<lesson>/<n>.ipynb``."""
    return sorted((classroom.root / "earlier" / student / lesson).glob("*.ipynb"))


def is_kept(classroom: Classroom, data: bytes, student: str, lesson: str) -> bool:
    return any(path.read_bytes() == data for path in earlier(classroom, student, lesson))


def keep_earlier(classroom: Classroom, data: bytes, student: str, lesson: str) -> None:
    """Write it to the earlier attempts, unless the same is there already."""
    if not is_kept(classroom, data, student, lesson):
        folder = classroom.root / "earlier" / student / lesson
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{len(earlier(classroom, student, lesson)) + 1}.ipynb").write_bytes(data)
