"""Every catalogued misconception cites the student's numbers, and some entry of a corpus shows it."""

import corpus_implementation
import corpus_second
import pytest
from test_corpus_lessons import CORPORA

from rmslab.catalogue import load
from rmslab.checks import (
    geometry_mistakes,
    hand_mistakes,
    implementation_mistakes,
    motivation_mistakes,
    steps_of,
)

WORDS = load()["misconception"]
KINDS = {
    "motivation": motivation_mistakes.IDS,
    "hand": hand_mistakes.IDS,
    "geometry": geometry_mistakes.IDS,
    "rmsnorm": {mistake.id for mistake in implementation_mistakes.MISTAKES},
}
"""First word of a lesson's steps → misconceptions that its judge can name."""


def shown() -> dict[str, set[str]]:
    """First word of a lesson's steps → misconceptions that entries of its corpus must be told."""
    found: dict[str, set[str]] = {}
    for lesson, entries in CORPORA.items():
        kind = steps_of(lesson)[0].id.partition("-")[0]
        named = [name for entry in entries for name, _ in entry.loses.values() if name]
        found[kind] = {one for name in named for one in ([name] if isinstance(name, str) else name)}
    entries = corpus_implementation.ENTRIES + corpus_second.ENTRIES
    return found | {"rmsnorm": {one for entry in entries for one in entry.misconception or ()}}


SHOWN = shown()


@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_of_the_corpus_shows_each(kind):
    assert not KINDS[kind] - SHOWN[kind]


@pytest.mark.parametrize("name", WORDS)
def test_its_words_are_told_somewhere_and_cite_the_student(name):
    told = [kind for kind, known in KINDS.items() if name in known]
    assert told and all(kind in told for kind in KINDS if kind in WORDS[name])
    for kind in told:
        assert (WORDS[name] | WORDS[name].get(kind, {}))["symptom"].startswith("{seen}")
