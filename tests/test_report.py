"""What an instructor takes away: the class page, and files for Moodle and Canvas."""

import csv
import io
import re

import pytest
from conftest import LESSON
from test_grading import Page

from autograder import classpage, cli, lms, pages, results
from autograder.gradebook import Mark
from autograder.report import Row, tabulated, to_csv
from rmslab.checks import steps_of

STEPS = {step.id: step.points for step in steps_of(LESSON)}


def rows(student: str, share: float, status: str = "graded", diagnosis: str = "") -> list[Row]:
    return [Row(student, LESSON, s, share * p, p, status, diagnosis, "为什么") for s, p in STEPS.items()]


LINES = [
    *rows("001", 1.0), *rows("002", 0.5, diagnosis="layernorm"), *rows("003", 0.0, "missing"),
    *rows("004", 0.0, "unreadable"), *rows("=5", 0.25, diagnosis="layernorm+no-epsilon"),
]  # fmt: skip
PEOPLE = {
    "001": {"name": "张三", "email": "a@example.edu", "lms_id": "11", "login": "z3", "section": "一班"},
    "002": {"name": "李四", "original": "0/02"},
}
NAMES = {student: person["name"] for student, person in PEOPLE.items()}


def test_the_page_tells_the_class_at_a_glance():
    page = classpage.html(LINES, NAMES, ["沙箱甲", "沙箱乙"])
    assert "沙箱甲" in page and "沙箱乙" in page
    assert "写成了 LayerNorm" in page and "没有加 ε" in page and "layernorm" not in page
    parsed = Page(page)
    assert not {"script", "link", "img", "iframe"} & set(parsed.tags)
    assert parsed.tags.count("svg") == 1 and parsed.tags.count("rect") == 10
    human = page.split("<h2>")[1]
    assert "004" in human and "为什么" in human and "002" not in human
    assert "20%" in page.split("<h2>")[3] or "25%" in page.split("<h2>")[3]  # of the four who handed in, one


def test_the_heat_map_counts_steps_and_people():
    table = classpage.heat(LINES, NAMES)
    first, total, *people = re.findall(r"<tr>(.*?)</tr>", table)
    assert first.index("写成了 LayerNorm") < first.index("没有加 ε")
    assert re.findall(r"<td[^>]*>(\d*)</td>", total) == ["2", "1"]
    cells = [re.findall(r"<td[^>]*>(\d*)</td>", row) for row in people]
    assert cells == [["4", ""], ["4", "4"]] and "李四" in people[0]


def test_a_class_without_any_trouble():
    page = classpage.html(rows("001", 1.0), {}, ["沙箱"])
    assert page.count("没有。") == 2


def test_everything_a_student_wrote_is_escaped():
    evil = "<script>alert(1)</script>"
    page = classpage.html([Row(evil, evil, evil, 0, 1, "error", evil, evil)], {evil: evil}, [evil])
    assert "<script" not in page


def table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_moodle():
    """A column that identifies, a column a grade item; nothing handed in is no grade."""
    lines = table(lms.moodle(LINES, PEOPLE))
    assert lines[0] == ["ID number", "Full name", "Email address", LESSON]
    assert lines[1] == ["001", "张三", "a@example.edu", "30"]
    assert lines[2] == ["0/02", "李四", "", "15"]
    assert [line[-1] for line in lines[3:]] == ["", "0", "7.5"] and lines[5][0] == "'=5"


def test_canvas():
    """The five columns that Canvas asks for, points possible in the row below the heading."""
    lines = table(lms.canvas(LINES, PEOPLE))
    assert lines[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", LESSON]
    assert lines[1] == ["    Points Possible", "", "", "", "", "30"]
    assert lines[2] == ["张三", "11", "001", "z3", "一班", "30"]
    assert lines[3] == ["李四", "", "0/02", "0/02", "", "15"]


@pytest.mark.parametrize("platform", ["moodle", "canvas"])
def test_by_the_command(platform, classroom, tmp_path):
    steps = [results.StepResult(name, points, points, "graded") for name, points in STEPS.items()]
    results.write(classroom, results.Result("001", LESSON, "key", "now", "沙箱", steps))
    out = tmp_path / "x" / "out.csv"
    assert cli.main(["report", "--classroom", str(classroom.root), "--lms", platform, str(out)]) == 0
    assert table(out.read_text("utf-8"))[-1][-1] == "30"


def test_an_unknown_platform(capsys):
    with pytest.raises(SystemExit):
        cli.main(["report", "--lms", "blackboard", "x.csv"])
    assert "moodle" in capsys.readouterr().err


def test_csv_and_platforms_agree():
    sums: dict[str, float] = {}
    for row in csv.DictReader(io.StringIO(to_csv(LINES), newline="")):
        sums[row["student"]] = sums.get(row["student"], 0) + float(row["points"])
    assert [float(line[-1] or 0) for line in table(lms.moodle(LINES, {}))[1:]] == list(sums.values())


def test_no_control_characters_in_tables():
    evil = "a\x1b[31m\x9b\u202e\u2028\x07\ud800"
    text = to_csv([Row(evil, LESSON, "s", 0, 1, "error", "", evil)])
    text += lms.moodle([], {}) + lms.canvas([Row("s", LESSON, "s", 0, 1, "error", "", "")], {"s": {"name": evil}})
    assert all(c.isprintable() or c in "\r\n" for c in text) and "\\x1b" in text


@pytest.mark.parametrize(
    ("given", "written"),
    [("-rf", "-rf"), ("+86-138", "+86-138"), ("-a@b.cn", "-a@b.cn"), ("=A1", "'=A1"), ("+cmd|calc", "'+cmd|calc"),
     ("-1+1", "'-1+1"), ("＝1", "'＝1"), ("@x", "'@x")],
)  # fmt: skip
def test_ids_stay_what_the_platform_knows_unless_they_could_do_harm(given, written):
    lines = [Row("s", LESSON, "s", 0, 1, "graded", "", "")]
    person = {"name": "-rf", "original": given, "email": given, "lms_id": given, "login": given}
    moodle, canvas = (table(form(lines, {"s": person}))[-1] for form in (lms.moodle, lms.canvas))
    assert moodle[:3] == [written, "'-rf", written] and canvas[:4] == ["'-rf", written, written, written]


@pytest.mark.parametrize("lead", "=+-@＝＋－＠\t")
def test_no_cell_of_the_report_is_a_formula(lead):
    row = table(to_csv([Row(f"{lead}1", LESSON, "s", 0, 1, "graded", "", f"{lead}1")]))[1]
    assert row[0] == row[-1] == ("1" if lead == "\t" else f"'{lead}1")


# --- what a person scored ---------------------------------------------------------------------------------

EXPLAIN = "geometry-explain"
"""A step that a person grades."""


def handed_in(step: str, points: float, status: str, message: str, max_points: float = 2) -> results.Result:
    graded = results.StepResult(step, points, max_points, status, message=message)
    return results.Result("001", "03-geometry", "key", "now", "", [graded])


WAITING = handed_in(EXPLAIN, 0, "needs_manual", "等待教师评分。")
UNANSWERED = handed_in("geometry-project", 0, "blank", "还没有作答", 4)


def counted(classroom, result: results.Result, mark: Mark) -> Row:
    return tabulated(classroom, [result], {result.lesson: {"001": {result.steps[0].step: mark}}})[0]


@pytest.mark.parametrize("status", ["needs_manual", "blank"])
def test_a_step_scored_by_a_person_waits_no_longer(classroom, status):
    result = handed_in(EXPLAIN, 0, status, "等待教师评分。")
    page = pages.feedback(result, {EXPLAIN: Mark(1.5, comment="写得<好>")})
    assert "老师已评" in page and "1.5 / 2 分" in page and "写得&lt;好&gt;" in page
    assert not any(words in page for words in ("等待", "待人工评", "老师改过", "未作答", "写得<好>"))
    assert "评语" not in pages.feedback(result, {EXPLAIN: Mark(1.5)})
    assert ("✓" in pages.feedback(result, {EXPLAIN: Mark(2)})) and "✓" not in page
    for comment in ("写得<好>", ""):
        row = counted(classroom, result, Mark(1.5, comment=comment))
        assert (row.points, row.status, row.message) == (1.5, "graded", comment)


def test_a_step_without_title_that_a_person_scored_is_one_line():
    page = pages.feedback(handed_in("own-text", 0, "needs_manual", "等待教师评分。"), {"own-text": Mark(1, comment="<b>")})
    assert "own-text · 老师已评 · 1 / 2 分 · 老师的评语：&lt;b&gt;" in page and "等待" not in page


def test_extra_credit_alone_leaves_the_step_waiting(classroom):
    assert "待人工评" in pages.feedback(WAITING, {EXPLAIN: Mark(0.5, scored=False)})
    row = counted(classroom, WAITING, Mark(0.5, scored=False))
    assert (row.points, row.status, row.message) == (0.5, "needs_manual", "等待教师评分。")


def test_a_score_put_in_place_of_an_automatic_one(classroom):
    page = pages.feedback(UNANSWERED, {"geometry-project": Mark(3)})
    assert "老师改过的分" in page and "这一步的分由老师定：3 / 4 分" in page and "还没有作答" in page
    row = counted(classroom, UNANSWERED, Mark(3))
    assert (row.points, row.status, row.message) == (3, "graded", "")
    seen = handed_in("geometry-project", 2, "graded", "第 2 个向量上不对。", 4)
    assert counted(classroom, seen, Mark(3)).message == "第 2 个向量上不对。"
    assert "老师" not in pages.feedback(seen, {"geometry-project": Mark(2)})
