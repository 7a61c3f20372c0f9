"""04-implementation: what is right. Pure functions from inputs and evidence to verdicts.

The contract: statistic over the last axis, no centring, ε inside the root, at least FP32, one weight per
feature, shape and dtype of the input, no mutation, differentiable. References are computed in float64 from
the formula (Zhang & Sennrich 2019, with ε inside as in T5, LLaMA and torch.nn.RMSNorm).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any

import torch

from rmslab import evidence
from rmslab.checks import implementation_mistakes as mistakes
from rmslab.compare import RTOL, RTOL_SINGLE, alike, close, numbers, rounded, rtol
from rmslab.diagnosis import Mistake, answer, explain
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

    ``dtype``: ``any``; ``half`` (any, as precise as x); ``wide`` (FP32 or FP64, and that precise); ``input``
    (that of x).
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
    if dtype in ("half", "input"):
        tolerance = rtol(x.dtype)
        if dtype == "input" and y.dtype != x.dtype:
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
        good = close(got, want, 1e-3, atol=1e-4 * want.abs().max().item() + 2e-6)
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
            finding = find(case, seen, dtype_asked(check, seen))
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


def dtype_asked(check: str, seen: Any) -> str:
    """What a check asks of the dtype, in the words of :func:`find`."""
    if check == "precision":  # where there is no _norm, forward answers, and its dtype is for the next step
        return "wide" if evidence.is_error(seen) or (isinstance(seen, dict) and "whole" in seen) else "half"
    return "input" if check == "dtype" else "any"


def signature(case: Json, seen: Any) -> Any:
    """An observation reduced to what identifies a mistake."""
    if not isinstance(seen, dict):
        return seen
    try:
        y = evidence.decode(seen.get("y"))
    except evidence.BadEvidence:
        return seen
    if "whole" in seen:  # says something only where _norm did not raise precision
        whole = y.dtype in RTOL and find(case | {"kind": "call"}, {"y": seen["whole"]}, "input") is None
        seen = seen | {"whole": whole}
    if case["kind"] == "call" and case["x"]["dtype"] in ("float16", "bfloat16"):
        # What was computed in half precision wobbles in half precision, whatever dtype it ends in.
        half = y.to(getattr(torch, case["x"]["dtype"]))
        return seen | {"y": evidence.encode(half), "dtype": evidence.dtype_name(y.dtype)}
    if case["kind"] == "gradient" and "x_grad" in seen:
        steep = evidence.decode(seen["x_grad"])
        if not evidence.decode(case["x"]).any():  # how steep a formula is at exactly 0 is its own affair
            return seen | {"x_grad": bool(steep.isfinite().all())}
        # Beside ten times its ordinary size: what cancels to almost nothing is compared as nothing.
        x, upstream = evidence.decode(case["x"]), evidence.decode(case["upstream"])
        size = 10 * upstream.abs().max() * y.abs().max() / x.abs().max()
        steep = torch.cat([steep.reshape(-1), size.reshape(1).to(steep.dtype)])
        return seen | {"x_grad": evidence.encode(steep.to(y.dtype) if y.dtype in RTOL else steep)}
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


@lru_cache(maxsize=1 << 15)
def evidence_of(probe: Callable, given: Given, parts: tuple[type, ...]) -> Json:
    """What the reference with those parts replaced shows on the same inputs."""
    return probe(given.inputs, answer(parts, mistakes.RMSNormInParts))


class Comparison:
    """One answer's failing checks beside what a mistake shows on them, case by case, failures first."""

    def __init__(
        self, inputs: Json, observed: Any, probe: Callable, cases: str, target: str, found: Findings
    ) -> None:
        self.inputs, self.observed, self.probe = inputs, observed, probe
        self.cases, self.target, self.found = cases, target, found
        self.failing = [check for check, group in found.items() if any(group)]
        places = [(check, k) for check in self.failing for k in range(len(found[check]))]
        self.places = sorted(places, key=lambda place: not found[place[0]][place[1]])  # failures first
        self.failures = [place for place in self.places if found[place[0]][place[1]]]
        passed = [check for check in found if check not in self.failing]
        self.passed = [(check, k) for check in passed for k in range(len(found[check]))]
        empty = {group: {} for group in inputs}
        self.keys = {
            (check, k): Given(empty | {cases: {check: [inputs[cases][check][k]]}, "only": target})
            for check, k in (*self.places, *self.passed)
        }
        self.all = Given(inputs)
        self.known: dict[tuple, bool] = {}
        self.signatures: dict[tuple[str, int], Any] = {}

    def shows(self, place: tuple[str, int], parts: tuple[type, ...]) -> Any:
        return read(evidence_of(self.probe, self.keys[place], parts), self.target, place[0], 0)

    def same(self, place: tuple[str, int], there: Any) -> bool:
        check, k = place
        case, here = self.inputs[self.cases][check][k], read(self.observed, self.target, check, k)
        if case["kind"] == "meta" and evidence.is_error(here) and self.found[check][k] is None:
            return True  # values are needed there, which proves nothing
        if place not in self.signatures:
            self.signatures[place] = signature(case, here)
        return alike(self.signatures[place], signature(case, there))

    def fits(self, place: tuple[str, int], parts: tuple[type, ...]) -> bool:
        """Whether the mistake shows what the answer shows in one case."""
        key = (place, parts)
        if key not in self.known:
            wrong = self.found[place[0]][place[1]] is not None
            try:  # alike up to rounding is not enough where only one of the two is within the contract
                self.known[key] = self.same(place, self.shows(place, parts)) and (
                    place[0] == "training" or wrong != self.passes(place, parts)
                )
            except evidence.BadEvidence:
                self.known[key] = False
        return self.known[key]

    def idle(self, place: tuple[str, int], part: type, mode: tuple[type, ...]) -> bool:
        """Whether the mistake leaves one case as it is without it (at ordinary scales: up to ε = 1e-6)."""
        key = (place, part, mode)
        if key not in self.known:
            plain, changed = self.shows(place, mode), self.shows(place, (*mode, part))
            if place[0] == "value" and "y" in plain and "y" in changed and "data" in changed["y"]:
                x, y = evidence.decode(plain["y"]), evidence.decode(changed["y"])
                self.known[key] = x.dtype == y.dtype and x.shape == y.shape and bool(close(y, x, 1e-5).all())
            else:
                self.known[key] = plain == changed
        return self.known[key]

    def passes(self, place: tuple[str, int], parts: tuple[type, ...]) -> bool:
        """Whether the mistake passes one case."""
        key = (place, parts, "passes")
        if key not in self.known:
            case, shown = self.inputs[self.cases][place[0]][place[1]], self.shows(place, parts)
            self.known[key] = find(case, shown, dtype_asked(place[0], shown)) is None
        return self.known[key]

    def likely(self, mode: tuple[type, ...]) -> Iterator[tuple[Mistake, Mistake]]:
        """Pairs that agree with the answer in each case.

        Trying all pairs would take seconds. But somewhere one of two mistakes shows alone: where the other
        has no effect. So the first one is looked for in a few cases, and the second one where it fails.
        """
        tried = set()
        for place in self.telling_places():
            for a in mistakes.MISTAKES:
                alone = (*mode, a.part)
                if a in tried or self.idle(place, a.part, mode) or not self.fits(place, alone):
                    continue
                tried.add(a)
                rest = next((p for p in self.places if not self.fits(p, alone)), None)
                for b in mistakes.MISTAKES if rest else ():
                    pair = tuple(sorted((a, b), key=mistakes.MISTAKES.index))
                    parts = (*mode, *(m.part for m in pair))
                    if a.family != b.family and self.fits(rest, parts) and self.agree_everywhere(parts):
                        yield pair

    def telling_places(self) -> list[tuple[str, int]]:
        """Of each failing check the first failing call, and that with the largest ε, which drowns much."""
        cases = self.inputs[self.cases]
        calls = [p for p in self.failures if cases[p[0]][p[1]]["kind"] == "call"] or self.failures
        of_check = [[p for p in calls if p[0] == check] for check in self.failing]
        found = [(own[0], max(own, key=lambda p: cases[p[0]][p[1]]["eps"])) for own in of_check if own]
        return list(dict.fromkeys(chain.from_iterable(found)))

    def agree_everywhere(self, parts: tuple[type, ...]) -> bool:
        return all(self.fits(place, parts) for place in self.places) and all(
            self.passes(place, parts) for place in self.passed
        )

    def matches(self, parts: tuple[type, ...], examine_all: Callable[[Json, Any], Findings]) -> bool:
        if not all(self.fits(place, parts) for place in self.places):
            return False
        theirs = examine_all(self.inputs, evidence_of(self.probe, self.all, parts))
        return [check for check, group in theirs.items() if any(group)] == self.failing


def without_norm(observed: Any) -> bool:
    """Whether the class has no ``_norm`` of its own, so that ``forward`` was judged in its place."""
    group = observed.get("norm", {}).get("precision", [])
    seen = [one for one in group if isinstance(one, dict) and not evidence.is_error(one)]
    return bool(seen) and not any("whole" in one for one in seen)


def diagnose(
    inputs: Json,
    observed: Any,
    probe: Callable,
    cases: str,
    target: str,
    examine_all: Callable[[Json, Any], Findings],
    found: Findings,
) -> tuple[str, ...]:
    """Mistakes that fail the same checks in the same way, made in ``_norm`` or else in ``forward``."""
    compared = Comparison(inputs, observed, probe, cases, target, found)
    inline = (mistakes.AllInForward,)
    modes = [inline] if without_norm(observed) else [(), inline] if target == "own" else [()]
    for mode, two in [(mode, False) for mode in modes] + [(modes[0], True)]:
        named = explain(
            () if two else mistakes.MISTAKES,
            lambda parts, mode=mode: compared.matches((*mode, *parts), examine_all),
            compared.likely(mode) if two else (),
        )
        if named:
            return named
    return ()


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
        reason = "kind" if seen.get("module") is True else "plain-class"
        found["parameter"] = Finding("renamed" if "alias" in seen else reason, {"type": kind, "names": names})
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
        "module": seen.get("module"),
    }


def weight(inputs: Json, observed: Any, probe: Callable) -> Verdict:
    found = examine_weight(inputs, observed)
    cases = range(len(inputs["weight"]["parameter"]))
    given = Given(inputs)

    def shown(there: Any) -> list[Any]:
        return [weight_signature(read(there, "weight", "parameter", i)) for i in cases]

    def diagnosis(first: str, failed: Any) -> tuple[str, ...]:
        # No pairs: a constructed module shows nothing but its weight.
        return explain(mistakes.MISTAKES, lambda parts: alike(seen, shown(evidence_of(probe, given, parts))))

    seen = shown(observed)
    return conclude("rmsnorm-weight", WEIGHT, found, diagnosis)
