"""Experiments of lesson 03, on the reader's own functions. Unfinished ones are reported, never raised."""

from collections.abc import Callable, Sequence
from typing import Any

from rmslab.catalogue import text
from rmslab.checks import geometry_parts as parts
from rmslab.checks.hand import TOKENS
from rmslab.compare import rounded
from rmslab.experiments import Table, unfinished

Function = Callable[[list[float]], Any]

CASES = {"large_mean": [100, 101, 102], "constant": [5, 5, 5, 5], "zero_mean": TOKENS["鱼"]}


def told(values: Sequence[float]) -> str:
    return "[" + ", ".join(f"{round(v, 3) + 0.0:g}".replace("-", "−") for v in values) + "]"


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
        inside, right = parts.length(project(to_sphere(cat))), parts.length(to_sphere(project(cat)))
    except Exception as error:
        return unfinished(error).note
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
    rows = []
    for case, v in CASES.items():
        for name, function in (("RMSNorm", to_sphere), ("LayerNorm", layernorm)):
            guess = first.get(f"{case}_{name.lower()}")
            said = text("prediction", "none") if guess in (None, ...) else str(guess)
            rows.append([f"{name}({told(v)})", said, attempt(function, v)])
    return Table(["问题", "你的预测", "结果"], rows)
