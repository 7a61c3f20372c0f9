"""``autograder demo``: eight handed-in notebooks of one lesson, each with its own fate."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.build import read_notebook
from autograder.course import Course
from autograder.problem import Problem

LESSON = "04-implementation"
MARKER = ".made-by-autograder-demo"
NAMES = {
    "solved": "全部做对",
    "untouched": "没有动过",
    "layernorm": "写成了 LayerNorm",
    "no-keepdim": "忘了 keepdim",
    "fp16-statistics": "统计没有升精度",
    "plain-weight": "weight 不是参数",
    "edited-test": "改了检查单元格",
    "cut-in-half": "文件只剩一半",
}


def cell(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    return next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def swapped(notebook: NotebookNode, old: str, new: str) -> NotebookNode:
    """The notebook with ``old`` replaced in the class that the student wrote."""
    answer = cell(notebook, "rmsnorm-class")
    if old not in answer.source:
        raise Problem(f"示例班级做不出来：解答里没有“{old}”。请更新 autograder/demo.py。")
    answer.source = answer.source.replace(old, new)
    return notebook


def submissions(course: Course) -> dict[str, bytes]:
    """Bytes of each demo student's file, by student id."""
    released, solved = read_notebook(course.release(LESSON)), read_notebook(course.solution(LESSON))
    if released is None or solved is None:
        raise Problem(f"{LESSON} 还没有构建好，请先运行 autograder build。")

    def handed_in(change: Callable[[NotebookNode], NotebookNode] = lambda n: n, solve: bool = True) -> bytes:
        notebook = nbformat.from_dict(json.loads(json.dumps(released)))
        if solve:
            cell(notebook, "rmsnorm-class").source = cell(solved, "rmsnorm-class").source
        return nbformat.writes(change(notebook)).encode()

    def cheat(notebook: NotebookNode) -> NotebookNode:
        cell(notebook, "rmsnorm-class").source = cell(notebook, "rmsnorm-class").source.replace(
            'raise NotImplementedError("TODO 1：创建 self.weight")',
            "self.weight = nn.Parameter(torch.ones(hidden_size))",
        )
        for step, points in (("weight", 6), ("norm", 10), ("forward", 8), ("module", 6)):
            cell(notebook, f"rmsnorm-{step}").source = f"{points}.0"
        return notebook

    return {
        "solved": handed_in(),
        "untouched": handed_in(solve=False),
        "layernorm": handed_in(
            lambda n: swapped(
                n, "x_fp32 = x.float()\n", "x_fp32 = x.float() - x.float().mean(-1, keepdim=True)\n"
            )
        ),
        "no-keepdim": handed_in(lambda n: swapped(n, "squares.mean(-1, keepdim=True)", "squares.mean(-1)")),
        "fp16-statistics": handed_in(lambda n: swapped(n, "x_fp32 = x.float()\n", "x_fp32 = x\n")),
        "plain-weight": handed_in(
            lambda n: swapped(n, "nn.Parameter(torch.ones(hidden_size))", "torch.ones(hidden_size)")
        ),
        "edited-test": handed_in(cheat, solve=False),
        "cut-in-half": handed_in()[: len(handed_in()) // 2],
    }


def write_class(course: Course, folder: Path) -> Path:
    """Write the eight files and a roster under ``folder`` (made anew each time). Returns where they are.

    Raises:
        Problem: the folder holds something that a demo did not make.
    """
    if folder.exists() and not (folder / MARKER).is_file():
        raise Problem(
            f"{folder} 已经存在，而且不是示例班级，没有动它。请换一个位置：autograder demo --folder DIR"
        )
    files = submissions(course)
    shutil.rmtree(folder, ignore_errors=True)
    handed_in = folder / "handed-in"
    for student, data in files.items():
        path = handed_in / student / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    (folder / MARKER).touch()
    lines = ["student,name", *(f"{student},{name}" for student, name in NAMES.items())]
    (folder / "class.csv").write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    return handed_in
