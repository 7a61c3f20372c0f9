"""01-motivation: what is right.

RMS of a tensor is √(mean of its squares) over all elements. BatchNorm (Ioffe & Szegedy 2015) takes its
statistics per feature over batch and tokens; LayerNorm (Ba, Kiros & Hinton 2016, as used in GPT-2) and
RMSNorm (Zhang & Sennrich 2019) per token over features. Which runs stay finite was measured on the course's
corpus.
"""

import math
import re
from collections.abc import Callable
from typing import Any

import torch

from rmslab import evidence
from rmslab.checks import motivation_mistakes as mistakes
from rmslab.checks.hand_judge import is_quoted, read_literals
from rmslab.compare import number, short
from rmslab.step import BLANK, GRADED, Check, Json, Verdict, status_of

Found = dict[str, tuple[str, Json, tuple[str, ...]] | None]
"""item → None where it is right, else (kind of failure, facts, misconception)."""

PREDICT = {"depth": 0.25, "survivors": 0.25, "nan_step": 0.25, "shallow": 0.25}
NORMS = ("batchnorm", "layernorm", "rmsnorm")
AXES = {f"{norm}_{what}": 0.5 for norm in NORMS for what in ("axes", "shape")}
DIVERGENCE = {"finite": 1.0, "first_nan_step": 1.0}
SCALES = {"value": 3.0, "edge": 1.0}
RIGHT_AXES = {"batchnorm": [0, 1], "layernorm": [2], "rmsnorm": [2]}
EARLIEST, LATEST, STEPS = 5, 60, 100
"""First step with NaN that a run of one's own may show; and how many steps a run has."""
RTOL = 1e-3


def is_blank(value: Any) -> bool:
    """An empty list is an answer: none of them."""
    return value is None or value == "" or (isinstance(value, list) and any(map(is_blank, value)))


def told(value: Any) -> str:
    """A literal as a reader writes it: names in a list, numbers in a tuple."""
    if isinstance(value, list) and any(isinstance(v, str) for v in value):
        return "[" + ", ".join(map(told, value)) + "]"
    if isinstance(value, list):
        return "(" + ", ".join(map(told, value)) + ("," if len(value) == 1 else "") + ")"
    if type(value) in (int, float):
        return short(value)
    return f'"{value}"' if isinstance(value, str) else str((value or {}).get("type", "…"))


# --- literals ---------------------------------------------------------------------------------------------


def of_literals(step: str, verdict: Callable[[Json, Json], Found], inputs: Json, observed: Any) -> Verdict:
    """The verdict on a dict of literals."""
    table = {"predict": PREDICT, "axes": AXES, "divergence": DIVERGENCE}[step.partition("-")[2]]
    full = sum(table.values())
    values, broken = read_literals(step, full, observed)
    if broken:
        return broken
    empty = [item for item in table if is_blank(values.get(item))]
    if len(empty) == len(table):
        return Verdict(step, 0.0, full, BLANK, failure=f"{step}.all.{BLANK}")
    found = verdict(inputs, values) | dict.fromkeys(empty, ("empty", {}, ()))
    checks = tuple(Check(item, points, found[item] is None) for item, points in table.items())
    points = sum(check.points for check in checks if check.passed)
    wrong = [item for item in table if found[item] and item not in empty] + empty
    if not wrong:
        return Verdict(step, points, full, GRADED, checks)
    item = wrong[0]
    kind, facts, diagnosis = found[item]
    if item != "finite" and is_quoted(values.get(item)):
        kind, diagnosis = "quoted", ()
    facts = {"item": item, "got": told(values.get(item)), "blank": ",".join(empty)} | facts
    if kind == "empty":
        facts["item"] = facts["blank"]
    return Verdict(
        step, points, full, GRADED, checks, diagnosis=diagnosis, failure=f"{step}.{item}.{kind}", facts=facts
    )


def predict(inputs: Json, values: Json) -> Found:
    """A prediction is there or not; what it says is never judged."""
    return dict.fromkeys(PREDICT)


def first_axis(answers: dict[str, Any], rank: int) -> int:
    """How the answers number the first axis: 1 where ``rank`` is among them, 0 is not, and none is right."""
    used = [v for value in answers.values() for v in (value if isinstance(value, list) else [value])]
    from_one = rank in used and all(type(v) in (int, float) and v >= 1 for v in used if v is not None)
    right = any(indices(answers[norm], rank) == wanted for norm, wanted in RIGHT_AXES.items())
    return int(from_one and not right)


def indices(value: Any, rank: int, first: int = 0) -> list[int] | None:
    """Axes as a sorted list without repetition: 2, (2,), -1 and [-1] all mean the last of three."""
    value = value if isinstance(value, list) else [value]
    if not all(type(v) in (int, float) and v == int(v) for v in value):
        return None
    value = [int(v) - first for v in value]
    return sorted({v % rank for v in value}) if all(-rank <= v < rank for v in value) else None


def axes(inputs: Json, values: Json) -> Found:
    """Axes; and the shape that follows from them, or from the student's own, with the reduced axes kept."""
    found: Found = {}
    full = inputs["shape"]
    first = first_axis({norm: values.get(f"{norm}_axes") for norm in NORMS}, len(full))
    for norm, right in RIGHT_AXES.items():
        own = indices(values.get(f"{norm}_axes"), len(full), first)
        if own is None:
            found[f"{norm}_axes"] = ("axes", {}, ())
        else:
            reason = mistakes.explain_axes(norm, own)
            counted = ("axes-from-one",) if first else ()
            kind = "number" if reason or first else "other-axes"
            found[f"{norm}_axes"] = None if own == right and not first else (kind, {}, (*counted, *reason))
        shape = values.get(f"{norm}_shape")
        wanted = [[1 if i in over else n for i, n in enumerate(full)] for over in (right, own or right)]
        if shape in wanted:
            found[f"{norm}_shape"] = None
        else:
            reason = mistakes.explain_shape(shape, own or right, full) if isinstance(shape, list) else ()
            found[f"{norm}_shape"] = ("number", {}, reason)
    return found


def norm_names(value: Any) -> set[str] | None:
    """Names of the choices, however they are written; None where one is unknown."""
    if isinstance(value, str):
        value = re.split(r"[,，、;；\s]+", value.strip())
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        return None
    names = set()
    for name in value:
        key = re.sub(r"[^a-z无归一化]", "", name.lower())
        known = {"layernorm": "LayerNorm", "ln": "LayerNorm", "rmsnorm": "RMSNorm", "rms": "RMSNorm"}
        known |= {"nonorm": "无归一化", "none": "无归一化", "无": "无归一化", "无归一化": "无归一化"}
        if key not in known:
            return None
        names.add(known[key])
    return names


def divergence(inputs: Json, values: Json) -> Found:
    """Exactly the choices with a norm stayed finite; the first NaN came within a range of steps."""
    names, step = norm_names(values.get("finite")), values.get("first_nan_step")
    found: Found = {"finite": None, "first_nan_step": None}
    if names is None:
        found["finite"] = ("names", {}, ())
    elif names != {"LayerNorm", "RMSNorm"}:
        reason = "diverged-not-finite" if names == {"无归一化"} else "all-finite"
        reason = reason if "无归一化" in names else "one-norm-missed"
        found["finite"] = ("number", {}, (reason,))
    if type(step) not in (int, float):
        found["first_nan_step"] = ("step", {}, ())
    elif step != int(step):
        found["first_nan_step"] = ("number", {}, ("loss-not-step",))
    elif not EARLIEST <= step <= LATEST:
        reason = ("steps-not-first-nan",) if step in (0, STEPS) else ()
        found["first_nan_step"] = ("step", {}, reason)
    return found


# --- layer_scales -----------------------------------------------------------------------------------------


def reference(case: Json) -> list[float]:
    """RMS after each layer, in float64."""
    h, found = evidence.decode(case["x"]).double(), []
    for made in case["layers"]:
        kind = made["kind"]
        if kind == "linear":
            h = h @ evidence.decode(made["weight"]).double().T
            if "bias" in made:
                h = h + evidence.decode(made["bias"]).double()
        elif kind in ("offset", "factor"):
            h = h + made["by"] if kind == "offset" else h * made["by"]
        elif kind == "normalise":
            h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-6)
        else:
            h = {"relu": torch.relu, "tanh": torch.tanh}[kind](h)
        found.append(h.square().mean().sqrt().item())
    return found


def agrees(given: Any, wanted: list[float]) -> bool:
    return (
        isinstance(given, list)
        and len(given) == len(wanted)
        and all(
            type(g) in (int, float) and abs(g - w) <= RTOL * w for g, w in zip(given, wanted, strict=True)
        )
    )


def some(values: list) -> str:
    """The first few numbers of a list, as a reader writes them."""
    shown = [number(v) if type(v) in (int, float) else "…" for v in values[:4]]
    return "[" + ", ".join(shown) + (", …]" if len(values) > 4 else "]")


def failure(case: Json, seen: Any) -> tuple[str, Json] | None:
    """(kind, facts) where one call departs from what was asked for."""
    if not isinstance(seen, dict):
        return "nothing", {}
    if evidence.is_error(seen):
        error = seen["error"]
        facts = {"error": error.get("type"), "reason": error.get("message"), "line": error.get("line", "")}
        return "error", facts | {"lineno": error.get("lineno") or ""}
    given, wanted = seen.get("scales"), reference(case)
    if not isinstance(given, list):
        got = number(given) if type(given) in (int, float) else seen.get("kind")
        return "not-scales", {"got": got, "count": len(wanted)}
    if len(given) != len(wanted):
        return "count", {"got": len(given), "count": len(wanted)}
    if not all(type(v) in (int, float) for v in given):
        return "not-numbers", {"count": len(wanted)}
    if not agrees(given, wanted):
        first = next(i for i, w in enumerate(wanted) if not agrees(given[i : i + 1], [w]))
        facts = {"index": first + 1, "got": number(given[first]), "scales": some(given)}
        return "scales", facts
    if seen.get("x_kept") is not True:
        return "input-changed", {}
    return None if seen.get("layers_kept") is True else ("layers-changed", {})


def same(a: Any, b: Any) -> bool:
    """Two calls alike, up to rounding; errors by their type."""
    if not isinstance(a, dict) or evidence.is_error(a) or evidence.is_error(b):
        return evidence.is_error(a) and evidence.is_error(b) and a["error"].get("type") == b["error"]["type"]
    kept = all(a.get(key) == b.get(key) for key in ("x_kept", "layers_kept"))
    return kept and near(a.get("scales"), b.get("scales"))


def near(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(near, a, b))
    if type(a) in (int, float) and type(b) in (int, float):
        return math.isclose(a, b, rel_tol=RTOL, abs_tol=1e-9)
    return a == b


def scales(inputs: Json, observed: Any, probe: Callable) -> Verdict:
    """The verdict on ``layer_scales``."""
    step, full = "motivation-scales", sum(SCALES.values())
    found: dict[str, tuple[str, Json] | None] = {}
    complete = isinstance(observed, dict)
    for check, cases in inputs.items():
        group = observed.get(check) if complete else None
        complete = complete and isinstance(group, list) and len(group) == len(cases)
        group = group if isinstance(group, list) else []
        failures = [failure(case, group[i] if i < len(group) else None) for i, case in enumerate(cases)]
        found[check] = next((f for f in failures if f), None)
    passed = {"value": found["value"] is None}
    passed["edge"] = passed["value"] and found["edge"] is None
    checks = tuple(Check(name, points, passed[name]) for name, points in SCALES.items())
    points = sum(check.points for check in checks if check.passed)
    first = next((name for name in SCALES if found[name]), None)
    if first is None:
        return Verdict(step, points, full, GRADED, checks)
    kind, facts = found[first]
    status = GRADED
    if kind == "error" and points == 0:
        status = status_of({"type": facts["error"], "message": facts["reason"]})
    diagnosis: tuple[str, ...] = ()
    if status != BLANK and complete:
        diagnosis = mistakes.explain_function(inputs, observed, probe, same, first)
    return Verdict(
        step, points, full, status, checks, gated=True, diagnosis=diagnosis, failure=f"{step}.{first}.{kind}",
        facts=facts,
    )  # fmt: skip
