"""A lesson runs where a reader runs it, and says the truth about what is not solved yet."""

import ast
import re
from pathlib import Path

import pytest
from conftest import (
    COURSE,
    LESSON,
    ROOT,
    answered,
    as_bytes,
    code_cell,
    find,
    marks,
    python,
    released,
    running_with,
    solved,
    trim,
)
from conftest import source as text_of

from rmslab import restart
from rmslab.checks import LESSONS, steps_of

HANZI = re.compile(r"[\u4e00-\u9fff]")
lessons = pytest.mark.parametrize("lesson", COURSE.lessons())
graded_lessons = pytest.mark.parametrize("lesson", LESSONS)


# --- python -m rmslab check -------------------------------------------------------------------------------


def put(folder: Path, notebook, name: str = f"{LESSON}.ipynb", whole: bool = False) -> Path:
    """Write a notebook, without the cells that only show something unless it should be ``whole``."""
    path = folder / name
    short = notebook if whole or not isinstance(notebook, dict) else trim(notebook)
    path.write_bytes(short if isinstance(short, bytes) else as_bytes(short))
    return path


def check(*paths: Path, cwd: Path = ROOT):
    return python("-m", "rmslab", "check", *paths, cwd=cwd)


def table(said: str) -> dict[str, tuple[str, float, float]]:
    """step → (✓ or ✗, points, full score)"""
    rows = re.findall(r"^  ([✓✗]) ([\w-]+) +([\d.]+) / ([\d.]+)", said, re.M)
    return {step: (sign, float(points), float(full)) for sign, step, points, full in rows}


@graded_lessons
def test_check_of_solved_lesson(lesson, tmp_path):
    done = check(put(tmp_path, answered(lesson), f"{lesson}.ipynb", whole=True))
    assert done.returncode == 0, done.stdout
    assert table(done.stdout) == {step.id: ("✓", step.points, step.points) for step in steps_of(lesson)}
    assert done.stderr == ""


@graded_lessons
def test_names_may_be_used_again_below_their_check(lesson, tmp_path):
    notebook = answered(lesson)
    names = sorted({name for step in steps_of(lesson) for name in step.arguments})
    notebook["cells"] += [code_cell(f"{name} = [-1, 1, -1, 1]") for name in names]
    done = check(put(tmp_path, notebook, f"{lesson}.ipynb"))
    assert {sign for sign, _, _ in table(done.stdout).values()} == {"✓"}


@graded_lessons
def test_check_of_untouched_lesson(lesson, tmp_path):
    done = check(put(tmp_path, released(lesson), f"{lesson}.ipynb"))
    assert done.returncode == 1
    assert table(done.stdout) == {step.id: ("✗", 0.0, step.points) for step in steps_of(lesson)}


def test_recheck_inside_a_lesson(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(put(tmp_path, answered()).parent)
    restart.recheck(LESSON)
    assert {sign for sign, _, _ in table(capsys.readouterr().out).values()} == {"✓"}
    restart.recheck("renamed.ipynb")
    assert "找不到文件 renamed.ipynb" in capsys.readouterr().out
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    restart.recheck(LESSON)
    assert capsys.readouterr().out == ""


def test_one_bad_notebook_of_two_is_enough(tmp_path):
    good, bad = put(tmp_path, answered(), "good.ipynb"), put(tmp_path, b"", "bad.ipynb")
    done = check(bad, good)
    assert done.returncode == 1 and "bad.ipynb" in done.stdout
    assert {sign for sign, _, _ in table(done.stdout).values()} == {"✓"}


@graded_lessons
def test_edited_test_cells_do_not_help(lesson, tmp_path):
    notebook = released(lesson)
    for step in steps_of(lesson):
        find(notebook, step.id)["source"] = (
            "import rmslab.engine, rmslab\n"
            "class Full(float):\n    verdict = None\n"
            f"rmslab.check = lambda *a: Full({step.points})\n{step.points}"
        )
    done = check(put(tmp_path, notebook, f"{lesson}.ipynb"))
    assert done.returncode == 1 and {points for _, points, _ in table(done.stdout).values()} == {0.0}


def test_an_endless_loop_is_stopped_with_all_that_it_started(tmp_path, capsys):
    mark = f"3{abs(hash(tmp_path)) % 10**8}"
    notebook = answered()
    cell = code_cell(f"import subprocess\nsubprocess.Popen(['sleep', '{mark}'])\n1 / 0")
    notebook["cells"][:0] = [cell, code_cell("while True: pass")]
    assert restart.check_one(put(tmp_path, notebook), cap=8) is False
    said = capsys.readouterr().out
    assert "超过 8 秒" in said and "ZeroDivisionError: division by zero" in said
    assert all(sign == "✗" and points == 0 for sign, points, _ in table(said).values())
    assert running_with(f"sleep\0{mark}") == []


def test_leaving_early_passes_nothing(tmp_path, capsys):
    notebook = answered()
    notebook["cells"].append(code_cell("import os; os._exit(0)"))
    assert restart.check_one(put(tmp_path, notebook)) is False
    assert set(table(capsys.readouterr().out).values()) == {("✗", 0.0, s.points) for s in steps_of(LESSON)}


BROKEN = {
    "missing": None,
    "empty": b"",
    "cut": as_bytes(answered())[:-300],
    "not-json": "作业".encode(),
    "gbk": "作业".encode("gbk"),
    "list": b"[]",
    "null": b"null",
    "no-cells": b"{}",
    "cells-no-list": b'{"cells": ""}',
    "cell-no-dict": b'{"cells": [1]}',
    "deep": b"[" * 100_000,
    "another-notebook": b'{"cells": [], "metadata": {}}',
    "odd-metadata": b'{"cells": [], "metadata": {"rmsnorm_course": "x"}}',
    "odder-metadata": b'{"cells": [], "metadata": {"rmsnorm_course": {"lesson": {}}}}',
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_damaged_files_get_a_sentence(data, tmp_path, capsys):
    path = tmp_path / "some.ipynb"
    if data is not None:
        path.write_bytes(data)
    assert restart.main([str(path)]) == 1
    assert HANZI.search(capsys.readouterr().out)


def test_a_folder_instead_of_a_file_by_the_real_command(tmp_path):
    done = check(tmp_path)
    assert done.returncode == 1 and HANZI.search(done.stdout) and done.stderr == ""


def test_check_skips_experiments_and_survives_odd_cells(tmp_path):
    """All in one notebook, for the cost of one process; it runs in the notebook's own folder."""
    notebook = answered()
    for cell in (
        code_cell("import os; os._exit(3)", tags=["experiment"]),
        code_cell("from mine import value\nassert open('data.txt').read() == 'x', 'not in its folder'"),
        code_cell("%matplotlib widget\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])"),
        code_cell("%%time\nx = 1"),
        code_cell("input('?')"),
        code_cell("exit()"),
        code_cell("import sys, os\nprint('a' * 10**6); sys.stderr.write('b'); os.write(2, b'c')"),
        code_cell(
            "from IPython.display import display\ndisplay({'text/plain': object(), 'x/y': {1}}, raw=True)"
        ),
        code_cell("class Odd(BaseException): pass\nraise Odd('\\ud800')"),
        code_cell("this is no python"),
        {"cell_type": "code", "source": ["y = ", "2"], "metadata": None},
        {"cell_type": "code", "source": "", "metadata": {"tags": "experiment"}},
        {"cell_type": "code"},
        {"cell_type": "raw", "source": "z"},
    ):
        notebook["cells"].insert(1, cell)
    (tmp_path / "mine.py").write_text("value = 1")
    (tmp_path / "data.txt").write_text("x")
    done = check(put(tmp_path, notebook, "我的 作业.ipynb"))
    assert done.returncode == 0, done.stdout
    assert "not in its folder" not in done.stdout and "No module" not in done.stdout
    assert done.stderr == "" and "RuntimeError" in done.stdout
    assert "个单元格：第 1 行写法有误，Python 读不懂：“this is no python”" in done.stdout


def test_metadata_and_names_are_not_needed(tmp_path):
    notebook = answered()
    notebook["metadata"] = {}
    for cell in notebook["cells"]:
        cell["metadata"] = {}
    done = check(put(tmp_path, b"\xef\xbb\xbf" + as_bytes(trim(notebook)), "a.ipynb"))
    assert done.returncode == 0, done.stdout


@lessons
def test_experiments_are_marked_only_on_code(lesson):
    tagged = [c for c in released(lesson)["cells"] if "experiment" in c["metadata"].get("tags", [])]
    assert all(c["cell_type"] == "code" and not marks(c) for c in tagged)
    assert all(text_of(c).strip() for c in tagged)


@lessons
def test_what_calls_an_answer_only_to_show_something_is_an_experiment(lesson):
    """Grading leaves it out: an answer that kills must not do so before any step begins."""
    cells = [c for c in solved(lesson)["cells"] if c["cell_type"] == "code"]
    trees = [ast.parse(text_of(c)) for c in cells if marks(c).get("solution")]
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    answers = {node.name for tree in trees for node in tree.body if isinstance(node, kinds)}
    for cell in cells:
        if not marks(cell) and "experiment" not in cell["metadata"].get("tags", []):
            nodes = ast.walk(ast.parse(text_of(cell)))
            assert not answers & {node.id for node in nodes if isinstance(node, ast.Name)}, text_of(cell)
