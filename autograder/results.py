"""One student's result for one lesson: failure is data. Written atomically, read back to resume."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.course import Classroom

SCHEMA = 1
STATUSES = (
    "graded", "blank", "error", "timeout", "memory", "crashed", "missing", "unreadable", "needs_manual",
)  # fmt: skip


@dataclass
class StepResult:
    """One step's line in the CSV, and what the feedback page shows."""

    step: str
    points: float
    max_points: float
    status: str
    diagnosis: str = ""
    """A misconception id, a pair joined by ``+``, or empty."""
    message: str = ""
    verdict: dict[str, Any] = field(default_factory=dict)
    """The judge's verdict without the failing case's input and expected value."""
    printed: str = ""


@dataclass
class Result:
    """What grading one submission gave."""

    student: str
    lesson: str
    key: str
    """Hash of submission, master, checks and seed: as long as it stays, nothing is graded again."""
    graded_at: str
    protections: str
    steps: list[StepResult]
    notes: list[str] = field(default_factory=list)
    notebook: dict[str, Any] | None = None
    """The autograded notebook; None where none could be made."""

    @property
    def points(self) -> float:
        return sum(step.points for step in self.steps)

    @property
    def max_points(self) -> float:
        return sum(step.max_points for step in self.steps)


def write(classroom: Classroom, result: Result) -> None:
    """Write the result so that a reader, or a kill, sees the old file or the new one and nothing between."""
    # Not asdict, which copies whole notebooks, and no indentation, which json does at a tenth of the speed.
    data = vars(result) | {"steps": [vars(step) for step in result.steps]}
    text = json.dumps({"schema": SCHEMA, **data}, ensure_ascii=False)
    write_atomically(classroom.result(result.student, result.lesson), text)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Swap the file in whole; text as UTF-8."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "replace"))
    os.replace(temporary, path)


def read(classroom: Classroom, student: str, lesson: str) -> Result | None:
    """The result on disk, or None where there is none that can be read."""
    try:
        data = json.loads(classroom.result(student, lesson).read_text(encoding="utf-8"))
        if data.pop("schema") != SCHEMA:
            return None
        data["steps"] = [StepResult(**step) for step in data["steps"]]
        return Result(**data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def read_all(classroom: Classroom, lesson: str = "*") -> Iterator[Result]:
    """Every result of the class (or of one lesson), one at a time, by student and lesson."""
    for path in sorted((classroom.root / "results").glob(f"*/{lesson}.json")):
        result = read(classroom, path.parent.name, path.stem)
        if result:
            yield result


def key(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
