"""How far a reader is: the latest score of every step of a lesson."""

from html import escape

from rmslab.catalogue import text
from rmslab.checks import steps_of
from rmslab.engine import SCORES
from rmslab.table import table


class Progress:
    """Shown in a notebook as a table of steps; ``repr`` is one line."""

    def __init__(self, lesson: str):
        self.rows = [(step, SCORES.get(step.id)) for step in steps_of(lesson)]
        if not self.rows:
            raise LookupError(f"没有叫 {lesson!r} 的带检查的课。")

    def __repr__(self) -> str:
        points = sum(float(score) for _, score in self.rows if score)
        total = sum(step.points for step, _ in self.rows)
        return text("progress", "total", points=f"{points:g}", total=f"{total:g}")

    def _repr_html_(self) -> str:
        body = []
        for step, score in self.rows:
            passed = score is not None and score.verdict.passed
            sign = "✓" if passed else "◐" if score and float(score) else "○"
            points = f"{float(score):g}" if score else text("progress", "unchecked")
            body.append((sign, escape(text("step", step.id, "title")), f"{points} / {step.points:g}"))
        columns = [escape(text("progress", key)) for key in ("state", "step", "points")]
        return f"{table(columns, body)}<p>{escape(repr(self))}</p>"


def progress(lesson: str) -> Progress:
    """The reader's progress in one lesson since the kernel started.

    Raises:
        LookupError: no such lesson.
    """
    return Progress(lesson)
