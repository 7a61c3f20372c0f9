"""One source per lesson: what is committed agrees with it, and no solution reaches a student."""

import itertools
import json
import re
from pathlib import Path

import nbformat
import pytest
from conftest import COURSE, LESSON, ROOT, command, copy_course, marks, source
from nbgrader.nbgraderformat import MetadataValidator

from autograder import build, cli, publish
from autograder.course import Course
from autograder.problem import Problem
from rmslab.checks import LESSONS, STEPS, steps_of

HANZI = re.compile(r"[\u4e00-\u9fff]")
RELEASED = [json.loads(COURSE.release(lesson).read_text("utf-8")) for lesson in COURSE.lessons()]
lessons = pytest.mark.parametrize("lesson", COURSE.lessons())
released = pytest.mark.parametrize("notebook", RELEASED, ids=COURSE.lessons())


def headings(notebook) -> list[int]:
    levels = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            text = re.sub(r"(?ms)^(```|~~~).*?^\1", "", source(cell))
            levels += [len(mark) for mark in re.findall(r"^(#{1,6}) ", text, re.M)]
            levels += [int(level) for level in re.findall(r"<h([1-6])", text)]
    return levels


def solution_lines(lesson: str) -> set[str]:
    """Every line inside a solution region that says something of its own."""
    regions = re.findall(
        r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", COURSE.source(lesson).read_text("utf-8"), re.S
    )
    lines = {line.strip() for region in regions for line in region.split("\n")}
    return {line for line in lines if len(re.findall(r"\w", line)) >= 8}


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_every_lesson_with_steps_exists():
    assert set(LESSONS) <= set(COURSE.lessons()) and COURSE.lessons()


def test_committed_notebooks_agree_with_their_sources():
    done = command("build", "--check")
    assert done.returncode == 0, done.stderr


@lessons
def test_building_again_changes_no_id_and_no_source(lesson, tmp_path, monkeypatch):
    """One lesson in a real kernel; of the others only what a build decides."""
    course = copy_course(tmp_path)
    if lesson != LESSON:
        monkeypatch.setattr(build, "execute", lambda notebook, folder: notebook)
    before = {
        p: build.essence(nbformat.read(p, 4)) for p in (course.solution(lesson), course.release(lesson))
    }
    build.build(course, [lesson])
    assert {p: build.essence(nbformat.read(p, 4)) for p in before} == before
    assert course.release(lesson).read_bytes() == COURSE.release(lesson).read_bytes()


@lessons
def test_no_solution_in_what_students_get(lesson):
    folder = COURSE.release(lesson).parent
    lines = solution_lines(lesson)
    assert lines or not any(step.lesson == lesson for step in STEPS.values())
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            text = path.read_text("utf-8")
            if path.suffix == ".ipynb":
                text = "\n".join(source(cell) for cell in json.loads(text)["cells"])
            assert not [line for line in lines if line in text], path
            assert not re.search(r"(BEGIN|END) (SOLUTION|HIDDEN|MARK)|### STUB", text), path


def test_nothing_but_lessons_in_notebooks():
    files = {str(p.relative_to(ROOT / "notebooks")) for p in (ROOT / "notebooks").rglob("*") if p.is_file()}
    wanted = {f"{lesson}/{lesson}.ipynb" for lesson in COURSE.lessons()}
    assert {f for f in files if "checkpoint" not in f} == wanted


@released
def test_headings(notebook):
    levels = headings(notebook)
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


@released
def test_first_code_cell_finds_rmslab(notebook):
    first = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    assert source(first) == publish.opening_cell(COURSE)


@released
def test_released_notebook_is_valid_and_bare(notebook):
    node = nbformat.from_dict(notebook)
    nbformat.validate(node)
    for cell in node.cells:
        MetadataValidator().validate_cell(cell)
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None
    ids = [cell.id for cell in node.cells]
    assert len(set(ids)) == len(ids)


@lessons
def test_steps_points_and_calls(lesson):
    cells = {
        marks(c)["grade_id"]: c
        for c in json.loads(COURSE.release(lesson).read_text("utf-8"))["cells"]
        if marks(c)
    }
    graded = [marks(c)["grade_id"] for c in cells.values() if marks(c)["grade"] and not marks(c)["solution"]]
    assert graded == [step.id for step in steps_of(lesson)]
    for step in steps_of(lesson):
        assert marks(cells[step.id])["points"] == step.points and marks(cells[step.id])["locked"]
        assert source(cells[step.id]) == f'check("{step.id}", {", ".join(step.arguments)})'
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]+", name) for name in cells)


@lessons
def test_solved_notebook_is_executed_without_errors(lesson):
    notebook = json.loads(COURSE.solution(lesson).read_text("utf-8"))
    outputs = [o for c in notebook["cells"] if c["cell_type"] == "code" for o in c["outputs"]]
    assert outputs and not [o for o in outputs if o["output_type"] == "error" or o.get("name") == "stderr"]
    for step in steps_of(lesson):
        cell = next(c for c in notebook["cells"] if marks(c).get("grade_id") == step.id)
        assert float("".join(cell["outputs"][-1]["data"]["text/plain"])) == step.points


# --- what a build refuses ---------------------------------------------------------------------------------


def edit(course: Course, change) -> None:
    path = course.source("04-implementation")
    path.write_bytes(change(path.read_bytes()))


def by_hand(course: Course) -> None:
    path = course.release("04-implementation")
    path.write_text(path.read_text("utf-8").replace("契约", "合同", 1), "utf-8")


def older_format(course: Course) -> None:
    path = course.release("04-implementation")
    notebook = json.loads(path.read_text("utf-8")) | {"nbformat_minor": 4}
    for cell in notebook["cells"]:
        del cell["id"]
    path.write_text(json.dumps(notebook), "utf-8")


SETUP = b"```{code-cell}\n:setup: true\n```\n"
STEP = b"```{code-cell}\n:step: rmsnorm-norm\n```\n"
SPOILT = {
    "missing": lambda c: c.source("04-implementation").unlink(),
    "empty": lambda c: edit(c, lambda text: b""),
    "only-text": lambda c: edit(c, lambda text: "# 标题\n".encode()),
    "not-utf-8": lambda c: edit(c, lambda text: text.decode().encode("gbk", "replace")),
    "step-left-out": lambda c: edit(c, lambda text: text.replace(STEP, b"")),
    "step-twice": lambda c: edit(c, lambda text: text.replace(STEP, STEP + b"\n" + STEP)),
    "step-unknown": lambda c: edit(
        c, lambda text: text.replace(b":step: rmsnorm-norm", b":step: rmsnorm-nrom")
    ),
    "step-of-no-lesson": lambda c: edit(
        c, lambda text: text.replace(b":solution: rmsnorm-class", b":solution: rmsnorm-norm")
    ),
    "mark-misspelt": lambda c: edit(c, lambda text: text.replace(b":setup: true", b":set-up: true")),
    "region-not-closed": lambda c: edit(c, lambda text: text.replace(b"### END SOLUTION", b"", 1)),
    "region-outside": lambda c: edit(c, lambda text: text.replace(b":solution: rmsnorm-class\n", b"")),
    "released-by-hand": by_hand,
    "released-in-another-format": older_format,
    "released-cut-off": lambda c: c.release("04-implementation").write_bytes(b'{"cells": ['),
    "released-odd": lambda c: c.release("04-implementation").write_bytes(
        b'{"cells": [], "metadata": {"rmsnorm_course": 1}, "nbformat": 4, "nbformat_minor": 5}'
    ),
    "solution-raises": lambda c: edit(
        c, lambda text: text.replace(SETUP, b"```{code-cell}\nraise OSError('boom')\n```\n\n" + SETUP)
    ),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_what_build_refuses_changes_nothing(spoil, tmp_path, monkeypatch, capsys):
    course = copy_course(tmp_path)
    spoil(course)
    before = snapshot(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["build", "04-implementation"]) == 1
    said = capsys.readouterr().err
    assert HANZI.search(said) and "Traceback" not in said.partition("\n")[0]
    assert spoil is not SPOILT["step-twice"] or "重复" in said
    assert snapshot(tmp_path) == before


def test_build_refuses_by_the_real_command(tmp_path):
    course = copy_course(tmp_path)
    by_hand(course)
    before = snapshot(tmp_path)
    done = command("build", "04-implementation", cwd=tmp_path)
    assert done.returncode == 1 and HANZI.search(done.stderr) and "Traceback" not in done.stderr
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["99-no-such", "../04-implementation", ""])
def test_no_such_lesson(name, tmp_path, monkeypatch, capsys):
    course = copy_course(tmp_path)
    monkeypatch.chdir(course.root)
    assert cli.main(["build", name]) == 1 and HANZI.search(capsys.readouterr().err)


def test_outside_of_the_course(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["build"]) == 1 and "nbgrader_config.py" in capsys.readouterr().err


PLAIN = "# 标题\n\n```{code-cell}\n1 + 1\n```\n"


def test_one_bad_lesson_leaves_all_as_they_were(tmp_path, monkeypatch):
    """Everything is made before anything is written."""
    monkeypatch.setattr(build, "execute", lambda notebook, folder: notebook)
    course = copy_course(tmp_path)
    last = course.lessons()[-1]
    course.source("00-first").write_text(PLAIN, "utf-8")
    by_hand(course) if last == "04-implementation" else course.source(last).write_bytes(b"")
    before = snapshot(tmp_path)
    with pytest.raises(Problem):
        build.build(course, ["00-first", last])
    assert snapshot(tmp_path) == before


def test_check_names_what_is_stale(tmp_path, monkeypatch, capsys):
    course = copy_course(tmp_path)
    monkeypatch.chdir(tmp_path)
    lesson = "04-implementation"
    edit(course, lambda text: text + "\n又一句。\n".encode())
    assert cli.main(["build", "--check", lesson]) == 1
    said = capsys.readouterr().err
    assert f"solutions/{lesson}/{lesson}.ipynb" in said and f"notebooks/{lesson}/{lesson}.ipynb" in said
    edit(course, lambda text: text.removesuffix("\n又一句。\n".encode()))
    course.release(lesson).unlink()
    assert cli.main(["build", "--check", lesson]) == 1
    said = capsys.readouterr().err
    assert "notebooks/" in said and "solutions/" not in said.replace(f"solutions/{lesson}.md", "")


def test_lessons_without_steps_can_be_built(tmp_path):
    course = copy_course(tmp_path)
    course.source("00-start").write_text(PLAIN, "utf-8")
    build.build(course, ["00-start"])
    assert not build.stale(course, "00-start")


def test_copying_lessons_never_touches_what_is_there(tmp_path):
    mine = tmp_path / f"{COURSE.lessons()[0]}.ipynb"
    mine.write_bytes(b"mine")
    assert build.copy_lessons(COURSE, tmp_path) == COURSE.lessons()[1:]
    assert mine.read_bytes() == b"mine" and build.copy_lessons(COURSE, tmp_path) == []
