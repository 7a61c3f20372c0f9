"""Lesson 01: right answers in every form, wrong ones with the diagnosis meant for them, experiments."""

import json
import math

import numpy as np
import pytest
import torch

from rmslab import evidence, experiments, motivation_figures, training
from rmslab.card import html, misconception
from rmslab.catalogue import entry, text
from rmslab.checks import STEPS, motivation, motivation_judge, motivation_mistakes
from rmslab.checks.motivation_mistakes import FUNCTIONS, measuring, outputs, rms
from rmslab.engine import check, judge, observe
from rmslab.experiments import Table
from rmslab.picture import Picture
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


def with_tensors(x, layers):
    scales = []
    for layer in layers:
        x = layer(x)
        scales.append(x.square().mean() ** 0.5)
    return scales


def stacked(x, layers):
    return torch.stack([*with_tensors(x, layers), torch.zeros(())])[:-1]


def with_numpy(x, layers):
    return np.array([np.sqrt(np.mean(h.detach().numpy() ** 2)) for h in outputs(x, layers)])


def by_norm(x, layers):
    return tuple(torch.linalg.vector_norm(h) / h.numel() ** 0.5 for h in outputs(x, layers))


def kept_dims(x, layers):
    return [h.square().mean(dim=tuple(range(h.ndim)), keepdim=True).sqrt() for h in outputs(x, layers)]


def without_grad(x, layers):
    with torch.no_grad():
        return [float(h.double().square().mean().sqrt()) for h in outputs(x, layers)]


RIGHT = [plain, with_tensors, stacked, with_numpy, by_norm, kept_dims, without_grad]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("function", RIGHT, ids=lambda f: f.__name__)
def test_right_functions_get_everything(function, seed):
    verdict = judged("motivation-scales", function, seed=seed)
    assert verdict.passed and verdict.points == 4, verdict


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("place", range(len(FUNCTIONS)), ids=lambda i: f"{FUNCTIONS[i][0]}-{i}")
def test_wrong_functions_are_called_by_their_name(place, seed):
    name, function = FUNCTIONS[place]
    verdict = judged("motivation-scales", function, seed=seed)
    assert verdict.points == 0 and verdict.diagnosis == (name,)


def test_other_spellings_of_a_mistake_get_the_same_name():
    def parallel(x, layers):
        return [(layer(x) ** 2).mean() ** 0.5 for layer in layers]

    def norms(x, layers):
        return [h.norm() for h in outputs(x, layers)]

    def in_the_loop(x, layers):
        for layer in layers:
            x = layer(x)
            return [rms(x)]

    for function, name in (
        (parallel, "layers-on-input"),
        (norms, "sum-not-mean"),
        (in_the_loop, "first-layer-only"),
    ):
        assert judged("motivation-scales", function).diagnosis == (name,)


def test_what_is_special_about_edges_costs_one_point():
    def never_empty(x, layers):
        return plain(x, layers) or [rms(x)]

    def two_dimensional(x, layers):
        if x.ndim == 1:
            raise ValueError("not enough values to unpack")
        return plain(x, layers)

    for function in (never_empty, two_dimensional):
        verdict = judged("motivation-scales", function)
        assert verdict.points == 3 and not verdict.diagnosis
        assert html(verdict)


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
READING = {"finite": ["LayerNorm", "RMSNorm"], "first_nan_step": 25}
PREDICTIONS = {"depth": "A", "survivors": [], "nan_step": 0, "shallow": "C"}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"layernorm_axes": 2, "rmsnorm_axes": -1},
        {"layernorm_axes": [-1], "batchnorm_axes": [1, 0]},
        {"batchnorm_axes": (-2, -3), "rmsnorm_shape": torch.Size([2, 3, 1]), "layernorm_shape": [2, 3, 1]},
    ],
)
def test_axes_may_be_written_in_many_ways(more):
    assert judged("motivation-axes", AXES | more).points == 3


@pytest.mark.parametrize(
    ("more", "points", "name"),
    [
        ({"batchnorm_axes": (2,)}, 2.5, "batchnorm-layernorm-swapped"),
        ({"batchnorm_axes": (2,), "batchnorm_shape": (2, 3, 1)}, 2.5, "batchnorm-layernorm-swapped"),
        ({"batchnorm_axes": 0}, 2.5, "mean-over-batch"),
        ({"batchnorm_axes": (1,)}, 2.5, "mean-over-tokens"),
        ({"layernorm_axes": (1, 2)}, 2.5, "whole-sentence"),
        ({"rmsnorm_axes": (0, 1, 2), "rmsnorm_shape": (1, 1, 1)}, 2.5, "mean-over-everything"),
        ({"rmsnorm_axes": (0, 1)}, 2.5, "batchnorm-layernorm-swapped"),
        ({"layernorm_shape": (2, 3)}, 2.5, "no-keepdim"),
        ({"batchnorm_shape": (4,)}, 2.5, "no-keepdim"),
        ({"layernorm_shape": (1, 1, 4)}, 2.5, "reduced-not-kept"),
        ({"batchnorm_shape": (2, 3, 4)}, 2.5, "statistic-per-feature"),
        ({"layernorm_axes": 3}, 2.5, None),
        ({"layernorm_axes": "最后"}, 2.5, None),
        ({"layernorm_shape": (7, 7, 7)}, 2.5, None),
        ({"layernorm_shape": 1}, 2.5, None),
    ],
)
def test_wrong_axes(more, points, name):
    verdict = judged("motivation-axes", AXES | more)
    assert verdict.points == points and verdict.diagnosis == ((name,) if name else ())


@pytest.mark.parametrize(
    "finite",
    [
        ["RMSNorm", "LayerNorm"],
        ("rmsnorm", "layer_norm"),
        "LayerNorm, RMSNorm",
        "layernorm和 RMSNorm".replace("和", "、"),
    ],
)
def test_divergence_may_be_written_in_many_ways(finite):
    for step in (5, 17, 25.0, torch.tensor(31), 60):
        assert judged("motivation-divergence", {"finite": finite, "first_nan_step": step}).points == 2


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"finite": ["无归一化"]}, "diverged-not-finite"),
        ({"finite": ["无归一化", "LayerNorm", "RMSNorm"]}, "all-finite"),
        ({"finite": ["RMSNorm"]}, "one-norm-missed"),
        ({"finite": ["BatchNorm"]}, None),
        ({"finite": 3}, None),
        ({"first_nan_step": 100}, "steps-not-first-nan"),
        ({"first_nan_step": 4}, None),
        ({"first_nan_step": 61}, None),
        ({"first_nan_step": 4.14}, "loss-not-step"),
        ({"first_nan_step": "25"}, None),
    ],
)
def test_wrong_readings(more, name):
    verdict = judged("motivation-divergence", READING | more)
    assert verdict.points == 1 and verdict.diagnosis == ((name,) if name else ())
    assert html(verdict)


def test_predictions_are_judged_by_presence_only():
    said = {"depth": "C", "survivors": ["无归一化"], "nan_step": 7000, "shallow": False}
    assert judged("motivation-predict", said).points == 1
    assert judged("motivation-predict", said | {"nan_step": ...}).points == 0.75
    assert judged("motivation-predict", said | {"nan_step": "", "depth": None}).points == 0.5
    assert judged("motivation-predict", PREDICTIONS).points == 0.75  # an empty list says nothing
    assert judged("motivation-predict", dict.fromkeys(PREDICTIONS, ...)).status == "blank"


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


# --- words ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(motivation_mistakes.IDS))
def test_every_misconception_has_its_words(name):
    words = misconception(judged("motivation-predict", PREDICTIONS), name)
    assert words["symptom"].startswith("{seen}")
    assert words["concept"] and words["next_step"]
    assert len(words["hints"]) == len(set(words["hints"])) == 3


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
    assert right.png != doubled.png
    assert right.png == motivation_figures.depth(plain).png


@pytest.mark.parametrize("answer", [None, 3.0, [1.0], ["一"] * 30, [math.nan] * 30])
def test_depth_says_so_where_there_is_nothing_to_draw(answer):
    shown = motivation_figures.depth(lambda x, layers: answer)
    assert isinstance(shown, Table) and "layer_scales" in shown.note


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
