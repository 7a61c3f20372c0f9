"""The feedback card: what was seen in the student's own numbers, what it means, one next step, three hints.

Plain HTML without scripts, readable in light and dark themes, in a saved notebook and in a web page.
"""

from html import escape

from rmslab import trace
from rmslab.catalogue import entry, fill, text
from rmslab.step import BLANK, GRADED, Verdict

# Doubled class names win over JupyterLab's own rules for lists and tables.
CSS = """
.rms-card{border:1px solid #8886;border-left:6px solid var(--c);border-radius:6px;padding:.6em 1em .8em;
margin:.4em 0;max-width:52em;line-height:1.65;font-size:14px;color:var(--jp-content-font-color1,#1a1a1a);
background:var(--jp-layout-color1,#fff)}
.rms-card header{display:flex;gap:0 .8em;align-items:baseline;flex-wrap:wrap;font-size:16px}
.rms-card header b{color:var(--jp-content-font-color1,#1a1a1a)}
.rms-card p{margin:.45em 0}.rms-card dl{margin:.3em 0;display:grid;grid-template-columns:max-content 1fr;
gap:.3em 1em}.rms-card dt{font-weight:600;white-space:nowrap}.rms-card.rms-card dd{margin:0;width:auto}
.rms-card.rms-card ul{list-style:none;margin:.3em 0;padding:0 0 0 1em}.rms-card code,.rms-card pre{
font-size:13px;background:#8882;border-radius:3px;padding:0 .25em;white-space:pre-wrap}
.rms-card details{margin:.25em 0}.rms-card summary{cursor:pointer}
.rms-card table{border-collapse:collapse;margin:.3em 0;font-size:inherit;font-variant-numeric:tabular-nums}
.rms-card.rms-card :is(th,td){border:0;padding:.15em .9em .15em 0;text-align:left;background:none}
.rms-card .variant{border:1px solid #8886;border-radius:1em;padding:.1em .8em;display:inline-block}
"""

# Okabe–Ito, each with a sign of its own so that colour is never the only cue.
LOOK = {"passed": ("#009E73", "✓"), "partial": ("#E69F00", "◐"), "failed": ("#D55E00", "✗"),
        "blank": ("#56B4E9", "○"), "error": ("#D55E00", "!")}  # fmt: skip


def state(verdict: Verdict) -> str:
    if verdict.passed:
        return "passed"
    if verdict.status in (BLANK, "needs_manual"):
        return BLANK
    if verdict.status != GRADED:
        return "error"
    practised = not verdict.max_points and any(check.passed for check in verdict.checks)
    return "partial" if verdict.points or practised else "failed"


def plain(number: float) -> str:
    return f"{number:g}"


def kind(verdict: Verdict) -> str:
    """The kind of the first failure: last part of ``step.check.kind``."""
    return verdict.failure.rsplit(".", 1)[-1]


def seen(verdict: Verdict) -> str:
    """The student's own numbers as one sentence."""
    facts = verdict.facts
    if "reason" in facts:  # the sentence has a full stop of its own
        facts = facts | {"reason": str(facts["reason"]).rstrip(".。")}
    if "item" in facts:
        items = facts["item"].split(",")
        names = [entry("item", item) or entry("step", verdict.step, item) or item for item in items]
        facts = facts | {"item": "、".join(names)}
    return text("seen", kind(verdict), **facts) if entry("seen", kind(verdict)) else ""


def words_for(verdict: Verdict, *path: str) -> dict:
    """The words at ``path``: those for the verdict's kind of step, or for the step, where it has its own."""
    words = entry(*path) or {}
    return words | words.get(verdict.step.partition("-")[0], {}) | words.get(verdict.step, {})


def misconception(verdict: Verdict, name: str) -> dict:
    return words_for(verdict, "misconception", name)


def failure(verdict: Verdict) -> dict:
    """The words for the first property that fails, where no misconception explains it."""
    if kind(verdict) in ("error", "cell") and verdict.facts.get("error") == "NameError":
        return words_for(verdict, "failure", "unknown-name")  # it fails on any input
    return words_for(verdict, "failure", kind(verdict)) or words_for(verdict, "failure", "nothing")


def message(verdict: Verdict) -> str:
    """One line that says what happened: the symptom of the diagnosis, or the first property that fails."""
    if verdict.passed:
        return ""
    if verdict.status == BLANK:
        return text("card", "blank")
    if verdict.diagnosis:
        symptom = misconception(verdict, verdict.diagnosis[0])["symptom"]
        return fill(symptom, seen=seen(verdict), **verdict.facts)
    return seen(verdict) + fill(failure(verdict)["concept"], **verdict.facts)


def html(verdict: Verdict, output: str = "", private: bool = False) -> str:
    """The card of one verdict.

    Args:
        verdict: what the judge said.
        output: what the student's code printed while it was checked.
        private: leave out the inputs and the contract's values, as after grading on unseen inputs.
    """
    parts = []
    if verdict.passed:
        parts.append(f"<p>{escape(text('card', 'all_good'))}</p>")
    elif verdict.status == BLANK:
        parts.append(f"<p>{escape(text('card', 'blank_help'))}</p>")
    else:
        parts.append(explanation(verdict))
        if not private:
            parts.append(circumstances(verdict))
    if verdict.checks and not verdict.passed and verdict.status != BLANK:
        parts.append(checklist(verdict))
    if verdict.trace and not verdict.passed:
        label = escape(text("trace", "title"))
        parts.append(f"<details><summary>{label}</summary>{trace.table(verdict.trace)}</details>")
    if output.strip():
        label = escape(text("card", "output"))
        parts.append(f"<details><summary>{label}</summary><pre>{escape(output)}</pre></details>")
    return frame(verdict, text("card", state(verdict)), "".join(parts))


def frame(verdict: Verdict, label: str, body: str) -> str:
    """The card around ``body`` (HTML): sign, the step's title, a label and the score."""
    colour, sign = LOOK[state(verdict)]
    title = text("step", verdict.step, "title")
    score = text("card", "score", points=plain(verdict.points), max_points=plain(verdict.max_points))
    score = score if verdict.max_points else ""  # practice
    header = (
        f'<header><span aria-hidden="true">{sign}</span><b>{escape(title)}</b>'
        f"<span>{escape(label)}</span><span>{escape(score)}</span></header>"
    )
    return f'<style>{CSS}</style><section class="rms-card" style="--c:{colour}">{header}{body}</section>'


def notice(verdict: Verdict, label: str, sentence: str) -> str:
    """The card of a step that no check judged: its status, and a sentence where there is one."""
    return frame(verdict, label, f"<p>{escape(sentence)}</p>" if sentence else "")


def explanation(verdict: Verdict) -> str:
    """Observed, concept, next step, hints; of a pair of mistakes the first in full, the second in a line."""
    if verdict.diagnosis:
        first, *rest = verdict.diagnosis
        words = misconception(verdict, first)
    else:
        words, rest = failure(verdict), []

    def filled(words: str) -> str:
        return fill(words, **verdict.facts)

    rows = [
        ("observed", message(verdict) if verdict.diagnosis else seen(verdict)),
        ("concept", filled(words["concept"])),
        ("next_step", filled(words["next_step"])),
    ]
    rows += [("also", filled(misconception(verdict, other)["next_step"])) for other in rest]
    line = verdict.facts.get("line")
    parts = []
    if words.get("variant"):
        label = f"{text('card', 'variant')}：{words['variant']}"
        parts.append(f'<p><span class="variant">{escape(label)}</span></p>')
    parts.append("<dl>")
    parts += [f"<dt>{escape(text('card', key))}</dt><dd>{escape(value)}</dd>" for key, value in rows if value]
    parts.append("</dl>")
    if line:
        parts.append(f"<pre>{escape(str(verdict.facts.get('lineno', '')))}  {escape(str(line))}</pre>")
    return "".join(parts) + hints([filled(hint) for hint in words.get("hints", ())])


def hints(words: list[str], n: int = 1) -> str:
    """Each hint inside the one before, so that they open one by one."""
    if n > len(words):
        return ""
    label, hint = escape(text("card", "hint", n=n)), escape(words[n - 1])
    return f"<details><summary>{label}</summary><p>{hint}</p>{hints(words, n + 1)}</details>"


def circumstances(verdict: Verdict) -> str:
    """The failing case: input, the student's row and the contract's, in numbers and as bars."""
    case = verdict.case
    if "x" not in case:
        return ""
    rows = [(text("card", f"{key}_row"), case.get(key)) for key in ("input", "got", "want")]
    rows[0] = (rows[0][0], case.get("x"))
    cells = "".join(
        f'<tr><th scope="row">{escape(label)}</th><td>{escape(str(value))}</td></tr>'
        for label, value in rows
        if value
    )
    if "x_shape" not in case:  # a plain list, nothing more to say of it
        return f"<table>{cells}</table>{bars(case)}"
    where = escape(text("card", "circumstances", **case))
    if "index" in case and cells:
        where += "，" + escape(text("card", "row_label", index=case["index"]))
    return f"<p>{where}</p><table>{cells}</table>{bars(case)}"


def bars(case: dict) -> str:
    """The student's row beside the contract's: filled bars against outlined ones."""
    got, want = case.get("got_row"), case.get("want_row")
    if not got or not want or len(got) != len(want) or len(got) > 16:
        return ""
    top = max(abs(v) for v in (*got, *want)) or 1.0
    step, half = 34, 46
    marks = [f'<line x1="0" x2="{step * len(got)}" y1="{half}" y2="{half}" stroke="currentColor"/>']
    for i, pair in enumerate(zip(got, want, strict=True)):
        for j, value in enumerate(pair):
            height = abs(value) / top * (half - 4)
            y = half - height if value >= 0 else half
            fill = 'fill="#D55E00"' if j == 0 else 'fill="none" stroke="#0072B2" stroke-width="2"'
            marks.append(
                f'<rect x="{i * step + 4 + 13 * j}" y="{y:.1f}" width="11" height="{height:.1f}" {fill}/>'
            )
    labels = f"{text('card', 'got_row')} ■　{text('card', 'want_row')} □"
    description = f"{text('card', 'got_row')} {case.get('got')}；{text('card', 'want_row')} {case.get('want')}"
    return (
        f'<svg role="img" aria-label="{escape(description)}" width="{step * len(got)}" height="{2 * half}">'
        f"{''.join(marks)}</svg><div><small>{escape(labels)}</small></div>"
    )


def checklist(verdict: Verdict) -> str:
    """Every named check with its points; those behind a failed first one wait."""
    core, blank = verdict.checks[0], str(verdict.facts.get("blank", "")).split(",")
    items = []
    for check in verdict.checks:
        label = escape(text("step", verdict.step, check.name))
        if verdict.gated and not core.passed and check is not core:
            items.append(f"<li>· {label}（{escape(text('card', 'waiting'))}）</li>")
            continue
        sign = "✓" if check.passed else "○" if check.name in blank else "✗"
        points = (
            f"（{plain(check.points if check.passed else 0)} / {plain(check.points)}）" if check.points else ""
        )
        items.append(f"<li>{sign} {label}{points}</li>")
    label = escape(text("card", "checks"))
    return f"<details open><summary>{label}</summary><ul>{''.join(items)}</ul></details>"
