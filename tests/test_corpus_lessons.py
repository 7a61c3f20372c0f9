"""The grader against a corpus of answers to the lessons before 04.

Each entry goes the way of a submission: source → cell → probe → JSON → judge, on the visible seed and on two
that nobody has seen.
"""

import json
import linecache
from functools import cache

import corpus_concepts
import corpus_hand
import pytest
from corpus_hand import Answers

from rmslab import engine, evidence
from rmslab.card import html, message
from rmslab.checks import STEPS, steps_of
from rmslab.step import VISIBLE_SEED, Verdict

SEEDS = (VISIBLE_SEED, "secret 1", "secret 2")
CORPORA = {
    "01-motivation": corpus_concepts.MOTIVATION,
    "02-hand-calculation": corpus_hand.ENTRIES,
    "03-geometry": corpus_concepts.GEOMETRY,
}
RIGHT_ANSWERS = {
    "01-motivation": corpus_concepts.MOTIVATION_ANSWERS,
    "02-hand-calculation": corpus_hand.RIGHT_ANSWERS,
    "03-geometry": corpus_concepts.GEOMETRY_ANSWERS,
}
LESSON_OF = {entry: lesson for lesson, entries in CORPORA.items() for entry in entries}


def named(entries: list[Answers]) -> list:
    return [pytest.param(entry, id=f"{LESSON_OF[entry][:2]}-{entry.name}") for entry in entries]


ALL = [entry for entries in CORPORA.values() for entry in entries]
RIGHT = named([entry for entry in ALL if entry.right])
WRONG = named([entry for entry in ALL if not entry.right])


@cache
def cells(entry: Answers) -> dict:
    """What the student's cells define, after the right answers to the others."""
    filename, source = f"<cell {entry.name}>", RIGHT_ANSWERS[LESSON_OF[entry]] + entry.source
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    names: dict = {"__name__": "__main__"}
    exec(compile(source, filename, "exec"), names)
    return names


@cache
def verdict(entry: Answers, step_id: str, seed: str) -> Verdict:
    step = STEPS[step_id]
    inputs = json.loads(evidence.dumps(step.inputs(seed)))
    given = [cells(entry)[name] for name in step.arguments]
    observed, _ = engine.observe(step, inputs, *given)
    return engine.judge(step, inputs, json.loads(evidence.dumps(observed)))


def verdicts(entry: Answers):
    for seed in SEEDS[1:] if entry.only_unseen else SEEDS:
        for step in steps_of(LESSON_OF[entry]):
            yield step, verdict(entry, step.id, seed)


@pytest.mark.parametrize("entry", RIGHT)
def test_right_gets_full_points(entry):
    for step, found in verdicts(entry):
        assert found.passed and found.points == step.points, found


@pytest.mark.parametrize("entry", WRONG)
def test_wrong_loses_what_it_must_and_no_more(entry):
    for step, found in verdicts(entry):
        assert found.points == pytest.approx(entry.loses.get(step.id, (None, step.points))[1]), found
        assert found.passed == (step.id not in entry.loses), found


@pytest.mark.parametrize("entry", WRONG)
def test_a_mistake_is_called_by_its_name(entry):
    for step, found in verdicts(entry):
        if step.id in entry.loses:
            wanted = entry.loses[step.id][0]
            assert found.diagnosis == ((wanted,) if isinstance(wanted, str) else wanted or ()), found
            assert message(found) and html(found)


def test_what_was_learnt_by_heart_passes_only_where_it_was_learnt():
    by_heart = [entry for entry in ALL if entry.only_unseen]
    assert by_heart
    for entry in by_heart:
        assert all(verdict(entry, step_id, VISIBLE_SEED).passed for step_id in entry.loses)


def test_sizes_of_the_corpora():
    entries = corpus_hand.ENTRIES
    assert sum(not e.right for e in entries) >= 60 and sum(e.right for e in entries) >= 15
    for lesson, entries in CORPORA.items():
        assert len({entry.name for entry in entries}) == len(entries)
        assert {step.id for step in steps_of(lesson)} == {step_id for e in entries for step_id in e.loses}
