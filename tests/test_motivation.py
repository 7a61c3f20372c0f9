"""Lesson 01: right answers in every form, wrong ones with the diagnosis meant for them, experiments."""

import json
import math

import pytest
import torch

from rmslab import evidence, experiments, motivation_figures, training
from rmslab.card import html, message
from rmslab.catalogue import entry, text
from rmslab.checks import STEPS, motivation, motivation_judge
from rmslab.checks.motivation_mistakes import FUNCTIONS, measuring, rms
from rmslab.engine import check, judge, observe
from rmslab.experiments import Table
from rmslab.picture import Picture
from rmslab.prediction import predicted
from rmslab.step import VISIBLE_SEED

SEEDS = (VISIBLE_SEED, "秘密", "another", "3")


def judged(step_id, *answers, seed=VISIBLE_SEED):
    """The verdict on ``answers`` for inputs of ``seed``, by way of JSON as in grading."""
    step = STEPS[step_id]
    inputs = json.loads(evidence.dumps(step.inputs(seed)))
    observed, _ = observe(step, inputs, *answers)
    return judge(step, inputs, json.loads(evidence.dumps(observed)))


# --- layer_scales -----------------------------------------------------------------------------------------


def plain(x, layers):
    scales, h = [], x
    for layer in layers:
        h = layer(h)
        scales.append(h.pow(2).mean().sqrt().item())
    return scales


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("place", range(len(FUNCTIONS)), ids=lambda i: f"{FUNCTIONS[i][0]}-{i}")
def test_wrong_functions_are_called_by_their_name(place, seed):
    name, function = FUNCTIONS[place]
    verdict = judged("motivation-scales", function, seed=seed)
    assert verdict.points == 0 and verdict.diagnosis == (name,)


def test_answers_to_the_visible_inputs_earn_nothing_on_others():
    inputs = STEPS["motivation-scales"].inputs(VISIBLE_SEED)
    known = {}
    for case in (case for group in inputs.values() for case in group):
        known[case["x"]["data"]] = motivation_judge.reference(case)

    def recited(x, layers):
        return known.get(evidence.encode(x)["data"], [1.0] * len(layers))

    assert judged("motivation-scales", recited).points == 4
    for seed in SEEDS[1:]:
        assert judged("motivation-scales", recited, seed=seed).points == 0


def test_errors_and_todo():
    def todo(x, layers):
        raise NotImplementedError("TODO")

    assert judged("motivation-scales", todo).status == "blank"
    verdict = judged("motivation-scales", lambda x, layers: x.nothing)
    assert verdict.status == "error" and verdict.facts["error"] == "AttributeError"
    for damaged in ({}, {"value": []}, {"value": [1], "edge": None}, [], None):
        inputs = STEPS["motivation-scales"].inputs("s")
        assert judge(STEPS["motivation-scales"], inputs, damaged).points == 0


def test_not_finite_answers_are_no_answers():
    assert judged("motivation-scales", lambda x, layers: [math.nan] * len(layers)).points == 0
    assert judged("motivation-scales", lambda x, layers: [math.inf] * len(layers)).points == 0


# --- literals ---------------------------------------------------------------------------------------------

AXES = {
    "batchnorm_axes": (0, 1), "batchnorm_shape": (1, 1, 4), "layernorm_axes": (2,),
    "layernorm_shape": (2, 3, 1), "rmsnorm_axes": (2,), "rmsnorm_shape": (2, 3, 1),
}  # fmt: skip


@pytest.mark.parametrize(
    "step", [step for step in motivation.STEPS if step.id != "motivation-scales"], ids=lambda s: s.id
)
def test_odd_literals_cost_points_not_the_grader(step):
    nested = {"batchnorm_axes": [[0], 1]}
    unequal = {"first_nan_step": float("nan"), "finite": [None]}
    objects, infinite = dict.fromkeys(AXES, object()), dict.fromkeys(AXES, float("inf"))
    for odd in (3, "x", [1], {}, {"finite": {1: 2}}, unequal, objects, infinite, nested):
        verdict = judged(step.id, odd)
        assert verdict.points == 0 and html(verdict)


def test_numbers_in_quotes_are_told_to_lose_them():
    for item, quoted in (("layernorm_axes", "(2,)"), ("batchnorm_shape", "(1, 1, 4)"), ("rmsnorm_axes", "-1")):
        found = judged("motivation-axes", AXES | {item: quoted})
        assert found.failure.endswith(f"{item}.quoted") and "去掉引号" in html(found)
    found = judged("motivation-divergence", {"finite": ["LayerNorm", "RMSNorm"], "first_nan_step": "21"})
    assert found.failure.endswith(".quoted") and '"21"，带着引号' in message(found)
    assert not judged("motivation-divergence", {"finite": "3", "first_nan_step": 21}).failure.endswith(".quoted")


@pytest.mark.parametrize("step", ["predict", "axes", "divergence"])
def test_a_name_that_holds_something_else_is_not_blank(step):
    found = judged(f"motivation-{step}", (0, 1))
    assert (found.status, found.points) == ("graded", 0) and "tuple，不是字典" in message(found)


# --- words ------------------------------------------------------------------------------------------------


def test_cards_of_wrong_answers_read_well():
    for _, function in FUNCTIONS:
        card = html(judged("motivation-scales", function))
        assert "{" not in card.partition("</style>")[2]
    for kind in (
        "scales",
        "count",
        "not-scales",
        "not-numbers",
        "input-changed",
        "layers-changed",
        "axes",
        "names",
    ):
        assert entry("seen", kind) and entry("failure", kind, "concept")


# --- experiments ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def deep():
    return experiments.deep()


def test_without_norm_the_loss_becomes_nan_and_with_norm_it_does_not(deep):
    diverged = deep["无归一化"]
    assert motivation_judge.EARLIEST <= diverged.first_nan <= motivation_judge.LATEST
    assert math.isnan(diverged.losses[-1]) and max(diverged.losses[:-1]) > 100
    for name in ("LayerNorm", "RMSNorm"):
        run = deep[name]
        assert run.first_nan is None and len(run.losses) == motivation_judge.STEPS
        assert max(run.losses) < run.losses[0] + 0.5 and run.mean() < 2.2


def test_the_same_seed_gives_the_same_run_and_another_diverges_too(deep):
    again = experiments.deep(names=("无归一化",))
    assert again["无归一化"].losses[:10] == deep["无归一化"].losses[:10]
    other = experiments.deep(names=("无归一化",), seed=1)["无归一化"]
    assert other.losses[:2] != deep["无归一化"].losses[:2]
    assert motivation_judge.EARLIEST <= other.first_nan <= motivation_judge.LATEST


def test_the_counter_example_shows_what_the_lesson_says():
    ends = {}
    for start in ("PyTorch", "GPT-2"):
        runs = experiments.shallow(start)
        assert all(run.first_nan is None for run in runs)
        ends[start] = {run.name: run for run in runs}
    early = {start: {n: sum(r.losses[40:60]) / 20 for n, r in runs.items()} for start, runs in ends.items()}
    assert early["PyTorch"]["无归一化"] < early["PyTorch"]["RMSNorm"] - 0.1
    assert ends["PyTorch"]["无归一化"].mean(30) < ends["PyTorch"]["RMSNorm"].mean(30) + 0.02
    assert ends["GPT-2"]["无归一化"].mean(30) > ends["GPT-2"]["RMSNorm"].mean(30) + 0.02


def test_training_leaves_random_numbers_and_threads_alone():
    torch.manual_seed(3)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    experiments.deep(names=("无归一化",), steps=2)
    assert torch.equal(torch.get_rng_state(), before) and torch.get_num_threads() == threads


def test_a_grading_environment_trains_nothing(monkeypatch, capsys):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    runs = experiments.deep()
    assert [run.losses for run in runs] == [[], [], []] and runs["无归一化"].first_nan is None
    assert text("experiment", "skipped") in repr(runs)
    shown = motivation_figures.training(runs, experiments.shallow(), titles=("甲", "乙"))
    assert isinstance(shown, Table) and shown.note == text("experiment", "skipped")


def test_live_output_is_text_and_markup(deep):
    live = training.Live([run.name for run in deep], 100)
    live.runs = deep
    markup = live._repr_html_()
    assert markup.count("<polyline") == 3 and "nan" not in markup and "RMSNorm" in repr(live)


# --- figures ----------------------------------------------------------------------------------------------


def test_depth_draws_the_readers_function():
    right = motivation_figures.depth(plain)
    assert isinstance(right, Picture) and right.script == "depth"
    doubled = motivation_figures.depth(measuring(lambda h: 2 * rms(h)))
    assert doubled.data["scales"][0][0][0] == pytest.approx(2 * right.data["scales"][0][0][0])
    assert right.png != doubled.png and right.data["trusted"] and not doubled.data["trusted"]
    assert "五条线都是水平的" in right.alt and "线就是平的" in right.caption
    assert "水平" not in doubled.alt and "线就是平的" not in doubled.caption
    assert right.png == motivation_figures.depth(plain).png


@pytest.mark.parametrize("answer", [None, 3.0, [1.0], ["一"] * 30, [math.nan] * 30])
def test_depth_says_so_where_there_is_nothing_to_draw(answer):
    shown = motivation_figures.depth(lambda x, layers: answer)
    assert isinstance(shown, Table) and "layer_scales" in shown.note


def test_depth_is_compared_with_the_prediction_only_where_it_can_be_trusted():
    def shown(layer_scales):
        return repr(predicted("30 层以后？", "A", motivation_figures.depth_result(layer_scales)))

    assert "你的预测：A" in shown(plain) and "结果：B" in shown(plain)
    wrong = (
        lambda x, layers: [rms(layer(x)) for layer in layers],  # every layer on the input
        measuring(lambda h: 2 * rms(h)),
        lambda x, layers: None,
        lambda x, layers: layers.missing,
    )
    for layer_scales in wrong:
        assert "预测：" not in shown(layer_scales) and "结果：" not in shown(layer_scales)
    for layer_scales in wrong[:2]:
        assert "layer_scales 还没有通过上面的检查" in shown(layer_scales)
        assert "不能信" in motivation_figures.depth(layer_scales).caption


def test_depth_of_an_unfinished_function():
    def todo(x, layers):
        raise NotImplementedError("TODO")

    assert "TODO" in motivation_figures.depth(todo).note


def test_training_figure_says_what_happened(deep):
    picture = motivation_figures.training(deep)
    assert f"第 {deep['无归一化'].first_nan} 步" in picture.alt and "打叉" in picture.caption


def test_axes_figure_names_the_shapes():
    picture = motivation_figures.axes()
    assert "(1, 1, 4)" in picture.alt and "(2, 3, 1)" in picture.alt


def test_check_in_a_lesson():
    assert float(check("motivation-scales", plain)) == 4
    assert float(check("motivation-axes", AXES)) == 3


def test_a_wrong_literal_is_quoted_as_a_reader_writes_it():
    def shown(step, **more):
        return html(judged(step, more))

    assert "[&quot;无归一化&quot;]" in shown("motivation-divergence", finite=["无归一化"])
    assert "[&quot;RMSNorm&quot;, 3]" in shown("motivation-divergence", finite=["RMSNorm", 3])
    assert "&quot;最后&quot;" in shown("motivation-axes", layernorm_axes="最后")
    assert "(1, 2)" in shown("motivation-axes", layernorm_axes=[1, 2])
    assert "你写的是 ()" in shown("motivation-axes", layernorm_axes=[])


def test_axes_that_count_from_one_cost_only_themselves():
    from_one = {"batchnorm_axes": (1, 2), "layernorm_axes": (3,), "rmsnorm_axes": (3,)}
    found = judged("motivation-axes", AXES | from_one)
    assert found.diagnosis == ("axes-from-one",) and found.points == 1.5
    mixed = judged("motivation-axes", AXES | from_one | {"rmsnorm_axes": (2,)})  # right as it stands
    assert found.points + 0.5 == mixed.points and "axes-from-one" not in mixed.diagnosis


def test_axes_that_no_mistake_explains_are_not_told_about_shapes():
    for wrong in ((0, 2), ()):
        found = judged("motivation-axes", AXES | {"layernorm_axes": wrong})
        assert not found.diagnosis and "形状" not in html(found).partition("<ul>")[0].partition("看到的")[2]
