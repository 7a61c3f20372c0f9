"""Experiments of lesson 03, on the reader's own functions. Unfinished ones are reported, never raised."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from rmslab.catalogue import text
from rmslab.checks import geometry_parts as parts
from rmslab.checks.hand import TOKENS
from rmslab.compare import rounded
from rmslab.experiments import Table, unfinished
from rmslab.prediction import Unknown

Function = Callable[[list[float]], Any]

CASES = {"large_mean": [100, 101, 102], "constant": [5, 5, 5, 5], "zero_mean": TOKENS["鱼"]}


def told(values: Sequence[float]) -> str:
    return "[" + ", ".join(f"{round(v, 3) + 0.0:g}".replace("-", "−") for v in values) + "]"


def alike(mine: Sequence[float], right: Sequence[float]) -> bool:
    """Whether a reader's vector is the right one, up to an ε or to rounding."""
    return len(mine) == len(right) and all(abs(a - b) < 2e-3 for a, b in zip(mine, right, strict=True))


def attempt(function: Function, v: Sequence[float]) -> str:
    """The function's result in words, or what stopped it."""
    try:
        return told(function(list(v)))
    except Exception as error:
        return unfinished(error).note


def swapped(project: Function, to_sphere: Function) -> str:
    """How long 猫 is after both steps, in either order."""
    cat = TOKENS["猫"]
    try:
        ends = project(to_sphere(cat)), to_sphere(project(cat))
        steps = ("project", project, parts.project), ("to_sphere", to_sphere, parts.to_sphere)
        unsound = [
            name
            for name, mine, right in steps
            if not all(alike(mine(list(v)), right(v)) for v in (cat, parts.project(cat)))
        ]
        if unsound:
            return Unknown(text("experiment", "unsound", names="、".join(unsound)))
        inside, right = map(parts.length, ends)
    except Exception as error:
        return Unknown(unfinished(error).note)
    return f"猫先到球面再投影，长度 {rounded(inside)}；先投影再到球面，长度 {rounded(right)}。√d = 2"


def bent(gamma: Sequence[float]) -> Table:
    """What γ does to the RMSNorm outputs of the three tokens: length, and degrees away from x."""
    rows = []
    for name, x in TOKENS.items():
        y = [g * a for g, a in zip(gamma, parts.to_sphere(x), strict=True)]
        rows.append([name, told(y), rounded(parts.length(y)), f"{parts.angle(x, y):.1f}°"])
    return Table(["token", "γ × RMSNorm(x)", "长度", "转了多少度"], rows)


def guesses(first: dict[str, Any], to_sphere: Function, layernorm: Function) -> Table:
    """The first guesses beside what the reader's functions give for the three vectors."""
    rows, unsound = [], []
    for case, v in CASES.items():
        for name, function, right in (
            ("RMSNorm", to_sphere, parts.to_sphere),
            ("LayerNorm", layernorm, parts.layernorm),
        ):
            guess = first.get(f"{case}_{name.lower()}")
            said = text("prediction", "none") if guess in (None, ...) else str(guess)
            rows.append([f"{name}({told(v)})", said, attempt(function, v)])
            with contextlib.suppress(Exception):  # the row says what stopped it
                unsound += [] if alike(function(list(v)), right(v)) else [right.__name__]
    note = text("experiment", "unsound", names="、".join(dict.fromkeys(unsound))) if unsound else ""
    return Table(["问题", "你的预测", "结果"], rows, note)
