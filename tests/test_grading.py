"""From handed-in files to grades, with real processes: exact scores, and nobody hurts anybody else."""

import csv
import html
import html.parser
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import nbformat
import pytest
import torch
from conftest import (
    COURSE,
    LESSON,
    ROOT,
    answered,
    as_bytes,
    code_cell,
    command,
    find,
    hand_in,
    marks,
    python,
    released,
    running_with,
    source,
    with_class,
)
from nbgrader.api import Gradebook

from autograder import cli, gradebook, pages, report, results, run, sandbox
from autograder import grade as grader
from autograder.collect import collect
from autograder.course import Classroom, Course
from autograder.rebuild import EXTRA, Rebuilt
from autograder.report import COLUMNS, Row
from rmslab import engine, evidence
from rmslab.checks import LESSONS, implementation_mistakes, steps_of
from rmslab.checks.implementation import SENTENCE
from rmslab.compare import numbers

HANZI = re.compile(r"[\u4e00-\u9fff]")
STEP_IDS = [step.id for step in steps_of(LESSON)]
FULL = {step.id: step.points for step in steps_of(LESSON)}


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


def graded_cells(lesson: str) -> dict[str, float]:
    """Points by grade_id: the automatic steps, then the cells that a person grades."""
    steps = {step.id: step.points for step in steps_of(lesson)}
    cells = (marks(cell) for cell in released(lesson)["cells"])
    return steps | {c["grade_id"]: c["points"] for c in cells if c.get("grade") or c.get("task")}


def fate(rows: list[dict[str, str]], student: str, lesson: str = LESSON) -> list[tuple[float, str, str]]:
    """(points, status, diagnosis) of each step."""
    mine = [row for row in rows if (row["student"], row["lesson"]) == (student, lesson)]
    return [(float(row["points"]), row["status"], row["diagnosis"]) for row in mine]


def scores_of(classroom: Classroom) -> list[dict[str, str]]:
    path = classroom.root / "scores.csv"
    report.report(classroom, path)
    return table(path)


# --- the demo class ---------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def demo(tmp_path_factory) -> tuple[Path, subprocess.CompletedProcess]:
    folder = tmp_path_factory.mktemp("demo") / "class"
    return folder, command("demo", "--folder", folder)


def test_demo_class_gets_exactly_this(demo):
    folder, done = demo
    assert done.returncode == 0 and done.stderr == ""
    rows = table(folder / "scores.csv")
    full = [(points, "graded", "") for points in FULL.values()]
    weight, norm, forward, _ = full
    half = "half-statistics"
    blank = (0, "blank", "")
    assert {student: fate(rows, student) for student in sorted({row["student"] for row in rows})} == {
        "cut-in-half": [(0, "unreadable", "")] * 4,
        "edited-test": [weight, blank, blank, blank],
        "fp16-statistics": [weight, (8, "graded", half), forward, (5, "graded", half)],
        "layernorm": [weight, (0, "graded", "layernorm"), forward, (0, "graded", "layernorm")],
        "no-keepdim": [weight, (0, "error", "no-keepdim"), forward, (0, "error", "no-keepdim")],
        "plain-weight": [
            (0, "graded", "weight-not-parameter"), norm, forward, (0, "graded", "weight-not-parameter"),
        ],
        "solved": full,
        "untouched": [blank] * 4,
    }  # fmt: skip


def test_demo_shows_where_to_look_and_can_be_run_again(demo):
    folder, done = demo
    for name in ("scores.csv", "class.html", "classroom/feedback", "classroom/gradebook.db"):
        assert (folder / name).exists() and str(folder / name) in done.stdout


def test_demo_does_not_touch_a_folder_of_somebody_else(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (tmp_path / "mine.txt").write_text("x")
    assert cli.main(["demo", "--folder", str(tmp_path)]) == 1
    assert HANZI.search(capsys.readouterr().err) and [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


# --- a class in which everything goes wrong ---------------------------------------------------------------

SLEEP = f"3{os.getpid()}"
LEAVES_PROCESSES = f"""
import os, subprocess
subprocess.Popen(["sleep", "{SLEEP}"])
subprocess.Popen(["sleep", "{SLEEP}"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    os.execlp("sleep", "sleep", "{SLEEP}")
"""
NORM = "        x_fp32 = x.float()\n"
PRINTS_INPUTS = (NORM, NORM + "        print(x.tolist()); x_fp32 = x_fp32 - x_fp32.mean(-1, keepdim=True)\n")
PRINTS_MUCH = (NORM, NORM + "        for _ in range(500): print('喵' * 1000)\n")
WILD = {
    "exit-in-cell": lambda: with_class(append="\n\nimport os\nos._exit(0)"),
    "exit-in-norm": lambda: with_class((NORM, "        import os; os._exit(1)\n" + NORM)),
    "memory-in-cell": lambda: with_class(
        append="\n\nhoard = []\nwhile True:\n    hoard.append(bytearray(10**8))"
    ),
    "memory-in-norm": lambda: with_class((NORM, NORM + "        bytearray(10**12)\n")),
    "prints-endlessly": lambda: with_class(append="\n\nwhile True:\n    print('喵' * 1000)"),
    "prints-inputs": lambda: with_class(PRINTS_INPUTS),
    "prints-much-and-leaves-processes": lambda: with_class(PRINTS_MUCH, LEAVES_PROCESSES),
    "cut": lambda: as_bytes(answered())[:-500],
}


@pytest.fixture(scope="session")
def wild(
    course: Course, tmp_path_factory
) -> tuple[Classroom, subprocess.CompletedProcess, list[dict[str, str]]]:
    """Graded by the real command: classroom, what it said, the CSV."""
    folder = tmp_path_factory.mktemp("wild")
    classroom = Classroom(folder / "classroom")
    for student, make in WILD.items():
        hand_in(folder / "in", student, make())
    for lesson in LESSONS:
        hand_in(folder / "in", "张三", answered(lesson), lesson)
        hand_in(folder / "in", "李 四", released(lesson), lesson)
    (folder / "class.csv").write_text("student,name\n王五,没有交\n张三,张三\n", "utf-8")
    collect(classroom, [folder / "in"], folder / "class.csv")
    (folder / "scratch").mkdir()
    done = command(
        "grade", "--classroom", classroom.root, "--timeout", 8, "--memory", 600,
        cwd=course.root, env=os.environ | {"TMPDIR": str(folder / "scratch")},
    )  # fmt: skip
    command("report", "--classroom", classroom.root, "--csv", folder / "a.csv", "--html", folder / "a.html")
    return classroom, done, table(folder / "a.csv")


def test_everybody_has_a_result_and_nothing_else_is_said(wild):
    _, done, rows = wild
    assert done.returncode == 0 and done.stderr == ""
    assert "Traceback" not in done.stdout and "Warning" not in done.stdout
    students = {*WILD, "张三", "李 四", "王五"}
    wanted = {(s, lesson, step) for s in students for lesson in LESSONS for step in graded_cells(lesson)}
    assert {(row["student"], row["lesson"], row["step"]) for row in rows} == wanted
    assert len(rows) == len(wanted)


@pytest.mark.parametrize("lesson", LESSONS)
def test_solved_is_full_untouched_is_blank_absent_is_missing(lesson, wild):
    rows = wild[2]
    automatic = {step.id for step in steps_of(lesson)}
    cells = graded_cells(lesson)
    assert fate(rows, "张三", lesson) == [
        (points, "graded", "") if name in automatic else (0, "needs_manual", "")
        for name, points in cells.items()
    ]
    assert fate(rows, "李 四", lesson) == [(0, "blank", "") for _ in cells]
    assert fate(rows, "王五", lesson) == [(0, "missing", "") for _ in cells]


@pytest.mark.parametrize(
    ("student", "want"),
    [
        ("exit-in-cell", [(0.0, "crashed", "")] * 4),
        ("exit-in-norm", [(6.0, "graded", ""), (0.0, "crashed", ""), (8.0, "graded", ""), (0.0, "crashed", "")]),
        ("memory-in-cell", [(0.0, "memory", "")] * 4),
        ("prints-endlessly", [(0.0, "timeout", "")] * 4),
        ("prints-much-and-leaves-processes", [(points, "graded", "") for points in FULL.values()]),
        ("cut", [(0.0, "unreadable", "")] * 4),
    ],
)
def test_each_ends_as_it_must(student, want, wild):
    assert fate(wild[2], student) == want


def test_memory_that_runs_out_inside_norm(wild):
    found = fate(wild[2], "memory-in-norm")
    assert found[0] == (FULL["rmsnorm-weight"], "graded", "") and found[1] == (0, "memory", "")


def test_messages_say_what_to_do(wild):
    for row in wild[2]:
        full = float(row["points"]) == float(row["max_points"])
        assert full or HANZI.search(row["message"]), row


def test_nothing_is_left_running_and_no_scratch_left_behind(wild):
    classroom, _, _ = wild
    assert running_with(f"sleep\0{SLEEP}") == []
    assert running_with(str(classroom.root.parent / "scratch")) == []
    assert list((classroom.root.parent / "scratch").iterdir()) == []


def test_results_stay_small(wild):
    classroom, _, _ = wild
    assert max(path.stat().st_size for path in classroom.root.rglob("*.json")) < 3_000_000
    assert max(path.stat().st_size for path in classroom.root.rglob("*.html")) < 300_000


def test_gradebook_agrees_with_the_results(wild):
    classroom, _, rows = wild
    with closing(Gradebook(classroom.db_url, "rmsnorm")) as book:
        for lesson in LESSONS:
            for submission in book.assignment_submissions(lesson):
                mine = fate(rows, submission.student.id, lesson)
                assert submission.score == sum(points for points, _, _ in mine)
                assert submission.max_score == sum(graded_cells(lesson).values())
                assert submission.needs_manual_grade == any(how == "needs_manual" for _, how, _ in mine)
        graded = {submission.student.id for submission in book.assignment_submissions(LESSON)}
        assert graded == {*WILD, "张三", "李 四"} - {"cut"}


def test_nbgrader_export_agrees(wild, tmp_path):
    classroom, _, rows = wild
    line = ("-m", "nbgrader", "export", "--db", classroom.db_url, "--to", tmp_path / "out.csv")
    done = python(*line, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        exported = {(r["student_id"], r["assignment"]): float(r["score"]) for r in csv.DictReader(file)}
    for (student, lesson), score in exported.items():
        assert score == sum(points for points, _, _ in fate(rows, student, lesson))
    assert exported["张三", LESSON] == sum(FULL.values())


def test_autograded_notebooks_are_valid_and_hold_what_was_run(wild):
    classroom, _, _ = wild
    for path in (classroom.root / "autograded").rglob("*.ipynb"):
        nbformat.validate(nbformat.read(path, as_version=4))
    assert not classroom.autograded("cut", LESSON).exists()


class Page(html.parser.HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


def test_pages_are_self_contained(wild, demo):
    pages = [*wild[0].root.rglob("*.html"), wild[0].root.parent / "a.html", *demo[0].rglob("*.html")]
    assert len(pages) > len(WILD) + 8
    for path in pages:
        text = path.read_text("utf-8")
        page = Page(text)
        assert not {"script", "link", "iframe", "img", "object"} & set(page.tags), path
        assert not [n for n, _ in page.attributes if n in ("src", "href", "srcset") or n.startswith("on")], path
        assert not re.search(r"https?://|@import|url\(", text), path
        assert page.tags.count("h1") == 1 and 'lang="zh-CN"' in text


def test_every_submission_has_a_feedback_page(wild):
    classroom, _, _ = wild
    for student in [*WILD, "张三", "李 四"]:
        text = classroom.feedback(student, LESSON).read_text("utf-8")
        assert student in text and all(re.search(r"\d+(\.\d+)? / \d+", text) for _ in STEP_IDS)


def hidden_values(classroom: Classroom) -> set[str]:
    """Every hidden row of lesson 04, as Python prints it and as a card does; and what is expected for it."""
    found = set()
    for step in steps_of(LESSON):
        for groups in step.inputs(classroom.seed()).values():
            for group in groups.values():
                for case in group:
                    if "x" in case:
                        x = evidence.decode(case["x"]).double()
                        y = x * (x.square().mean(-1, keepdim=True) + case["eps"]).rsqrt()
                        if "gamma" in case:
                            y = y * evidence.decode(case["gamma"]).double()
                        if case["x"] == evidence.encode(torch.tensor(SENTENCE)):
                            continue  # the lesson's own example
                        rows = [*x.reshape(-1, x.shape[-1]), *y.reshape(-1, x.shape[-1])]
                        found |= {str(row.tolist())[1:-1] for row in rows if row.unique().numel() > 3}
                        found |= {numbers(row) for row in rows if row.unique().numel() > 4}
    return found


def test_nobody_is_shown_a_hidden_input_or_an_expected_value(wild):
    """Not even who prints it: the class may hand in again."""
    classroom, _, _ = wild
    hidden = hidden_values(classroom)
    assert len(hidden) > 100
    places = [*classroom.root.rglob("*.html"), *(classroom.root / "autograded").rglob("*.ipynb")]
    places += [classroom.root.parent / "a.csv", classroom.root.parent / "a.html"]
    for path in places:
        text = path.read_text("utf-8")
        assert not [value for value in hidden if value in text], path


# --- again, changed, killed, by hand ----------------------------------------------------------------------

SMALL = {
    "solved": lambda: answered(),
    "no-root": lambda: with_class(("torch.rsqrt(mean_square + self.eps)", "1 / (mean_square + self.eps)")),
    "untouched": lambda: released(),
}


@pytest.fixture(scope="session")
def small_once(course: Course, tmp_path_factory) -> Classroom:
    """A small class, graded. Not to be changed."""
    folder = tmp_path_factory.mktemp("small")
    for student, make in SMALL.items():
        hand_in(folder / "in", student, make())
    classroom = Classroom(folder / "classroom")
    collect(classroom, [folder / "in"])
    done = command("grade", "--classroom", classroom.root, cwd=course.root)
    assert done.returncode == 0, done.stderr
    return classroom


@pytest.fixture
def small(small_once: Classroom, course: Course, tmp_path: Path, monkeypatch) -> Classroom:
    """The same, to be changed; commands run in its course."""
    shutil.copytree(small_once.root, tmp_path / "classroom")
    monkeypatch.chdir(course.root)
    return Classroom(tmp_path / "classroom")


def grade(classroom: Classroom, *more: object) -> None:
    assert cli.main(["grade", "--classroom", str(classroom.root), *map(str, more)]) == 0


def without_time(rows: list[dict[str, str]]) -> list[tuple]:
    return sorted(tuple(row.values()) for row in rows)


def test_only_what_changed_is_graded_again(small, capsys):
    before = {path: path.read_bytes() for path in (small.root / "results").rglob("*.json")}
    grade(small)
    assert "要评 0 份" in capsys.readouterr().out
    assert before == {path: path.read_bytes() for path in (small.root / "results").rglob("*.json")}
    small.submission("no-root", LESSON).write_bytes(as_bytes(answered()))
    grade(small)
    assert "要评 1 份" in capsys.readouterr().out
    assert [p for p, _, _ in fate(scores_of(small), "no-root")] == list(FULL.values())


@pytest.mark.parametrize(
    "text", ["", "[]", "7", '"x"', "null", "{}", '{"schema": 99}', '{"schema": 1, "steps": [1]}', "\ud800"]
)
def test_damaged_results_count_as_none(text, small):
    small.result("solved", LESSON).write_text(text, "utf-8", "surrogatepass")
    assert results.read(small, "solved", LESSON) is None
    assert len(list(results.read_all(small))) == len(SMALL) - 1


def test_a_killed_grader_leaves_nothing_running_and_goes_on(small_once, course, tmp_path):
    """Killed between the first result and the last; run again, it ends as if nothing had been."""
    classroom, scratch = Classroom(tmp_path / "classroom"), tmp_path / "scratch"
    scratch.mkdir()
    shutil.copytree(small_once.root / "submitted", classroom.root / "submitted")
    shutil.copy(small_once.root / "seed", classroom.root)
    hand_in(classroom.root / "submitted", "a-loop", with_class(append="\n\nwhile True: pass"))
    line = [
        sys.executable,
        "-m",
        "autograder.cli",
        "grade",
        "--classroom",
        str(classroom.root),
        "--jobs",
        "2",
    ]
    with subprocess.Popen(
        line, cwd=course.root, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        env=os.environ | {"TMPDIR": str(scratch)},
    ) as process:  # fmt: skip
        for said in process.stdout:
            if said.startswith("[1/"):
                process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 30
    while running_with(str(scratch)) and time.monotonic() < deadline:
        pass  # the kernel is about to end them
    assert running_with(str(scratch)) == []
    assert 1 <= len(list(results.read_all(classroom))) < len(SMALL) + 1
    assert not list((classroom.root / "feedback").rglob("*"))

    shutil.rmtree(classroom.root / "submitted" / "a-loop")
    done = command("grade", "--classroom", classroom.root, cwd=course.root)
    assert done.returncode == 0, done.stderr
    assert without_time(scores_of(classroom)) == without_time(scores_of(small_once))
    assert {p.name for p in (classroom.root / "feedback").iterdir()} == set(SMALL)


def by_hand(
    classroom: Classroom, student: str, step: str, points: float, comment: str = "", cell: str = "rmsnorm-class"
) -> None:
    """What a person does in formgrader."""
    with closing(Gradebook(classroom.db_url, "rmsnorm")) as book:
        mark = book.find_grade(step, LESSON, LESSON, student)
        mark.manual_score, mark.needs_manual_grade = points, False
        if comment:
            book.find_comment(cell, LESSON, LESSON, student).manual_comment = comment
        book.db.commit()


def in_gradebook(classroom: Classroom, student: str) -> dict[str, tuple[float, float | None, bool]]:
    with closing(Gradebook(classroom.db_url, "rmsnorm")) as book:
        notebook = book.find_submission_notebook(LESSON, LESSON, student)
        return {g.name: (g.score, g.manual_score, g.needs_manual_grade) for g in notebook.grades}


def test_scores_set_by_hand_survive(small):
    by_hand(small, "no-root", "rmsnorm-norm", 7.5, "思路对")
    with closing(Gradebook(small.db_url, "rmsnorm")) as book:
        book.find_grade("rmsnorm-weight", LESSON, LESSON, "no-root").extra_credit = 1.0
        book.db.commit()
    grade(small, "--force", "--student", "no-root")
    assert in_gradebook(small, "no-root")["rmsnorm-norm"] == (7.5, 7.5, False)
    rows = scores_of(small)
    assert [row["points"] for row in rows if row["student"] == "no-root"][:2] == ["7", "7.5"]
    small.submission("no-root", LESSON).write_bytes(as_bytes(answered()))
    grade(small)  # the automatic score changed: the manual one stands, and somebody should look again
    assert in_gradebook(small, "no-root")["rmsnorm-norm"] == (7.5, 7.5, True)
    with closing(Gradebook(small.db_url, "rmsnorm")) as book:
        assert book.find_comment("rmsnorm-class", LESSON, LESSON, "no-root").comment == "思路对"


def test_the_students_page_says_what_was_changed_by_hand(small):
    page, title = small.feedback("no-root", LESSON), "TODO 2"
    automatic = page.read_text("utf-8")
    by_hand(small, "no-root", "rmsnorm-norm", 7.5)
    report.report(small)
    changed = page.read_text("utf-8")
    points = sum(float(row["points"]) for row in scores_of(small) if row["student"] == "no-root")
    assert f"得分 {points:g} / 30" in changed and f"得分 {points:g} / 30" not in automatic
    assert re.search(f"老师改过的分：{title}[^<]*7.5 / 10", changed)
    grade(small, "--force", "--student", "no-root")
    assert f"得分 {points:g} / 30" in page.read_text("utf-8")
    by_hand(small, "no-root", "rmsnorm-norm", None)
    report.report(small)
    assert "老师改过" not in page.read_text("utf-8")


def test_an_unreadable_file_takes_the_old_score_away_but_not_what_people_wrote(small):
    by_hand(small, "solved", "rmsnorm-weight", 5)
    small.submission("solved", LESSON).write_bytes(as_bytes(answered())[:100])
    grade(small)
    assert [score for score, _, _ in in_gradebook(small, "solved").values()] == [5, 0, 0, 0]
    assert [p for p, _, _ in fate(scores_of(small), "solved")] == [5, 0, 0, 0]
    assert not small.autograded("solved", LESSON).exists()


def test_a_changed_master_migrates_the_gradebook(small, own_course, monkeypatch, capsys):
    """A manually graded text joins the lesson after grading, and leaves it again."""
    monkeypatch.chdir(own_course.root)
    by_hand(small, "no-root", "rmsnorm-norm", 7.5, "思路对")
    text = {
        "cell_type": "markdown", "id": "explain", "source": "解释一下。",
        "metadata": {"nbgrader": {
            "schema_version": 3, "grade_id": "explain", "grade": True, "solution": True, "locked": False,
            "task": False, "points": 2,
        }},
    }  # fmt: skip
    kept = own_course.solution(LESSON).read_text("utf-8")
    notebook = json.loads(kept)
    notebook["cells"].insert(5, text)
    own_course.solution(LESSON).write_text(json.dumps(notebook), "utf-8")
    mine = answered()
    mine["cells"].insert(5, text | {"source": "因为要开方。"})
    small.submission("solved", LESSON).write_bytes(as_bytes(mine))

    grade(small)
    assert f"要评 {len(SMALL)} 份" in capsys.readouterr().out, "the lesson changed: everybody is graded anew"
    assert in_gradebook(small, "no-root")["rmsnorm-norm"] == (7.5, 7.5, False)
    assert in_gradebook(small, "solved")["explain"] == (0, None, True)
    with closing(Gradebook(small.db_url, "rmsnorm")) as book:
        assert book.find_comment("rmsnorm-class", LESSON, LESSON, "no-root").comment == "思路对"
    rows = {(row["student"], row["step"]): row for row in scores_of(small)}
    assert rows["solved", "explain"]["status"] == "needs_manual"
    assert (
        rows["untouched", "explain"]["status"] == "blank" and rows["untouched", "explain"]["max_points"] == "2"
    )
    assert "explain" in small.feedback("solved", LESSON).read_text("utf-8")

    by_hand(small, "solved", "explain", 1.5, "少了<一步>", "explain")
    explained = {(row["student"], row["step"]): row for row in scores_of(small)}["solved", "explain"]
    assert (explained["status"], explained["points"], explained["message"]) == ("graded", "1.5", "少了<一步>")
    assert "少了&lt;一步&gt;" in small.feedback("solved", LESSON).read_text("utf-8")

    own_course.solution(LESSON).write_text(kept, "utf-8")
    grade(small)
    assert set(in_gradebook(small, "solved")) == set(STEP_IDS)
    assert in_gradebook(small, "no-root")["rmsnorm-norm"] == (7.5, 7.5, False)
    assert {row["step"] for row in scores_of(small)} == set(STEP_IDS)


# --- the CSV ----------------------------------------------------------------------------------------------


def test_csv_has_a_bom_and_exactly_these_columns(wild):
    data = (wild[0].root.parent / "a.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    assert (
        data[3:].split(b"\r\n")[0].decode() == "student,lesson,step,points,max_points,status,diagnosis,message"
    )
    assert {row["status"] for row in wild[2]} <= set(results.STATUSES)


@pytest.mark.parametrize("evil", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "=cmd|'/C calc'!A0"])
def test_no_cell_is_a_formula(evil):
    row = Row(evil, evil, evil, 1, 2, evil, evil, f'{evil}\n第二行,"引号"')
    out = list(csv.reader(io.StringIO(report.to_csv([row]), newline="")))
    assert out[0] == list(COLUMNS)
    assert all(not re.match(r"\s*[=+@\t\r-]", value) for value in out[1])
    assert "\n" not in out[1][-1] and '第二行,"引号"' in out[1][-1]


def test_a_student_called_like_a_formula(small):
    hand_in(small.root / "submitted", "=1+1", b"")
    grade(small)
    assert [row["status"] for row in scores_of(small) if row["student"] == "'=1+1"] == ["unreadable"] * 4


def test_a_file_that_was_collected_after_grading_is_not_missing(small):
    hand_in(small.root / "submitted", "late", answered())
    assert {row["status"] for row in scores_of(small) if row["student"] == "late"} == {"needs_manual"}


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ask",
    [
        ("grade", "99-no-such"),
        ("grade", "--student", "nobody"),
        ("grade", "--student", "../solved"),
        ("grade", "--db", "nonsense"),
        ("grade", "--db", "sqlite:////no/such/folder/x.db"),
        ("grade", "--db", "postgresql://nobody@localhost:1/x"),
        ("report", "--csv", "."),
        ("report", "--html", "/dev/null/x.html"),
    ],
    ids=" ".join,
)
def test_problems_are_told_in_chinese(ask, small, capsys):
    assert cli.main([*ask, "--classroom", str(small.root)]) == 1
    assert HANZI.search(capsys.readouterr().err)


def test_no_sandbox_where_one_is_required(small, monkeypatch, capsys):
    monkeypatch.setattr(sandbox, "works", lambda: False)
    assert cli.main(["grade", "--force", "--require-sandbox", "--classroom", str(small.root)]) == 1
    assert "沙箱" in capsys.readouterr().err


def test_submissions_put_there_by_hand(small, capsys):
    """What is no file is unreadable, not absent; a link to a neighbour's work is no work of one's own."""
    makes = {
        "folder": lambda path: path.mkdir(),
        "pipe": os.mkfifo,
        "link": lambda path: path.symlink_to(small.submission("solved", LESSON)),
        "broken-link": lambda path: path.symlink_to("/no/such/file"),
        "huge": lambda path: (path.touch(), os.truncate(path, 2**40)),
        "renamed": lambda path: path.with_name("作业.ipynb").write_bytes(as_bytes(answered())),
    }
    for student, make in makes.items():
        small.submission(student, LESSON).parent.mkdir(parents=True)
        make(small.submission(student, LESSON))
    small.submission("nothing", LESSON).parent.mkdir(parents=True)
    (small.root / "submitted" / ".ipynb_checkpoints").mkdir()
    grade(small)
    rows = scores_of(small)
    for student in makes:
        assert [status for _, status, _ in fate(rows, student)] == ["unreadable"] * 4, student
    assert [status for _, status, _ in fate(rows, "nothing")] == ["missing"] * 4
    assert [points for points, _, _ in fate(rows, "solved")] == list(FULL.values())
    assert not fate(rows, ".ipynb_checkpoints")


def test_folders_whose_name_no_table_can_hold(small, capsys):
    """They are named and not graded; the others are."""
    for name in (b"\xff\xfe", b"two\nlines"):
        folder = os.path.join(os.fsencode(small.root / "submitted"), name, LESSON.encode())
        os.makedirs(folder)
    small.submission("no-root", LESSON).write_bytes(as_bytes(answered()))
    assert cli.main(["grade", "--classroom", str(small.root)]) == 1
    said = capsys.readouterr().err
    assert "udcff" in said and "two" in said
    assert [points for points, _, _ in fate(scores_of(small), "no-root")] == list(FULL.values())


@pytest.mark.parametrize("name", ["grade", "report"])
def test_an_empty_class(name, classroom, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert cli.main([name, "--classroom", str(classroom.root)]) == 1
    assert HANZI.search(capsys.readouterr().err)


def test_a_gradebook_that_is_none(small, capsys):
    (small.root / "gradebook.db").write_bytes(b"not a database" * 100)
    assert cli.main(["grade", "--classroom", str(small.root)]) == 1
    assert "成绩册" in capsys.readouterr().err


# --- the child --------------------------------------------------------------------------------------------


TO_ALL = """\
import os
for fd in range(3, 64):
    try:
        os.write(fd, {!r})
    except OSError:
        pass
"""


def master(*cells: str) -> nbformat.NotebookNode:
    """The class, some cells, and the steps of lesson 04."""
    notebook = gradebook.master(COURSE, LESSON)
    imports = nbformat.v4.new_code_cell("import torch\nfrom torch import nn", id="imports")
    solution = find(answered(), "rmsnorm-class")["source"]
    answer = nbformat.v4.new_code_cell("".join(solution), id="rmsnorm-class")
    more = [nbformat.v4.new_code_cell(text, id=f"c{i}") for i, text in enumerate(cells)]
    tests = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    return nbformat.v4.new_notebook(cells=[imports, answer, *more, *tests])


@pytest.fixture(scope="module", autouse=True)
def pool() -> Iterator[run.Pool]:
    """Workers that start when they are first needed."""
    with run.Pool(1) as workers:
        POOL.append(workers)
        yield workers


POOL: list[run.Pool] = []


def ran(*cells: str, seed: str = "hidden", timeout: float = 20) -> run.Transcript:
    inputs = {step.id: step.inputs(seed) for step in steps_of(LESSON)}
    return POOL[0].run(master(*cells), inputs, timeout, 2000)


@pytest.fixture
def few_mistakes(monkeypatch) -> None:
    """Which mistake it is does not matter here, and looking for it takes seconds."""
    monkeypatch.setattr(implementation_mistakes, "MISTAKES", implementation_mistakes.MISTAKES[:3])


def points(transcript: run.Transcript, seed: str = "hidden") -> list[float]:
    steps = steps_of(LESSON)
    return [engine.judge(step, step.inputs(seed), transcript.evidence[step.id]).points for step in steps]


def test_the_seed_never_reaches_the_child(small, monkeypatch):
    """Neither in what is sent to the worker nor in its environment; and the inputs come last."""
    sent, real = [], run.write_bytes

    def spied(stream, data: bytes) -> None:
        sent.append(data)
        real(stream, data)

    monkeypatch.setattr(run, "write_bytes", spied)
    monkeypatch.setenv("CLASS_SECRET", small.seed())
    grade(small, "--force", "--student", "solved")
    assert len(sent) == 2 and b'"inputs"' not in sent[0] and b'"inputs"' in sent[1]
    assert small.seed().encode() not in b"".join(sent)
    assert small.seed() not in json.dumps(sandbox.environment())


def test_student_code_finds_no_grader_around_it():
    found = ran(
        "import os, sys, json, pathlib\n"
        "print(json.dumps([sorted(os.environ), os.listdir('.'), sys.stdin.read()]))"
    )
    names, files, stdin = json.loads(found.outputs["c0"][0]["text"])
    by_libraries = {"LC_CTYPE", "PWD", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK"}
    assert set(names) <= {*sandbox.environment(), *by_libraries}
    assert set(files) <= {".ipython", ".matplotlib"} and stdin == "" and points(found) == list(FULL.values())


def test_odd_outputs_hurt_nobody():
    found = ran(
        "print('\\ud800 半个字符')",
        "from IPython.display import display\ndisplay({'text/plain': object()}, raw=True)",
        "display({'application/json': {'a': float('nan')}}, raw=True)",
        "for i in range(3000): display(i)",
        "display({'text/plain': 'x' * 10**7}, raw=True)",
        "import sys\nfor i in range(3000): print(i); print(i, file=sys.stderr)",
        "raise ValueError('\\udfff')",
        "raise type('Odd', (BaseException,), {})('x')",
        "import warnings, logging\nwarnings.warn('w'); logging.warning('l'); print(sys.stdout.encoding)",
        "%matplotlib widget\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()",
        "exit()",
        "def broken(:",
    )
    assert points(found) == list(FULL.values()) and not found.fatal
    assert max(len(json.dumps(outputs)) for outputs in found.outputs.values()) < 10_000_000
    assert max(len(outputs) for outputs in found.outputs.values()) <= 501
    ends = {name: outputs[-1].get("ename") for name, outputs in found.outputs.items() if outputs}
    assert (ends["c6"], ends["c7"], ends["c11"]) == ("ValueError", "Odd", "SyntaxError")
    assert "image/png" in json.dumps(found.outputs["c9"])
    assert all("已省略" in json.dumps(found.outputs[name], ensure_ascii=False) for name in ("c1", "c2", "c4"))


SECRETIVE = """
def leave(self): raise SystemExit
class Secretive(BaseException):
    __class__ = __traceback__ = property(leave)
    __str__ = __repr__ = leave
"""
RAISED = ["KeyboardInterrupt", "GeneratorExit", "type('Odd', (BaseException,), {})", "Secretive"]


@pytest.mark.parametrize("error", RAISED)
def test_exceptions_of_every_kind_are_errors_of_their_own_step(error, few_mistakes):
    for method, want in (("forward", [6, 10, 0, 0]), ("_norm", [6, 0, 8, 0]), ("__init__", [0, 10, 8, 0])):
        more = "(self, *a, **k):\n        raise "
        found = ran(f"{SECRETIVE}\nclass RMSNorm(RMSNorm):\n    def {method}{more}{error}")
        assert not found.fatal and points(found) == want


@pytest.mark.parametrize("error", RAISED)
def test_a_part_that_raises_anything_costs_its_own_step_only(error):
    found = grade_geometry(("project", f"{SECRETIVE}\ndef project(v):\n    raise {error}"))
    assert lost(found) == {"project": "error"}


@pytest.mark.parametrize(
    "cell",
    [
        TO_ALL.format(b'[1]\n{"event": "outputs"}\n\xff not json\n'),
        "import os\nos.closerange(3, 256)",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
        "import os\nos.close(0); os.close(1); os.close(2)",
    ],
    ids=["garbage", "closed", "segfault", "standard-streams-closed"],
)
def test_a_cell_that_breaks_its_process_is_left_out(cell):
    found = ran(cell)
    assert points(found) == list(FULL.values()) and found.fatal.get("c0") in ("crashed", None)


NORM_LINE = "    def _norm(self, x: torch.Tensor) -> torch.Tensor:"


@pytest.mark.parametrize(
    "change, failure, words",
    [
        ((NORM_LINE, NORM_LINE + "\n        retrun x"), "syntax", "行写法有误，Python 读不懂：“retrun x”"),
        ((NORM_LINE, NORM_LINE[:-1]), "syntax", "读不懂：“def _norm(self, x: torch.Tensor) -> torch.Tensor”（expected ':'）"),
        ((NORM_LINE, " " + NORM_LINE), "indentation", "行的缩进有误：“def _norm(self, x: torch.Tensor) -> torch.Tensor:”"),
        ((NORM_LINE, "\t" + NORM_LINE.lstrip()), "indentation", "行的缩进有误"),
        ((NORM_LINE, "    scale = 1 / 0\n" + NORM_LINE), "cell", "这一格运行到中途报了 ZeroDivisionError"),
        ((NORM_LINE, "    scale = factor\n" + NORM_LINE), "cell", "实验的单元格评分时都不运行"),
        (("class RMSNorm(", "class RMSnorm("), "undefined", "没有找到 RMSNorm。"),
    ],
)
def test_an_error_that_leaves_the_class_undefined_has_words_of_its_own(change, failure, words, tmp_path):
    notebook = with_class(change)
    lesson = grader.Lesson.prepare(COURSE, Classroom(tmp_path), LESSON)
    rebuilt = grader.rebuild(lesson.master, as_bytes(notebook))
    transcript = POOL[0].run(rebuilt.notebook, lesson.inputs, 20, 2000)
    for step in lesson.steps:
        told = grader.judge(step, lesson, rebuilt, transcript)
        assert (told.status, told.verdict["failure"]) == ("error", failure)
        assert words in told.message and "输入上无法运行" not in told.message
        assert html.escape(words) in pages.step_card(told)
    if failure in ("syntax", "indentation"):
        line = int(re.search(r"第 (\d+) 行", told.message)[1])
        quoted = re.search("“(.*?)”", told.message)[1]
        assert source(find(notebook, "rmsnorm-class")).splitlines()[line - 1].strip() == quoted


def test_evidence_before_the_inputs_are_known_is_a_crash():
    """Student code finds the pipe and writes evidence of its own: the cell that did it is left out."""
    forged = {"event": "evidence", "id": "rmsnorm-norm", "evidence": {"norm": 1e999}, "output": 7}
    found = ran(TO_ALL.format(f"{json.dumps(forged)}\n".encode()))
    assert points(found) == list(FULL.values()) and found.fatal == {"c0": "crashed"}


def test_after_the_last_try_what_is_left_ends_alike(monkeypatch):
    monkeypatch.setattr(run, "RETRIES", 0)
    found = ran("import os\nclass RMSNorm(RMSNorm):\n    def forward(self, x):\n        os._exit(1)")
    assert found.fatal.items() >= {"rmsnorm-forward": "crashed", "rmsnorm-module": "crashed"}.items()


def points_where_seen(transcript: run.Transcript) -> dict[str, float]:
    """By step that has evidence."""
    steps = [step for step in steps_of(LESSON) if step.id in transcript.evidence]
    return {s.id: engine.judge(s, s.inputs("hidden"), transcript.evidence[s.id]).points for s in steps}


KILLS = [("while True: pass", "timeout"), ("import os; os._exit(1)", "crashed")]


@pytest.mark.parametrize(("deed", "how"), KILLS)
def test_what_kills_in_norm_costs_forward_nothing(deed, how):
    """Its own step, and the module, in which nothing is replaced; ``forward`` is judged with a sound one."""
    found = ran(f"class RMSNorm(RMSNorm):\n    def _norm(self, x):\n        {deed}", timeout=2)
    assert found.fatal == {"rmsnorm-norm": how, "rmsnorm-module": how}
    assert points_where_seen(found) == {"rmsnorm-weight": 6, "rmsnorm-forward": 8}


@pytest.mark.parametrize(("deed", "how"), KILLS)
def test_what_kills_in_forward_costs_norm_nothing(deed, how):
    found = ran(f"class RMSNorm(RMSNorm):\n    def forward(self, x):\n        {deed}", timeout=2)
    assert found.fatal == {"rmsnorm-forward": how, "rmsnorm-module": how}
    assert points_where_seen(found) == {"rmsnorm-weight": 6, "rmsnorm-norm": 10}


def test_added_cells_that_kill_as_well_use_up_no_try():
    """Whoever tries a class that kills does so in cells of their own, too."""
    notebook = master("class RMSNorm(RMSNorm):\n    def _norm(self, x):\n        import os; os._exit(1)")
    tries = [nbformat.v4.new_code_cell("RMSNorm(4)(torch.ones(4))", id=f"{EXTRA}{i}") for i in range(4)]
    notebook.cells[3:3] = tries
    inputs = {step.id: step.inputs("hidden") for step in steps_of(LESSON)}
    found = POOL[0].run(notebook, inputs, 20, 2000)
    assert points_where_seen(found) == {"rmsnorm-weight": 6, "rmsnorm-forward": 8}


GEOMETRY = "03-geometry"


def grade_notebook(name: str, notebook: dict, timeout: float = 20) -> dict[str, results.StepResult]:
    """The automatic steps of a lesson by name."""
    steps = tuple(steps_of(name))
    inputs = {step.id: step.inputs("hidden") for step in steps}
    lesson = grader.Lesson(name, gradebook.master(COURSE, name), steps, inputs, "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.ipynb"
        path.write_bytes(as_bytes(notebook))
        found = grader.grade_one(POOL[0], lesson, "s", path, "", timeout, 2000)
    return {step.step.partition("-")[2]: step for step in found.steps if step.status != "needs_manual"}


def grade_geometry(*answers: tuple[str, str], timeout: float = 20) -> dict[str, results.StepResult]:
    """Lesson 03, solved but for some answers (grade_id, source)."""
    notebook = answered(GEOMETRY)
    for name, text in answers:
        find(notebook, f"geometry-{name}-answer")["source"] = text
    return grade_notebook(GEOMETRY, notebook, timeout)


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("use", ["{name} = [-1, 1, -1, 1]", "{name} = print", "del {name}"])
def test_names_may_be_used_again_below_their_check(lesson, use):
    notebook = answered(lesson)
    names = sorted({name for step in steps_of(lesson) for name in step.arguments})
    notebook["cells"] += [code_cell(use.format(name=name)) for name in names]
    assert lost(grade_notebook(lesson, notebook)) == {}


def test_a_helper_s_name_used_again_below_costs_nothing():
    """``mean`` is a function inside the answer, and a number in a cell of the student's own."""
    notebook = answered("02-hand-calculation")
    cell = find(notebook, "hand-python-answer")
    text = source(cell)
    cell["source"] = "def mean(v):\n    return sum(v) / len(v)\n\n" + text + (
        "\n\nplain = rmsnorm\ndef rmsnorm(vector):\n    mean(vector)\n    return plain(vector)\n"
    )  # fmt: skip
    notebook["cells"].append(code_cell("mean = 2.25"))
    assert lost(grade_notebook("02-hand-calculation", notebook)) == {}


def test_an_answer_mended_below_its_check_counts():
    notebook = with_class((NORM_LINE, NORM_LINE + "\n        return x"))
    assert lost(grade_notebook(LESSON, notebook))
    notebook["cells"].append(code_cell(source(find(answered(), "rmsnorm-class"))))
    assert lost(grade_notebook(LESSON, notebook)) == {}
    literals = answered("02-hand-calculation")
    literals["cells"].append(code_cell("yu.clear(); mao['mean'] = 7"))
    assert lost(grade_notebook("02-hand-calculation", literals)) == {}


def lost(found: dict[str, results.StepResult]) -> dict[str, str]:
    """Step → status, where points are missing."""
    return {name: step.status for name, step in found.items() if step.points < step.max_points}


@pytest.mark.parametrize(("deed", "how"), KILLS)
def test_a_part_that_kills_costs_its_own_step_only(deed, how):
    """Neither the literals, nor what is composed of it, nor the cells that show something."""
    parts = [("project", f"def project(v):\n    {deed}"), ("sphere", f"def to_sphere(v):\n    {deed}")]
    assert lost(grade_geometry(parts[0], timeout=2)) == {"project": how}
    assert lost(grade_geometry(*parts, timeout=2)) == {"project": how, "sphere": how}


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        ("def project(v)\n    return v", "error", "Python 读不懂：“def project(v)”"),
        ("1 / 0\ndef project(v): return v", "error", "ZeroDivisionError"),
        ("def other(v): return v", "error", "没有找到 project"),
        ("while True: pass", "timeout", ""),
        ("import os; os._exit(1)", "crashed", ""),
    ],
    ids=["syntax", "error", "name", "hang", "exit"],
)
def test_the_stub_stands_in_for_a_part_that_is_never_defined(answer, status, words):
    """In later cells, so that they define what they should; the part's own step is told as without it."""
    found = grade_geometry(("project", answer), timeout=2)
    assert lost(found) == {"project": status} and words in found["project"].message


def test_writing_without_end_fills_no_disk(few_mistakes):
    code = "import os\nclass RMSNorm(RMSNorm):\n    def forward(self, x):\n"
    found = ran(code + "        while True: os.write(2, bytes(10**7))")
    assert not found.fatal and points(found)[2:] == [0, 0]


def test_what_no_file_can_hold_is_written_all_the_same(classroom):
    step = results.StepResult("s", 0, 1, "error", message="半个字符 \ud800")
    results.write(classroom, results.Result("张三", "l", "k", "now", "", [step]))
    assert results.read(classroom, "张三", "l").steps[0].message.startswith("半个字符")


def test_a_worker_left_in_the_middle_of_a_job_is_not_used_again(monkeypatch):
    """Whatever goes wrong on this side: what the child still says is nobody else's."""
    with monkeypatch.context() as patch:
        patch.setattr(run.outputs, "clean", lambda *a: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ran("print('mine'); import time; time.sleep(1)")
    assert POOL[0].free.queue == [None]
    assert points(ran("print('yours')")) == list(FULL.values())


@pytest.mark.parametrize("fact", [7, None, [1], {"a": "b" * 10**6}, "x" * 10**6, 10**400, True], ids=type)
def test_forged_facts_stay_short_and_readable(fact, few_mistakes):
    """An exception whose parts are anything but text, as evidence may claim."""
    step = steps_of(LESSON)[1]
    inputs = step.inputs("hidden")
    error = {"error": {"type": fact, "message": fact, "line": fact, "lineno": fact}}
    observed = {"norm": {check: [error] * len(cases) for check, cases in inputs["norm"].items()}}
    lesson = grader.Lesson(LESSON, gradebook.master(COURSE, LESSON), (step,), {step.id: inputs}, "")
    transcript = run.Transcript(evidence={step.id: observed})
    graded = grader.judge(step, lesson, Rebuilt(lesson.master, frozenset(), ()), transcript)
    page = pages.feedback(results.Result("s", LESSON, "", "", "", [graded]), {})
    assert graded.points == 0 and len(graded.message) < 2_000 and len(page) < 20_000


def test_experiments_are_not_run():
    """Tagged in the master: left out. Added by the student under the same tag: run, like any added cell."""
    notebook = master("import os; os._exit(1)")
    notebook.cells[2].metadata.tags = ["experiment"]
    assert "c0" not in [job["id"] for jobs in run.jobs(notebook) for job in jobs]
