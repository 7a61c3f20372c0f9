"""Lesson 02: what the cards say of hand-written numbers, and practice on fresh tokens."""

import random

import pytest

from rmslab import check, experiments
from rmslab.card import html, message
from rmslab.catalogue import entry
from rmslab.checks import hand, hand_judge, hand_mistakes
from rmslab.checks.hand_formulas import chain

CHI = dict(mean=1, deviations=[1, -1, -3, 3], variance=5, std=2.236, layernorm=[0.447, -0.447, -1.342, 1.342])


def fresh(width: int) -> experiments.Fresh:
    """The first token of that width."""
    return next(token for token in map(experiments.fresh_token, range(99)) if len(token.x) == width)


def rounded(known: dict) -> dict:
    return {k: [round(v, 3) for v in value] if isinstance(value, list) else round(value, 3)
            for k, value in known.items()}  # fmt: skip


@pytest.mark.parametrize(
    ("deviations", "places"),
    [([1, -1, 3, 3], "3"), ([1, -1, -2, 3], "3"), ([1, -2, -3, 4], "2、4"), ([2, -1, -3, 3], "1")],
)
def test_a_list_with_a_few_wrong_numbers_says_which(deviations, places):
    found = check("hand-chi-layernorm", CHI | {"deviations": deviations}).verdict
    assert f"第 {places} 个不对" in html(found)


def test_a_list_with_hardly_anything_right_does_not_count_numbers():
    assert "第" not in message(check("hand-chi-layernorm", CHI | {"deviations": [7, 7, 7, 3]}).verdict)


def test_a_list_of_another_width_says_so():
    shown = message(check("hand-chi-layernorm", CHI | {"deviations": [1, -1, -3]}).verdict)
    assert "3 个数" in shown and "4 个" in shown


def test_one_minus_sign_everywhere():
    shown = html(check("hand-chi-layernorm", CHI | {"deviations": [-9, -1.5, 2, 7]}).verdict)
    assert "[−9, −1.500, 2, 7]" in shown
    shown = html(check("geometry-project", lambda v: [a - sum(v) for a in v]).verdict)
    assert "−9" in shown and "-9" not in shown
    shown = html(check("motivation-axes", dict(layernorm_axes=(-9,))).verdict)
    assert "(−9,)" in shown


def test_a_function_that_is_right_for_the_example_is_not_sent_back_to_it():
    found = check("hand-python", chain_of("layernorm"), by_heart).verdict
    assert found.failure.endswith(".elsewhere") and "猫 = [1, 2, 3, 4] 是对的" in message(found)
    found = check("geometry-project", lambda v: [-1.5, -0.5, 0.5, 1.5][: len(v)] + [0] * (len(v) - 4)).verdict
    assert found.failure.endswith(".elsewhere")


def test_words_for_layernorm_do_not_speak_of_rmsnorm_alone():
    """Where a misconception can be either function's, what it says holds for both."""
    both = {name for names, _ in hand_mistakes.FUNCTIONS["layernorm"] for name in names} | {"list-overwritten"}
    for name in both:
        words = entry("misconception", name) | (entry("misconception", name, "hand") or {})
        assert "a / rms" not in str([words[part] for part in ("symptom", "concept", "next_step", "hints")]), name
    slip = CHI | {"deviations": [1, -1, 3, 3]}  # the first and the last are right
    shown = html(check("hand-chi-layernorm", slip).verdict)
    assert "负的分量还是负的。" not in shown and "第一个和最后一个" not in shown


@pytest.mark.parametrize(
    ("step", "right", "item", "text"),
    [
        ("hand-chi-layernorm", CHI, "variance", "5"), ("hand-chi-layernorm", CHI, "std", "2.236"),
        ("hand-chi-layernorm", CHI, "deviations", ["1", "-1", "-3", "3"]),
        ("hand-shapes", hand_judge.PLAIN["hand-shapes"], "rms", "(1, 3, 1)"),
        ("hand-reading", hand_judge.PLAIN["hand-reading"], "sum_of_squares", "４"),
    ],
)  # fmt: skip
def test_a_number_in_quotes_is_told_to_lose_them(step, right, item, text):
    found = check(step, right | {item: text}).verdict
    assert found.failure == f"{step}.{item}.quoted" and not found.diagnosis and not found.passed
    assert "，带着引号。" in message(found) and hand_judge.told(text) in message(found)
    assert "按定义算出来的不同" not in html(found) and "去掉引号" in html(found)


def test_a_mistake_before_a_number_in_quotes_keeps_its_name():
    found = check("hand-chi-layernorm", CHI | {"variance": 20, "std": "2.236"}).verdict
    alone = check("hand-chi-layernorm", CHI | {"variance": 20}).verdict
    assert alone.diagnosis and found.diagnosis == alone.diagnosis


def test_letters_belong_in_quotes():
    reading = hand_judge.PLAIN["hand-reading"] | {"why_yu_agrees": "A"}
    assert not check("hand-reading", reading).verdict.failure.endswith(".quoted")


@pytest.mark.parametrize("step", [step.id for step in hand.STEPS if step.id != "hand-python"])
def test_a_name_that_holds_something_else_is_not_blank(step):
    found = check(step, [1, 2]).verdict
    assert (found.status, found.points) == ("graded", 0)
    assert "list，不是字典" in message(found) and "又被用来" in html(found)
    assert check(step, {}).verdict.status == "blank"


def test_a_name_that_nothing_defines_fails_on_any_input():
    def rmsnorm(v):
        return [a / helper(v) for a in v]  # noqa: F821

    for score in (check("hand-python", rmsnorm, rmsnorm), check("geometry-project", rmsnorm)):
        assert score.verdict.status == "error" and "这种输入" not in message(score.verdict)
        shown = score._repr_html_()
        assert "NameError：name &#x27;helper&#x27; is not defined。" in shown and "拼错" in shown
        assert "评分时都不运行" in shown and "写进作答的这一格" in shown
    assert "这种输入" in message(check("geometry-project", lambda v: 1 / 0).verdict)


def chain_of(name):
    return lambda v: chain(v)[name]


def by_heart(v):
    return chain(v)["rmsnorm"] if len(v) == 4 else [9 + a for a in v]


# --- fresh tokens -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [3, 6, 7])
def test_a_fresh_token_divided_by_the_old_width(width):
    token = fresh(width)
    right = chain(token.x)
    for item in ("mean", "variance", "mean_square"):
        verdict = token.check({item: round(right[item] * width / 4, 3)}).verdict
        assert verdict.diagnosis == ("fixed-width",), (item, token.x)
        assert "不是这个 token 的宽度" in html(verdict)
    for item, factor in (("std", (width / 4) ** 0.5), ("rms", (width / 4) ** 0.5)):
        assert token.check({item: round(right[item] * factor, 3)}).verdict.diagnosis == ("fixed-width",)
    for item in ("layernorm", "rmsnorm"):
        given = [round(v * (4 / width) ** 0.5, 3) for v in right[item]]
        assert token.check({item: given}).verdict.diagnosis == ("fixed-width",)


def test_no_fresh_token_hides_the_old_width():
    """At width 5, to divide by 4 is also to divide by d − 1."""
    widths = {len(hand.fresh_vector(random.Random(i))) for i in range(99)}
    assert widths == {3, 6, 7}


def test_half_of_a_fresh_token():
    token = fresh(3)
    known = rounded(chain(token.x))
    score = token.check({k: known[k] for k in ("mean_square", "rms", "rmsnorm")})
    shown = score._repr_html_()
    assert "部分通过" in shown and "还没通过" not in shown
    assert "均值 mean、方差 variance、标准差 std、LayerNorm 输出”还空着" in shown
    assert shown.count("✓") == 3 and shown.count("○") == 4 and "✗" not in shown
    wrong = token.check({"rms": known["rms"], "mean": known["mean"] + 0.7})._repr_html_()
    assert "部分通过" in wrong and wrong.count("✗") == 1 and wrong.count("○") == 5
    assert token.check(known).verdict.passed
    assert "还没通过" in token.check({"mean": known["mean"] + 0.7})._repr_html_()


def test_all_that_is_empty_is_named():
    shown = html(check("hand-chi-layernorm", CHI | {"std": ..., "layernorm": [...] * 4}).verdict)
    assert "标准差 std、LayerNorm 输出”还空着" in shown and shown.count("○") == 2
    shown = html(check("geometry-angle", dict(mao=24.1, chi=..., yu=90, outputs=...)).verdict)
    assert "吃与全 1 方向的夹角、猫的两种输出之间的夹角”还空着" in shown
    shown = html(check("motivation-predict", dict(depth="A", survivors=[], nan_step=3, shallow=...)).verdict)
    assert "“浅一些、慢一些时谁更低”还空着" in shown
