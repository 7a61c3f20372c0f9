"""04-implementation: what is right. Pure functions from inputs and evidence to verdicts.

The contract: statistic over the last axis, no centring, ε inside the root, at least FP32, one weight per
feature, shape and dtype of the input, no mutation, differentiable. References are computed in float64 from
the formula (Zhang & Sennrich 2019, with ε inside as in T5, LLaMA and torch.nn.RMSNorm).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch

from rmslab import evidence
from rmslab.checks import implementation_mistakes as mistakes
from rmslab.compare import RTOL_SINGLE, alike, close, numbers, rounded, rtol
from rmslab.diagnosis import answer, explain
from rmslab.step import BLANK, GRADED, Check, Json, Verdict, status_of

# Points of each named check. Without the first of a step nothing else is worth anything: identity, too,
# keeps dtypes and leaves its input alone.
WEIGHT = {"parameter": 3.0, "shape": 1.0, "ones": 1.0, "alone": 1.0}
NORM = {"value": 4.0, "epsilon": 2.0, "precision": 2.0, "gradient": 1.0, "purity": 1.0}
FORWARD = {"value": 4.0, "dtype": 2.0, "gradient": 1.0, "purity": 1.0}
MODULE = {"value": 2.0, "epsilon": 1.0, "dtype": 1.0, "training": 1.0, "purity": 1.0}


@dataclass(frozen=True)
class Finding:
    """Where one case departs from the contract."""

    kind: str
    facts: Json = field(default_factory=dict)
    case: Json = field(default_factory=dict)


# --- reference --------------------------------------------------------------------------------------------


def expected(case: Json, x: torch.Tensor) -> torch.Tensor:
    """γ · x / √(mean(x²) + ε) over the last axis, in float64; γ = 1 where the case has none."""
    y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + case["eps"])
    return y * gamma_of(case) if "gamma" in case else y


def gamma_of(case: Json) -> torch.Tensor:
    gamma = evidence.decode(case["gamma"])
    return gamma.to(getattr(torch, case.get("weight_dtype", "float32"))).double()


def expected_gradients(case: Json) -> dict[str, torch.Tensor]:
    """Gradients by autograd through :func:`expected`, keyed like the evidence."""
    x = evidence.decode(case["x"]).double().requires_grad_()
    gamma = gamma_of(case).requires_grad_() if "gamma" in case else None
    y = expected({k: v for k, v in case.items() if k != "gamma"}, x)
    y = y if gamma is None else y * gamma
    (y * evidence.decode(case["upstream"]).double()).sum().backward()
    return {"x_grad": x.grad} | ({} if gamma is None else {"gamma_grad": gamma.grad})


# --- one case ---------------------------------------------------------------------------------------------


def find(case: Json, seen: Any, dtype: str = "any") -> Finding | None:
    """The first departure of one observation from the contract, or None.

    ``dtype``: ``any``; ``wide`` (FP32 or FP64, and that precise); ``input`` (that of x).
    """
    if not isinstance(seen, dict):
        return Finding("nothing")
    if evidence.is_error(seen):
        return find_error(case, seen["error"])
    try:
        return FINDERS[case["kind"]](case, seen, dtype)
    except evidence.BadEvidence:
        return Finding("nothing")


ELSEWHERE = ("same device", "two devices", "expected device", "Cannot copy out of meta tensor")
"""What torch says when tensors lie on different devices, or are moved to another."""


def find_error(case: Json, error: Json) -> Finding | None:
    message = str(error.get("message"))
    if case.get("kind") == "meta" and not any(words in message for words in ELSEWHERE):
        return None  # control flow that needs values cannot run on meta; that proves nothing
    if error.get("type") == "LookupError":
        return Finding("no-parameter")
    facts = {"error": error.get("type"), "reason": message, "line": error.get("line", "")}
    facts["lineno"] = error.get("lineno") or ""
    return Finding("error", facts, told(case))


def find_y(case: Json, record: Any, dtype: str, x: torch.Tensor, role: str = "value") -> Finding | None:
    """Compare one recorded output for input ``x`` with the reference."""
    if not isinstance(record, dict) or "dtype" not in record:
        kind = record.get("type", "?") if isinstance(record, dict) else "?"
        return Finding("type", {"type": kind}, told(case))
    if record["shape"] != list(x.shape):
        return Finding("shape", {"shape": shape(record["shape"])}, told(case, want=shape(list(x.shape))))
    y, want = evidence.decode(record), expected(case, x.double())
    tolerance = RTOL_SINGLE
    if dtype == "wide" and y.dtype not in (torch.float32, torch.float64):
        return Finding("narrow", {"dtype": name(y.dtype)}, told(case, want="FP32"))
    if dtype == "input":
        tolerance = rtol(x.dtype)
        if y.dtype != x.dtype:
            return Finding("dtype", {"dtype": name(y.dtype)}, told(case, want=name(x.dtype)))
    good = close(y, want, tolerance)
    return None if good.all() else Finding(role, *row(case, x, y, want, good))


def find_call(case: Json, seen: Json, dtype: str) -> Finding | None:
    return find_y(case, seen.get("y"), dtype, evidence.decode(case["x"]))


def find_gradient(case: Json, seen: Json, dtype: str) -> Finding | None:
    x = evidence.decode(case["x"])
    if found := find_y(case, seen.get("y"), dtype, x):
        return found
    if not x.any():  # how steep a formula is at exactly 0 is its own affair, as long as it is finite
        steep = evidence.decode(seen["x_grad"]) if "x_grad" in seen else torch.zeros(1)
        return (
            None if steep.isfinite().all() else Finding("zero-gradient", {"got": numbers(steep)}, told(case))
        )
    for key, want in expected_gradients(case).items():
        if key not in seen:
            return Finding(f"no-{key}")
        got = evidence.decode(seen[key])
        if got.numel() != want.numel():
            return Finding(key, {"got": numbers(got)}, told(case))
        got = got.reshape(want.shape)
        good = close(got, want, 1e-3, atol=1e-4 * want.abs().max().item() + 1e-7)
        if not good.all():
            return Finding(key, *row(case, x, got, want, good))
    return None


def find_repeat(case: Json, seen: Json, dtype: str) -> Finding | None:
    x, other = evidence.decode(case["x"]), evidence.decode(case["other"])
    after = evidence.decode(seen.get("x_after"))
    calls = (("first", x, "value"), ("second", other, "stale"), ("again", x, "stale"), ("eval", x, "eval"))
    for key, given, role in calls:
        if found := find_y(case, seen.get(key), dtype, given, role):
            return found
    if after.shape != x.shape or not torch.equal(after, x):
        return Finding("mutated", {"got": numbers(after.reshape(-1, after.shape[-1])[0])}, told(case))
    return None if seen.get("state_kept") is True else Finding("state")


def find_parameters(case: Json, seen: Any) -> Finding | None:
    """Exactly one parameter, one number per feature, trainable (whatever its name)."""
    if isinstance(seen, list) and seen == [[[case["hidden_size"]], True]]:
        return None
    return Finding("parameters", {"count": len(seen) if isinstance(seen, list) else 0})


def find_meta(case: Json, seen: Json, dtype: str) -> Finding | None:
    if seen == {"placed": False}:
        return None
    record = seen.get("y")
    if not isinstance(record, dict) or record.get("shape") != case["x"]["shape"]:
        return Finding("device", {"device": str(seen.get("device"))})
    return None if seen.get("device") == "meta" else Finding("device", {"device": str(seen.get("device"))})


FINDERS: dict[str, Callable[[Json, Json, str], Finding | None]] = {
    "call": find_call,
    "gradient": find_gradient,
    "repeat": find_repeat,
    "meta": find_meta,
}


# --- telling ----------------------------------------------------------------------------------------------


def name(dtype: torch.dtype) -> str:
    short = {"float16": "FP16", "bfloat16": "BF16", "float32": "FP32", "float64": "FP64"}
    return short.get(evidence.dtype_name(dtype), evidence.dtype_name(dtype))


def shape(sizes: list[int]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def told(case: Json, **more: Any) -> Json:
    """The circumstances of a case, for a reader who may see its input."""
    if "x" not in case:
        return dict(more)
    x = evidence.decode(case["x"])
    return {"x_shape": shape(list(x.shape)), "x_dtype": name(x.dtype), "eps": f"{case['eps']:g}"} | more


def row(case: Json, x: torch.Tensor, got: torch.Tensor, want: torch.Tensor, good: torch.Tensor) -> tuple:
    """Facts (the student's numbers) and case (input and contract) of the first row that is off."""
    if got.ndim == 0 or got.shape != x.shape:
        facts = {"got": numbers(got), "index": 1, "sum": "", "length": ""}
        return facts, told(case, got=numbers(got), want=numbers(want))
    d = x.shape[-1]
    index = int((~good.reshape(-1, d).all(-1)).nonzero()[0])
    g, w = got.reshape(-1, d)[index], want.reshape(-1, d)[index]
    facts = {
        "got": numbers(g),
        "index": index + 1,
        "sum": rounded(float(g.double().sum())),
        "length": rounded(float(g.double().norm())),
    }
    values = {"x_row": [float(v) for v in x.reshape(-1, d)[index]]}
    values |= {"got_row": [float(v) for v in g], "want_row": [float(v) for v in w]}
    values = {k: v for k, v in values.items() if all(abs(n) < float("inf") for n in v)}
    return facts, told(
        case, x=numbers(x.reshape(-1, d)[index]), got=numbers(g), want=numbers(w), index=index + 1, **values
    )


# --- one step ---------------------------------------------------------------------------------------------

Findings = dict[str, list[Finding | None]]


def read(observed: Any, target: str, check: str, i: int) -> Any:
    """One observation out of evidence that may be damaged."""
    try:
        return observed[target][check][i]
    except (KeyError, IndexError, TypeError):
        return None


def examine(inputs: Json, observed: Any, cases: str, target: str) -> Findings:
    """Findings per check for one target."""
    found: Findings = {}
    for check, group in inputs[cases].items():
        found[check] = []
        for i, case in enumerate(group):
            seen = read(observed, target, check, i)
            dtype = "input" if check == "dtype" else "any"
            if check == "precision":  # where there is no _norm, forward answers, in the dtype of x
                dtype = "wide" if isinstance(seen, dict) and "whole" in seen else "input"
                if evidence.is_error(seen):
                    dtype = "wide"
            finding = find(case, seen, dtype)
            if finding is None and check == "training":
                finding = find_parameters(case, seen.get("parameters"))
            found[check].append(finding)
    return found


def trace(observed: Any) -> list[list[str]]:
    """The recorded operations, if they have the form they should; notes are keys of the catalogue."""
    rows = observed.get("trace") if isinstance(observed, dict) else None
    notes = ("", "raised", "lowered", "half-statistic")
    sound = [
        row for row in (rows if isinstance(rows, list) else [])[:60]
        if isinstance(row, list) and len(row) == 4
        and all(isinstance(cell, str) for cell in row) and row[3] in notes
    ]  # fmt: skip
    return [[cell[:80] for cell in row] for row in sound]


def signature(case: Json, seen: Any) -> Any:
    """An observation reduced to what identifies a mistake."""
    if not isinstance(seen, dict):
        return seen
    if "whole" in seen:
        seen = seen | {"whole": find(case | {"kind": "call"}, {"y": seen["whole"]}, "input") is None}
    if case["kind"] == "call" and case["x"]["dtype"] in ("float16", "bfloat16"):
        try:  # what was computed in half precision wobbles in half precision, whatever dtype it ends in
            y = evidence.decode(seen.get("y"))
        except evidence.BadEvidence:
            return seen
        half = y.to(getattr(torch, case["x"]["dtype"]))
        return seen | {"y": evidence.encode(half), "dtype": evidence.dtype_name(y.dtype)}
    return seen


def conclude(step: str, table: dict[str, float], found: Findings, diagnosis: Callable) -> Verdict:
    """Points, status and the first failure, from the findings of each check in ``table``."""
    failed = {check: next((f for f in found.get(check, []) if f), None) for check in table}
    core = next(iter(table))
    checks = tuple(
        Check(check, points, failed[check] is None and failed[core] is None)
        for check, points in table.items()
    )
    points = sum(check.points for check in checks if check.passed)
    first = next((check for check in table if failed[check]), None)
    if first is None:
        return Verdict(step, points, sum(table.values()), GRADED, checks)
    finding = failed[first]
    status = GRADED
    if finding.kind == "error" and points == 0:
        status = status_of({"type": finding.facts["error"], "message": finding.facts["reason"]})
    return Verdict(
        step,
        points,
        sum(table.values()),
        status,
        checks,
        gated=True,
        diagnosis=() if status == BLANK else diagnosis(first, failed),
        failure=f"{step}.{first}.{finding.kind}",
        facts=finding.facts,
        case=finding.case,
    )


class Given:
    """Inputs that can be a key of a cache: equal text, equal inputs."""

    def __init__(self, inputs: Json):
        self.inputs, self.text = inputs, evidence.dumps(inputs)

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given) and self.text == other.text


@lru_cache(maxsize=8192)
def evidence_of(probe: Callable, given: Given, parts: tuple[type, ...]) -> Json:
    """What the reference with those parts replaced shows on the same inputs."""
    return probe(given.inputs, answer(parts, mistakes.RMSNormInParts))


def _ends(flags: list[bool]) -> tuple[int, int]:
    """Positions of the first and the last True."""
    return flags.index(True), len(flags) - 1 - flags[::-1].index(True)


def diagnose(
    inputs: Json,
    observed: Any,
    probe: Callable,
    cases: str,
    target: str,
    examine_all: Callable[[Json, Any], Findings],
    found: Findings,
) -> tuple[str, ...]:
    """Mistakes that fail the same checks in the same way."""
    failing = [check for check, group in found.items() if any(group)]
    # The first and the last failing case of each failing check rule out almost everything.
    few = [(c, i) for c in failing for i in sorted({*_ends([bool(f) for f in found[c]])})]
    empty: Json = {group: {} for group in inputs}
    screens = [Given(empty | {cases: {c: [inputs[cases][c][i]]}}) for c, i in few]
    whole = Given(inputs)

    def sign(evidence_there: Any, check: str, case: int, row: int) -> Any:
        return signature(inputs[cases][check][case], read(evidence_there, target, check, row))

    def shows(parts: tuple[type, ...], n: int) -> Any:
        check, case = few[n]
        return sign(evidence_of(probe, screens[n], parts), check, case, 0)

    def confirm(parts: tuple[type, ...]) -> bool:
        theirs = evidence_of(probe, whole, parts)
        if [c for c, group in examine_all(inputs, theirs).items() if any(group)] != failing:
            return False
        return all(
            alike(sign(observed, c, k, k), sign(theirs, c, k, k))
            for c in failing
            for k in range(len(inputs[cases][c]))
        )

    seen = [sign(observed, c, i, i) for c, i in few]
    return explain(mistakes.MISTAKES, seen, shows, alike, confirm)


def plain(step: str, table: dict[str, float], target: str) -> Callable[[Json, Any, Callable], Verdict]:
    """A judge of one target, nothing substituted."""

    def examined(inputs: Json, observed: Any) -> Findings:
        return examine(inputs, observed, target, target)

    def verdict(inputs: Json, observed: Any, probe: Callable) -> Verdict:
        found = examined(inputs, observed)
        return conclude(
            step,
            table,
            found,
            lambda first, failed: diagnose(inputs, observed, probe, target, target, examined, found),
        )

    return verdict


norm = plain("rmsnorm-norm", NORM, "norm")
module = plain("rmsnorm-module", MODULE, "module")


def blamed(inputs: Json, observed: Any) -> bool:
    """Whether ``_norm`` is at fault on its own cases."""
    return any(any(group) for group in examine(inputs, observed, "norm", "norm").values())


def forward(inputs: Json, observed: Any, probe: Callable) -> Verdict:
    """``forward`` as it is; where ``_norm`` is broken, with a sound one instead, check by check."""

    def examined(inputs: Json, observed: Any) -> Findings:
        own = examine(inputs, observed, "forward", "own")
        if not any(any(group) for group in own.values()) or not blamed(inputs, observed):
            return own
        graft = examine(inputs, observed, "forward", "graft")
        return {check: graft[check] if any(own[check]) else own[check] for check in own}

    found = examined(inputs, observed)
    target = "graft" if blamed(inputs, observed) else "own"
    return conclude(
        "rmsnorm-forward",
        FORWARD,
        found,
        lambda first, failed: diagnose(inputs, observed, probe, "forward", target, examined, found),
    )


# --- the weight -------------------------------------------------------------------------------------------


def learns(case: Json, seen: Json) -> bool:
    """Whether what flowed back into the weight is what was sent."""
    try:
        gradient = evidence.decode(seen.get("gradient")).double()
    except evidence.BadEvidence:
        return False
    want = torch.full_like(gradient, case["upstream"])
    return gradient.numel() > 0 and bool(close(gradient, want, RTOL_SINGLE).all())


def find_weight(case: Json, seen: Any) -> dict[str, Finding | None]:
    """Findings per check for one constructed module."""
    if not isinstance(seen, dict):
        return {"parameter": Finding("nothing")}
    if evidence.is_error(seen):
        return {"parameter": find_error(case, seen["error"])}
    d, kind = case["hidden_size"], seen.get("kind")
    found: dict[str, Finding | None] = {}
    if kind != "parameter":
        names = ", ".join(str(n) for n, _ in seen.get("parameters", []))
        found["parameter"] = Finding("renamed" if "alias" in seen else "kind", {"type": kind, "names": names})
    elif not seen.get("trainable") or not learns(case, seen):
        found["parameter"] = Finding("frozen")
    value = seen.get("value", {})
    if value.get("shape") != [d]:
        got = shape(value["shape"]) if "shape" in value else str(kind)
        found["shape"] = Finding("shape", {"shape": got}, {"want": f"({d},)"})
    try:
        tensor = evidence.decode(value)
        if not (tensor == 1).all():
            found["ones"] = Finding("ones", {"got": numbers(tensor)})
    except evidence.BadEvidence:
        found["ones"] = Finding("nothing")
    extra = [n for n, _ in seen.get("parameters", []) if n != "weight"]
    if kind == "parameter" and extra:
        found["alone"] = Finding("alone", {"names": ", ".join(extra)})
    return found


def examine_weight(inputs: Json, observed: Any) -> Findings:
    found: Findings = {check: [] for check in WEIGHT}
    for i, case in enumerate(inputs["weight"]["parameter"]):
        one = find_weight(case, read(observed, "weight", "parameter", i))
        for check in WEIGHT:
            found[check].append(one.get(check))
    return found


def weight_signature(seen: Any) -> Any:
    """Kind, shape, whether all ones, and how many parameters: names and random values do not matter."""
    if not isinstance(seen, dict) or evidence.is_error(seen):
        return seen
    value = seen.get("value", {})
    try:
        ones = bool((evidence.decode(value) == 1).all())
    except evidence.BadEvidence:
        ones = None
    shapes = sorted(sizes for _, sizes in seen.get("parameters", []))
    return {"kind": seen.get("kind"), "shape": value.get("shape"), "ones": ones, "shapes": shapes} | {
        "trainable": seen.get("trainable"),
        "alias": "alias" in seen,
    }


def weight(inputs: Json, observed: Any, probe: Callable) -> Verdict:
    found = examine_weight(inputs, observed)
    cases = range(len(inputs["weight"]["parameter"]))
    given = Given(inputs)

    def shows(parts: tuple[type, ...], n: int) -> Any:
        return weight_signature(read(evidence_of(probe, given, parts), "weight", "parameter", n))

    seen = [weight_signature(read(observed, "weight", "parameter", i)) for i in cases]

    def diagnosis(first: str, failed: Any) -> tuple[str, ...]:
        return explain(mistakes.MISTAKES, seen, shows, alike, lambda parts: True)

    return conclude("rmsnorm-weight", WEIGHT, found, diagnosis)
