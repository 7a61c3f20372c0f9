"""Which catalogued mistake behaves exactly like this answer?

A misconception is a wrong answer that can be run. Its evidence on the same inputs is compared with the
student's on the checks that fail; nothing is ever concluded from the text of the code.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any


@dataclass(frozen=True)
class Mistake:
    """One way of behaving wrongly. Several may share an id: different code, one misconception."""

    id: str
    family: str
    part: type
    """Mixin that replaces one part of the reference."""


def explain(
    mistakes: Sequence[Mistake],
    matches: Callable[[tuple[type, ...]], bool],
    pairs: Iterable[tuple[Mistake, Mistake]] = (),
) -> tuple[Mistake, ...]:
    """The mistake, or else the pair among ``pairs``, for which ``matches`` holds; else ``()``.

    ``mistakes`` are in the order of the course's labels ①–⑤, and so is a pair.
    """
    for candidate in chain(((m,) for m in mistakes), pairs):
        if matches(tuple(m.part for m in candidate)):
            return candidate
    return ()


@lru_cache(maxsize=1 << 12)
def answer(parts: tuple[type, ...], reference: type) -> Any:
    """The reference with the given parts replaced, as a class."""
    return type("RMSNorm", (*parts, reference), {})
