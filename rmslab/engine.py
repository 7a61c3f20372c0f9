"""``check``: judge one answer at once, and show what follows from it.

In a lesson, probe and judge run in one process on visible inputs. A grader runs :func:`observe` beside the
student's code and :func:`judge` in its own process, on inputs that nobody has seen.
"""

import contextlib
import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch

from rmslab import card, evidence
from rmslab.capture import capture
from rmslab.checks import STEPS
from rmslab.step import BLANK, ERROR, VISIBLE_SEED, Json, Step, Verdict, status_of

SCORES: dict[str, "Score"] = {}
"""The latest score of each step checked in this process."""
COLLECTIONS = (dict, list, tuple, set)


class Score:
    """A step's score. ``repr`` is the plain number that nbgrader reads as partial credit; HTML, the card."""

    def __init__(self, verdict: Verdict, output: str = ""):
        self.verdict = verdict
        self.output = output

    def __float__(self) -> float:
        return float(min(max(self.verdict.points, 0.0), self.verdict.max_points))

    def __repr__(self) -> str:
        return repr(float(self))

    def _repr_html_(self) -> str:
        return card.html(self.verdict, self.output)


def find(step_id: str) -> Step:
    """The step of that id.

    Raises:
        LookupError: there is none; the message lists those there are.
    """
    try:
        return STEPS[step_id]
    except KeyError:
        raise LookupError(f"没有叫 {step_id!r} 的步骤。可用的步骤：{'、'.join(STEPS)}") from None


def answers(step_id: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """What a step asks for, as it is now: further down, a name may be used for something else."""
    names = STEPS[step_id].arguments if step_id in STEPS else ()
    return {name: _copied(namespace[name]) for name in names if name in namespace}


def _copied(value: Any) -> Any:
    """Collections as they are now, anything else itself."""
    if type(value) in COLLECTIONS:
        with contextlib.suppress(Exception):
            return copy.deepcopy(value)
    return value


def differ(kept: dict[str, Any], namespace: dict[str, Any]) -> bool:
    """Whether any of the :func:`answers` kept is no longer what its name stands for."""
    for name, value in kept.items():
        now = namespace.get(name)
        try:
            if not (now is value or (type(value) in COLLECTIONS and now == value)):
                return True
        except Exception:
            return True
    return False


@contextlib.contextmanager
def fresh_torch() -> Iterator[None]:
    """Torch's switches as after its import: what some cell left on or off is not part of the answer."""
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with contextlib.ExitStack() as switches:
            switches.enter_context(torch.inference_mode(False))  # and gradients are recorded
            if torch.get_default_device().type != "cpu":
                switches.enter_context(torch.device("cpu"))
            yield
    finally:
        torch.set_default_dtype(dtype)


def observe(step: Step, inputs: Json, *answers: Any) -> tuple[Json, str]:
    """Run the step's probe on ``answers``: (evidence, what student code printed meanwhile)."""
    if not answers or any(answer is ... or answer is None for answer in answers):
        return {"blank": True}, ""
    with capture() as captured, fresh_torch():
        observed = step.probe(inputs, *answers)
    return observed, captured.text


def judge(step: Step, inputs: Json, observed: Any) -> Verdict:
    """The verdict on evidence, however damaged."""
    if observed == {"blank": True}:
        return Verdict(step.id, 0.0, step.points, BLANK, failure=BLANK)
    if evidence.is_error(observed):  # the test cell itself raised, before any probe
        error = observed["error"]
        facts = {"error": error.get("type"), "reason": error.get("message")}
        missing = re.match(r"name '(\w+)' is not defined", str(error.get("message")))
        failure = "error"
        if error.get("type") == "NameError" and missing and missing[1] in step.arguments:
            failure, facts["name"] = "undefined", missing[1]
        return Verdict(step.id, 0.0, step.points, status_of(error), failure=failure, facts=facts)
    try:
        return step.judge(inputs, observed)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError):
        return Verdict(step.id, 0.0, step.points, ERROR, failure="nothing")


@cache
def visible_inputs(step_id: str) -> str:
    return evidence.dumps(STEPS[step_id].inputs(VISIBLE_SEED))


def check(step_id: str, *answers: Any) -> Score:
    """Check one step of a lesson on visible inputs.

    Args:
        step_id: the step, for example ``"rmsnorm-norm"``.
        *answers: the class, function or literals that the step asks for.

    Returns:
        A :class:`Score`; shown in a notebook it is the feedback card.

    Raises:
        LookupError: no such step.
    """
    step = find(step_id)
    with fresh_torch():
        inputs = json.loads(visible_inputs(step_id))
        observed, output = observe(step, inputs, *answers)
        # Evidence takes the way through JSON here too, so that a lesson and a grader see the same.
        score = Score(judge(step, inputs, json.loads(evidence.dumps(observed))), output)
    SCORES[step_id] = score
    return score
