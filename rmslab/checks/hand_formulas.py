"""The hand calculation as a chain of formulas: each number from x and the numbers before it (γ = 1, no ε)."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Value = float | list[float]
Known = dict[str, Any]


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


Formula = Callable[[list[float], Known], Value]

FORMULAS: dict[str, Formula] = {
    "mean": lambda x, k: mean(x),
    "deviations": lambda x, k: [v - k["mean"] for v in x],
    "variance": lambda x, k: mean([v * v for v in k["deviations"]]),
    "std": lambda x, k: math.sqrt(k["variance"]),
    "layernorm": lambda x, k: [v / k["std"] for v in k["deviations"]],
    "squares": lambda x, k: [v * v for v in x],
    "mean_square": lambda x, k: mean(k["squares"]),
    "rms": lambda x, k: math.sqrt(k["mean_square"]),
    "rmsnorm": lambda x, k: [v / k["rms"] for v in x],
}


def chain(x: Sequence[float], given: Known | None = None) -> Known:
    """All numbers of the chain for the vector ``x``; those in ``given`` are taken as they are.

    What cannot be computed (LayerNorm of a constant vector, the root of a negative number) is NaN.
    """
    known: Known = dict(given or {})
    for name, formula in FORMULAS.items():
        if name not in known:
            try:
                known[name] = formula(list(x), known)
            except (ZeroDivisionError, ValueError, OverflowError):
                known[name] = [math.nan] * len(x) if name in ("layernorm", "rmsnorm") else math.nan
    return known


def ways(x: Sequence[float], given: Known) -> Iterator[Known]:
    """The chain from all of the numbers in ``given``, then without the last of them, and so on, to none."""
    names = [name for name in FORMULAS if name in given]
    for count in range(len(names), -1, -1):
        yield chain(x, {name: given[name] for name in names[:count]})
