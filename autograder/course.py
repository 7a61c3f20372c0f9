"""Where things are: the course folder and one class inside it."""

import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from traitlets.config import Config, PyFileConfigLoader

from autograder.harmless import CONTROL
from autograder.problem import Problem

MARKER = "nbgrader_config.py"
NO_ID = re.compile(rf"^\.|[{CONTROL}]")
"""Found in names of folders that belong to no student, or that no table could hold."""


@dataclass(frozen=True)
class Course:
    """The folder with ``solutions/``, ``notebooks/`` and ``nbgrader_config.py``."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> "Course":
        """The course that ``start`` (default: the working folder) lies in.

        Raises:
            Problem: there is none above it.
        """
        start = (start or Path.cwd()).resolve()
        for folder in (start, *start.parents):
            if (folder / MARKER).is_file() and (folder / "solutions").is_dir():
                return cls(folder)
        raise Problem(f"{start} 不在课程文件夹里。请先 cd 到含有 {MARKER} 和 solutions/ 的文件夹，再运行。")

    def source(self, lesson: str) -> Path:
        return self.root / "solutions" / f"{lesson}.md"

    def solution(self, lesson: str) -> Path:
        return self.root / "solutions" / lesson / f"{lesson}.ipynb"

    def release(self, lesson: str) -> Path:
        return self.root / "notebooks" / lesson / f"{lesson}.ipynb"

    def lessons(self) -> list[str]:
        """Every lesson that has a source, in order."""
        return sorted(path.stem for path in (self.root / "solutions").glob("*.md"))

    def nbgrader(self) -> Config:
        """The configuration that stock nbgrader commands see in this folder."""
        return PyFileConfigLoader(MARKER, path=str(self.root)).load_config()


@dataclass(frozen=True)
class Classroom:
    """One class: what was handed in and what came of it.

    ``submitted/`` ``results/`` ``autograded/`` ``feedback/`` ``gradebook.db`` ``seed`` ``roster.csv``
    """

    root: Path

    def submission(self, student: str, lesson: str) -> Path:
        return self.root / "submitted" / student / lesson / f"{lesson}.ipynb"

    def result(self, student: str, lesson: str) -> Path:
        return self.root / "results" / student / f"{lesson}.json"

    def autograded(self, student: str, lesson: str) -> Path:
        return self.root / "autograded" / student / lesson / f"{lesson}.ipynb"

    def feedback(self, student: str, lesson: str) -> Path:
        return self.root / "feedback" / student / lesson / f"{lesson}.html"

    @property
    def roster(self) -> Path:
        return self.root / "roster.csv"

    @property
    def db_url(self) -> str:
        return f"sqlite:///{(self.root / 'gradebook.db').resolve()}"

    def folders(self) -> list[str]:
        folder = self.root / "submitted"
        return sorted(p.name for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []

    def students(self) -> list[str]:
        """Everyone who handed something in, sorted."""
        return [name for name in self.folders() if not NO_ID.search(name)]

    def handed_in(self, student: str, lesson: str) -> bool:
        """Whether anything lies where the submission should be, be it readable or not."""
        folder = self.submission(student, lesson).parent
        return folder.is_dir() and any(not one.name.startswith(".") for one in folder.iterdir())

    def seems_new(self) -> bool:
        """Whether a submission is younger than its result, or has none: a guess by dates, at no cost."""
        for path in (self.root / "submitted").glob("*/*/*.ipynb"):
            result = self.result(path.parent.parent.name, path.stem)
            if not result.is_file() or result.stat().st_mtime < path.stat().st_mtime:
                return True
        return False

    def seed(self) -> str:
        """The class's secret seed, made on first use. It never reaches a process that runs student code."""
        path = self.root / "seed"
        if not path.is_file():
            self.root.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(secrets.token_hex(16), encoding="ascii")
        return path.read_text(encoding="ascii").strip()
