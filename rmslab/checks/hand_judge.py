"""02-hand-calculation: what is right, with follow-through.

γ = 1 and ε is ignored; three decimals. An intermediate that follows rightly from the student's own earlier
numbers keeps its points, whatever those numbers are.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from rmslab import evidence
from rmslab.checks import hand_mistakes as mistakes
from rmslab.checks.hand_formulas import FORMULAS, Known, Value, chain, ways
from rmslab.compare import short
from rmslab.step import BLANK, GRADED, Check, Json, Verdict, status_of

TOLERANCE = 1.5e-3

# Points of each item. Items worth nothing are given in the lesson, but the student may change them.
ITEMS: dict[str, dict[str, float]] = {
    "hand-shapes": {"squares": 0.4, "mean_square": 0.4, "rms": 0.4, "output": 0.4, "gamma": 0.4},
    "hand-chi-layernorm": {"mean": 0, "deviations": 0.5, "variance": 0.5, "std": 1, "layernorm": 1},
    "hand-chi-rmsnorm": {"squares": 0.5, "mean_square": 1, "rms": 1, "rmsnorm": 1.5},
    "hand-yu": {
        "mean": 0.25, "variance": 0.25, "std": 0.5, "layernorm": 0.5, "mean_square": 0.5, "rms": 0.5,
        "rmsnorm": 0.5,
    },
    "hand-reading": {
        "zero_after_rmsnorm": 0.5, "zero_after_layernorm": 0.5, "why_yu_agrees": 0.5, "sum_of_squares": 0.5,
        "layernorm_parameters": 0.5, "rmsnorm_parameters": 0.5,
    },
    "hand-fresh": dict.fromkeys(
        ("mean_square", "rms", "rmsnorm", "mean", "variance", "std", "layernorm"), 0
    ),
}  # fmt: skip

# Answers that are not computed from a vector of their step: shapes for (1, 3, 4), and what the rows say.
PLAIN: dict[str, dict[str, Any]] = {
    "hand-shapes": {
        "squares": [1, 3, 4], "mean_square": [1, 3, 1], "rms": [1, 3, 1], "output": [1, 3, 4], "gamma": [4],
    },
    "hand-reading": {
        "zero_after_rmsnorm": 0, "zero_after_layernorm": chain([2, 0, -2, 4])["layernorm"][1],
        "why_yu_agrees": "B", "sum_of_squares": 4, "layernorm_parameters": 8, "rmsnorm_parameters": 4,
    },
}  # fmt: skip


def agrees(given: Any, wanted: Value, slack: float = 0.0) -> bool:
    """Whether a literal is the wanted number (or list of numbers), to three decimals."""
    if isinstance(wanted, list):
        return (
            isinstance(given, list)
            and len(given) == len(wanted)
            and all(agrees(g, w, slack) for g, w in zip(given, wanted, strict=True))
        )
    if isinstance(wanted, str):
        return letter(given) == wanted
    if type(given) not in (int, float):
        return False
    return math.isfinite(wanted) and abs(given - wanted) <= TOLERANCE + slack * abs(wanted)


def letter(value: Any) -> str:
    """The first letter that stands by itself, as a capital: B of ``"b"``, ``"Ｂ"``, ``"选 B，因为……"``."""
    text = unicodedata.normalize("NFKC", value).upper() if isinstance(value, str) else ""
    found = re.search(r"(?<![A-Z])[A-Z](?![A-Z])", text)
    return found.group() if found else ""


def is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, list) and any(v is None for v in value))


def told(value: Any) -> str:
    """A literal as a reader writes it."""
    if isinstance(value, list):
        return "[" + ", ".join(map(told, value)) + "]"
    if type(value) in (int, float):
        return short(value)
    return f'"{value}"' if isinstance(value, str) else "…" if value is None else str(value.get("type", "?"))


def is_quoted(value: Any) -> bool:
    """Whether numbers, or a shape, were written as text: ``"1"``, ``"(1, 3, 1)"``, ``["1"]``, ``"24.1°"``."""
    if isinstance(value, list):
        return any(map(is_quoted, value))
    if not isinstance(value, str):
        return False
    text = unicodedata.normalize("NFKC", value).strip().removesuffix("°").removesuffix("度")
    return bool(re.fullmatch(r"[-+−\d.,、eE\s()\[\]]*", text) and re.search(r"\d", text))


def earlier(item: str, x: Sequence[float], values: Json) -> Known:
    """The student's own numbers that come before ``item`` in the chain and can be calculated with."""
    names = list(FORMULAS)[: list(FORMULAS).index(item)]
    return {name: values[name] for name in names if mistakes.usable(values.get(name), name, len(x))}


def departure(given: Any, wanted: Value) -> tuple[str, Json]:
    """(kind, facts) of the first wrong item: too few or too many numbers, some of them wrong, or just wrong."""
    if not isinstance(given, list) or not isinstance(wanted, list):
        return "number", {}
    if len(given) != len(wanted):
        return "list-width", {"count": len(given), "width": len(wanted)}
    pairs = enumerate(zip(given, wanted, strict=True), 1)
    wrong = [str(place) for place, pair in pairs if not agrees(*pair, slack=1e-3)]
    return ("elements", {"places": "、".join(wrong)}) if 0 < 2 * len(wrong) <= len(given) else ("number", {})


def follows_in_shape(item: str, values: Json) -> Any:
    """The shape that an item has if the student's own shape before it is right, or None."""
    squares, mean_square = values.get("squares"), values.get("mean_square")
    if item == "rms":
        return mean_square if isinstance(mean_square, list) else None
    if item in ("mean_square", "output") and isinstance(squares, list) and squares[-1:] == [4]:
        return [*squares[:-1], 1] if item == "mean_square" else squares
    return None


def read_literals(step: str, full: float, observed: Any) -> tuple[Json, Verdict | None]:
    """The values in a dict of literals; and the verdict where making it raised, or there is no dict."""
    if evidence.is_error(observed):
        error = observed["error"]
        facts = {"error": error.get("type"), "reason": error.get("message")}
        return {}, Verdict(step, 0.0, full, status_of(error), failure=f"{step}.all.error", facts=facts)
    if isinstance(observed, dict) and isinstance(observed.get("type"), str):
        facts = {"type": observed["type"]}
        return {}, Verdict(step, 0.0, full, GRADED, failure=f"{step}.all.not-dict", facts=facts)
    values = observed.get("values") if isinstance(observed, dict) else None
    return (values if isinstance(values, dict) else {}), None


def literals(step: str, inputs: Json, observed: Any) -> Verdict:
    """The verdict on a dict of literals."""
    table = ITEMS[step]
    full = round(sum(table.values()), 6)
    values, broken = read_literals(step, full, observed)
    if broken:
        return broken
    x = inputs.get("x")
    exact = chain(x) if x else PLAIN[step]
    right: dict[str, bool] = {}
    for item in table:
        given = values.get(item)
        if step == "hand-shapes" and item == "gamma" and type(given) in (int, float):
            given = [given]  # (4) is the number 4 in Python; what is meant is clear
        right[item] = agrees(given, exact[item])
        if right[item] or is_blank(given):
            continue
        if x:  # does it follow from the student's own earlier numbers, perhaps from those before a slip?
            known = earlier(item, x, values)
            right[item] = any(agrees(given, way[item], slack=1e-3) for way in ways(x, known))
        elif step == "hand-shapes":
            right[item] = given == follows_in_shape(item, values)
    checks = tuple(Check(item, points, right[item]) for item, points in table.items() if points or not full)
    points = round(sum(table[item] for item in table if right[item]), 6)
    scored = [check.name for check in checks]
    if all(is_blank(values.get(item)) for item in scored):
        return Verdict(step, 0.0, full, BLANK, failure=f"{step}.all.{BLANK}")
    wrong = [item for item in table if not right[item] and not is_blank(values.get(item))]
    empty = [item for item in scored if is_blank(values.get(item))]
    if not wrong and not empty:
        return Verdict(step, points, full, GRADED, checks)
    if not wrong:
        failure, facts = f"{step}.{empty[0]}.empty", {"item": ",".join(empty), "blank": ",".join(empty)}
        return Verdict(step, points, full, GRADED, checks, failure=failure, facts=facts)
    first = wrong[0]
    quoted = [item for item in wrong if is_quoted(values[item]) and not isinstance(exact[item], str)]
    if first in quoted:
        diagnosis, kind, facts = (), "quoted", {}
    else:
        unexplained = [item for item in wrong if item not in quoted]
        diagnosis = mistakes.explain_literals(
            {item: (values[item], earlier(item, x, values) if x else {}) for item in unexplained}, x, agrees
        )
        kind, facts = departure(values[first], exact[first]) if x else ("number", {})
    facts |= {"item": first, "got": told(values[first]), "blank": ",".join(empty)}
    failure = f"{step}.{first}.{kind}"
    return Verdict(step, points, full, GRADED, checks, diagnosis=diagnosis, failure=failure, facts=facts)


# --- functions --------------------------------------------------------------------------------------------

POINTS = {"layernorm": 2.0, "rmsnorm": 3.0}


def functions(inputs: Json, observed: Any, probe: Callable) -> Verdict:
    """The verdict on ``layernorm(v)`` and ``rmsnorm(v)``."""
    found = {name: _first_failure(name, inputs, observed) for name in POINTS}
    checks = tuple(Check(name, points, found[name] is None) for name, points in POINTS.items())
    points, full = sum(c.points for c in checks if c.passed), sum(POINTS.values())
    failing = [name for name in ("rmsnorm", "layernorm") if found[name]]
    if not failing:
        return Verdict("hand-python", points, full, GRADED, checks)
    kind, facts = found[failing[0]]
    status = GRADED
    if kind in ("error", "todo") and points == 0:
        status = status_of({"type": facts["error"], "message": facts["reason"]})
    named: list[str] = []
    for name in failing if status != BLANK else ():
        if found[name][0] == "list-changed":  # every number is right
            named.append(mistakes.OVERWRITTEN)
        else:
            named += mistakes.explain_function(name, inputs, observed, probe, _same)
    diagnosis = tuple(dict.fromkeys(named))[:2]
    failure = f"hand-python.{failing[0]}.{kind}"
    return Verdict(
        "hand-python", points, full, status, checks, diagnosis=diagnosis, failure=failure, facts=facts
    )


def _seen(name: str, observed: Any, i: int) -> Any:
    try:
        return observed[name][i]
    except (KeyError, IndexError, TypeError):
        return None


def no_list(name: str, width: int, seen: Any) -> tuple[str, Json] | None:
    """(kind, facts) where a call of ``name`` gave no list of that many numbers; else None."""
    if not isinstance(seen, dict):
        return "nothing", {}
    if evidence.is_error(seen):
        error = seen["error"]
        facts = {"error": error.get("type"), "reason": error.get("message"), "line": error.get("line", "")}
        facts |= {"lineno": error.get("lineno") or "", "name": name}
        return "todo" if error.get("type") == "NotImplementedError" else "error", facts
    y = seen.get("y")
    if not isinstance(y, list):
        return "not-list", {"type": seen.get("kind"), "name": name}
    return ("length", {"name": name, "got": len(y), "width": width}) if len(y) != width else None


def _first_failure(name: str, inputs: Json, observed: Any) -> tuple[str, Json] | None:
    """(kind, facts) of the first vector on which the function is wrong; a changed list counts least."""
    for i, vector in enumerate(inputs["vectors"]):
        seen = _seen(name, observed, i)
        if unusable := no_list(name, len(vector), seen):
            return unusable
        y = seen["y"]
        if not agrees(y, chain(vector)[name], slack=1e-3):
            return "elsewhere" if i else "function", {"name": name, "got": told(y), "index": i + 1}
    changed = mistakes.overwritten(inputs["vectors"], observed[name])
    return None if changed is None else ("list-changed", {"name": name, "got": told(changed)})


def _same(a: Any, b: Any) -> bool:
    """Two observations of a function alike, up to rounding."""
    if evidence.is_error(a) or evidence.is_error(b):
        return evidence.is_error(a) and evidence.is_error(b) and a["error"]["type"] == b["error"]["type"]
    if not isinstance(a, dict) or not isinstance(b, dict):
        return False
    x, y = a.get("y"), b.get("y")
    if isinstance(y, list) or type(y) in (int, float):
        return agrees(x, y, slack=2e-3)
    return a.get("kind") == b.get("kind")
