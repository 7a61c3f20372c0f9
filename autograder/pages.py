"""Self-contained HTML pages, readable without scripts: one per student and lesson, one for the class."""

from collections.abc import Sequence
from datetime import datetime
from html import escape

from autograder import results
from autograder.course import Classroom
from autograder.results import Result, StepResult
from rmslab import card
from rmslab.catalogue import entry, text
from rmslab.step import Verdict

CSS = """
:root{color-scheme:light dark;--paper:#fff}
body{font:16px/1.7 system-ui,"Noto Sans SC","Microsoft YaHei",sans-serif;
max-width:60em;margin:2em auto;padding:0 1.2em;color:#1a1a1a;background:var(--paper)}
h1{font-size:1.6em}h2{font-size:1.25em;margin-top:2em}table{border-collapse:collapse;margin:1em 0}
th,td{border:1px solid #8888;padding:.3em .8em;text-align:left}td.number{text-align:right;
font-variant-numeric:tabular-nums}.note{border-left:4px solid #0072B2;padding-left:.8em}
@media(prefers-color-scheme:dark){:root{--paper:#181818}body{color:#eee;--jp-content-font-color1:#eee;
--jp-layout-color1:#222}}
"""


def page(title: str, body: str) -> str:
    return (
        f'<!doctype html>\n<html lang="zh-CN"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{CSS}</style></head>'
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>\n"
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str | float]]) -> str:
    def cell(value: str | float) -> str:
        if isinstance(value, str):
            return f"<td>{escape(value)}</td>"
        return f'<td class="number">{value:g}</td>'

    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def step_card(graded: StepResult) -> str:
    """The feedback card without inputs and expected values; of a step without verdict, its remedy."""
    if not graded.verdict:
        failed = Verdict(graded.step, 0.0, graded.max_points, graded.status)
        return card.notice(failed, text("status", graded.status), graded.message)
    # Not what the student's code printed, either: that may be the hidden input.
    return card.html(Verdict.load(graded.verdict), private=True)


def line(graded: StepResult) -> str:
    """A step that a person grades, in one line."""
    score = text("card", "score", points=f"{graded.points:g}", max_points=f"{graded.max_points:g}")
    words = (graded.step, text("status", graded.status), score, graded.message)
    return f"<p>{escape(' · '.join(words))}</p>"


def title_of(step: str) -> str:
    return text("step", step, "title") if entry("step", step, "title") else step


def feedback(result: Result, by_hand: dict[str, float]) -> str:
    """A student's page: score, what was put right, and a card for every step.

    Args:
        by_hand: points that a person gave, by step: they count, and the page says so.
    """
    points = sum(by_hand.get(step.step, step.points) for step in result.steps)
    title = text("feedback", "title", student=result.student, lesson=result.lesson)
    total = text("feedback", "total", points=f"{points:g}", max_points=f"{result.max_points:g}")
    changed = [
        text("feedback", "by-hand", step=title_of(step.step), points=f"{by_hand[step.step]:g}",
             max_points=f"{step.max_points:g}")
        for step in result.steps if step.step in by_hand
    ]  # fmt: skip
    parts = [f"<p><strong>{escape(total)}</strong></p>"]
    parts += [f'<p class="note">{escape(note)}</p>' for note in (*changed, *result.notes)]
    parts += [step_card(step) if entry("step", step.step, "title") else line(step) for step in result.steps]
    parts.append(f"<p><small>{escape(text('feedback', 'footer', when=local(result.graded_at)))}</small></p>")
    return page(title, "".join(parts))


def local(moment: str) -> str:
    """A moment in ISO 8601, as the clock on this wall shows it; anything else as it is."""
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return moment


def publish(classroom: Classroom, result: Result, by_hand: dict[str, float]) -> None:
    """Write the student's page, unless that is what it says already."""
    path, wanted = classroom.feedback(result.student, result.lesson), feedback(result, by_hand)
    try:
        same = path.read_text("utf-8") == wanted
    except (OSError, UnicodeDecodeError):
        same = False
    if not same:
        results.write_atomically(path, wanted)
