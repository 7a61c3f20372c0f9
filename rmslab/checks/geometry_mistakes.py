"""03-geometry: how the geometry goes wrong, as functions that can be run, as angles and as letters."""

import math
import statistics
from collections.abc import Callable
from typing import Any

from rmslab import evidence
from rmslab.checks.geometry_parts import angle, layernorm, length, mean, project, to_ones, to_sphere
from rmslab.checks.hand_mistakes import OVERWRITTEN, centring, in_place, only, scaling, with_overwriting
from rmslab.step import Json


def less(v: list[float], amount: float) -> list[float]:
    return [a - amount for a in v]


def times(v: list[float], factor: float) -> list[float]:
    return [a * factor for a in v]


def rms(v: list[float]) -> float:
    return length(v) / math.sqrt(len(v))


def fix_last(v: list[float]) -> list[float]:
    return [*v[:-1], -sum(v[:-1])]


# (misconception, function that has it), in the order in which they are tried. Dividing the projection by the
# length before it is the wrong order, too: project(v) / rms(v) = project(to_sphere(v)).
FUNCTIONS: dict[str, tuple[tuple[str, Callable], ...]] = {
    "project": (
        ("sum-not-mean", lambda v: less(v, sum(v))),
        ("ones-not-unit", lambda v: less(v, sum(v) / math.sqrt(len(v)))),
        ("projected-onto-axis", lambda v: [mean(v)] * len(v)),
        ("projected-onto-axis", lambda v: [sum(v) / math.sqrt(len(v))] * len(v)),
        ("reflected", lambda v: less(v, 2 * mean(v))),
        ("mean-added", lambda v: less(v, -mean(v))),
        ("normalised-too-early", layernorm),
        ("normalised-too-early", lambda v: times(project(v), 1 / (length(project(v)) or 1))),
        ("rmsnorm-instead", to_sphere),
        ("one-component", fix_last),
        ("one-component", lambda v: [-sum(v[1:]), *v[1:]]),
        ("one-component", lambda v: [*v[:-1], 0]),
        ("wrong-centre", lambda v: less(v, v[0])),
        ("wrong-centre", lambda v: less(v, min(v))),
        ("wrong-centre", lambda v: less(v, max(v))),
        ("wrong-centre", lambda v: less(v, sorted(v)[len(v) // 2])),
        ("wrong-centre", lambda v: less(v, statistics.median(v))),
        ("wrong-centre", lambda v: less(v, length(v))),
        ("wrong-centre", lambda v: less(v, rms(v))),
        ("wrong-centre", lambda v: less(v, 1)),
        ("wrong-centre", lambda v: less(v, mean([abs(a) for a in v]))),
        ("wrong-centre", lambda v: less(v, sum(v) / (len(v) - 1))),
        ("fixed-width", lambda v: less(v, sum(v) / 4)),
        ("fixed-width", lambda v: less(v, sum(v) / 3)),
        ("sign-lost", lambda v: [abs(a) for a in project(v)]),
        ("sign-lost", lambda v: times(project(v), -1)),
        ("no-projection", lambda v: list(v)),
        ("changed-while-read", in_place(centring)),
        ("returns-statistic", mean),
        ("returns-nothing", lambda v: None),
    ),
    "to_sphere": (
        ("unit-length", lambda v: times(v, 1 / (length(v) or 1))),
        ("radius-d", lambda v: times(v, len(v) / (length(v) or 1))),
        ("fixed-width", lambda v: times(v, 2 / (length(v) or 1))),
        ("fixed-width", lambda v: times(v, math.sqrt(3) / (length(v) or 1))),
        ("layernorm", layernorm),
        ("no-root", lambda v: times(v, 1 / (rms(v) ** 2 or 1))),
        ("no-root", lambda v: times(v, math.sqrt(len(v)) / (length(v) ** 2 or 1))),
        ("multiplied-by-rms", lambda v: times(v, rms(v))),
        ("multiplied-by-rms", lambda v: times(v, math.sqrt(len(v)) * length(v))),
        ("multiplied-by-rms", lambda v: times(v, math.sqrt(len(v)))),
        ("mean-absolute", lambda v: times(v, 1 / (mean([abs(a) for a in v]) or 1))),
        ("mean-absolute", lambda v: times(v, math.sqrt(len(v)) / (sum(abs(a) for a in v) or 1))),
        ("maximum-not-mean", lambda v: times(v, 1 / (max(abs(a) for a in v) or 1))),
        ("n-minus-one", lambda v: times(v, math.sqrt(len(v) - 1) / (length(v) or 1))),
        ("variance-without-centring", lambda v: times(v, 1 / (rms(project(v)) or 1))),
        ("sign-lost", lambda v: [abs(a) for a in to_sphere(v)]),
        ("no-normalisation", lambda v: list(v)),
        ("changed-while-read", in_place(scaling)),
        ("returns-statistic", length),
        ("returns-statistic", rms),
        ("returns-nothing", lambda v: None),
    ),
    "layernorm": (
        ("wrong-order", lambda v, project, to_sphere: project(to_sphere(v))),
        ("no-sphere", lambda v, project, to_sphere: project(v)),
        ("rmsnorm-instead", lambda v, project, to_sphere: to_sphere(v)),
        ("unit-length", lambda v, project, to_sphere: times(project(v), 1 / (length(project(v)) or 1))),
        ("n-minus-one", lambda v, project, to_sphere: times(layernorm(v), math.sqrt(1 - 1 / len(v)))),
        ("no-projection", lambda v, project, to_sphere: list(v)),
        ("returns-nothing", lambda v, project, to_sphere: None),
    ),
}  # fmt: skip


EDGES = {"to_sphere": ("zero", "zero-vector"), "layernorm": ("constant", "constant-vector")}
"""Function → the check of an agreement about one kind of vector, and the name of breaking it in any way."""


def explain(name: str, inputs: Json, observed: Any, probe: Callable, right: dict[str, bool]) -> tuple[str, ...]:
    """The misconception whose function does what the student's does on all vectors of the check "value".

    With a second one where an agreement is broken too, or a list changed. ``right``: check → whether all of
    its numbers are right.
    """
    check, broken = EDGES.get(name, ("value", ""))
    edge = (broken,) if broken and not right[check] else ()
    if right["value"]:
        return edge
    for misconception, function in FUNCTIONS[name]:
        theirs = probe(inputs, function)
        if all(map(alike, observed["value"], theirs["value"])):
            if all(map(alike, observed[check], theirs[check])):
                edge = ()  # it belongs to the same mistake
            return with_overwriting((misconception, *edge), inputs["value"], observed["value"])[:2]
    return ()


def alike(a: Any, b: Any) -> bool:
    """Whether two observed calls show the same behaviour, up to rounding."""
    if evidence.is_error(a) or evidence.is_error(b):
        return evidence.is_error(a) and evidence.is_error(b) and a["error"]["type"] == b["error"]["type"]
    if not isinstance(a, dict) or not isinstance(b, dict):
        return False
    x, y = a.get("y"), b.get("y")
    if isinstance(y, list) or type(y) in (int, float):
        return same(x, y)
    return a.get("kind") == b.get("kind")


def same(x: Any, y: Any) -> bool:
    """Two recorded results equal; numbers up to rounding."""
    if isinstance(x, list) and isinstance(y, list):
        return len(x) == len(y) and all(map(same, x, y))
    if type(x) in (int, float) and type(y) in (int, float):
        return abs(x - y) <= 1.5e-3 + 2e-3 * abs(y)
    return x == y


# --- angles and letters -----------------------------------------------------------------------------------

MAO, CHI, YU = [1, 2, 3, 4], [2, 0, -2, 4], [-1, 1, -1, 1]


def cosine(v: list[float]) -> float:
    return sum(v) / (length(v) * math.sqrt(len(v)))


def of_token(item: str, v: list[float]) -> list[tuple[str, str, float]]:
    right = to_ones(v)
    return [
        ("radians", item, math.radians(right)),
        ("cosine-not-angle", item, cosine(v)),
        ("angle-to-plane", item, 90 - right),
        ("ones-length-d", item, math.degrees(math.acos(sum(v) / (length(v) * len(v))))),
        ("ones-length-d", item, sum(v) / (length(v) * len(v))),
        ("ones-length-d", item, sum(v) / length(v)),
    ]


BETWEEN = angle(to_sphere(MAO), layernorm(MAO))

ANGLES: tuple[tuple[str, str, float], ...] = (
    *of_token("mao", MAO), *of_token("chi", CHI), *of_token("yu", YU),
    ("radians", "outputs", math.radians(BETWEEN)),
    ("cosine-not-angle", "outputs", math.cos(math.radians(BETWEEN))),
    ("angle-to-plane", "outputs", to_ones(MAO)),
    ("outputs-perpendicular", "outputs", 90),
    ("outputs-alike", "outputs", 0),
)  # fmt: skip

CHOICES: tuple[tuple[str, str, str], ...] = (
    ("scale-carries-over", "rms_scaled", "C"),
    ("sign-lost", "rms_negated", "A"),
    ("rmsnorm-recentres", "rms_shifted", "A"),
    *(("length-not-fixed", item, "C") for item in
      ("rms_negated", "rms_shifted", "rms_large_mean", "rms_constant")),
    ("shift-survives-layernorm", "layer_shifted", "C"),
    ("shift-survives-layernorm", "layer_shifted", "D"),
    ("not-idempotent", "rms_twice", "C"),
    ("not-idempotent", "rms_twice", "D"),
    ("large-mean-centred", "rms_large_mean", "E"),
    ("large-mean-centred", "rms_large_mean", "D"),
    ("constant-to-zero", "rms_constant", "E"),
    ("constant-to-ones", "layer_constant", "F"),
    ("constant-to-ones", "layer_constant", "A"),
    ("zero-mean-differs", "zero_mean", "C"),
    ("zero-mean-differs", "zero_mean", "D"),
    ("gamma-keeps-direction", "gamma_direction", "A"),
    ("gamma-keeps-direction", "gamma_direction", "C"),
)  # fmt: skip


def of_literal(step: str, wrong: dict[str, Any], tolerance: float) -> tuple[str, ...]:
    """The one misconception that explains all wrong items (angles, or letters), else the first one's."""
    by_item = []
    for item, given in wrong.items():
        if step == "geometry-angle":
            names = [n for n, where, value in ANGLES if where == item and near(given, value, tolerance)]
        else:
            names = [n for n, where, value in CHOICES if where == item and given == value]
        by_item.append(names)
    return only(by_item)


def near(given: Any, value: float, tolerance: float) -> bool:
    """Degrees as wide as the judge's tolerance; radians and cosines to three decimals."""
    if type(given) not in (int, float):
        return False
    return abs(given - value) <= (tolerance if abs(value) > 3.2 else 2e-3)


IDS = {name for functions in FUNCTIONS.values() for name, _ in functions} | {OVERWRITTEN}
IDS |= {name for _, name in EDGES.values()}
IDS |= {name for name, *_ in (*ANGLES, *CHOICES)}
