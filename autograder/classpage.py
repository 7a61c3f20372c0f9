"""The class on one page: how the scores lie, where steps were lost, who fell into which misconception."""

import re
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from autograder import pages
from autograder.pages import table, title_of
from rmslab.catalogue import entry, text

if TYPE_CHECKING:
    from autograder.report import Row

HUMAN = ("unreadable", "timeout", "memory", "crashed", "needs_manual")
"""Statuses behind which there may be more than a student's mistake."""
CSS = """
main{max-width:none}.wide{overflow-x:auto}.heat td,.heat th{padding:.1em .35em;text-align:center}
.heat th[scope=row]{text-align:left;white-space:nowrap;position:sticky;left:0;background:var(--paper)}
.heat thead th{vertical-align:bottom}
.heat thead span{display:inline-block;writing-mode:vertical-rl;text-orientation:sideways;white-space:nowrap;
padding:.3em 0}
.heat td{min-width:1.6em;font-variant-numeric:tabular-nums}svg text{fill:currentColor;font-size:12px}
"""


def html(lines: Sequence["Row"], names: dict[str, str], protections: Sequence[str]) -> str:
    """The page, self-contained and without scripts.

    Args:
        lines: the report, a row for every student and step.
        names: what students are called, by id.
        protections: what stood between student code and the machine, for every way that occurred.
    """
    totals: Counter[tuple[str, str]] = Counter()
    statuses: dict[tuple[str, str], Counter[str]] = {}
    full: dict[str, dict[str, float]] = {}
    for row in lines:
        totals[row.student, row.lesson] += row.points
        statuses.setdefault((row.student, row.lesson), Counter())[row.status] += 1
        full.setdefault(row.lesson, {})[row.step] = row.max_points
    points = {lesson: sum(steps.values()) for lesson, steps in full.items()}
    students = sorted({row.student for row in lines})
    mean = sum(totals.values()) / len(students)
    facts = {"students": len(students), "lessons": len(full), "mean": f"{mean:.1f}"}
    summary = text("report", "summary", total=f"{sum(points.values()):g}", **facts)
    body = [
        f"<p>{escape(summary)}</p>",
        *(f"<p>{escape(text('report', 'protections', protections=each))}</p>" for each in protections),
        section("human", human(lines, names)),
        section("distribution", "".join(distribution(lesson, totals, statuses, points) for lesson in points)),
        section("steps", steps(lines)),
        section("misconceptions", heat(lines, names)),
        section("scores", scores(totals, statuses, points, names)),
    ]
    return pages.page(text("report", "title"), f"<style>{CSS}</style>{''.join(body)}")


def section(key: str, body: str) -> str:
    return f'<h2>{escape(text("report", key))}</h2><div class="wide">{body}</div>'


def headings(*keys: str) -> list[str]:
    return [text("report", key) for key in keys]


def scores(totals: Counter, statuses: dict, points: dict[str, float], names: dict[str, str]) -> str:
    body = [
        [student, names.get(student, ""), lesson, totals[student, lesson], points[lesson],
         "、".join(f"{text('status', status)} {n}" for status, n in statuses[student, lesson].items())]
        for student, lesson in sorted(statuses)
    ]  # fmt: skip
    return table(headings("student", "name", "lesson", "points", "max_points", "statuses"), body)


def distribution(lesson: str, totals: Counter, statuses: dict, points: dict[str, float]) -> str:
    """Ten bars, and the same in words for who cannot see them."""
    counts = [0] * 10
    for (student, name), seen in statuses.items():
        if name == lesson and set(seen) != {"missing"} and points[lesson]:
            counts[min(int(10 * totals[student, lesson] / points[lesson]), 9)] += 1
    words = [text("report", "bar", low=10 * i, high=10 * i + 10, count=n) for i, n in enumerate(counts)]
    bars = []
    for i, n in enumerate(counts):
        height = 90 * n / max(*counts, 1)
        bars.append(
            f'<rect x="{44 * i + 4}" y="{110 - height:.1f}" width="36" height="{height:.1f}" fill="#0072B2"/>'
            f'<text x="{44 * i + 22}" y="{104 - height:.1f}" text-anchor="middle">{n or ""}</text>'
            f'<text x="{44 * i + 22}" y="126" text-anchor="middle">{10 * i}–{10 * i + 10}</text>'
        )
    label = text("report", "distribution_of", lesson=lesson, count=sum(counts))
    return (
        f"<figure><figcaption>{escape(label)}</figcaption>"
        f'<svg role="img" aria-label="{escape("；".join(words))}" viewBox="0 0 444 132" width="444">'
        f'<line x1="0" x2="444" y1="110" y2="110" stroke="currentColor"/>{"".join(bars)}</svg></figure>'
    )


def steps(lines: Sequence["Row"]) -> str:
    """Of those who handed in: how many had full marks, and the mean."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in lines:
        groups.setdefault((row.lesson, row.step), []).append(row)
    body = []
    for (lesson, step), group in groups.items():
        there = [row for row in group if row.status != "missing"]
        passed = sum(row.points >= row.max_points for row in there)
        rate = f"{100 * passed / len(there):.0f}%" if there else ""
        mean = round(sum(row.points for row in there) / max(len(there), 1), 2)
        body.append([lesson, title_of(step), float(passed), rate, mean, group[0].max_points])
    return table(headings("lesson", "step", "passed", "rate", "mean", "max_points"), body)


def name_of(misconception: str) -> str:
    """Its short name; where it has none, the first words of its symptom that hold no numbers."""
    words = entry("misconception", misconception) or {}
    parts = re.split("[：，。；（]", str(words.get("symptom", "")).replace("{seen}", ""))
    return words.get("name") or next((part for part in parts if part and "{" not in part), misconception)


def heat(lines: Sequence["Row"], names: dict[str, str]) -> str:
    """Students × misconceptions; a cell holds in how many steps, and is the darker the more."""
    struck: dict[str, Counter[str]] = {}
    for row in lines:
        for name in filter(None, row.diagnosis.split("+")):
            struck.setdefault(name, Counter())[row.student] += 1
    if not struck:
        return f"<p>{escape(text('report', 'no_human'))}</p>"
    columns = sorted(struck, key=lambda name: (-len(struck[name]), name))
    students = sorted({student for who in struck.values() for student in who})
    head = "".join(f'<th scope="col"><span>{escape(name_of(name))}</span></th>' for name in columns)
    sums = "".join(f"<td>{len(struck[name])}</td>" for name in columns)
    rows = [f'<tr><th scope="row">{escape(text("report", "headcount"))}</th>{sums}</tr>']
    for student in students:
        label = f"{student}　{names[student]}" if names.get(student) else student
        cells = "".join(shaded(struck[name][student]) for name in columns)
        rows.append(f'<tr><th scope="row">{escape(label)}</th>{cells}</tr>')
    note = escape(text("report", "misconceptions_note"))
    corner = f"<th>{escape(text('report', 'student'))}</th>"
    head = f"<thead><tr>{corner}{head}</tr></thead>"
    return f'<p>{note}</p><table class="heat">{head}<tbody>{"".join(rows)}</tbody></table>'


def shaded(count: int) -> str:
    if not count:
        return "<td></td>"
    return f'<td style="background:rgba(213,94,0,{min(0.25 + 0.2 * count, 0.9):.2f})">{count}</td>'


def human(lines: Sequence["Row"], names: dict[str, str]) -> str:
    """One line for every submission and status that a person should look at."""
    seen = {(r.student, r.lesson, r.status, r.message) for r in lines if r.status in HUMAN}
    if not seen:
        return f"<p>{escape(text('report', 'no_human'))}</p>"
    body = [
        [student, names.get(student, ""), lesson, text("status", status), message]
        for student, lesson, status, message in sorted(seen)
    ]
    return table(headings("student", "name", "lesson", "statuses", "reason"), body)
