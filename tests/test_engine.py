"""The check engine: scores that nbgrader reads right, evidence that cannot hurt, verdicts that say why."""

import copy
import html.parser
import json
import math
import random
import re
from functools import cache
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from conftest import LESSON, SHOWS, answered, find, marks, python, released, source
from nbclient import NotebookClient
from nbgrader.utils import determine_grade

from rmslab import card, catalogue, checks, engine, evidence, experiments
from rmslab.checks import (
    LESSONS,
    STEPS,
    hand,
    implementation,
    implementation_judge,
    implementation_mistakes,
    steps_of,
)
from rmslab.compare import alike
from rmslab.diagnosis import answer
from rmslab.engine import Score
from rmslab.prediction import predicted
from rmslab.step import BLANK, GRADED, Verdict

MISTAKES = implementation_mistakes.MISTAKES
steps = pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)


@cache
def answers(lesson: str, solve: bool = True) -> dict[str, Any]:
    """The names that the notebook's cells leave behind."""
    names: dict[str, Any] = {"display": lambda *_: None}
    for cell in (answered(lesson) if solve else released(lesson))["cells"]:
        if cell["cell_type"] == "code" and not source(cell).startswith(SHOWS) and not marks(cell).get("grade"):
            exec(source(cell), names)
    return names


def arguments(step, solve: bool = True) -> list[Any]:
    return [answers(step.lesson, solve)[name] for name in step.arguments]


def as_json(value: Any) -> Any:
    return json.loads(evidence.dumps(value))


def judged(step, *given: Any, seed: str = "hidden") -> Verdict:
    """The verdict as grading makes it: evidence by way of JSON, on inputs of another seed."""
    inputs = as_json(step.inputs(seed))
    return engine.judge(step, inputs, as_json(engine.observe(step, inputs, *given)[0]))


# --- steps ------------------------------------------------------------------------------------------------


@steps
@pytest.mark.parametrize("seed", ["visible", "another"])
def test_solved_is_full_and_untouched_is_blank(step, seed):
    full = judged(step, *arguments(step), seed=seed)
    assert (full.points, full.status, full.diagnosis) == (step.points, GRADED, ())
    nothing = judged(step, *arguments(step, solve=False), seed=seed)
    assert (nothing.points, nothing.status) == (0, BLANK)


@steps
def test_inputs_are_strict_json_and_follow_the_seed(step):
    assert evidence.dumps(step.inputs("a")) == evidence.dumps(step.inputs("a"))
    assert as_json(step.inputs("a")) == step.inputs("a")
    assert step.inputs("secret-seed").keys() == step.inputs("a").keys()
    assert "secret-seed" not in evidence.dumps(step.inputs("secret-seed"))


def test_hidden_inputs_differ_from_the_visible_ones():
    changing = {step.lesson for step in STEPS.values() if step.inputs("a") != step.inputs("b")}
    assert changing == set(LESSONS)


@steps
def test_ids_and_points(step):
    assert re.fullmatch(r"[a-zA-Z0-9_-]+", step.id) and step.points > 0
    assert catalogue.entry("step", step.id, "title")
    verdict = judged(step, *arguments(step))
    assert sum(check.points for check in verdict.checks) == pytest.approx(step.points)
    assert all(catalogue.entry("step", step.id, check.name) for check in verdict.checks)


@steps
def test_probes_leave_the_global_random_state_alone(step):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    step.inputs("x")
    judged(step, *arguments(step))
    assert torch.equal(torch.get_rng_state(), before)


def test_random_numbers_in_student_code_do_not_leak_out():
    class Drawing(answers(LESSON)["RMSNorm"]):
        def forward(self, x):
            torch.manual_seed(1)
            torch.rand(3)
            return super().forward(x)

    torch.manual_seed(5)
    before = torch.get_rng_state()
    for step in steps_of(LESSON):
        judged(step, Drawing)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("cell", [
    "torch.set_grad_enabled(False); torch.set_default_dtype(torch.float16)",
    "torch.inference_mode().__enter__(); torch.set_default_device('meta')",
])  # fmt: skip
def test_switches_that_a_cell_left_on_are_not_part_of_the_answer(cell):
    """In a process of its own: nothing undoes them all."""
    text = source(find(answered(), "rmsnorm-class"))
    code = f"import torch\nfrom torch import nn\nfrom rmslab import check\n{text}\n{cell}\n"
    code += "print([float(check(f'rmsnorm-{s}', RMSNorm)) for s in ('weight', 'norm', 'forward', 'module')])"
    assert python("-c", code).stdout == "[6.0, 10.0, 8.0, 6.0]\n"


def test_unknown_step_names_those_there_are():
    with pytest.raises(LookupError, match="rmsnorm-norm"):
        engine.check("rmsnorm-nrom", 1)


@pytest.mark.parametrize("given", [(), (...,), (None,)])
def test_no_answer_is_blank(given):
    score = engine.check("rmsnorm-norm", *given)
    assert float(score) == 0 and score.verdict.status == BLANK


# --- scores -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "shown"), [(-3, "0.0"), (0, "0.0"), (2.5, "2.5"), (6, "6.0"), (6.000001, "6.0"), (99, "6.0")]
)
def test_score_is_a_plain_number_within_bounds(points, shown):
    score = Score(Verdict("rmsnorm-weight", points, 6, GRADED))
    assert repr(score) == shown and float(score) == float(shown)


NOISY = """\
import logging, os, sys, warnings
logging.basicConfig()   # this handler holds the stderr of now

class Noisy(RMSNorm):
    def forward(self, x):
        print("print 到标准输出")
        print("print 到标准错误", file=sys.stderr)
        warnings.warn("warnings 的提醒")
        logging.getLogger("student").warning("logging 的提醒")
        os.write(1, "写到描述符一".encode()); os.write(2, "写到描述符二".encode())
        import noisy_library
        return super().forward(x)

class Partly(RMSNorm):
    def _norm(self, x):
        return Noisy.forward(self, x).to(x.dtype)

class Raising(RMSNorm):
    def _norm(self, x):
        print("快要出错")
        raise OSError("故意的")
"""
SAID = (
    "到标准输出",
    "到标准错误",
    "warnings 的提醒",
    "logging 的提醒",
    "描述符一",
    "描述符二",
    "库的导入",
    "库的提醒",
)


def test_what_nbgrader_reads_from_a_real_kernel(tmp_path):
    """Student code that makes every kind of noise: right score, nothing on stderr, all of it in the card."""
    library = (
        "import sys, warnings\nprint('库的导入', file=sys.stderr)\nwarnings.warn('库的提醒', FutureWarning)\n"
    )
    (tmp_path / "noisy_library.py").write_text(library, "utf-8")
    asked = {
        "noisy": ('check("rmsnorm-module", Noisy)', 6),
        "quiet": ('check("rmsnorm-forward", RMSNorm)', 8),
        "partly": ('check("rmsnorm-norm", Half)', 10),
        "raising": ('check("rmsnorm-norm", Raising)', 10),
        "blank": ('check("rmsnorm-weight", ...)', 6),
    }
    setup = "import os, torch\nfrom torch import nn\nfrom rmslab import check\n"
    setup += "before = os.fstat(1), os.fstat(2)\n"
    half = "class Half(RMSNorm):\n    def _norm(self, x):\n        return super()._norm(x).to(x.dtype)\n"
    code = [
        setup + source(find(answered(), "rmsnorm-class")),
        NOISY + half,
        *(line for line, _ in asked.values()),
    ]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, code)))
    last = "print('之后', (os.fstat(1), os.fstat(2)) == before, file=sys.stderr)"
    notebook.cells.append(nbformat.v4.new_code_cell(last))
    for cell, (name, (_, points)) in zip(notebook.cells[2:], asked.items(), strict=False):
        flags = {"grade": True, "solution": False, "task": False, "locked": True, "schema_version": 3}
        cell.metadata.nbgrader = {**flags, "grade_id": name, "points": points}
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()

    cells = dict(zip(asked, notebook.cells[2:], strict=False))
    for cell in cells.values():
        assert [o.output_type for o in cell.outputs] == ["execute_result"], cell.outputs
    grades = {name: determine_grade(cell)[0] for name, cell in cells.items()}
    assert grades == {"noisy": 6, "quiet": 8, "partly": 8, "raising": 0, "blank": 0}
    shown = cells["noisy"].outputs[0].data["text/html"]
    assert [text for text in SAID if text not in shown] == []
    assert "快要出错" in cells["raising"].outputs[0].data["text/html"]
    after = [o.text for o in notebook.cells[-1].outputs if o.get("name") == "stderr"]
    assert after == ["之后 True\n"], "streams are restored"


# --- evidence ---------------------------------------------------------------------------------------------

SPECIAL = [0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), 1e-7, 65504.0]
DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(8,), (2, 4), (1, 2, 2, 2), (8, 1), (0,), (3, 0)], ids=str)
def test_tensors_come_back_bit_by_bit(dtype, shape):
    dtype = getattr(torch, dtype)
    values = torch.tensor(SPECIAL if dtype.is_floating_point else [0, 1, 2, 3, 4, 5, 6, 7])
    tensor = values[: math.prod(shape)].to(dtype).reshape(shape)
    back = evidence.decode(json.loads(evidence.dumps(evidence.encode(tensor))))
    assert back.dtype == tensor.dtype and back.shape == tensor.shape
    assert bytes(back.contiguous().view(torch.uint8).numpy()) == bytes(
        tensor.contiguous().view(torch.uint8).numpy()
    )


def test_unusual_tensors_are_encoded_without_harm():
    leaf = torch.ones(3, requires_grad=True)
    scalar = evidence.decode(evidence.encode(torch.tensor(2.0)))
    assert scalar.shape == () and scalar == 2
    assert torch.equal(
        evidence.decode(evidence.encode(torch.arange(6.0).reshape(2, 3).T)), torch.arange(6.0).reshape(2, 3).T
    )
    assert torch.equal(evidence.decode(evidence.encode(torch.ones(1).expand(4))), torch.ones(4))
    assert evidence.encode(leaf * 2)["shape"] == [3]
    assert "data" not in evidence.encode(torch.ones(4, device="meta"))
    assert "data" not in evidence.encode(torch.zeros(1).expand(10**9))
    assert "data" not in evidence.encode(torch.ones(2, dtype=torch.complex64))
    for value in (None, 3, "x", [torch.ones(1)], type("Evil", (), {"__repr__": lambda s: 1 / 0})()):
        assert set(evidence.encode(value)) == {"type"}


GOOD = evidence.encode(torch.ones(2, 3))
REFUSED = {
    "none": None,
    "list": [GOOD],
    "empty": {},
    "no-data": {k: v for k, v in GOOD.items() if k != "data"},
    "short": GOOD | {"data": GOOD["data"][:-4]},
    "long": GOOD | {"data": GOOD["data"] + "AAAA"},
    "not-base64": GOOD | {"data": "!" * len(GOOD["data"])},
    "padding": GOOD | {"data": GOOD["data"][:-2] + "=="},
    "data-number": GOOD | {"data": 7},
    "dtype-unknown": GOOD | {"dtype": "complex64"},
    "dtype-none": GOOD | {"dtype": None},
    "dtype-list": GOOD | {"dtype": []},
    "dtype-wider": GOOD | {"dtype": "float64"},
    "shape-other": GOOD | {"shape": [2, 4]},
    "shape-text": GOOD | {"shape": "23"},
    "shape-float": GOOD | {"shape": [2.0, 3]},
    "shape-bool": GOOD | {"shape": [True, 6]},
    "shape-negative": GOOD | {"shape": [-2, -3]},
    "shape-huge": GOOD | {"shape": [10**9, 10**9]},
    "shape-long": GOOD | {"shape": [1] * 1000},
    "oversize": {"dtype": "uint8", "shape": [evidence.MAX_NUMEL + 1], "data": "A" * 87384},
    "zero-and-huge": {"dtype": "uint8", "shape": [0, 10**12], "data": ""},
}


@pytest.mark.parametrize("record", REFUSED.values(), ids=REFUSED)
def test_decode_refuses(record):
    with pytest.raises((ValueError, TypeError)):  # BadEvidence is a ValueError
        evidence.decode(record)


def test_sizes_are_verified_before_anything_is_decoded(monkeypatch):
    monkeypatch.setattr(evidence.base64, "b64decode", lambda *_, **__: pytest.fail("decoded"))
    for record in (GOOD | {"data": "A" * 10**6}, GOOD | {"shape": [10**6]}):
        with pytest.raises(evidence.BadEvidence):
            evidence.decode(record)


ODD = (
    None, True, 0, -1, 1e308, float("inf"), "", "x" * 5000, "<b>", [], [[[]]], {}, {"error": 1},
    {"error": {}}, {"error": {"type": ["x"], "message": {}}}, GOOD, GOOD | {"data": "AAAA"},
)  # fmt: skip


def damage(document: Any, chance: random.Random) -> Any:
    """A copy in which one value, somewhere, is gone or another."""
    document = copy.deepcopy(document)
    node = document
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return document
        key = chance.choice(keys)
        if isinstance(node[key], dict | list) and chance.random() < 0.8:
            node = node[key]
            continue
        if chance.random() < 0.2:
            del node[key]
        elif isinstance(node[key], str) and chance.random() < 0.5:
            at = chance.randrange(len(node[key]) + 1)
            node[key] = node[key][:at] + chance.choice("A=é\0") + node[key][at + 1 :]
        else:
            node[key] = copy.deepcopy(chance.choice(ODD))
        return document


@steps
def test_damaged_evidence_gets_a_verdict(step, monkeypatch):
    """Few mistakes to compare with, so that hundreds of documents take seconds: the code is the same."""
    monkeypatch.setattr(implementation_mistakes, "MISTAKES", MISTAKES[:3])
    inputs = as_json(step.inputs("hidden"))
    good = as_json(engine.observe(step, inputs, *arguments(step))[0])
    chance = random.Random(step.id)
    documents = [*ODD, {"blank": True}, {"error": {"type": "MemoryError", "message": ""}}]
    for _ in range(120):
        documents.append(damage(good, chance))
        if chance.random() < 0.3:
            documents.append(damage(documents[-1], chance))
    lowest = step.points
    for document in documents:
        verdict = engine.judge(step, inputs, document)
        assert isinstance(verdict, Verdict) and verdict.step == step.id
        assert 0 <= verdict.points <= verdict.max_points == step.points
        assert "rms-card" in card.html(verdict, private=True) and isinstance(card.message(verdict), str)
        lowest = min(lowest, verdict.points)
    assert lowest == 0


# --- misconceptions ---------------------------------------------------------------------------------------

# Every lesson's mistakes: a list of runnable ones, or the ids of wrong formulas and answers.
IN_CODE = {mistake.id for mistake in MISTAKES}
for path in Path(checks.__file__).parent.glob("*_mistakes.py"):
    IN_CODE |= getattr(import_module(f"rmslab.checks.{path.stem}"), "IDS", set())
GROUPS = {step_id.partition("-")[0] for step_id in STEPS}
"""Kinds of steps; a misconception may have words of its own for each, or for a step."""
PLACES = GROUPS | set(STEPS) | {hand.PRACTICE.id}
IN_WORDS = catalogue.load()["misconception"]


def test_every_misconception_has_words_and_every_word_a_misconception():
    assert set(IN_WORDS) == IN_CODE


@pytest.mark.parametrize("name", sorted(IN_WORDS))
def test_words_of_a_misconception(name):
    words = IN_WORDS[name]
    assert set(words) - {"variant"} - PLACES == {"name", "symptom", "concept", "next_step", "hints"}
    for variety in (words, *(words | words.get(place, {}) for place in PLACES)):
        hints = variety["hints"]
        assert len(hints) == len(set(hints)) == 3 and all(hint.strip() for hint in hints)
        for key in ("symptom", "concept", "next_step"):
            assert re.search(r"[\u4e00-\u9fff]", variety[key])
        variety["symptom"].format_map(catalogue._Facts())
    for place in PLACES:
        assert set(words.get(place, {})) <= {"symptom", "concept", "next_step", "hints"}


def test_every_failure_has_words():
    """Each kind of finding that a judge names: a sentence with the student's numbers, and what to do."""
    named = set()
    for path in Path(checks.__file__).parent.glob("*_judge.py"):
        named |= set(re.findall(r'Finding\(\s*"([\w-]+)"', path.read_text("utf-8")))
    assert named
    for kind in named:
        assert catalogue.entry("seen", kind) and {"concept", "next_step"} <= set(
            catalogue.entry("failure", kind)
        ), kind


@pytest.mark.parametrize("group", ["motivation", "hand", "geometry"])
def test_earlier_lessons_do_not_speak_of_code_that_comes_later(group):
    for name in import_module(f"rmslab.checks.{group}_mistakes").IDS:
        words = IN_WORDS[name] | IN_WORDS[name].get(group, {})
        said = str([words[key] for key in ("symptom", "concept", "next_step", "hints")])
        assert not re.search(r"_norm\b|x_fp32|self\.|forward", said), (name, said)


def test_words_of_failures_are_whole_and_for_known_steps():
    for kind, words in catalogue.load()["failure"].items():
        assert set(words) - {"concept", "next_step"} <= PLACES, kind
        for own in (words, *(part for part in words.values() if isinstance(part, dict))):
            assert {"concept", "next_step"} <= own.keys(), kind


def test_a_failure_is_told_in_the_words_of_its_step():
    shapes = {"squares": (1, 3, 4), "mean_square": (7,), "rms": (1, 3, 1), "output": (1, 3, 4), "gamma": (4,)}
    own = catalogue.entry("failure", "number", "hand-shapes")["concept"]
    score = engine.check("hand-shapes", shapes)
    assert own in score._repr_html_() and own in card.message(score.verdict)


def test_a_quoted_error_ends_with_one_full_stop():
    def project(v):
        raise ValueError("no direction.")

    assert "ValueError：no direction。" in engine.check("geometry-project", project)._repr_html_()


def mistaken(number: int) -> type:
    return answer((MISTAKES[number].part,), implementation_mistakes.RMSNormInParts)


@cache
def verdict_on(number: int, step_id: str) -> Verdict:
    return judged(STEPS[step_id], mistaken(number))


def behaviour(number: int) -> dict[str, Any]:
    """What a mistake shows at every step, in the form in which the judge compares."""
    seen = {}
    for step in steps_of(LESSON):
        probe = getattr(implementation, f"probe_{step.id.removeprefix('rmsnorm-')}")
        seen[step.id] = as_json(probe(as_json(step.inputs("hidden")), mistaken(number)))
    cases = seen["rmsnorm-weight"]["weight"]["parameter"]
    return seen | {"rmsnorm-weight": [implementation_judge.weight_signature(case) for case in cases]}


def test_every_pair_of_ids_differs_somewhere():
    shown = [behaviour(number) for number in range(len(MISTAKES))]
    same = [
        (MISTAKES[i].id, MISTAKES[j].id)
        for i, j in combinations(range(len(MISTAKES)), 2)
        if MISTAKES[i].id != MISTAKES[j].id and alike(shown[i], shown[j])
    ]
    assert same == []


@pytest.mark.parametrize("number", range(len(MISTAKES)), ids=[f"{i}-{m.id}" for i, m in enumerate(MISTAKES)])
def test_a_mistake_is_named_at_the_first_step_that_it_fails(number):
    failed = (v for s in steps_of(LESSON) if not (v := verdict_on(number, s.id)).passed)
    assert next(failed).diagnosis == (MISTAKES[number].id,)


# --- cards ------------------------------------------------------------------------------------------------


class Page(html.parser.HTMLParser):
    """Text, tags, and how deep hints are nested."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.attributes, self.open, self.summaries = [], [], [], []
        self.feed(text)
        assert not self.open, "not closed"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("line", "rect", "meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["summary"]:
            self.summaries.append((data, self.open.count("details")))


ATTACK = "</pre></section><script>alert(1)</script><img src=x onerror=y>{x}%s\"'"


class Attacking(implementation_mistakes.RMSNormInParts):
    def forward(self, x):
        print(ATTACK)
        raise ValueError(ATTACK)


def all_cards() -> list[str]:
    cards = []
    for step in steps_of(LESSON):
        score = engine.check(step.id, Attacking)
        cards += [score._repr_html_(), card.html(score.verdict, score.output, private=True)]
    named = Verdict(
        "rmsnorm-norm",
        0,
        10,
        GRADED,
        failure="rmsnorm-norm.value.kind",
        facts={"type": ATTACK, "line": ATTACK},
    )
    return [*cards, card.html(named, ATTACK), card.notice(named, ATTACK, ATTACK)]


@pytest.mark.parametrize("text", all_cards())
def test_cards_escape_what_students_write(text):
    page = Page(text)
    assert not {"script", "img", "iframe", "link", "object", "embed"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "href")]
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("name", sorted(IN_WORDS))
def test_hints_open_one_by_one(name):
    verdict = Verdict("rmsnorm-norm", 0, 10, GRADED, diagnosis=(name,), failure="rmsnorm-norm.value.value")
    summaries = [s for s in Page(card.html(verdict)).summaries if "提示" in s[0]]
    assert [depth for _, depth in summaries] == [1, 2, 3]


def test_a_card_shows_the_students_numbers_concept_and_next_step():
    class NoRoot(implementation_mistakes.RMSNormInParts):
        def inverse_root(self, mean_square):
            return 1 / (mean_square + self.eps)

    shown = engine.check("rmsnorm-norm", NoRoot)._repr_html_()
    words = IN_WORDS["no-root"]
    assert "0.133, 0.267, 0.400, 0.533" in shown and "0.365, 0.730, 1.095, 1.461" in shown
    assert words["concept"] in shown and words["next_step"] in shown and "<svg" in shown


def test_private_cards_hold_no_input_and_no_expected_value():
    compared = 0
    for number, mistake in enumerate(MISTAKES):
        for step in steps_of(LESSON):
            verdict = verdict_on(number, step.id)
            shown = card.html(verdict, private=True) + card.message(verdict)
            for key in ("x", "want"):
                hidden = verdict.case.get(key, "")
                if hidden.startswith("[") and hidden != verdict.facts.get("got"):
                    compared += 1
                    assert hidden not in shown, (mistake.id, step.id)
    assert compared > 50


def test_sizes_are_compared_with_the_prediction_only_where_the_class_is_right():
    class Right(implementation_mistakes.RMSNormInParts):
        pass

    class Centred(Right):
        def centre(self, x):
            return x - x.mean(-1, keepdim=True)

    class Summed(Right):
        def scale(self, normalized, x):
            return normalized @ self.weight

    class Unfinished(Right):
        def forward(self, x):
            raise NotImplementedError("TODO 3")

    def shown(cls):
        return repr(predicted("RMS？", 1, experiments.sentence_rms(cls)))

    assert "你的预测：1" in shown(Right) and "1.000" in shown(Right)
    for cls in (Centred, Summed):
        assert "RMSNorm 还没有通过上面的检查" in shown(cls) and "结果：" not in shown(cls)
    assert "TODO 3" in shown(Unfinished) and "结果：" not in shown(Unfinished)


@steps
def test_a_persons_interrupt_is_no_answer(step, monkeypatch):
    """Stop is obeyed at once in a lesson; where nobody is there, what raises it is wrong."""
    calls = []

    class Interrupting:
        def __init__(self, *args: Any, **more: Any):
            calls.append(args)
            raise KeyboardInterrupt

    class Items(dict):
        items = Interrupting

    given = [Items()] if step.probe is hand.probe_literals else [Interrupting] * len(step.arguments)
    with pytest.raises(KeyboardInterrupt):
        engine.observe(step, step.inputs("hidden"), *given)
    assert len(calls) == 1
    monkeypatch.setattr(evidence, "ATTENDED", False)
    assert judged(step, *given).points == 0
