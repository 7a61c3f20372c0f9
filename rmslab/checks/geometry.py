"""03-geometry: projection, sphere and their composition on plain Python lists; angles; what stays the same.

The functions are tried on vectors that a seed decides. The composition takes its two parts as arguments, so
that it is also tried with sound ones: a wrong earlier part costs nothing here. Nothing in this file knows a
right answer; the judge does (:mod:`rmslab.checks.geometry_judge`).
"""

import hashlib
import random
from collections.abc import Callable

from rmslab.checks import geometry_judge as judge
from rmslab.checks import geometry_parts as parts
from rmslab.checks.hand import TOKENS, call, fixed, probe_literals
from rmslab.step import Json, Step

LESSON = "03-geometry"


# --- inputs -----------------------------------------------------------------------------------------------


class Vectors:
    """Draws vectors of odd widths from a seed."""

    def __init__(self, seed: str, step: str):
        self.random = random.Random(hashlib.sha256(f"{step}:{seed}".encode()).digest())
        self.widths = self.random.sample([3, 5, 7, 9, 11], 5)

    def uniform(self, i: int, low: float, high: float) -> list[float]:
        return [round(self.random.uniform(low, high), 2) for _ in range(self.widths[i])]

    def ordinary(self) -> list[list[float]]:
        """猫; about 0; with a zero and a clear mean; all negative; a large mean; a short one."""
        with_zero = self.uniform(1, 1, 8)
        with_zero[self.random.randrange(len(with_zero))] = 0
        return [
            TOKENS["猫"],
            self.uniform(0, -5, 5),
            with_zero,
            self.uniform(2, -9, -2),
            self.uniform(3, 98, 104),
            self.uniform(4, 0.05, 0.3),
        ]

    def zero_mean(self) -> list[list[float]]:
        """鱼; whole numbers whose sum is 0, so that the mean is exactly 0."""
        whole = [self.random.randint(-9, 9) for _ in range(self.widths[0] - 1)]
        return [TOKENS["鱼"], [*whole, -sum(whole)]]

    def constant(self) -> list[list[float]]:
        """Whole numbers, so that x minus the mean is exactly 0: one positive, one negative."""
        return [[self.random.randint(1, 9)] * self.widths[1], [-self.random.randint(1, 9)] * self.widths[2]]


def project_inputs(seed: str) -> Json:
    draw = Vectors(seed, "geometry-project")
    return {"value": draw.ordinary(), "unchanged": draw.zero_mean(), "constant": draw.constant()}


def sphere_inputs(seed: str) -> Json:
    draw = Vectors(seed, "geometry-sphere")
    return {"value": [*draw.ordinary(), *draw.constant()], "zero": [[0, 0, 0], [0] * draw.widths[0]]}


def compose_inputs(seed: str) -> Json:
    draw = Vectors(seed, "geometry-compose")
    return {"value": [*draw.ordinary(), TOKENS["鱼"]], "constant": draw.constant()}


# --- probes -----------------------------------------------------------------------------------------------


def probe_function(inputs: Json, function: Callable) -> Json:
    return {check: [call(function, vector) for vector in group] for check, group in inputs.items()}


def probe_composition(inputs: Json, layernorm: Callable) -> Json:
    """With the parts it has by itself, and with sound ones handed in (by name, else by position).

    With ``alone``, only with sound ones: its own are other steps, and might kill.
    """
    vectors = {check: group for check, group in inputs.items() if check != "alone"}

    def sound(vector: list[float]) -> object:
        named = {"project": parts.project, "to_sphere": parts.to_sphere}
        for given, more in (((), named), (tuple(named.values()), {})):
            try:
                return layernorm(vector, *given, **more)
            except TypeError as error:
                if "argument" not in str(error):
                    raise
        return layernorm(vector)

    observed = {"sound": probe_function(vectors, sound)}
    return observed if "alone" in inputs else observed | {"own": probe_function(vectors, layernorm)}


# --- steps ------------------------------------------------------------------------------------------------


def literals(name: str, argument: str) -> Step:
    step = f"geometry-{name}"
    return Step(step, LESSON, 2, (argument,), fixed(), probe_literals,
                lambda given, observed: judge.literals(step, observed))  # fmt: skip


STEPS = (
    Step("geometry-project", LESSON, 4, ("project",), project_inputs, probe_function,
         lambda given, observed: judge.function("geometry-project", given, observed, probe_function)),
    Step("geometry-sphere", LESSON, 4, ("to_sphere",), sphere_inputs, probe_function,
         lambda given, observed: judge.function("geometry-sphere", given, observed, probe_function)),
    Step("geometry-compose", LESSON, 3, ("layernorm",), compose_inputs, probe_composition,
         lambda given, observed: judge.composition(given, observed, probe_composition), {"alone": True}),
    literals("angle", "angles"),
    literals("invariance", "answers"),
)  # fmt: skip
