"""What learning platforms and students pack: zip and tar, honest and hostile."""

import bz2
import gzip
import io
import lzma
import os
import tarfile
import tracemalloc
import zipfile
from pathlib import Path, PurePosixPath

import pytest
from conftest import LESSON, as_bytes, command, released
from test_collect import at, placed, put

from autograder import archives, cli
from autograder.collect import collect
from autograder.course import Classroom
from autograder.roster import read_people
from rmslab.checks import LESSONS

WORK = as_bytes(released())
FILE = f"{LESSON}.ipynb"


def zipped(members: dict[str, bytes], **how: object) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, **how) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def damaged(method: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr(FILE, WORK)
    data = bytearray(out.getvalue())
    data[70:400] = bytes(330)
    return bytes(data)


def tarred(members: dict[str, bytes | tarfile.TarInfo], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in members.items():
            if isinstance(data, tarfile.TarInfo):
                archive.addfile(data)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


# --- layouts ----------------------------------------------------------------------------------------------

LAYOUTS: dict[str, tuple[str, bytes]] = {
    "a-student's-zip": ("s1.zip", zipped({FILE: WORK})),
    "a-student's-tar": ("s1.tar.gz", tarred({FILE: WORK})),
    "a-plain-tar": ("s1.tar", tarred({FILE: WORK}, "w")),
    "folders-inside": ("s1.zip", zipped({f"作业/{LESSON}/{FILE}": WORK})),
    "in-a-student's-folder": ("s1/作业 (1).zip", zipped({FILE: WORK})),
    "nested-once": ("s1/all.zip", zipped({"inner.zip": zipped({FILE: WORK})})),
    "nested-tar": ("s1/all.tgz", tarred({"inner.tar.gz": tarred({FILE: WORK})})),
    "an-ending-too-many": ("s1.zip", zipped({f"{FILE}.txt": WORK})),
    "underscores": ("s1.zip", zipped({f"__final__/{FILE}": WORK})),
    "upper-case": ("s1.ZIP", zipped({f"{LESSON}/X.IPYNB": WORK})),
    "with-other-files": (
        "s1.zip",
        zipped({FILE: WORK, "__MACOSX/._x.ipynb": b"x", ".git/x.ipynb": b"x", "a.py": b""}),
    ),
}


@pytest.mark.parametrize(("name", "data"), LAYOUTS.values(), ids=LAYOUTS)
def test_layouts_in_a_folder(name, data, tmp_path, classroom):
    put(tmp_path / "in" / name, data)
    done = collect(classroom, [tmp_path / "in"])
    assert done.placed == [("s1", LESSON)] and not done.left, done
    assert placed(classroom) == {at("s1"): WORK}


@pytest.mark.parametrize("wrapped", ["", "2026 春季-作业四/"])
def test_a_whole_class_in_one_archive(wrapped, tmp_path, classroom):
    names = ["张三", "李 四", "[王]五", "s(1)"]
    data = zipped({f"{wrapped}{name}/{FILE}": WORK for name in names})
    done = collect(classroom, [put(tmp_path / "全班.zip", data)])
    assert sorted(done.placed) == sorted((name, LESSON) for name in names) and not done.left


def test_the_archive_of_one_student_given_by_name(tmp_path, classroom):
    collect(classroom, [put(tmp_path / "20260001.zip", zipped({FILE: WORK}))])
    assert set(placed(classroom)) == {at("20260001")}


def test_names_in_gbk_as_windows_writes_them(tmp_path, classroom):
    data = zipped({f"{'x' * 4}/{FILE}": WORK})
    collect(classroom, [put(tmp_path / "in" / "a.zip", data.replace(b"xxxx", "张三".encode("gbk")))])
    assert set(placed(classroom)) == {at("a")} or set(placed(classroom)) == {at("张三")}
    collect(classroom, [put(tmp_path / "b.zip", data.replace(b"xxxx", "李四".encode("gbk")))])
    assert at("李四") in placed(classroom)


MOODLE = {
    f"张三_1234567_assignsubmission_file_/{FILE}": WORK,
    f"李 四_1234568_assignsubmission_file_/{LESSON} (1).ipynb": WORK,
    f"王五_1234569_assignsubmission_file_/{FILE}": WORK,
    f"王五_1234570_assignsubmission_file_/{FILE}": WORK,
    "赵六_1234571_assignsubmission_onlinetext_/onlinetext.html": b"<p>",
}


@pytest.mark.parametrize("how", ["zip", "folder", "flat"])
def test_a_download_from_moodle(how, tmp_path, classroom):
    members = {name.replace("_/", "_") if how == "flat" else name: data for name, data in MOODLE.items()}
    roster = put(
        tmp_path / "class.csv", "学号,姓名\n001,张三\n002,李 四\n003,王五\n004,王五\n005,赵六\n".encode()
    )
    if how == "zip":
        source = put(tmp_path / "RMSNorm-作业四-1234.zip", zipped(members))
    else:
        source = tmp_path / "in"
        for name, data in members.items():
            put(source / name, data)
    done = collect(classroom, [source], roster)
    # Two of one name: nobody is taken for the other.
    assert set(placed(classroom)) == {at("001"), at("002"), at("王五_1234569"), at("王五_1234570")}
    assert len(done.other) == 1 and done.other[0].name.endswith("onlinetext.html")


def downloads(folder: Path, how: str) -> list[Path]:
    """One download from Moodle for each lesson: everybody has another number in each."""
    for number, lesson in enumerate(LESSONS):
        members = {
            f"{name}_{3011 + 100 * number + i}_assignsubmission_file_/{lesson}.ipynb": f"{name} {lesson}".encode()
            for i, name in enumerate(("褚云", "卫青", "蒋平"))
        }
        for name, data in members.items() if "zip" not in how else ():
            put(folder / name if how == "one-folder" else folder / f"作业 {number}" / name, data)
        if "zip" in how:
            put(folder / f"RMSNorm-作业{number}-{number}.zip", zipped(members))
    return [folder] if how in ("one-folder", "folder-of-zips", "folder-of-folders") else sorted(folder.iterdir())


@pytest.mark.parametrize("how", ["zips", "folders", "one-folder", "folder-of-zips", "folder-of-folders"])
@pytest.mark.parametrize("listed", [True, False])
def test_several_downloads_from_moodle_are_of_the_same_people(how, listed, tmp_path, classroom):
    roster = put(tmp_path / "class.csv", "学号,姓名\n001,褚云\n002,卫青\n003,蒋平\n".encode()) if listed else None
    done = collect(classroom, downloads(tmp_path / "in", how), roster)
    ids = {"褚云": "001", "卫青": "002", "蒋平": "003"}
    assert not done.left and not done.unknown and not done.earlier
    assert placed(classroom) == {
        at(ids[name] if listed else name, lesson): f"{name} {lesson}".encode() for name in ids for lesson in LESSONS
    }


@pytest.mark.parametrize("how", ["zips", "folders", "one-folder"])
@pytest.mark.parametrize("listed", [0, 1, 2])
def test_two_of_one_name_in_one_of_several_downloads_stay_apart(how, listed, tmp_path, classroom):
    given = downloads(tmp_path / "in", how)
    other = f"褚云_9_assignsubmission_file_/{LESSONS[0]}.ipynb"
    if how == "zips":
        with zipfile.ZipFile(given[0], "a") as archive:
            archive.writestr(other, b"another")
    else:
        put(given[0] / other, b"another")
    rows = "".join(f"00{i},褚云\n" for i in range(listed))
    roster = put(tmp_path / "class.csv", f"学号,姓名\n010,卫青\n{rows}".encode()) if listed else None
    done = collect(classroom, given, roster)
    assert not done.left and not done.earlier and placed(classroom)[at("褚云_9", LESSONS[0])] == b"another"
    numbers = {f"褚云_{3011 + 100 * number}" for number, _ in enumerate(LESSONS)}
    assert {student for student, _ in done.placed if student.startswith("褚云")} == {*numbers, "褚云_9"}


def test_two_listed_of_one_name_stay_apart_in_different_downloads(tmp_path, classroom):
    roster = put(tmp_path / "class.csv", "学号,姓名\n001,褚云\n002,褚云\n010,卫青\n".encode())
    done = collect(classroom, downloads(tmp_path / "in", "zips"), roster)
    assert at("褚云_3011", LESSONS[0]) in placed(classroom) and at("褚云_3111", LESSONS[1]) in placed(classroom)
    assert done.unknown["褚云_3011", LESSONS[0]] == ["001", "002"]


CANVAS_ROSTER = """Student,ID,SIS User ID,SIS Login ID,Section,作业四 (99)
    Points Possible,,,,,30
"Zhang, San",12345,2026001,zhang3,一班,
"Li, Si",12346,,li4,二班,
"Student, Test",99999,,,一班,
"""


def test_a_download_from_canvas(tmp_path, classroom):
    members = {
        f"zhangsan_12345_67890_{FILE}": WORK + b"\n",
        f"zhangsan_12345_67990_{LESSON}-1.ipynb": WORK,
        f"lisi_LATE_12346_67891_{LESSON}-2.ipynb": WORK,
        f"guest_777_67892_{FILE}": WORK,
    }
    source = put(tmp_path / "submissions.zip", zipped(members))
    done = collect(classroom, [source], put(tmp_path / "canvas.csv", CANVAS_ROSTER.encode()))
    assert placed(classroom) == {at("2026001"): WORK, at("li4"): WORK, at("guest_777"): WORK}
    assert done.earlier == {("2026001", LESSON): 1} and not done.left
    kept = list((classroom.root / "earlier" / "2026001" / LESSON).iterdir())
    assert [path.read_bytes() for path in kept] == [WORK + b"\n"]
    people = read_people(classroom)
    assert people["2026001"] == {
        "student": "2026001", "name": "Zhang, San", "original": "", "lms_id": "12345", "login": "zhang3",
        "section": "一班", "email": "",
    }  # fmt: skip
    assert set(people) == {"2026001", "li4"}


def test_without_a_roster_canvas_numbers_keep_people_apart(tmp_path, classroom):
    members = {f"zhangsan_1_10_{FILE}": WORK, f"zhangsan_2_11_{FILE}": WORK}
    collect(classroom, [put(tmp_path / "x.zip", zipped(members))])
    assert set(placed(classroom)) == {at("zhangsan_1"), at("zhangsan_2")}


@pytest.mark.parametrize(
    ("early", "late"),
    [
        (f"{LESSON}.ipynb", f"{LESSON}-1.ipynb"), (f"{LESSON}-2.ipynb", f"{LESSON}-10.ipynb"),
        (f"{LESSON}.ipynb", f"{LESSON} (1).ipynb"), (f"{LESSON}(1).ipynb", f"{LESSON}（2）.ipynb"),
    ],
)  # fmt: skip
def test_the_latest_attempt_counts(early, late, tmp_path, classroom):
    for number, names in enumerate([(early, late), (late, early)]):
        folder = tmp_path / str(number) / f"s{number}"
        for name in names:  # written in either order
            put(folder / name, name.encode())
        for name in names:
            os.utime(folder / name, (1_700_000_000, 1_700_000_000))
        done = collect(classroom, [tmp_path / str(number)])
        assert done.earlier == {(f"s{number}", LESSON): 1} and not done.left
    assert placed(classroom) == {at("s0"): late.encode(), at("s1"): late.encode()}


def test_a_dry_run_writes_nothing_and_says_all(tmp_path, classroom):
    put(tmp_path / "in" / "s1.zip", zipped({FILE: WORK}))
    put(tmp_path / "in" / "s2" / FILE), put(tmp_path / "in" / "s3.zip", b"PK broken")
    roster = put(tmp_path / "class.csv", b"student\ns1\n")
    ask = ("collect", tmp_path / "in", "--classroom", classroom.root, "--roster", roster, "--dry-run")
    done = command(*ask)
    assert done.returncode == 1 and "s3.zip" in done.stderr
    assert all(student in done.stdout for student in ("s1", "s2")) and "试运行" in done.stdout
    assert not classroom.root.exists()


# --- hostile ----------------------------------------------------------------------------------------------

EVIL = {
    "parent": zipped({f"../../evil/{FILE}": WORK}),
    "absolute": zipped({f"/etc/evil/{FILE}": WORK}),
    "backslashes": zipped({f"..\\..\\evil\\{FILE}": WORK}),
    "drive": zipped({f"C:/evil/{FILE}": WORK}),
    "tar-parent": tarred({f"../../evil/{FILE}": WORK}),
    "tar-absolute": tarred({f"/etc/evil/{FILE}": WORK}),
    "tar-link": tarred({FILE: link(FILE, "/etc/passwd")}),
    "tar-hard-link": tarred({FILE: link(FILE, "/etc/passwd", tarfile.LNKTYPE)}),
    "tar-device": tarred({FILE: link(FILE, "", tarfile.CHRTYPE)}),
    "tar-pipe": tarred({FILE: link(FILE, "", tarfile.FIFOTYPE)}),
    "bomb": zipped({FILE: b" " * (archives.MAX_FILE + 1)}),
    "bomb-of-many": zipped({f"{i}/{FILE}": b" " * (90 * 2**20) for i in range(2)}),
    "tar-bomb": tarred({"filler.bin": b"\0" * (150 * 2**20), FILE: WORK}),
    "nested-too-deep": zipped({"a.zip": zipped({"b.zip": zipped({FILE: WORK})})}),
    "nested-bombs": zipped({f"{i}.zip": zipped({FILE: b" " * (60 * 2**20)}) for i in range(9)}),
    "damaged-lzma": damaged(zipfile.ZIP_LZMA),
    "damaged-bzip2": damaged(zipfile.ZIP_BZIP2),
    "not-a-zip": b"PK\x03\x04" + bytes(200),
    "cut": zipped({FILE: WORK})[:-60],
    "empty": b"",
    "wrong-sum": zipped({FILE: WORK}).replace(b"\x50\x4b\x01\x02", b"\x50\x4b\x01\x02", 1)[:60] + b"\xff" * 40
    + zipped({FILE: WORK})[100:],
}  # fmt: skip


@pytest.fixture(scope="module")
def many_members() -> bytes:
    return zipped({f"{i}.txt": b"" for i in range(archives.MAX_MEMBERS + 1)})


@pytest.mark.parametrize("kind", [*EVIL, "too-many"])
def test_hostile_archives_are_listed_and_hurt_nobody(kind, tmp_path, classroom, request):
    data = request.getfixturevalue("many_members") if kind == "too-many" else EVIL[kind]
    put(tmp_path / "in" / f"s1{'.tar.gz' if kind.startswith('tar') else '.zip'}", data)
    put(tmp_path / "in" / "s2" / FILE)
    before = {path for path in tmp_path.rglob("*")}
    done = collect(classroom, [tmp_path / "in"])
    assert [reason for _, reason in done.left] and ("s2", LESSON) in done.placed
    assert at("s2") in placed(classroom) and len(placed(classroom)) <= 2
    outside = {path for path in tmp_path.rglob("*")} - before
    assert all(path.is_relative_to(classroom.root) for path in outside)
    assert not Path("/etc/evil").exists() and b"root:" not in b"".join(placed(classroom).values())


def test_a_password(tmp_path, classroom):
    data = bytearray(zipped({FILE: WORK}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    done = collect(classroom, [put(tmp_path / "in" / "s1.zip", bytes(data)).parent])
    assert not done.placed and "密码" in done.left[0][1]


def test_bombs_in_an_archive_share_what_it_may_hold(tmp_path):
    """However many archives lie in one archive, together they are not unpacked without end."""
    path = put(tmp_path / "all.zip", EVIL["nested-bombs"])
    (tmp_path / "out").mkdir()
    found = list(archives.Reader(tmp_path / "out").members(path, PurePosixPath("all")))
    assert "大得不合常理" in found[-1].reason
    assert sum(p.stat().st_size for p in (tmp_path / "out").iterdir()) < 400 * 2**20


def claims(name: str, size: int, block: bytes) -> bytes:
    """A tar file whose first header, or whose many headers, are longer than anything honest."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, size
    header = info.tobuf(tarfile.GNU_FORMAT)
    return {"long": header + block * (size // len(block)), "many": (header + block) * 200}[name]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_cannot_be_unpacked_by_and_by_are_not_read(method, tmp_path, classroom):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr(FILE, WORK)
    done = collect(classroom, [put(tmp_path / "in" / "s1.zip", out.getvalue()).parent])
    assert not done.placed and "压缩方法" in done.left[0][1]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("kind", ["long", "many"])
def test_the_headers_of_a_tar_file_are_bounded(kind, pack, tmp_path):
    """Nothing is held that is larger than the budget, however short the file."""
    data = claims(kind, 2**28 if kind == "long" else 2**20, bytes(2**20))
    path = put(tmp_path / "s1.tar", pack(data))
    tracemalloc.start()
    try:
        found = list(archives.Reader(tmp_path).members(path, PurePosixPath("s1")))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found[-1].reason and peak < 3 * archives.FREE, peak


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz", "w"])
def test_tar_files_of_every_packing(mode, tmp_path, classroom):
    done = collect(classroom, [put(tmp_path / "in" / "s1.tar", tarred({FILE: WORK}, mode)).parent])
    assert done.placed == [("s1", LESSON)] and placed(classroom) == {at("s1"): WORK}


@pytest.mark.parametrize("when", ["inf", "nan", "1e300", "-1e300"])
def test_times_that_are_none(when, tmp_path, classroom):
    info = tarfile.TarInfo(FILE)
    info.size, info.pax_headers = len(WORK), {"mtime": when}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(info, io.BytesIO(WORK))
    done = collect(classroom, [put(tmp_path / "in" / "s1.tar", out.getvalue()).parent])
    assert done.placed == [("s1", LESSON)] and not done.left


@pytest.mark.parametrize("name", ["s1.7z", "s1.rar", "s1.tar.xz", "s1.txz", "s1.zipx", "s1.tar.lzma"])
def test_archives_that_are_not_read_are_listed(name, tmp_path, classroom):
    put(tmp_path / "in" / name, b"x"), put(tmp_path / "in" / "s2" / FILE)
    done = collect(classroom, [tmp_path / "in"])
    assert done.placed == [("s2", LESSON)] and "解压" in done.left[0][1]


def test_the_rest_of_an_archive_with_one_bad_member(tmp_path, classroom):
    other = next(lesson for lesson in LESSONS if lesson != LESSON)
    members = {f"../{FILE}": WORK, f"{other}.ipynb": WORK, "笔记.docx": b"x"}
    done = collect(classroom, [put(tmp_path / "in" / "s1.zip", zipped(members)).parent])
    assert (
        done.placed == [("s1", other)] and len(done.left) == 1 and [p.name for p in done.other] == ["笔记.docx"]
    )


# --- several sources, and what lies around students ---------------------------------------------------------

OTHER = next(lesson for lesson in LESSONS if lesson != LESSON)
COURSE = f"rmsnorm-course/notebooks/{LESSON}/{FILE}"


def sources(tmp_path: Path, given: dict[str, dict[str, bytes]]) -> list[Path]:
    """Zips and folders beside each other; what ends in .ipynb is a file."""
    for name, members in given.items():
        if name.endswith(".zip"):
            put(tmp_path / "in" / name, zipped(members))
        for place, data in members.items() if not name.endswith(".zip") else ():
            put(tmp_path / "in" / name / place if not name.endswith(".ipynb") else tmp_path / "in" / name, data)
    return [tmp_path / "in" / name for name in given]


def of(*students: str, lesson: str = LESSON) -> set[str]:
    return {at(student, lesson) for student in students}


SEVERAL = {
    "one-folder-each": {f"{s}.zip": {f"作业/{FILE}": s.encode()} for s in ("alice", "bob")},
    "the-course-each": {f"{s}.zip": {COURSE: s.encode()} for s in ("alice", "bob")},
    "folders": {s: {COURSE: s.encode()} for s in ("alice", "bob")},
    "flat-folders": {s: {FILE: s.encode()} for s in ("alice", "bob")},
    "a-zip-and-a-folder": {"alice.zip": {f"作业/{FILE}": b"a"}, "bob": {f"作业/{FILE}": b"b"}},
    "a-zip-and-a-file": {"alice.zip": {f"作业/{FILE}": b"a"}, f"bob-{LESSON}.ipynb": {"": b"b"}},
    "a-folder-a-lesson": {
        f"{s}.zip": {f"三/{OTHER}.ipynb": s.encode(), f"四/{FILE}": s.encode()} for s in ("alice", "bob")
    },
    "classes": {
        "一班.zip": {f"alice/{FILE}": b"a", f"carol/{FILE}": b"c"},
        "二班": {f"bob/{FILE}": b"b", f"dan/{FILE}": b"d"},
    },
    "flat-classes": {
        "一班": {f"alice-{FILE}": b"a", f"carol-{FILE}": b"c"},
        "二班": {f"bob-{FILE}": b"b", f"dan-{FILE}": b"d"},
    },
    "a-class-and-one-late": {
        "一班.zip": {f"alice/{FILE}": b"a", f"carol/{FILE}": b"c"},
        "bob.zip": {f"作业/{FILE}": b"b"},
    },
}


@pytest.mark.parametrize("given", SEVERAL.values(), ids=SEVERAL)
@pytest.mark.parametrize("listed", [False, True])
def test_several_sources_are_several_people(given, listed, tmp_path, classroom):
    roster = put(tmp_path / "class.csv", b"student\nalice\nbob\n") if listed else None
    done = collect(classroom, sources(tmp_path, given), roster)
    students = {"alice", "bob"} | ({"carol"} if "一班" in str(given) else set())
    students |= {"dan"} if "二班" in str(given) else set()
    lessons = (LESSON, OTHER) if OTHER in str(given) else (LESSON,)
    assert set(placed(classroom)) == set().union(*(of(*students, lesson=one) for one in lessons))
    assert not done.left and not done.earlier
    assert all(data.decode()[0] == place[0] for place, data in placed(classroom).items())


@pytest.mark.parametrize("how", ["zip", "folder"])
def test_a_single_source_that_the_roster_knows(how, tmp_path, classroom):
    roster = put(tmp_path / "class.csv", "student,name\n2024101,李芳\n2024103,刘洋\n".encode())
    name = "李芳.zip" if how == "zip" else "李芳"
    collect(classroom, sources(tmp_path, {name: {f"作业/{FILE}": WORK}}), roster)
    assert set(placed(classroom)) == of("2024101")
    for number, form in enumerate(("{}/x.ipynb", "{}_04-implementation.ipynb")):  # packed by one of them
        people = {form.format(student).replace("x.ipynb", FILE): WORK for student in ("2024103", "李芳")}
        room = Classroom(tmp_path / f"room-{number}")
        collect(room, sources(tmp_path / str(number), {name: people}), roster)
        assert set(placed(room)) == of("2024101", "2024103")


def test_one_name_in_two_sources_is_not_taken_for_one_person(tmp_path, classroom):
    one, two = (put(tmp_path / s / "作业.zip", zipped({FILE: s.encode()})) for s in ("alice", "bob"))
    drafts = sources(tmp_path, {s: {f"草稿/{FILE}": b"1", f"最终/{FILE}": b"2"} for s in ("carol", "dan")})
    for given in ([one, two], drafts):
        done = collect(classroom, given)
        assert not done.placed and not done.unknown and done.left
        assert all("不止一个来源" in reason for _, reason in done.left)
    done = collect(classroom, drafts, put(tmp_path / "class.csv", b"student\ncarol\ndan\n"))
    assert set(placed(classroom)) == of("carol", "dan") and len(done.earlier) == 2


def test_attempts_beside_each_other_are_one_person_s(tmp_path, classroom):
    given = [put(tmp_path / "in" / f"s1-{LESSON}{c}.ipynb", c.encode()) for c in ("", " (1)")]
    done = collect(classroom, given)
    assert done.placed == [("s1", LESSON)] and not done.left and done.earlier == {("s1", LESSON): 1}


@pytest.mark.parametrize("stray", [FILE, "README.ipynb", f"{LESSON}/{FILE}"])
@pytest.mark.parametrize("wrapped", ["", "hw/", "hw/四/"])
@pytest.mark.parametrize("inside", [False, True])
def test_a_stray_notebook_does_not_make_a_class_one_student(stray, wrapped, inside, tmp_path, classroom):
    members = {f"{wrapped}{s}/{FILE}": s.encode() for s in ("alice", "bob", "carol")}
    members[f"{wrapped if inside else ''}{stray}"] = b"{}"
    done = collect(classroom, [put(tmp_path / "class.zip", zipped(members))])
    assert set(placed(classroom)) == of("alice", "bob", "carol") and not done.earlier
    assert [path.name for path, _ in done.left] == [PurePosixPath(stray).name]


NEW, OLD = (2026, 9, 20, 10, 0, 0), (2026, 9, 1, 10, 0, 0)


@pytest.mark.parametrize("wrapped", ["", "rmsnorm-course/", "作业/rmsnorm-course (1)/"])
@pytest.mark.parametrize("form", ["zip", "zip-in-a-folder"])
@pytest.mark.parametrize("newer", ["notebooks", "solutions", ""])
def test_a_student_hands_in_the_whole_course(wrapped, form, newer, tmp_path, classroom, capsys):
    """The solutions in it are nobody's work."""
    path = tmp_path / "in" / "2024001.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for place in ("notebooks", "solutions", "work"):
            for lesson in LESSONS:
                below = f"{lesson}.ipynb" if place == "work" else f"{lesson}/{lesson}.ipynb"
                info = zipfile.ZipInfo(f"{wrapped}{place}/{below}", NEW if place == newer else OLD)
                archive.writestr(info, place.encode())
    given = [path.parent if form == "zip-in-a-folder" else path]
    roster = put(tmp_path / "class.csv", b"student\n2024001\n") if wrapped.startswith("作业") else None
    done = collect(classroom, given, roster)
    expected = b"notebooks" if newer == "notebooks" else b"work"
    assert placed(classroom) == {at("2024001", lesson): expected for lesson in LESSONS}
    assert len(done.solutions) == len(LESSONS) and not done.left
    assert b"solutions" not in {p.read_bytes() for p in (classroom.root / "earlier").rglob("*.ipynb")}
    if form == "zip" and not wrapped and not newer:
        assert cli.main(["collect", str(path), "--classroom", str(tmp_path / "room")]) == 0
        assert f"{len(LESSONS)} 个是课程自带的解答" in capsys.readouterr().out


NBGRADER = {
    **{f"{step}/{LESSON}/{FILE}": b"{}" for step in ("source", "release")},
    **{f"{step}/{s}/{LESSON}/{FILE}": s.encode() for step in ("submitted", "autograded") for s in ("alice", "bob")},
    f"feedback/alice/{LESSON}/{LESSON}.html": b"", "feedback/alice/old.zip": b"PK", "gradebook.db": b"",
    f"scratch/{FILE}": b"{}",
}  # fmt: skip


@pytest.mark.parametrize("name", ["course", "course.zip", "wrapped.zip", "two"])
@pytest.mark.parametrize("listed", [False, True])
def test_of_an_nbgrader_course_only_what_was_submitted_is_collected(name, listed, tmp_path, classroom, capsys):
    wrapped = "phys101/" if name == "wrapped.zip" else ""
    given = {name: {wrapped + place: data for place, data in NBGRADER.items()}}
    given |= {"carol.zip": {FILE: b"carol"}} if name == "two" else {}
    put(tmp_path / "class.csv", b"student\nalice\nbob\ncarol\n")
    roster = ["--roster", str(tmp_path / "class.csv")] if listed else []
    room = ["--classroom", str(classroom.root)]
    assert cli.main(["collect", *map(str, sources(tmp_path, given)), *room, *roster]) == 0
    students = ("alice", "bob", "carol") if name == "two" else ("alice", "bob")
    assert placed(classroom) == {at(student): student.encode() for student in students}
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("nbgrader 的课程")]
    assert f"其余 {len(NBGRADER) - 2} 个文件" in line and "release" in line and "gradebook.db" in line


@pytest.mark.parametrize("step", ["source", "release", "submitted", "autograded", "feedback"])
def test_a_step_of_nbgrader_is_no_student(step, tmp_path, classroom):
    done = collect(classroom, sources(tmp_path, {"in": {f"{step}/{LESSON}/{FILE}": WORK, f"s1/{FILE}": WORK}}))
    assert done.placed == [("s1", LESSON)] and len(done.left) == 1
    members = {f"{step}/{s}/{LESSON}/{FILE}": WORK for s in ("s1", "s2")}
    room = Classroom(tmp_path / "room")
    collect(room, sources(tmp_path, {"all": members}))
    assert set(placed(room)) == of("s1", "s2")
    own = collect(classroom, sources(tmp_path, {"s3.zip": {f"{step}/{FILE}": WORK}}))
    assert own.placed == [("s3", LESSON)] and not own.steps


def test_a_folder_called_solutions_may_hold_work(tmp_path, classroom):
    done = collect(classroom, sources(tmp_path, {"s1.zip": {f"solutions/{FILE}": WORK}}))
    assert done.placed == [("s1", LESSON)] and not done.solutions


@pytest.mark.parametrize("data", [b"PK broken", EVIL["tar-bomb"], EVIL["not-a-zip"], b""])
def test_a_single_archive_that_cannot_be_read_says_why(data, tmp_path, classroom, capsys):
    path = put(tmp_path / ("s1.tar.gz" if data.startswith(b"\x1f") else "s1.zip"), data)
    assert cli.main(["collect", str(path), "--classroom", str(classroom.root)]) == 1
    said = capsys.readouterr().err
    assert "没有任何" not in said and str(path) in said
    assert "坏了" in said or "大得不合常理" in said


@pytest.mark.parametrize("how", ["folder", "zip", "tar", "zip-in-a-folder"])
def test_what_begins_with_a_dot_is_listed_unless_a_program_made_it(how, tmp_path, classroom):
    dotted = [f"..dots/{FILE}", f".x/{LESSON}/{FILE}", ".y/all.zip", f"s2/.{FILE}"]
    made = [f"s1/{p}" for p in (f".ipynb_checkpoints/{FILE}", f".git/{FILE}", f"._{FILE}", f".~{FILE}", ".DS_Store")]
    members = {name: WORK for name in (*dotted, *made, f"__MACOSX/s1/._{FILE}", f"s1/{FILE}", f"s3/{FILE}")}
    if how == "tar":
        given = put(tmp_path / "class.tar.gz", tarred(members))
    elif how.startswith("zip"):
        given = put(tmp_path / "in" / "class.zip", zipped(members))
        given = given.parent if "folder" in how else given
    else:
        given = sources(tmp_path, {"class": members})[0]
    done = collect(classroom, [given])
    assert all("点开头" in reason for _, reason in done.left) and not done.other
    assert sorted(name for path, _ in done.left for name in dotted if str(path).endswith(f"/{name}")) == sorted(dotted)
    assert len(done.left) == len(dotted)
