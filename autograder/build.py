"""``autograder build``: one Markdown source → the solved lesson and the released one.

A source is MyST Markdown with three kinds of marked code cells: ``:step: ID`` (filled with the step's check),
``:solution: ID`` (holds ``### BEGIN SOLUTION`` … ``### END SOLUTION``, then perhaps ``### STUB …``), and
``:setup: true`` (filled with the cell that finds rmslab). ``:experiment: true`` marks what grading skips.
A text cell after ``+++ {"manual": ID, "points": 2}`` is graded by a person: it holds a model answer and the
rubric, of which the student sees nothing.
"""

import copy
import hashlib
import io
import json
import logging
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder import publish
from autograder.course import Course
from autograder.problem import Problem
from autograder.results import write_atomically
from rmslab.checks import STEPS

STUB = re.compile(r"^(\s*)### STUB (.*)$")
MARKS = {"step", "solution", "setup", "experiment", "manual", "points"}
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


class RevealStubs(NbGraderPreprocessor):
    """Turn ``### STUB code`` into ``code``: what stands in for the solution in the student's notebook."""

    def preprocess_cell(self, cell: NotebookNode, resources: dict, cell_index: int) -> tuple:
        cell.source = "\n".join(STUB.sub(r"\1\2", line) for line in cell.source.split("\n"))
        return cell, resources


# --- source → notebook ------------------------------------------------------------------------------------


def read_source(course: Course, lesson: str) -> NotebookNode:
    """The lesson's source as a notebook with nbgrader metadata and stable cell ids, not executed.

    Raises:
        Problem: no such lesson, or a source that is empty, unreadable or marked up wrongly.
    """
    path = course.source(lesson)
    if not path.is_file():
        known = "、".join(course.lessons()) or "（还没有）"
        raise Problem(f"没有叫 {lesson} 的课：找不到 solutions/{lesson}.md。现有的课：{known}")
    try:
        text = path.read_text(encoding="utf-8-sig")
        notebook = jupytext.reads(text, fmt="md:myst")
    except UnicodeDecodeError:
        raise Problem(f"solutions/{lesson}.md 不是 UTF-8 文本，请另存为 UTF-8 再构建。") from None
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        message = f"solutions/{lesson}.md 读不出来：{reason}。请检查 MyST 语法，尤其是单元格的 ``` 是否成对。"
        raise Problem(message) from error
    if not any(cell.cell_type == "code" for cell in notebook.cells):
        raise Problem(f"solutions/{lesson}.md 是空的，或者一个代码单元格也没有。先写好内容再构建。")
    notebook.metadata = {
        "kernelspec": KERNELSPEC,
        "language_info": {"name": "python"},
        "rmsnorm_course": {"lesson": lesson},
    }
    for position, cell in enumerate(notebook.cells):
        mark_up(cell, course, lesson)
        digest = hashlib.sha256(f"{cell.cell_type}\0{position}\0{cell.source}".encode()).hexdigest()[:12]
        cell.id = cell.metadata.get("nbgrader", {}).get("grade_id", digest)
    check_marks(notebook, lesson)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def mark_up(cell: NotebookNode, course: Course, lesson: str) -> None:
    """Replace the source's short marks by nbgrader's metadata."""
    marks = cell.metadata
    if unknown := sorted(set(marks) - MARKS):
        raise Problem(f"{lesson} 里有不认识的标记 :{unknown[0]}:。可用的有：{'、'.join(sorted(MARKS))}。")
    cell.metadata = NotebookNode()
    if "step" in marks:
        step = STEPS.get(marks["step"])
        if step is None or step.lesson != lesson:
            raise Problem(f"{lesson} 里的步骤 {marks['step']} 没有在 rmslab/checks/ 里定义。")
        cell.source = f'check("{step.id}", {", ".join(step.arguments)})'
        cell.metadata.nbgrader = nbgrader_marks(step.id, grade=True, locked=True, points=step.points)
    elif "solution" in marks:
        cell.metadata.nbgrader = nbgrader_marks(marks["solution"], solution=True)
    elif "manual" in marks:
        if cell.cell_type != "markdown" or not isinstance(marks.get("points"), int | float):
            raise Problem(f"{lesson} 里的 manual {marks['manual']} 应是带 points 的文字单元格。")
        points = float(marks["points"])
        cell.metadata.nbgrader = nbgrader_marks(marks["manual"], grade=True, solution=True, points=points)
    elif "setup" in marks:
        cell.source = publish.opening_cell(course)
        cell.metadata.jupyter = NotebookNode(source_hidden=True)  # nothing to read before the lesson
    if "experiment" in marks:
        cell.metadata.tags = ["experiment"]


def nbgrader_marks(grade_id: str, **more: object) -> NotebookNode:
    flags = {"grade": False, "solution": False, "locked": False, "task": False}
    return NotebookNode({"schema_version": 3, "grade_id": grade_id, **flags, **more})


def check_marks(notebook: NotebookNode, lesson: str) -> None:
    """Every step of the lesson once, no id twice, no solution outside a solution cell."""
    ids = [cell.metadata.nbgrader.grade_id for cell in notebook.cells if "nbgrader" in cell.metadata]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise Problem(f"{lesson} 里有重复的 grade_id：{'、'.join(twice)}。")
    absent = [step.id for step in STEPS.values() if step.lesson == lesson and step.id not in ids]
    if absent:
        raise Problem(
            f"{lesson} 少了步骤：{'、'.join(absent)}。请在 solutions/{lesson}.md 里加上 :step: 单元格。"
        )


def execute(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """The notebook with outputs, run from top to bottom in a fresh kernel.

    Raises:
        Problem: a cell raised; the message shows which.
    """
    executed = copy.deepcopy(notebook)
    client = NotebookClient(
        executed, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    try:
        # A fixed seed, so that a second build changes nothing; the kernel's own chatter is nobody's concern.
        client.execute(env=os.environ | {"RMSLAB_SEED": "0"}, stderr=subprocess.DEVNULL)
    except CellExecutionError as error:
        raise Problem(f"解答 notebook 运行出错，没有写入任何文件：\n{error}") from error
    for cell in executed.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):  # a widget needs its kernel; what it shows without stays
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    executed.metadata.pop("widgets", None)
    executed.metadata["language_info"] = {"name": "python"}
    return executed


def release(course: Course, lesson: str, solution: NotebookNode) -> NotebookNode:
    """The student's notebook, by nbgrader's own generate_assignment in a throw-away course.

    Raises:
        Problem: nbgrader refused the source, or a solution would have reached the student.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        source = root / "solutions" / lesson / f"{lesson}.ipynb"
        source.parent.mkdir(parents=True)
        nbformat.write(solution, source)
        config = course.nbgrader()
        config.CourseDirectory.root = folder
        config.CourseDirectory.db_url = f"sqlite:///{root / 'gradebook.db'}"
        config.CourseDirectory.assignment_id = lesson
        converter = GenerateAssignment(coursedir=CourseDirectory(config=config), config=config)
        log = io.StringIO()
        converter.log = logging.Logger("nbgrader", logging.ERROR)
        converter.log.addHandler(logging.StreamHandler(log))
        try:
            converter.start()
        except Exception as error:
            raise Problem(f"nbgrader 无法生成 {lesson} 的学生版：{error}\n{log.getvalue()}") from error
        released = nbformat.read(root / "notebooks" / lesson / f"{lesson}.ipynb", as_version=4)
    for cell in released.cells:
        if re.search(r"(BEGIN|END) (SOLUTION|HIDDEN TESTS|MARK SCHEME)|### STUB", cell.source):
            raise Problem(f"{lesson} 的学生版里还留有解答标记（单元格 {cell.id}），没有写入任何文件。")
    released.metadata["rmsnorm_course"]["release_sha256"] = fingerprint(released)
    return released


# --- fingerprints -----------------------------------------------------------------------------------------


def essence(notebook: NotebookNode) -> list:
    """What a build decides: cells without outputs and counts."""
    return [
        [cell.get("id"), cell.cell_type, cell.source, json.loads(json.dumps(cell.metadata))]
        for cell in notebook.cells
    ]


def fingerprint(notebook: NotebookNode) -> str:
    text = json.dumps(essence(notebook), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_notebook(path: Path) -> NotebookNode | None:
    try:
        return nbformat.read(path, as_version=4) if path.is_file() else None
    except Exception:
        return None


def edited_by_hand(path: Path) -> bool:
    """Whether a released notebook is no longer what a build wrote."""
    if not path.is_file():
        return False
    notebook = read_notebook(path)
    if notebook is None:
        return True
    course = notebook.metadata.get("rmsnorm_course")
    return not isinstance(course, dict) or course.get("release_sha256") != fingerprint(notebook)


def stale(course: Course, lesson: str) -> list[Path]:
    """The lesson's generated files that do not agree with its source."""
    wanted = read_source(course, lesson)
    solution, released = read_notebook(course.solution(lesson)), read_notebook(course.release(lesson))
    names = []
    if solution is None or essence(solution) != essence(wanted):
        names.append(course.solution(lesson))
    if released is None or essence(released) != essence(release(course, lesson, wanted)):
        names.append(course.release(lesson))
    return names


def stale_readme(course: Course) -> list[Path]:
    found = publish.readme(course)
    return [found[0]] if found and found[0].read_text("utf-8") != found[1] else []


# --- commands ---------------------------------------------------------------------------------------------


def build(course: Course, lessons: Iterable[str] = ()) -> None:
    """Build the lessons (default: all). Everything is made before anything is written.

    Raises:
        Problem: see the message; nothing was changed.
    """
    made = []
    for lesson in list(lessons) or all_lessons(course):
        if edited_by_hand(course.release(lesson)):
            place = course.release(lesson).relative_to(course.root)
            raise Problem(
                f"{place} 被手工改过，没有覆盖它。"
                f"要保留改动，请把它们写进 solutions/{lesson}.md；然后移走或删除这个文件，再构建。"
            )
        plain = read_source(course, lesson)
        released = release(course, lesson, plain)
        print(f"{lesson}：运行解答……", flush=True)
        made.append((lesson, execute(plain, course.root), released))
    for lesson, solved, released in made:
        for notebook, path in ((solved, course.solution(lesson)), (released, course.release(lesson))):
            write_atomically(path, nbformat.writes(notebook) + "\n")
        print(f"{lesson}：已写入 {', '.join(name(course, lesson))}")
    if stale_readme(course):
        path, text = publish.readme(course)
        write_atomically(path, text)
        print(f"已更新 {path.name} 里打开各课的按钮")


def name(course: Course, lesson: str) -> list[str]:
    return [str(p.relative_to(course.root)) for p in (course.solution(lesson), course.release(lesson))]


def check(course: Course, lessons: Iterable[str] = ()) -> None:
    """Raise a Problem that names every generated file that is stale."""
    old = [path for lesson in list(lessons) or all_lessons(course) for path in stale(course, lesson)]
    old += stale_readme(course)
    if old:
        names = "\n".join(f"  {path.relative_to(course.root)}" for path in old)
        raise Problem(f"这些文件与来源不一致，请运行 autograder build：\n{names}")
    print("所有 lesson 都与来源一致。")


def all_lessons(course: Course) -> list[str]:
    lessons = course.lessons()
    if not lessons:
        raise Problem(f"{course.root / 'solutions'} 里没有任何 .md 来源文件。")
    return lessons


def copy_lessons(course: Course, target: Path) -> list[str]:
    """Copy released lessons that ``target`` lacks; what is there is never touched. Names of the new ones."""
    fresh = []
    for lesson in course.lessons():
        place = target / f"{lesson}.ipynb"
        if course.release(lesson).is_file() and not place.exists():
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(course.release(lesson), place)
            fresh.append(lesson)
    return fresh
