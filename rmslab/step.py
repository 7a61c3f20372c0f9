"""A graded step: inputs → probe → evidence → judge → verdict.

This file holds the shapes that every lesson's steps share; what they ask is in :mod:`rmslab.checks`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

VISIBLE_SEED = "visible"
"""Seed of the inputs that a lesson shows. Grading uses a secret one per class."""

GRADED, BLANK, ERROR, MEMORY = "graded", "blank", "error", "memory"


def status_of(error: Json) -> str:
    """What a recorded exception means for a step that earned nothing."""
    if error.get("type") == "NotImplementedError":
        return BLANK
    out_of_memory = error.get("type") == "MemoryError" or "allocate memory" in str(error.get("message"))
    return MEMORY if out_of_memory else ERROR


@dataclass(frozen=True)
class Check:
    """One named property of an answer."""

    name: str
    points: float
    passed: bool


@dataclass(frozen=True)
class Verdict:
    """What a judge says of one answer to one step."""

    step: str
    points: float
    max_points: float
    status: str
    """``graded``; or ``blank``, ``error``, ``memory``: the student's code raised where it mattered most."""
    checks: tuple[Check, ...] = ()
    gated: bool = False
    """Nothing counts before the first check passes."""
    diagnosis: tuple[str, ...] = ()
    """Ids of the misconceptions that behave exactly so: none, one, or a pair from different families."""
    failure: str = ""
    """``step.check`` key of the first property that fails, for the message when no diagnosis fits."""
    facts: Json = field(default_factory=dict)
    """The student's own numbers, ready to be put into messages."""
    case: Json = field(default_factory=dict)
    """The failing case: input, the student's result and the contract's. Never shown when grading."""
    trace: list[list[str]] = field(default_factory=list)
    """The student's own computation on a known input: (operation, shape, dtype, note) in order."""

    @property
    def passed(self) -> bool:
        """Every check passes (also where, as in practice, nothing is scored)."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    @classmethod
    def load(cls, data: Json) -> "Verdict":
        """The verdict that ``dataclasses.asdict`` made ``data`` of, perhaps by way of JSON."""
        checks = tuple(Check(**check) for check in data["checks"])
        return cls(**data | {"checks": checks, "diagnosis": tuple(data["diagnosis"])})


@dataclass(frozen=True)
class Step:
    """One graded step of a lesson.

    Attributes:
        id: the grade_id of the test cell, ASCII.
        lesson: nbgrader's assignment id.
        points: full score.
        arguments: names that the lesson's test cell hands to ``check``.
        inputs: seed → strict JSON. Equal seeds give equal inputs.
        probe: (inputs, *objects) → evidence. Runs beside student code, records, never judges, never raises
            for what student code does.
        judge: (inputs, evidence) → verdict. Pure; owns the reference values.
        alone: what to add to the inputs so that the probe runs nothing that another step asks for: after a
            hang or a crash, which may have happened there. Empty where it never does.
    """

    id: str
    lesson: str
    points: float
    arguments: tuple[str, ...]
    inputs: Callable[[str], Json]
    probe: Callable[..., Json]
    judge: Callable[[Json, Any], Verdict]
    alone: Json = field(default_factory=dict)
