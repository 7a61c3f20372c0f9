"""Lesson 03: right answers of every spelling get full marks; every wrong one is told by its name."""

import itertools
import re

import pytest
import torch

from rmslab import check, engine, geometry_experiments
from rmslab.card import html, message
from rmslab.catalogue import entry
from rmslab.checks import geometry, geometry_judge, geometry_mistakes, steps_of
from rmslab.checks import geometry_parts as parts
from rmslab.prediction import predicted
from rmslab.step import BLANK

SEEDS = ("visible", "a", "b", "c")
STEPS = {"project": "geometry-project", "to_sphere": "geometry-sphere", "layernorm": "geometry-compose"}
MISTAKES = [
    pytest.param(name, i, id=f"{name}-{misconception}-{i}")
    for name, functions in geometry_mistakes.FUNCTIONS.items()
    for i, (misconception, _) in enumerate(functions)
]


def verdict(step, answer, seed="visible"):
    found = next(s for s in geometry.STEPS if s.id == step)
    inputs = found.inputs(seed)
    observed, _ = engine.observe(found, inputs, answer)
    return engine.judge(found, inputs, observed)


def composed(function):
    """A wrong composition as a student would define it, with parts of its own."""

    def layernorm(v, project=parts.project, to_sphere=parts.to_sphere):
        return function(v, project, to_sphere)

    return layernorm


def wrong(name, i):
    misconception, function = geometry_mistakes.FUNCTIONS[name][i]
    return misconception, composed(function) if name == "layernorm" else function


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "i"), MISTAKES)
def test_every_wrong_function_is_told_by_its_name(name, i, seed):
    misconception, function = wrong(name, i)
    found = verdict(STEPS[name], function, seed)
    assert found.diagnosis == (misconception,) and found.points < found.max_points
    assert not found.passed and message(found) and html(found)


@pytest.mark.parametrize("name", geometry_mistakes.FUNCTIONS)
def test_every_pair_of_misconceptions_differs_somewhere(name):
    step = next(s for s in geometry.STEPS if s.id == STEPS[name])
    inputs = step.inputs("visible")
    seen = [(*wrong(name, i), None) for i in range(len(geometry_mistakes.FUNCTIONS[name]))]
    shown = [(m, step.probe(inputs, function)) for m, function, _ in seen]
    for (a, x), (b, y) in itertools.combinations(shown, 2):
        assert a == b or x != y, (a, b)


def test_points_of_the_lesson():
    assert sum(step.points for step in steps_of("03-geometry")) == 15
    for step, table in geometry_judge.POINTS.items():
        assert sum(table.values()) == next(s for s in geometry.STEPS if s.id == step).points


def test_a_wrong_part_costs_only_its_own_step():
    def layernorm(v, project=lambda v: [0.0] * len(v), to_sphere=lambda v: 1 / 0):
        return to_sphere(project(v))

    assert verdict("geometry-compose", layernorm).passed


def test_nothing_counts_before_the_first_check():
    assert verdict("geometry-project", lambda v: [0.0] * len(v)).points == 0
    assert verdict("geometry-sphere", lambda v: [0.0] * len(v)).points == 0
    zero = verdict("geometry-sphere", lambda v: [a * len(v) ** 0.5 / parts.length(v) for a in v])
    assert zero.diagnosis == ("zero-vector",) and zero.points == 3


def todo(v, project=None, to_sphere=None):
    raise NotImplementedError("TODO")


@pytest.mark.parametrize("step", STEPS.values())
def test_unwritten_and_broken_functions(step):
    assert verdict(step, todo).status == BLANK and verdict(step, ...).status == BLANK
    for broken in (lambda v: 1 / 0, lambda v: v.mean(), 3, lambda: 0, lambda v: [..., None], lambda v: "a"):
        found = verdict(step, broken)
        assert found.points == 0 and html(found)


# --- angles and letters -----------------------------------------------------------------------------------


def test_angles_are_computed_and_right():
    wanted = {"mao": 24.095, "chi": 65.905, "yu": 90, "outputs": 65.905}
    assert {k: round(v, 3) for k, v in geometry_judge.ANGLES.items()} == wanted
    rounded, tensors = (
        {k: round(v, 1) for k, v in wanted.items()},
        {k: torch.tensor(v) for k, v in wanted.items()},
    )
    for given in (wanted, rounded, tensors):
        assert verdict("geometry-angle", given).points == 2


@pytest.mark.parametrize(("misconception", "item", "value"), geometry_mistakes.ANGLES)
def test_wrong_angles(misconception, item, value):
    right = {k: round(v, 3) for k, v in geometry_judge.ANGLES.items()}
    if abs(value - right[item]) < geometry_judge.TOLERANCE:  # 鱼 looks the same either way
        return
    given = right | {item: round(value, 3)}
    if item == "mao":
        given["outputs"] = round(90 - value, 3) if 0 < value < 90 else right["outputs"]
    found = verdict("geometry-angle", given)
    assert 1 <= found.points < 2 and html(found)
    meant = [m for m, where, v in geometry_mistakes.ANGLES if where == item and abs(v - value) < 1e-9]
    assert found.diagnosis == (tuple(set(meant)) if len(set(meant)) == 1 else ())


@pytest.mark.parametrize(("misconception", "item", "letter"), geometry_mistakes.CHOICES)
def test_wrong_letters(misconception, item, letter):
    found = verdict("geometry-invariance", geometry_judge.LETTERS | {item: letter})
    assert found.points == pytest.approx(1.8) and found.diagnosis == (misconception,)
    assert entry("step", "geometry-invariance", item) in html(found)


def test_letters_are_right_as_computed():
    """The letters against the functions themselves."""
    cat, sphere, layer = [1, 2, 3, 4], parts.to_sphere, parts.layernorm
    assert sphere([7 * a for a in cat]) == pytest.approx(sphere(cat))
    assert sphere([-a for a in cat]) == pytest.approx([-a for a in sphere(cat)])
    assert parts.angle(sphere([a + 3 for a in cat]), sphere(cat)) > 5
    assert layer([a + 3 for a in cat]) == pytest.approx(layer(cat))
    assert sphere(sphere(cat)) == pytest.approx(sphere(cat))
    assert sphere([100, 101, 102]) == pytest.approx([1, 1, 1], abs=0.011)
    assert sphere([-5, -5, -5]) == pytest.approx([-1, -1, -1]) and layer([-5, -5, -5]) == [0, 0, 0]
    bent = [g * a for g, a in zip([2, 1, 1, 0.5], sphere(cat), strict=True)]
    assert parts.length(bent) == pytest.approx(1.673, abs=5e-4) and parts.angle(bent, cat) > 20


@pytest.mark.parametrize("step", ["geometry-angle", "geometry-invariance"])
def test_blank_part_and_odd_literals(step):
    right = geometry_judge.ANGLES if step == "geometry-angle" else geometry_judge.LETTERS
    assert verdict(step, dict.fromkeys(right, ...)).status == BLANK
    some = dict.fromkeys(right, ...) | dict(itertools.islice(right.items(), 1))
    assert 0 < verdict(step, some).points < 2
    for odd in (*(dict.fromkeys(right, one) for one in (object(), float("nan"), "？")), 7, []):
        found = verdict(step, odd)
        assert found.points == 0 and html(found)


def test_an_angle_in_quotes_is_told_to_lose_them():
    right = {item: round(angle, 3) for item, angle in geometry_judge.ANGLES.items()}
    for text in ("24.095", "24.095°"):
        found = verdict("geometry-angle", right | {"mao": text})
        assert found.failure.endswith(".quoted") and f'你写的是 "{text}"，带着引号' in message(found)
        assert "去掉引号" in html(found) and not found.diagnosis and found.points == 1.5
    assert verdict("geometry-angle", right | {"mao": "不知道"}).failure.endswith(".number")


@pytest.mark.parametrize("step", ["geometry-angle", "geometry-invariance"])
def test_a_name_that_holds_something_else_is_not_blank(step):
    found = verdict(step, [24.095])
    assert (found.status, found.points) == ("graded", 0) and "list，不是字典" in message(found)


def test_every_step_has_a_title():
    for step in geometry.STEPS:
        assert entry("step", step.id, "title")


@pytest.mark.parametrize(("name", "i"), MISTAKES)
def test_no_field_of_a_card_is_left_open(name, i):
    """Concept, next step and hints quote the reader's sum or length too."""
    assert not re.search(r"\{\w+\}", html(verdict(STEPS[name], wrong(name, i)[1])))


def test_the_card_draws_the_failing_vector_and_a_grader_keeps_it():
    score = check("geometry-project", lambda v: [a - sum(v) for a in v])
    assert "<svg" in html(score.verdict) and "[1, 2, 3, 4]" in html(score.verdict)
    private = html(score.verdict, private=True)
    assert "<svg" not in private and "[1, 2, 3, 4]" not in private


# --- experiments ------------------------------------------------------------------------------------------


def test_predictions_are_compared_only_with_what_can_be_trusted():
    def shown(project, to_sphere):
        return repr(predicted("倒过来？", "是", geometry_experiments.swapped(project, to_sphere)))

    def unit(v):
        return [a / parts.length(v) for a in v]

    assert "你的预测：是" in shown(parts.project, parts.to_sphere) and "√d = 2" in shown(parts.project, parts.to_sphere)
    assert "to_sphere 还没有通过上面的检查" in shown(parts.project, unit)
    assert "project 还没有通过上面的检查" in shown(lambda v: [a - v[0] for a in v], parts.to_sphere)
    for pair in ((parts.project, unit), (lambda v: v[9], parts.to_sphere)):
        assert "预测：" not in shown(*pair) and "结果：" not in shown(*pair)


def test_first_guesses_say_which_function_cannot_be_trusted():
    def unit(v):
        return [a / 9 for a in v]

    assert geometry_experiments.guesses({}, parts.to_sphere, parts.layernorm).note == ""
    assert geometry_experiments.guesses({}, unit, parts.layernorm).note.startswith("to_sphere 还没有通过")
    assert geometry_experiments.guesses({}, unit, unit).note.startswith("to_sphere、layernorm 还没有通过")
