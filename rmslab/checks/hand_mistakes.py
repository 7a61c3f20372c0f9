"""02-hand-calculation: how hand calculations go wrong, as formulas; and wrong functions on lists.

A wrong number is compared with what each wrong formula gives from the student's own earlier numbers; a wrong
function with what each wrong function does to the same vectors.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from rmslab.checks.hand_formulas import FORMULAS, Known, Value, chain, mean, ways
from rmslab.step import Json

Wrong = Callable[[list[float], Known], Value]

UNNAMED = ""
"""A slip that has no name here. Where it gives the same number as a misconception, nothing is named."""


def over(values: Sequence[float], by: float) -> list[float]:
    return [v / by for v in values]


# (misconception, item, wrong formula), in the order in which they are tried.
NUMBERS: tuple[tuple[str, str, Wrong], ...] = (
    ("sum-not-mean", "mean", lambda x, k: sum(x)),
    ("mean-absolute", "mean", lambda x, k: mean([abs(v) for v in x])),
    (UNNAMED, "mean", lambda x, k: mean([v for v in x if v > 0])),  # the negative numbers left out
    ("fixed-width", "mean", lambda x, k: sum(x) / 4),
    ("sign-lost", "deviations", lambda x, k: [abs(v - k["mean"]) for v in x]),
    ("sign-lost", "deviations", lambda x, k: [k["mean"] - v for v in x]),
    ("sign-lost", "deviations", lambda x, k: [v + k["mean"] for v in x]),
    ("n-minus-one", "variance", lambda x, k: sum(v * v for v in k["deviations"]) / (len(x) - 1)),
    ("fixed-width", "variance", lambda x, k: sum(v * v for v in k["deviations"]) / 4),
    ("sum-not-mean", "variance", lambda x, k: sum(v * v for v in k["deviations"])),
    ("variance-without-centring", "variance", lambda x, k: mean([v * v for v in x])),
    ("mean-absolute", "variance", lambda x, k: mean([abs(v) for v in k["deviations"]])),
    ("mean-before-square", "variance", lambda x, k: mean(k["deviations"]) ** 2),
    ("sign-lost", "variance", lambda x, k: mean([v * abs(v) for v in k["deviations"]])),
    ("no-root", "std", lambda x, k: k["variance"]),
    ("n-minus-one", "std", lambda x, k: math.sqrt(sum(v * v for v in k["deviations"]) / (len(x) - 1))),
    ("fixed-width", "std", lambda x, k: math.sqrt(sum(v * v for v in k["deviations"]) / 4)),
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
    ("fixed-width", "layernorm", lambda x, k: over(k["deviations"], k["std"] * math.sqrt(len(x) / 4))),
    ("sum-not-mean", "layernorm", lambda x, k: over(k["deviations"], k["std"] * math.sqrt(len(x)))),
    ("sign-lost", "layernorm", lambda x, k: [abs(v) / k["std"] for v in k["deviations"]]),
    ("sign-lost", "layernorm", lambda x, k: [-v / k["std"] for v in k["deviations"]]),
    ("sign-lost", "squares", lambda x, k: [v * abs(v) for v in x]),
    ("doubled-not-squared", "squares", lambda x, k: [2 * v for v in x]),
    ("doubled-not-squared", "squares", lambda x, k: [2 * abs(v) for v in x]),
    ("mean-absolute", "squares", lambda x, k: [abs(v) for v in x]),
    ("layernorm", "squares", lambda x, k: [v * v for v in k["deviations"]]),
    ("sum-not-mean", "mean_square", lambda x, k: sum(k["squares"])),
    ("fixed-width", "mean_square", lambda x, k: sum(k["squares"]) / 4),
    ("n-minus-one", "mean_square", lambda x, k: sum(k["squares"]) / (len(x) - 1)),
    ("mean-before-square", "mean_square", lambda x, k: mean(x) ** 2),
    ("mean-absolute", "mean_square", lambda x, k: mean([abs(v) for v in x])),
    ("layernorm", "mean_square", lambda x, k: k["variance"]),
    ("sign-lost", "mean_square", lambda x, k: mean([v * abs(v) for v in x])),
    ("no-root", "rms", lambda x, k: k["mean_square"]),
    ("sum-not-mean", "rms", lambda x, k: math.sqrt(sum(k["squares"]))),
    ("mean-absolute", "rms", lambda x, k: mean([abs(v) for v in x])),
    ("layernorm", "rms", lambda x, k: k["std"]),
    ("fixed-width", "rms", lambda x, k: math.sqrt(sum(k["squares"]) / 4)),
    ("n-minus-one", "rms", lambda x, k: math.sqrt(sum(k["squares"]) / (len(x) - 1))),
    ("mean-before-square", "rms", lambda x, k: mean(x)),
    ("no-root", "rmsnorm", lambda x, k: over(x, k["mean_square"])),
    ("multiplied-by-rms", "rmsnorm", lambda x, k: [v * k["rms"] for v in x]),
    ("layernorm", "rmsnorm", lambda x, k: k["layernorm"]),
    ("layernorm", "rmsnorm", lambda x, k: over(k["deviations"], k["rms"])),
    ("sum-not-mean", "rmsnorm", lambda x, k: over(x, k["rms"] * math.sqrt(len(x)))),
    ("fixed-width", "rmsnorm", lambda x, k: over(x, k["rms"] * math.sqrt(len(x) / 4))),
    ("mean-absolute", "rmsnorm", lambda x, k: over(x, mean([abs(v) for v in x]))),
    ("maximum-not-mean", "rmsnorm", lambda x, k: over(x, max(abs(v) for v in x))),
    ("n-minus-one", "rmsnorm", lambda x, k: over(x, k["rms"] * math.sqrt(len(x) / (len(x) - 1)))),
    ("sign-lost", "rmsnorm", lambda x, k: [abs(v) / k["rms"] for v in x]),
    ("sign-lost", "rmsnorm", lambda x, k: [-v / k["rms"] for v in x]),
    ("no-normalisation", "rmsnorm", lambda x, k: x),
)

# Shapes of (1, 3, 4) and readings: (misconception, item, wrong answer).
PLAIN: tuple[tuple[str, str, Any], ...] = (
    ("no-keepdim", "mean_square", [1, 3]),
    ("no-keepdim", "rms", [1, 3]),
    ("mean-over-tokens", "mean_square", [1, 1, 4]),
    ("mean-over-tokens", "mean_square", [1, 4]),
    ("mean-over-tokens", "rms", [1, 1, 4]),
    ("mean-over-tokens", "rms", [1, 4]),
    ("mean-over-everything", "mean_square", [1, 1, 1]),
    ("mean-over-everything", "mean_square", []),
    ("mean-over-everything", "rms", [1, 1, 1]),
    ("mean-over-everything", "rms", []),
    ("statistic-per-feature", "mean_square", [1, 3, 4]),
    ("statistic-per-feature", "rms", [1, 3, 4]),
    ("batch-left-out", "squares", [3, 4]),
    ("batch-left-out", "mean_square", [3, 1]),
    ("batch-left-out", "rms", [3, 1]),
    ("batch-left-out", "output", [3, 4]),
    ("squares-summed", "squares", [1, 3, 1]),
    ("squares-summed", "squares", [1, 3]),
    ("output-reduced", "output", [1, 3, 1]),
    ("output-reduced", "output", [1, 3]),
    ("weight-scalar", "gamma", [1]),
    ("weight-scalar", "gamma", []),
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
    ("weight-per-token", "layernorm_parameters", 24),
    ("weight-per-token", "rmsnorm_parameters", 12),
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
    return only([_of_item(item, x, given, known, agrees) for item, (given, known) in wrong.items()])


def only(by_item: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The one name common to all items, else the first item's; none where several are as likely."""
    common = [name for name in by_item[0] if all(name in names for names in by_item)]
    names = set(common or by_item[0])
    return tuple(names - {UNNAMED}) if len(names) == 1 else ()


def _of_item(
    item: str, x: list[float] | None, given: Any, known: Known, agrees: Callable[..., bool]
) -> list[str]:
    if x is None:
        return [name for name, where, answer in PLAIN if where == item and agrees(given, answer)]
    found: list[str] = []
    for numbers in ways(x, known):
        for name, where, formula in NUMBERS:
            if where == item and name not in found:
                try:
                    fits = agrees(given, formula(list(x), numbers))
                except (ZeroDivisionError, ValueError, OverflowError, TypeError):
                    continue
                if fits:
                    found.append(name)
        if not found and signs_slipped(given, numbers[item]):
            found.append("sign-lost")
        if not found and any(agrees(given, rough) for rough in _rough(item, x, numbers)):
            found.append(ROUNDED)
    return found


def signs_slipped(given: Any, right: Value) -> bool:
    """Whether a list departs from the right one only by the signs of some numbers."""
    if not isinstance(given, list) or not isinstance(right, list) or len(given) != len(right):
        return False
    if not all(type(g) in (int, float) for g in given):
        return False
    return all(abs(abs(g) - abs(r)) <= 1.5e-3 for g, r in zip(given, right, strict=True))


def rounded(value: Value, digits: int) -> Value:
    """To so many decimals, half away from zero."""
    if isinstance(value, list):
        return [rounded(v, digits) for v in value]
    return math.copysign(math.floor(abs(value) * 10**digits + 0.5) / 10**digits, value)


def cut(value: Value, digits: int) -> Value:
    """To so many decimals, the rest dropped."""
    return (
        [cut(v, digits) for v in value]
        if isinstance(value, list)
        else (math.trunc(value * 10**digits) / 10**digits)
    )


def by_python(value: Value, digits: int) -> Value:
    """As ``round`` does it, half to even."""
    return [round(v, digits) for v in value] if isinstance(value, list) else round(value, digits)


def _rough(item: str, x: list[float], numbers: Known) -> Iterator[Value]:
    """The number with fewer than three decimals, and what follows from such numbers before it."""
    for shorten in (rounded, cut):
        for digits in (2, 1, 0):
            try:
                yield shorten(numbers[item], digits)
                before = {name: shorten(value, digits) for name, value in numbers.items() if name != item}
                yield FORMULAS[item](list(x), before)
            except (ZeroDivisionError, ValueError, OverflowError):
                continue


def usable(value: Any, name: str, width: int) -> bool:
    """Whether a literal has the form of that number: a list as wide as x, or a single number."""
    if name in ("deviations", "layernorm", "squares", "rmsnorm"):
        return isinstance(value, list) and len(value) == width and all(type(v) in (int, float) for v in value)
    return type(value) in (int, float)


# --- functions --------------------------------------------------------------------------------------------


Function = Callable[[list[float]], Any]


def mean_square(v: Sequence[float]) -> float:
    return mean([a * a for a in v])


def centred(v: Sequence[float]) -> list[float]:
    return [a - mean(v) for a in v]


def variance(v: Sequence[float]) -> float:
    return mean_square(centred(v))


def itself(v: Sequence[float]) -> list[float]:
    return list(v)


def layernorm(v: list[float]) -> list[float]:
    return chain(v)["layernorm"]


def rmsnorm(v: list[float]) -> list[float]:
    return chain(v)["rmsnorm"]


def times(statistic: Callable, factor: Callable[[int], float]) -> Callable:
    return lambda v: statistic(v) * factor(len(v))


def at_most_four(function: Function) -> Function:
    """Written out for four numbers: more are left away, fewer do not do."""
    return lambda v: function([v[0], v[1], v[2], v[3]])


def finish(top: Callable, statistic: Callable, root: Callable[[float, float], float]) -> Function:
    """Every number of ``top`` with the statistic's root, in the way ``root`` does it."""
    return lambda v: [root(a, statistic(v)) for a in top(v)]


ROOTS: tuple[tuple[str, Callable[[float, float], float]], ...] = (
    ("", lambda a, s: a / math.sqrt(s)),
    ("no-root", lambda a, s: a / s),
    ("multiplied-by-rms", lambda a, s: a * math.sqrt(s)),
)
COUNTS: tuple[tuple[str, Callable[[int], float]], ...] = (
    ("", lambda d: 1),
    ("sum-not-mean", lambda d: d),
    ("n-minus-one", lambda d: d / (d - 1)),
    ("fixed-width", lambda d: d / 4),
)
"""Factors that make the mean over d numbers another sum over another count."""


def combined(base: Sequence[tuple[str, Callable, Callable]]) -> list[tuple[tuple[str, ...], Function]]:
    """Mistakes in what is squared, in the count and in the root: all that are one or two of these."""
    found = [
        (tuple(filter(None, ids)), finish(top, times(statistic, factor), root))
        for (what, top, statistic), (count, factor), (rooted, root) in product(base, COUNTS, ROOTS)
        if 0 < sum(map(bool, ids := (what, count, rooted))) <= 2
    ]
    return sorted(found, key=lambda one: len(one[0]))


def rough(function: Function) -> list[tuple[tuple[str, ...], Function]]:
    """A function whose results have too few decimals."""
    return [
        ((ROUNDED,), lambda v, shorten=shorten, digits=digits: shorten(function(v), digits))
        for shorten in (by_python, cut) for digits in (2, 1, 0)
    ]  # fmt: skip


def rough_root(top: Callable, statistic: Callable) -> list[tuple[tuple[str, ...], Function]]:
    """The root has too few decimals before it divides."""
    return [
        ((ROUNDED,), finish(top, statistic, lambda a, s, f=f, n=n: a / f(math.sqrt(s), n)))
        for f in (by_python, cut) for n in (1, 0)
    ]  # fmt: skip


def around_rough_mean(shorten: Callable, digits: int) -> Function:
    def run(v: list[float]) -> list[float]:
        shifted = [a - shorten(mean(v), digits) for a in v]
        return over(shifted, math.sqrt(mean_square(shifted)))

    return run


def around_fixed_mean(v: list[float]) -> list[float]:
    shifted = [a - sum(v) / 4 for a in v]
    return over(shifted, math.sqrt(sum(a * a for a in shifted) / 4))


def in_place(*changes: Callable[[list[float]], Callable[[float], float]]) -> Function:
    """Changes a copy of the list number by number; each change reads the list as it is by then."""

    def run(v: list[float]) -> list[float]:
        v = list(v)
        for change in changes:
            for i in range(len(v)):
                v[i] = change(v)(v[i])
        return v

    return run


def centring(v: list[float]) -> Callable[[float], float]:
    return lambda a: a - mean(v)


def scaling(v: list[float]) -> Callable[[float], float]:
    return lambda a: a / math.sqrt(mean_square(v))


def standardising(v: list[float]) -> Callable[[float], float]:
    return lambda a: (a - mean(v)) / math.sqrt(variance(v))


# (misconceptions, function that has them), in the order in which they are tried.
FUNCTIONS: dict[str, tuple[tuple[tuple[str, ...], Function], ...]] = {
    "rmsnorm": (
        # as statistics.stdev and torch.var count
        (("layernorm",), lambda v: over(layernorm(v), math.sqrt(len(v) / (len(v) - 1)))),
        (("variance-without-centring",), lambda v: over(v, math.sqrt(variance(v) * len(v) / (len(v) - 1)))),
        *combined([("", itself, mean_square), ("layernorm", centred, variance),
                   ("variance-without-centring", itself, variance)]),
        (("changed-while-read",), in_place(scaling)),
        (("mean-absolute",), lambda v: over(v, mean([abs(a) for a in v]))),
        (("mean-before-square",), lambda v: over(v, abs(mean(v)))),
        (("mean-before-square",), lambda v: over(v, mean(v))),
        (("maximum-not-mean",), lambda v: over(v, max(abs(a) for a in v))),
        (("fixed-width",), at_most_four(rmsnorm)),
        (("sign-lost",), lambda v: [abs(a) for a in rmsnorm(v)]),
        (("sign-lost",), lambda v: [-a for a in rmsnorm(v)]),
        *rough_root(itself, mean_square),
        *rough(rmsnorm),
        (("squares-only",), lambda v: [a * a for a in v]),
        (("no-normalisation",), itself),
        (("returns-statistic",), lambda v: math.sqrt(mean_square(v))),
        (("returns-statistic",), mean_square),
        (("returns-nothing",), lambda v: None),
    ),
    "layernorm": (
        (("rmsnorm-instead",), rmsnorm),
        *combined([("", centred, variance), ("variance-without-centring", itself, variance),
                   ("layernorm-half-done", centred, mean_square)]),
        (("layernorm-half-done",), centred),
        (("changed-while-read",), in_place(standardising)),
        (("changed-while-read",), in_place(centring, scaling)),
        (("changed-while-read",), lambda v: rmsnorm(in_place(centring)(v))),
        (("changed-while-read",), lambda v: in_place(scaling)(centred(v))),
        (("mean-absolute",), lambda v: over(centred(v), mean([abs(a) for a in centred(v)]))),
        (("fixed-width",), around_fixed_mean),
        (("fixed-width",), at_most_four(layernorm)),
        (("sign-lost",), lambda v: [abs(a) for a in layernorm(v)]),
        (("sign-lost",), lambda v: [-a for a in layernorm(v)]),
        (("rounded-early",), around_rough_mean(by_python, 1)),
        (("rounded-early",), around_rough_mean(by_python, 0)),
        (("rounded-early",), around_rough_mean(cut, 0)),
        *rough_root(centred, variance),
        *rough(layernorm),
        (("no-normalisation",), itself),
        (("returns-statistic",), lambda v: math.sqrt(variance(v))),
        (("returns-statistic",), variance),
        (("returns-nothing",), lambda v: None),
    ),
}  # fmt: skip


def explain_function(
    name: str, inputs: Json, observed: Any, probe: Callable, same: Callable[[Any, Any], bool]
) -> tuple[str, ...]:
    """The misconceptions of the function that does the same to every vector, or none."""
    here = observed.get(name) if isinstance(observed, dict) else None
    if not isinstance(here, list):
        return ()
    for misconceptions, function in FUNCTIONS[name]:
        theirs = probe(inputs, function, function)[name]
        if len(here) == len(theirs) and all(map(same, here, theirs)):
            return with_overwriting(misconceptions, inputs["vectors"], here)
    return ()


OVERWRITTEN = "list-overwritten"
"""Not a function to compare with: whatever the numbers are, the list that was given is not as it was."""


def overwritten(vectors: Sequence[Sequence[float]], observed: Sequence[Any]) -> list | None:
    """What the first list that a function changed has become; None where it left all of them alone."""
    for vector, seen in zip(vectors, observed, strict=False):
        after = seen.get("after") if isinstance(seen, dict) else None
        if isinstance(after, list) and after != [float(v) for v in vector]:
            return after
    return None


def with_overwriting(names: tuple[str, ...], vectors: Sequence, observed: Sequence[Any]) -> tuple[str, ...]:
    """The misconceptions, and that the lists were changed where they were and none of them says so."""
    told = {OVERWRITTEN, "changed-while-read"} & set(names)
    return names if told or overwritten(vectors, observed) is None else (*names, OVERWRITTEN)


IDS = {m for m, *_ in NUMBERS if m} | {m for m, *_ in PLAIN} | {ROUNDED, OVERWRITTEN}
IDS |= {m for functions in FUNCTIONS.values() for names, _ in functions for m in names}
