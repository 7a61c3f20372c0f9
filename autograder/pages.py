"""Self-contained HTML pages, readable without scripts: one per student and lesson, one for the class."""

from collections.abc import Sequence
from datetime import datetime
from html import escape

from autograder import results
from autograder.course import Classroom
from autograder.gradebook import Mark
from autograder.results import Result, StepResult
from rmslab import card
from rmslab.catalogue import entry, text
from rmslab.checks import STEPS
from rmslab.step import GRADED, Check, Verdict

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


def line(step: str, label: str, points: float, max_points: float, message: str) -> str:
    """A step that has no card, in one line."""
    score = text("card", "score", points=f"{points:g}", max_points=f"{max_points:g}")
    words = (step, label, score, message)
    return f"<p>{escape(' · '.join(filter(None, words)))}</p>"


def automatic(step: str) -> bool:
    """Whether a check grades the step, and not a person."""
    return step in STEPS


def overridden(graded: StepResult, mark: Mark | None) -> bool:
    """Whether a person gave other points than the automatic check."""
    return mark is not None and automatic(graded.step) and mark.points != graded.points


def by_teacher(graded: StepResult, mark: Mark) -> str:
    """A step that a person has graded: the score, and what the person wrote."""
    label = text("feedback", "scored")
    comment = text("feedback", "comment", comment=mark.comment) if mark.comment else ""
    if not entry("step", graded.step, "title"):
        return line(graded.step, label, mark.points, graded.max_points, comment)
    full = Check(graded.step, graded.max_points, mark.points >= graded.max_points)
    scored = Verdict(graded.step, mark.points, graded.max_points, GRADED, (full,))
    return card.notice(scored, label, comment)


def shown(graded: StepResult, mark: Mark | None) -> str:
    """A step on the student's page, with the score that counts."""
    if mark and mark.scored and not automatic(graded.step):
        return by_teacher(graded, mark)
    note = ""
    if mark and overridden(graded, mark):
        facts = {"points": f"{mark.points:g}", "max_points": f"{graded.max_points:g}"}
        note = f'<p class="note">{escape(text("feedback", "overridden", **facts))}</p>'
    if entry("step", graded.step, "title"):
        return note + step_card(graded)
    label = text("status", graded.status)
    return note + line(graded.step, label, graded.points, graded.max_points, graded.message)


def title_of(step: str) -> str:
    return text("step", step, "title") if entry("step", step, "title") else step


def feedback(result: Result, by_hand: dict[str, Mark]) -> str:
    """A student's page: score, what was put right, and a card for every step.

    Args:
        by_hand: what a person wrote, by step: it counts, and the page says so.
    """
    points = sum(by_hand[s.step].points if s.step in by_hand else s.points for s in result.steps)
    title = text("feedback", "title", student=result.student, lesson=result.lesson)
    total = text("feedback", "total", points=f"{points:g}", max_points=f"{result.max_points:g}")
    changed = [
        text("feedback", "by-hand", step=title_of(step.step), points=f"{by_hand[step.step].points:g}",
             max_points=f"{step.max_points:g}")
        for step in result.steps if overridden(step, by_hand.get(step.step))
    ]  # fmt: skip
    parts = [f"<p><strong>{escape(total)}</strong></p>"]
    parts += [f'<p class="note">{escape(note)}</p>' for note in (*changed, *result.notes)]
    parts += [shown(step, by_hand.get(step.step)) for step in result.steps]
    parts.append(f"<p><small>{escape(text('feedback', 'footer', when=local(result.graded_at)))}</small></p>")
    return page(title, "".join(parts))


def local(moment: str) -> str:
    """A moment in ISO 8601, as the clock on this wall shows it; anything else as it is."""
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return moment


def publish(classroom: Classroom, result: Result, by_hand: dict[str, Mark]) -> None:
    """Write the student's page, unless that is what it says already."""
    path, wanted = classroom.feedback(result.student, result.lesson), feedback(result, by_hand)
    try:
        same = path.read_text("utf-8") == wanted
    except (OSError, UnicodeDecodeError):
        same = False
    if not same:
        results.write_atomically(path, wanted)
