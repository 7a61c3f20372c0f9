"""03-geometry: what is right. Functions to three decimals, angles to a twentieth of a degree."""

from collections.abc import Callable
from typing import Any

from rmslab.checks import geometry_mistakes as mistakes
from rmslab.checks import geometry_parts as parts
from rmslab.checks.hand_judge import agrees, is_blank, is_quoted, letter, no_list, read_literals, told
from rmslab.step import BLANK, GRADED, Check, Json, Verdict, status_of

# --- functions --------------------------------------------------------------------------------------------

# Checks of each step and their points; nothing counts before the first one passes.
POINTS: dict[str, dict[str, float]] = {
    "geometry-project": {"value": 2, "unchanged": 1, "constant": 1},
    "geometry-sphere": {"value": 3, "zero": 1},
    "geometry-compose": {"value": 2, "constant": 1},
}
RIGHT: dict[str, Callable] = {
    "geometry-project": parts.project,
    "geometry-sphere": parts.to_sphere,
    "geometry-compose": parts.layernorm,
}
NAMES = {"geometry-project": "project", "geometry-sphere": "to_sphere", "geometry-compose": "layernorm"}

Failure = tuple[str, Json]
Failures = dict[str, list[Failure | None]]


def failure(step: str, vector: list[float], seen: Any) -> Failure | None:
    """(kind, facts) of what is wrong with one observed call, or None."""
    name = NAMES[step]
    if unusable := no_list(name, len(vector), seen):
        return unusable
    y = seen["y"]
    if not agrees(y, RIGHT[step](vector), slack=1e-3):
        return "function", {"name": name, "got": told(y), **figures(y)}
    if seen.get("after") != [float(v) for v in vector]:
        return "list-changed", {"name": name, "got": told(seen.get("after"))}
    return None


def figures(y: list) -> Json:
    """Sum and length of what the student's function returned, where it is numbers."""
    if not all(type(v) in (int, float) for v in y):
        return {}
    return {"sum": told(round(sum(y), 3) + 0.0), "length": told(round(parts.length(y), 3))}


def read(observed: Any, check: str, i: int) -> Any:
    try:
        return observed[check][i]
    except (KeyError, IndexError, TypeError):
        return None


def examine(step: str, inputs: Json, observed: Any) -> Failures:
    return {
        check: [failure(step, vector, read(observed, check, i)) for i, vector in enumerate(inputs[check])]
        for check in POINTS[step]
    }


def conclude(
    step: str, inputs: Json, observed: Any, found: Failures, explain: Callable[[dict[str, bool]], tuple]
) -> Verdict:
    """The verdict from the failures of every check; the first failure gives the card its numbers.

    A list that was changed is told only where all numbers of its check are right.
    """
    table = POINTS[step]
    passed = {check: not any(found[check]) for check in table}
    core = next(iter(table))
    checks = tuple(Check(check, points, passed[check]) for check, points in table.items())
    points = float(sum(p for check, p in table.items() if passed[check])) if passed[core] else 0.0
    full = float(sum(table.values()))
    failing = [check for check in table if not passed[check]]
    if not failing:
        return Verdict(step, points, full, GRADED, checks, gated=True)
    check = failing[0]
    failures = [(i, one) for i, one in enumerate(found[check]) if one]
    i, (kind, facts) = min(failures, key=lambda one: one[1][0] == "list-changed")
    before = sum(len(found[name]) for name in list(table)[: list(table).index(check)])
    facts |= {"index": before + i + 1}
    if kind == "function" and facts["index"] > 1:
        kind = "elsewhere"
    status = GRADED
    if kind in ("error", "todo") and points == 0:
        status = status_of({"type": facts["error"], "message": facts["reason"]})
    elif kind == "todo":
        kind = "error"
    right = {check: all(one is None or one[0] == "list-changed" for one in found[check]) for check in table}
    diagnosis = () if status == BLANK or kind == "nothing" else explain(right)
    if kind == "list-changed":
        diagnosis = (mistakes.OVERWRITTEN, *diagnosis)[:2]
    where = f"{step}.{check}.{kind}"
    case = drawn(step, inputs[check][i], read(observed, check, i)) if status == GRADED else {}
    return Verdict(step, points, full, status, checks, True, diagnosis, failure=where, facts=facts, case=case)


def drawn(step: str, vector: list[float], seen: Any) -> Json:
    """The failing case for the card: input, the student's vector and the right one, as words and as rows."""
    y, right = seen.get("y") if isinstance(seen, dict) else None, [v + 0.0 for v in RIGHT[step](vector)]
    case = {"x": told(vector), "want": told(right)}
    if isinstance(y, list) and all(type(v) in (int, float) for v in y):
        case |= {"got": told(y), "got_row": y, "want_row": right}
    return case


def function(step: str, inputs: Json, observed: Any, probe: Callable) -> Verdict:
    """The verdict on ``project(v)`` or ``to_sphere(v)``."""

    def explain(right: dict[str, bool]) -> tuple[str, ...]:
        return mistakes.explain(NAMES[step], inputs, observed, probe, right)

    return conclude(step, inputs, observed, examine(step, inputs, observed), explain)


def composition(inputs: Json, observed: Any, probe: Callable) -> Verdict:
    """The verdict on ``layernorm(v)``: right with its own parts, or right with sound ones."""
    step = "geometry-compose"
    observed = observed if isinstance(observed, dict) else {}
    sound = examine(step, inputs, observed.get("sound"))
    own = examine(step, inputs, observed.get("own"))
    found = {c: [s and o and s for s, o in zip(sound[c], own[c], strict=True)] for c in sound}

    def explain(right: dict[str, bool]) -> tuple[str, ...]:
        def with_sound_parts(given: Json, function: Callable) -> Json:
            return probe(given, function)["sound"]

        return mistakes.explain("layernorm", inputs, observed.get("sound"), with_sound_parts, right)

    return conclude(step, inputs, observed.get("sound"), found, explain)


# --- literals ---------------------------------------------------------------------------------------------

MAO, CHI, YU = [1, 2, 3, 4], [2, 0, -2, 4], [-1, 1, -1, 1]
TOLERANCE = 0.05  # degrees

ANGLES: dict[str, float] = {
    "mao": parts.to_ones(MAO),
    "chi": parts.to_ones(CHI),
    "yu": parts.to_ones(YU),
    "outputs": parts.angle(parts.to_sphere(MAO), parts.layernorm(MAO)),
}
LETTERS: dict[str, str] = {
    "rms_scaled": "A", "rms_negated": "B", "rms_shifted": "D", "layer_shifted": "A", "rms_twice": "A",
    "rms_large_mean": "F", "rms_constant": "F", "layer_constant": "E", "zero_mean": "A",
    "gamma_direction": "D",
}  # fmt: skip


def angle_right(item: str, values: Json) -> bool:
    """Right, or, for the last one, rightly derived from the student's own first angle."""
    given = values.get(item)
    if type(given) not in (int, float):
        return False
    wanted = [ANGLES[item]]
    first = values.get("mao")
    if item == "outputs" and type(first) in (int, float) and 0 < first < 90:
        wanted.append(90 - first)
    return any(abs(given - one) <= TOLERANCE for one in wanted)


def literals(step: str, observed: Any) -> Verdict:
    """The verdict on a dict of angles, or of letters."""
    full = 2.0
    values, broken = read_literals(step, full, observed)
    if broken:
        return broken
    if step == "geometry-angle":
        right = {item: angle_right(item, values) for item in ANGLES}
    else:
        right = {item: letter(values.get(item)) == wanted for item, wanted in LETTERS.items()}
    each = full / len(right)
    checks = tuple(Check(item, each, passed) for item, passed in right.items())
    points = round(each * sum(right.values()), 6)
    if all(is_blank(values.get(item)) for item in right):
        return Verdict(step, 0.0, full, BLANK, failure=f"{step}.all.{BLANK}")
    wrong = [item for item in right if not right[item] and not is_blank(values.get(item))]
    empty = [item for item in right if is_blank(values.get(item))]
    if not wrong and not empty:
        return Verdict(step, points, full, GRADED, checks)
    item = (wrong or empty)[0]
    kind, blank = "number" if wrong else "empty", ",".join(empty)
    facts = {"item": item if wrong else blank, "got": told(values.get(item)), "blank": blank}
    quoted = [one for one in wrong if step == "geometry-angle" and is_quoted(values[one])]
    read = letter if step == "geometry-invariance" else (lambda value: value)
    given = {one: read(values[one]) for one in wrong if one not in quoted}
    if item in quoted:
        kind, given = "quoted", {}
    diagnosis = mistakes.of_literal(step, given, TOLERANCE) if given else ()
    where = f"{step}.{item}.{kind}"
    return Verdict(step, points, full, GRADED, checks, diagnosis=diagnosis, failure=where, facts=facts)
