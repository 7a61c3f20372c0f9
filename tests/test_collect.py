"""What is handed in comes to its place; nothing is overwritten and nothing is dropped without a word."""

import csv
import io
import os
import re
import zipfile
from pathlib import Path
from unicodedata import normalize

import pytest
from conftest import LESSON, as_bytes, command, hand_in, released

from autograder import cli
from autograder.collect import collect, read_people, safe_id
from autograder.course import Classroom
from autograder.problem import Problem
from autograder.roster import write_roster
from rmslab.checks import LESSONS

HANZI = re.compile(r"[\u4e00-\u9fff]")
CONTROLS = "\x07\x1b\x7f\x85\x9b\u200f\u2028\u2029\u202e\u2066"
WORK = as_bytes(released())


def put(path: Path, data: bytes = WORK) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def placed(classroom: Classroom) -> dict[str, bytes]:
    root = classroom.root / "submitted"
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def at(student: str, lesson: str = LESSON) -> str:
    return f"{student}/{lesson}/{lesson}.ipynb"


LAYOUTS = {
    "student/lesson/lesson": f"s1/{LESSON}/{LESSON}.ipynb",
    "student/lesson/renamed": f"s1/{LESSON}/作业 (1).ipynb",
    "student/lesson": f"s1/{LESSON}.ipynb",
    "student/copy": f"s1/{LESSON}-Copy1.ipynb",
    "student/any-name": "s1/my homework.ipynb",
    "lesson/student/lesson": f"{LESSON}/s1/{LESSON}.ipynb",
    "lesson/student.ipynb": f"{LESSON}/s1.ipynb",
    "flat-after": f"{LESSON}_s1.ipynb",
    "flat-before": f"s1-{LESSON}.ipynb",
    "flat-twice": f"s1-{LESSON} (1).ipynb",
    "student/work/lesson": f"s1/work/{LESSON}.ipynb",
    "upper-case": f"s1/{LESSON}.IPYNB",
    "ending-too-many": f"s1/{LESSON}.ipynb.txt",
    "ending-too-many-flat": f"s1_{LESSON}.ipynb.json",
}


@pytest.mark.parametrize("place", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts(place, tmp_path, classroom):
    put(tmp_path / "in" / place)
    done = collect(classroom, [tmp_path / "in"])
    assert done.placed == [("s1", LESSON)] and not done.left and not done.other
    assert placed(classroom) == {at("s1"): WORK}


def test_every_lesson_of_every_student(tmp_path, classroom):
    for student in ("s1", "张三", "李 四"):
        for lesson in LESSONS:
            hand_in(tmp_path / "in", student, released(lesson), lesson)
    assert len(collect(classroom, [tmp_path / "in"]).placed) == 3 * len(LESSONS)
    assert set(placed(classroom)) == {at(s, lesson) for s in ("s1", "张三", "李 四") for lesson in LESSONS}


def test_files_and_folders_together(tmp_path, classroom):
    one, two = put(tmp_path / f"s1-{LESSON}.ipynb"), put(tmp_path / "more" / "s2" / f"{LESSON}.ipynb")
    collect(classroom, [one, two.parents[1]])
    assert set(placed(classroom)) == {at("s1"), at("s2")}


def test_checkpoints_and_resource_forks_are_not_work(tmp_path, classroom):
    put(tmp_path / "in" / "s1" / f"{LESSON}.ipynb")
    put(tmp_path / "in" / "s1" / ".ipynb_checkpoints" / f"{LESSON}-checkpoint.ipynb", b"old")
    put(tmp_path / "in" / "__MACOSX" / "s1" / f"._{LESSON}.ipynb", b"fork")
    assert collect(classroom, [tmp_path / "in"]).placed == [("s1", LESSON)]


def test_student_pattern(tmp_path, classroom):
    put(tmp_path / "in" / "2024 作业" / f"张三_20240001_{LESSON}.ipynb")
    collect(classroom, [tmp_path / "in"], student_pattern=r"(?P<student>\d{8})")
    assert set(placed(classroom)) == {at("20240001")}


@pytest.mark.parametrize("pattern", ["(", r"\d+", "(?P<name>x)"])
def test_bad_patterns(pattern, tmp_path, classroom):
    put(tmp_path / "in" / "s1" / f"{LESSON}.ipynb")
    with pytest.raises(Problem, match="student-pattern"):
        collect(classroom, [tmp_path / "in"], student_pattern=pattern)


def test_pattern_that_does_not_match_leaves_the_file(tmp_path, classroom):
    path = put(tmp_path / "in" / "s1" / f"{LESSON}.ipynb")
    done = collect(classroom, [tmp_path / "in"], student_pattern=r"(?P<student>\d{8})")
    assert [p for p, _ in done.left] == [path] and not done.placed


ROSTERS = {
    "utf-8": ("student,name\n001,张三\n002,李四\n", "utf-8"),
    "utf-8-bom": ("student,name\n001,张三\n002,李四\n", "utf-8-sig"),
    "gbk": ("学号,姓名\n001,张三\n002,李四\n", "gbk"),
    "utf-16": ("学号,姓名\n001,张三\n002,李四\n", "utf-16"),
    "crlf-and-blanks": ("姓名,学号\r\n张三,001\r\n\r\n,\r\n李四,002\r\n", "gbk"),
    "quoted": ('name,student\n"张三", 001\n"李四",002 \n', "utf-8"),
}


@pytest.mark.parametrize(("text", "encoding"), ROSTERS.values(), ids=ROSTERS)
def test_rosters(text, encoding, tmp_path, classroom):
    put(tmp_path / "in" / "001" / f"{LESSON}.ipynb")
    roster = put(tmp_path / "class.csv", text.encode(encoding))
    collect(classroom, [tmp_path / "in"], roster)
    assert {s: row["name"] for s, row in read_people(classroom).items()} == {"001": "张三", "002": "李四"}
    assert classroom.roster.read_bytes().startswith(b"\xef\xbb\xbf")


def test_roster_without_headings_and_one_saved_by_a_spreadsheet(tmp_path, classroom):
    put(tmp_path / "in" / "001" / f"{LESSON}.ipynb")
    collect(classroom, [tmp_path / "in"], put(tmp_path / "ids.csv", b"001\n002\n"))
    classroom.roster.write_bytes(
        classroom.roster.read_text("utf-8-sig").replace("002,", "002,王五").encode("gbk")
    )
    put(tmp_path / "in2" / "003" / f"{LESSON}.ipynb")
    collect(classroom, [tmp_path / "in2"], put(tmp_path / "more.csv", b"student\n003\n"))
    assert {s: row["name"] for s, row in read_people(classroom).items()} == {
        "001": "",
        "002": "王五",
        "003": "",
    }


@pytest.mark.parametrize("data", [b"", b"student,name\n", b"\n\n,,\n"])
def test_empty_roster(data, tmp_path, classroom):
    put(tmp_path / "in" / "001" / f"{LESSON}.ipynb")
    with pytest.raises(Problem, match="名单"):
        collect(classroom, [tmp_path / "in"], put(tmp_path / "class.csv", data))


def test_same_student_again(tmp_path, classroom):
    """By the real command: the same work is in its place already. For other work: exit 1, a reason in Chinese,
    and the old bytes untouched; --replace keeps them."""
    first, other = put(tmp_path / "in" / "s1" / f"{LESSON}.ipynb"), WORK + b"\n"
    collect(classroom, [tmp_path / "in"])
    ask = ("collect", tmp_path / "in", "--classroom", classroom.root)

    again = command(*ask)
    assert again.returncode == 0 and "内容相同" in again.stdout and not again.stderr
    first.write_bytes(other)
    again = command(*ask)
    assert again.returncode == 1 and "--replace" in again.stderr and HANZI.search(again.stderr)
    assert "Traceback" not in again.stderr
    assert placed(classroom) == {at("s1"): WORK}

    replaced = command(*ask, "--replace")
    assert replaced.returncode == 0, replaced.stderr
    assert placed(classroom) == {at("s1"): other}
    kept = list((classroom.root / "earlier" / "s1" / LESSON).iterdir())
    assert [path.read_bytes() for path in kept] == [WORK]


def test_replacing_twice_keeps_both(tmp_path, classroom):
    for number in range(3):
        put(tmp_path / "in" / "s1" / f"{LESSON}.ipynb", WORK + b"\n" * number)
        collect(classroom, [tmp_path / "in"], replace=True)
    kept = sorted((classroom.root / "earlier" / "s1" / LESSON).iterdir())
    assert [path.read_bytes() for path in kept] == [WORK, WORK + b"\n"]


def test_two_files_of_one_student_at_once(tmp_path, classroom):
    """The later one counts, the earlier one is kept."""
    early, late = (put(tmp_path / "in" / "s1" / f"{LESSON}-{c}.ipynb", WORK + c.encode()) for c in "ba")
    os.utime(early, (1_700_000_000, 1_700_000_000)), os.utime(late, (1_700_000_900, 1_700_000_900))
    done = collect(classroom, [tmp_path / "in"])
    assert done.placed == [("s1", LESSON)] and done.earlier == {("s1", LESSON): 1} and not done.left
    assert placed(classroom) == {at("s1"): WORK + b"a"}
    assert [p.read_bytes() for p in (classroom.root / "earlier" / "s1" / LESSON).iterdir()] == [WORK + b"b"]


def test_whose_earlier_attempts_were_kept_is_said(tmp_path, classroom, capsys):
    for number in range(12):
        for attempt in ("", " (1)") if number else ("",):
            put(tmp_path / "in" / f"s{number:02}" / f"{LESSON}{attempt}.ipynb", WORK + attempt.encode())
    assert cli.main(["collect", str(tmp_path / "in"), "--classroom", str(classroom.root)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("较早的 11 份")]
    assert all(f"s{number:02} 的 {LESSON}" in line for number in range(1, 11)) and line.endswith(" 等。")
    assert "s00" not in line and "s11" not in line


@pytest.mark.parametrize("kind", ["nothing", "only-text", "missing", "archive", "unknown-lesson", "no-student"])
def test_what_cannot_be_placed_fails_in_chinese(kind, tmp_path, classroom, capsys):
    source = tmp_path / "in"
    match kind:
        case "nothing":
            source.mkdir()
        case "only-text":
            put(source / "s1" / "README.txt")
        case "archive":
            put(source / "s1.zip", b"PK")
        case "unknown-lesson":
            put(source / "s1" / "homework.ipynb", b'{"cells": []}')
        case "no-student":
            put(source / f"{LESSON}.ipynb")
    assert cli.main(["collect", str(source), "--classroom", str(classroom.root)]) == 1
    assert HANZI.search(capsys.readouterr().err)
    assert not placed(classroom)


def test_the_rest_is_placed_all_the_same(tmp_path, classroom, capsys):
    put(tmp_path / "in" / "s1" / f"{LESSON}.ipynb")
    put(tmp_path / "in" / "s2.ZIP", b"PK"), put(tmp_path / "in" / "s3" / "x.ipynb", b"[]")
    put(tmp_path / "in" / "s4" / "作业.docx"), put(tmp_path / "in" / "s5" / f"{LESSON}.ipynb", b"")
    (tmp_path / "in" / "s6").mkdir()
    (tmp_path / "in" / "s6" / f"{LESSON}.ipynb").symlink_to("/etc/hostname")
    assert cli.main(["collect", str(tmp_path / "in"), "--classroom", str(classroom.root)]) == 1
    assert set(placed(classroom)) == {at("s1"), at("s5")}
    said = capsys.readouterr()
    assert all(name in said.err for name in ("s2.ZIP", "s3", "s6")) and "作业.docx" in said.out


def test_what_is_no_file_is_listed(tmp_path, classroom, capsys):
    """Pipes, folders and links to anything that are called like a submission."""
    source = tmp_path / "in"
    put(source / "s1" / f"{LESSON}.ipynb"), put(source / "__s2__" / f"{LESSON}.ipynb")
    for student in ("pipe", "folder", "broken-link", "folder-link", "loop"):
        (source / student).mkdir()
    os.mkfifo(source / "pipe" / f"{LESSON}.ipynb")
    (source / "folder" / f"{LESSON}.ipynb").mkdir()
    (source / "broken-link" / f"{LESSON}.ipynb").symlink_to("/no/such/file")
    (source / "folder-link" / LESSON).symlink_to(source / "s1")
    (source / "loop" / f"{LESSON}.ipynb").symlink_to(source / "loop" / f"{LESSON}.ipynb")
    assert cli.main(["collect", str(source), "--classroom", str(classroom.root)]) == 1
    assert set(placed(classroom)) == {at("s1"), at("__s2__")}
    said = capsys.readouterr().err
    assert all(name in said for name in ("pipe", "folder", "broken-link", "folder-link", "loop"))


HOSTILE = (
    "../../evil",
    "..",
    ".",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "C:x",
    "nul\x00byte",
    " ",
    "",
    "…",
    "x" * 500,
    "x" * 119 + " y",
    "x" * 118 + "..y",
    "a\nb",
    *(f"a{c}b" for c in CONTROLS),
)


@pytest.mark.parametrize("student", HOSTILE, ids=ascii)
def test_path_like_ids_stay_inside(student):
    safe = safe_id(student)
    assert safe and safe not in (".", "..") and not set(safe) & set('/\\:\x00\n*?"<>|')
    assert safe == safe.strip(" .") and len(safe.encode()) <= 120
    assert safe_id(safe) == safe and not set(safe) & set(CONTROLS)


def test_path_like_ids_from_patterns_and_rosters(tmp_path, classroom):
    put(tmp_path / "in" / "a" / "b" / f"{LESSON}.ipynb")
    roster = put(tmp_path / "class.csv", "student,name\na/b,张三\n../x,李四\n".encode())
    done = collect(classroom, [tmp_path / "in"], roster, student_pattern=r"(?P<student>a/b)")
    assert done.placed == [("a_b", LESSON)] and set(placed(classroom)) == {at("a_b")}
    people = read_people(classroom)
    assert people["a_b"]["original"] == "a/b" and people["a_b"]["name"] == "张三"
    assert "../x" not in people and not (classroom.root / "x").exists()


def test_ids_that_fall_together_are_refused_also_later(tmp_path, classroom):
    put(tmp_path / "one" / "a" / "b" / f"{LESSON}.ipynb")
    collect(classroom, [tmp_path / "one"], student_pattern=r"(?P<student>a/b)")
    put(tmp_path / "other" / "c" / f"{LESSON}.ipynb")
    assert not collect(classroom, [tmp_path / "other"], dry_run=True).unknown  # nobody gave a roster
    put(tmp_path / "two" / "a:b" / f"{LESSON}.ipynb", b"{}")
    done = collect(classroom, [tmp_path / "two"], replace=True)
    assert not done.placed and len(done.left) == 1
    assert placed(classroom) == {at("a_b"): WORK}


def test_names_from_archives_made_on_windows(tmp_path, classroom):
    """GBK bytes in a file name are no UTF-8, and still a name."""
    folder = os.fsencode(tmp_path / "in") + b"/" + "张三".encode("gbk")
    os.makedirs(folder)
    Path(os.fsdecode(folder), f"{LESSON}.ipynb").write_bytes(WORK)
    Path(os.fsdecode(folder), os.fsdecode("笔记.txt".encode("gbk"))).write_bytes(b"")
    done = command("collect", tmp_path / "in", "--classroom", classroom.root)
    assert done.returncode == 0, done.stderr
    assert set(placed(classroom)) == {at("张三")} and "笔记.txt" in done.stdout


def test_a_roster_that_is_a_folder_or_missing(tmp_path, classroom):
    put(tmp_path / "in" / "s1" / f"{LESSON}.ipynb")
    for roster in (tmp_path, tmp_path / "no.csv"):
        with pytest.raises(Problem, match="名单"):
            collect(classroom, [tmp_path / "in"], roster)


def test_a_place_that_cannot_be_written(tmp_path, capsys):
    put(tmp_path / "in" / "s1" / f"{LESSON}.ipynb")
    put(tmp_path / "classroom", b"a file")
    assert cli.main(["collect", str(tmp_path / "in"), "--classroom", str(tmp_path / "classroom")]) == 1
    assert HANZI.search(capsys.readouterr().err)


CLASS = "学号,姓名\n" + "".join(
    f"{student},{name}\n"
    for student, name in {
        "2024101": "李芳", "2024103": "刘洋", "2024104": "陈静", "2024105": "杨帆", "2024106": "周杰",
        "2024107": "黄丽", "2024110": "王五", "2024111": "王五", "2024112": "李芳芳", "2024113": "Zhang San",
        "2024114": "阿依古丽·买买提", "B2024101": "赵一", "01": "钱二", "02": "孙六",
    }.items()
)  # fmt: skip
CALLED = {
    "2024101": "2024101",
    "2024101-李芳": "2024101",
    "刘洋2024103": "2024103",
    "2024104陈静": "2024104",
    "2024104 陈静（补交）": "2024104",
    "杨帆": "2024105",
    "杨帆 作业四": "2024105",
    "２０２４１０６周 杰": "2024106",
    "LiFang2024101": "2024101",
    "李芳芳": "2024112",
    "王五2024111": "2024111",
    "zhang_san": "2024113",
    "2024114 阿依古丽买买提": "2024114",
    "b2024101赵一": "B2024101",
    "01钱二": "01",
    "01": "01",
}
"""What a folder is called, and whose it is."""
UNCLEAR = {
    "2024126 冯刚": [],
    "12024101": [],
    "李芳芳芳": [],
    "Zhang San Feng": [],
    "作业01": [],
    "王五": ["2024110", "2024111"],
    "2024101-刘洋": ["2024101", "2024103"],
    "2024101 2024103": ["2024101", "2024103"],
    "李芳、刘洋": ["2024101", "2024103"],
    "2024126 李芳": ["2024101", "2024126"],
    "02-钱二": ["01", "02"],
}
"""What a folder is called, and whom it might mean."""


@pytest.mark.parametrize("form", ["folder", "file-before", "file-after", "browser's-copy", "zip"])
def test_ids_and_names_in_one_are_matched_to_the_roster(form, tmp_path):
    roster = put(tmp_path / "class.csv", CLASS.encode())
    for called, student in CALLED.items():
        source, place = tmp_path / called, Classroom(tmp_path / f"room-{called}")
        match form:
            case "folder":
                put(source / called / "作业 (1).ipynb")
            case "file-before":
                put(source / f"{called}_{LESSON}.ipynb")
            case "file-after":
                put(source / LESSON / f"{LESSON}-{called}.ipynb")
            case "browser's-copy":
                put(source / f"{called}-{LESSON} (1).ipynb")
            case "zip":
                with zipfile.ZipFile(put(source / f"{called}.zip"), "w") as archive:
                    archive.writestr(f"{LESSON}.ipynb", WORK)
        done = collect(place, [source], roster)
        assert done.placed == [(student, LESSON)] and not done.unknown, (called, done)


def test_what_fits_nobody_or_several_is_collected_under_its_own_name(tmp_path, classroom, capsys):
    put(tmp_path / "class.csv", CLASS.encode())
    for called in (*UNCLEAR, "杨帆"):
        put(tmp_path / "in" / called / f"{LESSON}.ipynb")
    ask = ["collect", str(tmp_path / "in"), "--classroom", str(classroom.root)]
    assert cli.main([*ask, "--roster", str(tmp_path / "class.csv")]) == 0
    assert set(placed(classroom)) == {at("2024105"), *map(at, UNCLEAR)}
    last = capsys.readouterr().out.splitlines()[-1]
    assert f"有 {len(UNCLEAR)} 份对不上名单" in last and "--student-pattern" in last
    for called, people in UNCLEAR.items():
        assert f"{called}（像 {'、'.join(people)}）" in last if people else called in last
    assert "按文件夹名收下了" in last
    # From now on the classroom knows the class.
    done = collect(classroom, [tmp_path / "in"])
    assert {student: people for (student, _), people in done.unknown.items()} == UNCLEAR


def test_names_that_a_pattern_finds_are_matched(tmp_path, classroom):
    roster = put(tmp_path / "class.csv", CLASS.encode())
    put(tmp_path / "in" / "杨帆同学" / f"{LESSON}.ipynb"), put(tmp_path / "in" / "冯刚同学" / f"{LESSON}.ipynb")
    done = collect(classroom, [tmp_path / "in"], roster, student_pattern="(?P<student>[^/]+)同学")
    assert set(placed(classroom)) == {at("2024105"), at("冯刚")} and done.unknown == {("冯刚", LESSON): []}


def test_a_folder_that_holds_several_people_is_nobody(tmp_path, classroom):
    roster = put(tmp_path / "class.csv", CLASS.encode())
    for place in ("杨帆/a.ipynb", "2024101/a.ipynb", "冯刚/a.ipynb", "黄丽.ipynb"):
        put(tmp_path / "in" / "一班" / LESSON / place)
    put(tmp_path / "in" / "郑七" / f"刘洋_{LESSON}.ipynb")
    done = collect(classroom, [tmp_path / "in"], roster)
    assert set(placed(classroom)) == {at(s) for s in ("2024105", "2024101", "冯刚", "2024107", "郑七")}
    assert set(done.unknown) == {("冯刚", LESSON), ("郑七", LESSON)}


@pytest.mark.parametrize(
    "text", ["foo,bar\n1,2\n", "姓名,班级\n李芳,1\n", "2024级1班\n学号,姓名\n2024101,李芳\n"]
)
def test_a_roster_without_ids_is_refused(text, tmp_path, classroom):
    put(tmp_path / "in" / "001" / f"{LESSON}.ipynb")
    with pytest.raises(Problem, match=r"student_id、.*学号"):
        collect(classroom, [tmp_path / "in"], put(tmp_path / "class.csv", text.encode()))
    assert not classroom.root.exists()


def test_a_roster_of_another_class_is_doubted(tmp_path, classroom, capsys):
    put(tmp_path / "class.csv", CLASS.encode()), put(tmp_path / "in" / "2025001" / f"{LESSON}.ipynb")
    ask = ["collect", str(tmp_path / "in"), "--classroom", str(classroom.root)]
    assert cli.main(ask) == 0
    assert "名单" not in capsys.readouterr().out
    assert cli.main([*ask, "--replace", "--roster", str(tmp_path / "class.csv")]) == 0
    assert "一份也没有对上" in capsys.readouterr().out


def test_what_was_collected_before_is_said_in_one_line(tmp_path, classroom, capsys):
    for student in ("s1", "s2", "s3"):
        put(tmp_path / "in" / student / f"{LESSON}.ipynb")
    ask = ["collect", str(tmp_path / "in"), "--classroom", str(classroom.root)]
    cli.main(ask)
    capsys.readouterr()
    assert cli.main(ask) == cli.main([*ask, "--dry-run"]) == 0
    assert capsys.readouterr().out.count("另有 3 份已经收过，内容相同") == 2
    put(tmp_path / "in" / "s3" / f"{LESSON}.ipynb", WORK + b"\n")
    assert cli.main(ask) == 1
    said = capsys.readouterr()
    assert "有 1 个文件没有收" in said.err and len(said.err.splitlines()) == 2
    assert "另有 2 份已经收过，内容相同" in said.out and "s3" in said.err and "s1" not in said.err


@pytest.mark.parametrize("first", ["NFC", "NFD"])
@pytest.mark.parametrize("listed", ["", "NFC", "NFD"])
def test_a_name_in_either_form_of_unicode_is_one_name(first, listed, tmp_path, classroom):
    name, other = "Zoë Nguyễn", next(lesson for lesson in LESSONS if lesson != LESSON)
    roster = put(tmp_path / "class.csv", f"student\n{normalize(listed, name)}\n".encode()) if listed else None
    for form, lesson in ((first, LESSON), ({"NFC": "NFD", "NFD": "NFC"}[first], other)):
        put(tmp_path / form / normalize(form, name) / f"{lesson}.ipynb")
        done = collect(classroom, [tmp_path / form], roster)
        assert done.placed == [(name, lesson)] and not done.left and not done.unknown
    # So wrote an earlier version.
    row = f"student,name,original\n{name},,{normalize('NFD', name)}\n"
    classroom.roster.write_text(row, "utf-8")
    assert not collect(classroom, [tmp_path / "NFD"], replace=True).left


def test_nothing_that_a_terminal_obeys_is_printed(tmp_path, classroom, capsys):
    """Names of files and students are written out, wherever they are said."""
    for number, c in enumerate(CONTROLS):
        put(tmp_path / "in" / f"s{number}{c}31m" / f"{LESSON}.ipynb")
        put(tmp_path / "in" / f"t{number}{c}31m" / f"x{c}\n.txt")
        put(tmp_path / "in" / f"t{number}{c}31m" / f"x{c}\n.ipynb", b"{}")
    room = ["--classroom", str(classroom.root)]
    for more in (["--dry-run"], []):
        assert cli.main(["collect", str(tmp_path / "in"), *room, *more]) == 1
    assert cli.main(["collect", str(tmp_path / "none\x1b[31m"), *room]) == 1
    assert cli.main(["collect", str(tmp_path / "in"), *room, "--student-pattern", "(\x9b"]) == 1
    said = "".join(capsys.readouterr())
    assert not set(said) & set(CONTROLS) and not any(line.startswith(".") for line in said.split("\n"))
    assert "\\x1b" in said and "\\u202e" in said
    assert set(placed(classroom)) == {at(f"s{number}_31m") for number in range(len(CONTROLS))}
    assert read_people(classroom)["s1_31m"]["original"] == "s1\x1b31m"


FORMULAS = ("+cmd|calc", "=1+1:x", "@SUM(A1)|", "-2+3|x", "＝1|", "＋1|", "－1|", "＠x|", "'=1|", "'x|", "-rf")


def test_the_roster_is_safe_to_open_and_reads_as_it_was(tmp_path, classroom):
    rows = [(f"{cell}", f"名{cell}", cell) for cell in FORMULAS]
    text = io.StringIO()
    csv.writer(text).writerows([("student", "name", "email"), *rows])
    roster = put(tmp_path / "class.csv", text.getvalue().encode())
    for number in range(2):  # written, read, and written again
        put(tmp_path / str(number) / "-rf" / f"{LESSON}.ipynb")
        collect(classroom, [tmp_path / str(number)], roster, replace=True)
        written = list(csv.reader(io.StringIO(classroom.roster.read_text("utf-8-sig"), newline="")))
        assert not [cell for row in written for cell in row if cell[:1] and cell[0] in "=+-@＝＋－＠\t\r"]
        people = read_people(classroom)
        assert {row["original"] or student for student, row in people.items()} == set(FORMULAS)
        assert {row["email"] for row in people.values()} == set(FORMULAS)
    assert people["-rf"]["original"] == ""
    # A tab is no part of a folder's name at its end, but may be written in a cell.
    write_roster(classroom, [{"student": "s", "original": "\t=1"}])
    assert read_people(classroom)["s"]["original"] == "\t=1"
    assert "\n\t" not in classroom.roster.read_text("utf-8-sig") and "'\t=1" in classroom.roster.read_text("utf-8-sig")


def test_two_weeks_of_one_class_are_attempts(tmp_path, classroom):
    """Laid out as this course lays out a class, the folders are people, in whichever source they are."""
    for week in ("第一周", "第二周"):
        for student in ("alice", "bob"):
            put(tmp_path / week / student / LESSON / f"{LESSON}.ipynb", WORK)
    done = collect(classroom, [tmp_path / "第一周", tmp_path / "第二周"])
    assert not done.left and sorted(classroom.students()) == ["alice", "bob"]


def test_a_draft_beside_what_is_collected_already_is_kept(tmp_path, classroom):
    final = put(tmp_path / "alice" / "04-implementation (2).ipynb", WORK)
    collect(classroom, [tmp_path])
    put(tmp_path / "alice" / "04-implementation (1).ipynb", WORK + b" ")
    done = collect(classroom, [tmp_path])
    assert done.same and list(done.earlier.values()) == [1] and final.read_bytes() == WORK
    assert [p.read_bytes() for p in (classroom.root / "earlier").rglob("*.ipynb")] == [WORK + b" "]
    assert not collect(classroom, [tmp_path]).earlier
