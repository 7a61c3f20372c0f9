"""Which catalogued mistake behaves exactly like this answer?

A misconception is a wrong answer that can be run. Its evidence on the same inputs is compared with the
student's on the checks that fail; nothing is ever concluded from the text of the code.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any


@dataclass(frozen=True)
class Mistake:
    """One way of behaving wrongly. Several may share an id: different code, one misconception."""

    id: str
    family: str
    part: type
    """Mixin that replaces one part of the reference."""


Parts = tuple[type, ...]


def explain(
    mistakes: Sequence[Mistake],
    seen: Sequence[Any],
    shows: Callable[[Parts, int], Any],
    same: Callable[[Any, Any], bool],
    confirm: Callable[[Parts], bool],
) -> tuple[str, ...]:
    """Ids of the mistake, or else the pair from different families, that behaves exactly so; else ``()``.

    Args:
        mistakes: in the order of the course's labels ①–⑤, so that of a pair the earlier one is named first.
        seen: the student's observations on a few cases on which they fail.
        shows: (parts, i) → the i-th of those observations for the reference with some parts replaced.
        same: whether two observations are alike.
        confirm: the full comparison, for those that agree on the few cases.
    """
    few = range(len(seen))

    def fits(parts: Parts, i: int) -> bool:
        return same(seen[i], shows(parts, i))

    for mistake in mistakes:
        if all(fits((mistake.part,), i) for i in few) and confirm((mistake.part,)):
            return (mistake.id,)

    # On a case where only one of two mistakes shows, the pair shows what that one shows: nothing to run.
    right = [shows((), i) for i in few]
    active = [[not same(right[i], shows((m.part,), i)) for i in few] for m in mistakes]
    fit = [[fits((m.part,), i) for i in few] for m in mistakes]

    def possible(m: int, n: int) -> bool:
        return all(
            (active[m][i] and active[n][i]) or (active[m][i] and fit[m][i]) or (active[n][i] and fit[n][i])
            for i in few
        )

    for m, n in combinations(range(len(mistakes)), 2):
        if mistakes[m].family == mistakes[n].family or not possible(m, n):
            continue
        pair = (mistakes[m].part, mistakes[n].part)
        both = [i for i in few if active[m][i] and active[n][i]]
        if all(fits(pair, i) for i in both) and confirm(pair):
            return mistakes[m].id, mistakes[n].id
    return ()


def answer(parts: Parts, reference: type) -> Any:
    """The reference with the given parts replaced, as a class."""
    return type("RMSNorm", (*parts, reference), {})
