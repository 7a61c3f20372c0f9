"""The geometry of both norms on plain lists: γ = 1 and no ε, with 0 for the vector that has no direction."""

import math
from collections.abc import Sequence

Vector = Sequence[float]


def length(v: Vector) -> float:
    return math.sqrt(math.fsum(a * a for a in v))


def mean(v: Vector) -> float:
    return math.fsum(v) / len(v)


def project(v: Vector) -> list[float]:
    """Onto the hyperplane Σ = 0, at right angles: (d,) → (d,). Without the dust that rounding leaves."""
    middle = mean(v)
    dust = 1e-12 * max(map(abs, v), default=0)
    return [a - middle if abs(a - middle) > dust else 0.0 for a in v]


def to_sphere(v: Vector) -> list[float]:
    """Along its own direction to the sphere of radius √d: (d,) → (d,). The zero vector stays."""
    size = length(v)
    return [a * math.sqrt(len(v)) / size for a in v] if size else [0.0] * len(v)


def layernorm(vector: Vector) -> list[float]:
    return to_sphere(project(vector))


def angle(a: Vector, b: Vector) -> float:
    """Between two vectors, in degrees; NaN where one has no direction."""
    if not (length(a) and length(b)):
        return math.nan
    cosine = math.fsum(x * y for x, y in zip(a, b, strict=True)) / (length(a) * length(b))
    return math.degrees(math.acos(max(-1.0, min(1.0, cosine))))


def to_ones(v: Vector) -> float:
    """The angle to the all-ones direction, in degrees."""
    return angle(v, [1.0] * len(v))
