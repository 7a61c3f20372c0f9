"""What several test files share: notebooks to hand in, courses to change, the real commands."""

import copy
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autograder.course import Classroom, Course
from rmslab.checks import LESSONS

ROOT = Path(__file__).resolve().parents[1]
COURSE = Course(ROOT)
LESSON = "04-implementation"
SHOWS = ("figures.", "experiments.", "ordering(", "progress(")
"""Cells that begin so only show something: a course without them grades alike, and sooner."""


# --- notebooks --------------------------------------------------------------------------------------------


def released(lesson: str = LESSON) -> dict[str, Any]:
    """The student's notebook, as JSON."""
    return json.loads(COURSE.release(lesson).read_text("utf-8"))


def solved(lesson: str = LESSON) -> dict[str, Any]:
    """The instructor's notebook, as JSON."""
    return json.loads(COURSE.solution(lesson).read_text("utf-8"))


def marks(cell: dict[str, Any]) -> dict[str, Any]:
    return cell["metadata"].get("nbgrader", {})


def source(cell: dict[str, Any]) -> str:
    text = cell.get("source", "")
    return text if isinstance(text, str) else "".join(text)


def find(notebook: dict[str, Any], grade_id: str) -> dict[str, Any]:
    """The cell of that grade_id."""
    return next(cell for cell in notebook["cells"] if marks(cell).get("grade_id") == grade_id)


def answered(lesson: str = LESSON) -> dict[str, Any]:
    """The released notebook with every solution cell filled in."""
    notebook, solution = released(lesson), solved(lesson)
    for cell in notebook["cells"]:
        if marks(cell).get("solution"):
            cell["source"] = find(solution, marks(cell)["grade_id"])["source"]
    return notebook


def with_class(change: tuple[str, str] | None = None, append: str = "", lesson: str = LESSON) -> dict[str, Any]:
    """The solved lesson 04 with a part of the class replaced, and code after the class."""
    notebook = answered(lesson)
    cell = find(notebook, "rmsnorm-class")
    text = source(cell)
    if change:
        assert change[0] in text, f"not in the solution any more: {change[0]!r}"
        text = text.replace(*change, 1)
    cell["source"] = text + append
    return notebook


def code_cell(text: str, **metadata: Any) -> dict[str, Any]:
    return {"cell_type": "code", "source": text, "metadata": metadata, "outputs": [], "execution_count": None}


def as_bytes(notebook: Any) -> bytes:
    return json.dumps(notebook, ensure_ascii=False).encode()


def hand_in(folder: Path, student: str, notebook: Any, lesson: str = LESSON) -> Path:
    """Write a submission where ``collect`` looks for it or puts it, less cells that only show something."""
    path = folder / student / lesson / f"{lesson}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(notebook if isinstance(notebook, bytes) else as_bytes(trim(notebook)))
    return path


def trim(notebook: dict[str, Any]) -> dict[str, Any]:
    cells = [c for c in notebook["cells"] if c["cell_type"] == "markdown" or not source(c).startswith(SHOWS)]
    return notebook | {"cells": cells}


# --- commands ---------------------------------------------------------------------------------------------


def command(*arguments: object, cwd: Path = ROOT, **more: Any) -> subprocess.CompletedProcess:
    """``autograder …`` as a process of its own."""
    return python("-m", "autograder.cli", *arguments, cwd=cwd, **more)


def python(*arguments: object, cwd: Path = ROOT, **more: Any) -> subprocess.CompletedProcess:
    line = [sys.executable, *map(str, arguments)]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, encoding="utf-8", **more)


def need(condition: object, reason: str) -> None:
    """Skip where this machine cannot; in CI that is a failure."""
    if not condition:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)


def running_with(text: str) -> list[int]:
    """Processes whose command line or environment mentions ``text``."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            seen = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
        if text.encode() in seen and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found


# --- courses and classes ----------------------------------------------------------------------------------


def copy_course(target: Path) -> Course:
    """Sources, generated notebooks and configuration in a folder that a test may change."""
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "nbgrader_config.py", target)
    for part in ("solutions", "notebooks"):
        shutil.copytree(ROOT / part, target / part, ignore=shutil.ignore_patterns(".*"))
    return Course(target)


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The course without cells that only show something. Not to be changed."""
    short = copy_course(tmp_path_factory.mktemp("course"))
    for lesson in LESSONS:
        for path in (short.solution(lesson), short.release(lesson)):
            path.write_text(json.dumps(trim(json.loads(path.read_text("utf-8")))), "utf-8")
    return short


@pytest.fixture
def own_course(course: Course, tmp_path: Path) -> Course:
    """The same course, to be changed."""
    shutil.copytree(course.root, tmp_path / "course")
    return Course(tmp_path / "course")


@pytest.fixture
def classroom(tmp_path: Path) -> Classroom:
    return Classroom(tmp_path / "classroom")


@pytest.fixture
def notebook() -> dict[str, Any]:
    """A solved lesson 04, to be damaged."""
    return copy.deepcopy(answered())


# --- a browser --------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory):
    """One JupyterLab for every test that needs one, in a copy of the course."""
    import browser

    browser.chromium()
    course = copy_course(tmp_path_factory.mktemp("lab") / "course")
    with browser.jupyterlab(course.root, tmp_path_factory.mktemp("home")) as address:
        yield browser.Lab(address, course)


@pytest.fixture(scope="module")  # while it runs, so does an event loop, which other tests cannot have
def chrome():
    import browser

    with browser.started() as started:
        yield started
