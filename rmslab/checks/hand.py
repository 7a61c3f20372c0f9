"""02-hand-calculation: numbers worked out by hand, and two small functions on plain Python lists.

The numbers are literals in the student's cell, the same for everyone; the functions are tried on vectors that
a seed decides. Nothing in this file knows a right answer; the judge does (:mod:`rmslab.checks.hand_judge`).
"""

import hashlib
import random
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

from rmslab import evidence
from rmslab.checks import hand_judge as judge
from rmslab.step import Json, Step

LESSON = "02-hand-calculation"
TOKENS = {"猫": [1, 2, 3, 4], "吃": [2, 0, -2, 4], "鱼": [-1, 1, -1, 1]}


# --- literals ---------------------------------------------------------------------------------------------


def literal(value: Any, depth: int = 3) -> Any:
    """A student's literal as strict JSON: numbers, text, lists; ``...`` and None are null, a blank.

    Anything else, and numbers that are not finite, become ``{"type": name}``.
    """
    if value is None or value is ...:
        return None
    if isinstance(value, str):
        return value[: evidence.MAX_TEXT]
    if isinstance(value, bool):
        return {"type": "bool"}
    if isinstance(value, Real) or (hasattr(value, "item") and getattr(value, "ndim", 1) == 0):
        number = float(value)
        return number if abs(number) < 1e300 else {"type": str(number)}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple) and depth:
        return [literal(v, depth - 1) for v in value[:64]]
    return {"type": type(value).__name__[:80]}


def probe_literals(inputs: Json, answers: Any) -> Json:
    """Record a dict of literals; the judge reads the names it knows."""
    try:
        if not isinstance(answers, dict):
            return {"values": {}, "type": type(answers).__name__[:80]}
        return {"values": {str(name)[:40]: literal(value) for name, value in list(answers.items())[:32]}}
    except BaseException as error:
        return evidence.encode_error(error)


def fixed(**inputs: Any) -> Callable[[str], Json]:
    """Inputs that do not depend on the seed: a hand calculation is the same for everyone."""
    return lambda seed: dict(inputs)


# --- functions on lists -----------------------------------------------------------------------------------


def vectors(seed: str) -> Json:
    """Vectors of odd widths: ordinary, with a zero, all negative, with a large mean; whole numbers and not.

    None is constant and none is tiny, so ε, which the hand calculation ignores, does not matter.
    """
    source = random.Random(hashlib.sha256(f"hand-python:{seed}".encode()).digest())

    def draw(width: int, low: float, high: float, shift: float = 0.0) -> list[float]:
        return [round(source.uniform(low, high) + shift, 2) for _ in range(width)]

    widths = source.sample([3, 5, 7, 9, 11], 4)
    with_zero = draw(widths[1], -6, 6)
    with_zero[source.randrange(widths[1])] = 0
    whole = source.sample(range(-9, 10), widths[3])
    return {
        "vectors": [
            TOKENS["猫"],
            draw(widths[0], -5, 5),
            with_zero,
            draw(widths[2], -9, -2),
            draw(5, -3, 3, shift=100),
            whole,
        ]
    }


def call(function: Callable, vector: Sequence[float]) -> Json:
    given = list(vector)
    try:
        result = function(given)
        kind = type(result).__name__[:80]
        return {"y": literal(result), "kind": kind, "after": literal(given)}
    except BaseException as error:
        return evidence.encode_error(error)


def probe_functions(inputs: Json, layernorm: Callable, rmsnorm: Callable) -> Json:
    return {
        name: [call(function, vector) for vector in inputs["vectors"]]
        for name, function in (("layernorm", layernorm), ("rmsnorm", rmsnorm))
    }


# --- steps ------------------------------------------------------------------------------------------------


def literals(name: str, points: float, inputs: Callable, argument: str) -> Step:
    def judged(given: Json, observed: Any) -> Any:
        return judge.literals(f"hand-{name}", given, observed)

    return Step(f"hand-{name}", LESSON, points, (argument,), inputs, probe_literals, judged)


STEPS = (
    literals("shapes", 2, fixed(), "shapes"),
    literals("chi-layernorm", 3, fixed(x=TOKENS["吃"]), "chi_layernorm"),
    literals("chi-rmsnorm", 4, fixed(x=TOKENS["吃"]), "chi_rmsnorm"),
    literals("yu", 3, fixed(x=TOKENS["鱼"]), "yu"),
    literals("reading", 3, fixed(), "reading"),
    Step("hand-python", LESSON, 5, ("layernorm", "rmsnorm"), vectors, probe_functions,
         lambda given, observed: judge.functions(given, observed, probe_functions)),
)  # fmt: skip

PRACTICE = literals("fresh", 0, fixed(), "")
"""Not a step of the lesson: judges the fresh token, whose vector travels in the inputs."""


def fresh_vector(source: random.Random) -> list[int]:
    """A vector of small whole numbers, never constant, mean not 0. Its width is not 4, nor is it 5, where
    dividing by d − 1 and by the width of the examples is the same."""
    while True:
        vector = [source.randint(-4, 6) for _ in range(source.choice([3, 6, 7]))]
        if sum(vector) and len(set(vector)) > 2:
            return vector
