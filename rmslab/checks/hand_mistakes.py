"""02-hand-calculation: how hand calculations go wrong, as formulas; and wrong functions on lists.

A wrong number is compared with what each wrong formula gives from the student's own earlier numbers; a wrong
function with what each wrong function does to the same vectors.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from rmslab.checks.hand_formulas import Known, Value, chain, mean
from rmslab.step import Json

Wrong = Callable[[list[float], Known], Value]


def over(values: Sequence[float], by: float) -> list[float]:
    return [v / by for v in values]


# (misconception, item, wrong formula), in the order in which they are tried.
NUMBERS: tuple[tuple[str, str, Wrong], ...] = (
    ("sum-not-mean", "mean", lambda x, k: sum(x)),
    ("mean-absolute", "mean", lambda x, k: mean([abs(v) for v in x])),
    ("sign-lost", "deviations", lambda x, k: [abs(v - k["mean"]) for v in x]),
    ("sign-lost", "deviations", lambda x, k: [k["mean"] - v for v in x]),
    ("sign-lost", "deviations", lambda x, k: [v + k["mean"] for v in x]),
    ("n-minus-one", "variance", lambda x, k: sum(v * v for v in k["deviations"]) / (len(x) - 1)),
    ("sum-not-mean", "variance", lambda x, k: sum(v * v for v in k["deviations"])),
    ("variance-without-centring", "variance", lambda x, k: mean([v * v for v in x])),
    ("mean-absolute", "variance", lambda x, k: mean([abs(v) for v in k["deviations"]])),
    ("mean-before-square", "variance", lambda x, k: mean(k["deviations"]) ** 2),
    ("sign-lost", "variance", lambda x, k: mean([v * abs(v) for v in k["deviations"]])),
    ("no-root", "std", lambda x, k: k["variance"]),
    ("n-minus-one", "std", lambda x, k: math.sqrt(sum(v * v for v in k["deviations"]) / (len(x) - 1))),
    ("sum-not-mean", "std", lambda x, k: math.sqrt(sum(v * v for v in k["deviations"]))),
    ("no-root", "layernorm", lambda x, k: over(k["deviations"], k["variance"])),
    ("multiplied-by-rms", "layernorm", lambda x, k: [v * k["std"] for v in k["deviations"]]),
    ("variance-without-centring", "layernorm", lambda x, k: over(x, k["std"])),
    ("rmsnorm-instead", "layernorm", lambda x, k: over(x, k["rms"])),
    (
        "n-minus-one",
        "layernorm",
        lambda x, k: over(k["deviations"], k["std"] * math.sqrt(len(x) / (len(x) - 1))),
    ),
    ("sum-not-mean", "layernorm", lambda x, k: over(k["deviations"], k["std"] * math.sqrt(len(x)))),
    ("sign-lost", "layernorm", lambda x, k: [abs(v) / k["std"] for v in k["deviations"]]),
    ("sign-lost", "squares", lambda x, k: [v * abs(v) for v in x]),
    ("doubled-not-squared", "squares", lambda x, k: [2 * v for v in x]),
    ("mean-absolute", "squares", lambda x, k: [abs(v) for v in x]),
    ("layernorm", "squares", lambda x, k: [v * v for v in k["deviations"]]),
    ("sum-not-mean", "mean_square", lambda x, k: sum(k["squares"])),
    ("n-minus-one", "mean_square", lambda x, k: sum(k["squares"]) / (len(x) - 1)),
    ("mean-before-square", "mean_square", lambda x, k: mean(x) ** 2),
    ("mean-absolute", "mean_square", lambda x, k: mean([abs(v) for v in x])),
    ("layernorm", "mean_square", lambda x, k: k["variance"]),
    ("sign-lost", "mean_square", lambda x, k: mean([v * abs(v) for v in x])),
    ("no-root", "rms", lambda x, k: k["mean_square"]),
    ("sum-not-mean", "rms", lambda x, k: math.sqrt(sum(k["squares"]))),
    ("mean-absolute", "rms", lambda x, k: mean([abs(v) for v in x])),
    ("layernorm", "rms", lambda x, k: k["std"]),
    ("n-minus-one", "rms", lambda x, k: math.sqrt(sum(k["squares"]) / (len(x) - 1))),
    ("mean-before-square", "rms", lambda x, k: mean(x)),
    ("no-root", "rmsnorm", lambda x, k: over(x, k["mean_square"])),
    ("multiplied-by-rms", "rmsnorm", lambda x, k: [v * k["rms"] for v in x]),
    ("layernorm", "rmsnorm", lambda x, k: k["layernorm"]),
    ("layernorm", "rmsnorm", lambda x, k: over(k["deviations"], k["rms"])),
    ("sum-not-mean", "rmsnorm", lambda x, k: over(x, k["rms"] * math.sqrt(len(x)))),
    ("mean-absolute", "rmsnorm", lambda x, k: over(x, mean([abs(v) for v in x]))),
    ("maximum-not-mean", "rmsnorm", lambda x, k: over(x, max(abs(v) for v in x))),
    ("n-minus-one", "rmsnorm", lambda x, k: over(x, k["rms"] * math.sqrt(len(x) / (len(x) - 1)))),
    ("sign-lost", "rmsnorm", lambda x, k: [abs(v) / k["rms"] for v in x]),
)

# Shapes of (1, 3, 4) and readings: (misconception, item, wrong answer).
PLAIN: tuple[tuple[str, str, Any], ...] = (
    ("no-keepdim", "mean_square", [1, 3]),
    ("no-keepdim", "rms", [1, 3]),
    ("mean-over-tokens", "mean_square", [1, 1, 4]),
    ("mean-over-tokens", "rms", [1, 1, 4]),
    ("mean-over-everything", "mean_square", [1, 1, 1]),
    ("mean-over-everything", "rms", [1, 1, 1]),
    ("statistic-per-feature", "mean_square", [1, 3, 4]),
    ("statistic-per-feature", "rms", [1, 3, 4]),
    ("squares-summed", "squares", [1, 3, 1]),
    ("squares-summed", "squares", [1, 3]),
    ("output-reduced", "output", [1, 3, 1]),
    ("output-reduced", "output", [1, 3]),
    ("weight-scalar", "gamma", [1]),
    ("weight-two-dimensional", "gamma", [1, 4]),
    ("weight-two-dimensional", "gamma", [1, 1, 4]),
    ("weight-per-token", "gamma", [3]),
    ("weight-per-token", "gamma", [1, 3, 4]),
    ("weight-per-token", "gamma", [3, 4]),
    ("layernorm", "zero_after_rmsnorm", chain([2, 0, -2, 4])["layernorm"][1]),
    ("rmsnorm-instead", "zero_after_layernorm", 0),
    ("sign-lost", "zero_after_layernorm", -chain([2, 0, -2, 4])["layernorm"][1]),
    ("coincidence-not-mean", "why_yu_agrees", "A"),
    ("coincidence-not-mean", "why_yu_agrees", "C"),
    ("coincidence-not-mean", "why_yu_agrees", "D"),
    ("unit-length", "sum_of_squares", 1),
    ("unit-length", "sum_of_squares", 2),
    ("parameters-miscounted", "layernorm_parameters", 4),
    ("parameters-miscounted", "layernorm_parameters", 2),
    ("parameters-miscounted", "rmsnorm_parameters", 8),
    ("parameters-miscounted", "rmsnorm_parameters", 1),
    ("parameters-miscounted", "rmsnorm_parameters", 0),
)

ROUNDED = "rounded-early"


def explain_literals(
    wrong: dict[str, tuple[Any, Known]], x: list[float] | None, agrees: Callable[..., bool]
) -> tuple[str, ...]:
    """The misconception behind the wrong items: one that explains all of them, else the first's; or none.

    ``wrong``: item → (the student's literal, the student's own numbers before it).
    """
    by_item = [_of_item(item, x, given, known, agrees) for item, (given, known) in wrong.items()]
    common = [name for name in by_item[0] if all(name in names for names in by_item)]
    return tuple((common or by_item[0])[:1])


def _of_item(
    item: str, x: list[float] | None, given: Any, known: Known, agrees: Callable[..., bool]
) -> list[str]:
    if x is None:
        return [name for name, where, answer in PLAIN if where == item and agrees(given, answer)]
    found: list[str] = []
    for numbers in (chain(x, known), chain(x)):
        for name, where, formula in NUMBERS:
            if where == item and name not in found:
                try:
                    fits = agrees(given, formula(list(x), numbers))
                except (ZeroDivisionError, ValueError, OverflowError, TypeError):
                    continue
                if fits:
                    found.append(name)
        if not found and _rounded(given, numbers[item]):
            found.append(ROUNDED)
    return found


def usable(value: Any, name: str, width: int) -> bool:
    """Whether a literal has the form of that number: a list as wide as x, or a single number."""
    if name in ("deviations", "layernorm", "squares", "rmsnorm"):
        return isinstance(value, list) and len(value) == width and all(type(v) in (int, float) for v in value)
    return type(value) in (int, float)


def _rounded(given: Any, exact: Value) -> bool:
    """Near the exact number but not near enough: digits were dropped on the way."""
    if isinstance(exact, list):
        return (
            isinstance(given, list)
            and len(given) == len(exact)
            and all(_rounded(g, e) for g, e in zip(given, exact, strict=True))
        )
    return type(given) in (int, float) and abs(given - exact) <= 0.03 * max(1.0, abs(exact))


# --- functions --------------------------------------------------------------------------------------------


def wrong_rmsnorm(rms: Callable[[list[float]], float], top: Callable = lambda x: x) -> Callable:
    return lambda v: over(top(v), rms(v))


def mean_square(v: Sequence[float]) -> float:
    return mean([a * a for a in v])


def centred(v: Sequence[float]) -> list[float]:
    return [a - mean(v) for a in v]


def in_place(function: Callable[[list[float]], list[float]]) -> Callable:
    def run(v: list[float]) -> list[float]:
        v[:] = function(v)
        return v

    return run


def layernorm(v: list[float]) -> list[float]:
    return chain(v)["layernorm"]


def rmsnorm(v: list[float]) -> list[float]:
    return chain(v)["rmsnorm"]


FUNCTIONS: dict[str, tuple[tuple[str, Callable], ...]] = {
    "rmsnorm": (
        ("layernorm", layernorm),
        ("sum-not-mean", wrong_rmsnorm(lambda v: math.sqrt(sum(a * a for a in v)))),
        ("no-root", wrong_rmsnorm(mean_square)),
        ("multiplied-by-rms", lambda v: [a * math.sqrt(mean_square(v)) for a in v]),
        ("mean-absolute", wrong_rmsnorm(lambda v: mean([abs(a) for a in v]))),
        ("mean-before-square", wrong_rmsnorm(lambda v: abs(mean(v)))),
        ("mean-before-square", wrong_rmsnorm(mean)),
        ("maximum-not-mean", wrong_rmsnorm(lambda v: max(abs(a) for a in v))),
        ("n-minus-one", wrong_rmsnorm(lambda v: math.sqrt(sum(a * a for a in v) / (len(v) - 1)))),
        ("variance-without-centring", wrong_rmsnorm(lambda v: math.sqrt(mean_square(centred(v))))),
        ("fixed-width", wrong_rmsnorm(lambda v: math.sqrt(sum(a * a for a in v) / 4))),
        ("sign-lost", wrong_rmsnorm(lambda v: math.sqrt(mean_square(v)), lambda v: [abs(a) for a in v])),
        ("rounded-early", wrong_rmsnorm(lambda v: round(math.sqrt(mean_square(v)), 1))),
        ("rounded-early", wrong_rmsnorm(lambda v: round(math.sqrt(mean_square(v))))),
        ("rounded-early", lambda v: [round(a, 1) for a in rmsnorm(v)]),
        ("rounded-early", lambda v: [round(a, 2) for a in rmsnorm(v)]),
        ("squares-only", lambda v: [a * a for a in v]),
        ("no-normalisation", lambda v: list(v)),
        ("returns-statistic", lambda v: math.sqrt(mean_square(v))),
        ("returns-nothing", lambda v: None),
        ("list-overwritten", in_place(rmsnorm)),
    ),
    "layernorm": (
        ("rmsnorm-instead", rmsnorm),
        ("n-minus-one", lambda v: over(centred(v), math.sqrt(sum(a * a for a in centred(v)) / (len(v) - 1)))),
        ("no-root", lambda v: over(centred(v), mean_square(centred(v)))),
        ("sum-not-mean", lambda v: over(centred(v), math.sqrt(sum(a * a for a in centred(v))))),
        ("variance-without-centring", lambda v: over(v, math.sqrt(mean_square(centred(v))))),
        ("layernorm-half-done", lambda v: over(centred(v), math.sqrt(mean_square(v)))),
        ("layernorm-half-done", centred),
        ("multiplied-by-rms", lambda v: [a * math.sqrt(mean_square(centred(v))) for a in centred(v)]),
        ("mean-absolute", lambda v: over(centred(v), mean([abs(a) for a in centred(v)]))),
        ("sign-lost", lambda v: [abs(a) for a in layernorm(v)]),
        ("fixed-width", lambda v: over(centred(v), math.sqrt(sum(a * a for a in centred(v)) / 4))),
        ("rounded-early", lambda v: [round(a, 1) for a in layernorm(v)]),
        ("rounded-early", lambda v: [round(a, 2) for a in layernorm(v)]),
        ("rounded-early", lambda v: over(centred(v), round(math.sqrt(mean_square(centred(v))), 1))),
        ("no-normalisation", lambda v: list(v)),
        ("returns-statistic", lambda v: math.sqrt(mean_square(centred(v)))),
        ("returns-nothing", lambda v: None),
        ("list-overwritten", in_place(layernorm)),
    ),
}


def explain_function(
    name: str, inputs: Json, observed: Any, probe: Callable, same: Callable[[Any, Any], bool]
) -> str | None:
    """The misconception whose function does the same to every vector, or None."""
    here = observed.get(name) if isinstance(observed, dict) else None
    if not isinstance(here, list):
        return None
    for misconception, function in FUNCTIONS[name]:
        theirs = probe(inputs, function, function)[name]
        if len(here) == len(theirs) and all(map(same, here, theirs)):
            return misconception
    return None


IDS = {m for m, *_ in NUMBERS} | {m for m, *_ in PLAIN} | {ROUNDED}
IDS |= {m for functions in FUNCTIONS.values() for m, _ in functions}
