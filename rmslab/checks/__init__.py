"""Every graded step of every lesson. A lesson's checks live in files that begin with its subject."""

from rmslab.checks import geometry, hand, implementation, motivation
from rmslab.step import Step

STEPS: dict[str, Step] = {
    step.id: step for step in (*motivation.STEPS, *hand.STEPS, *geometry.STEPS, *implementation.STEPS)
}


def steps_of(lesson: str) -> list[Step]:
    """The lesson's steps, in the order in which they are worked on."""
    return [step for step in STEPS.values() if step.lesson == lesson]


LESSONS: tuple[str, ...] = tuple(dict.fromkeys(step.lesson for step in STEPS.values()))
