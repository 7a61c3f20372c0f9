"""``python -m tests.matrix``: which check catches which wrong class of 04.

``--without`` adds what each check and each probe is worth: how many wrong classes only it catches, and how many
exact diagnoses would be lost without it. ``--families`` writes docs/what-costs-what.md instead.
"""

import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path

import torch

from rmslab import evidence
from rmslab.checks import STEPS, implementation_mistakes
from rmslab.checks import implementation_judge as judges
from rmslab.step import VISIBLE_SEED

sys.path.insert(0, str(Path(__file__).parent))  # as pytest does
from test_corpus import (
    DIAGNOSED,
    ENTRIES,
    NAMES,
    STEP_IDS,
    WRONG,
    diagnosis,
    inputs_of,
    judge,
    verdict,
)
from test_corpus_lessons import CORPORA

TABLES = dict(zip(STEP_IDS, (judges.WEIGHT, judges.NORM, judges.FORWARD, judges.MODULE), strict=True))
WITHOUT = "--without"


def failing_places(name: str, seed: str, step_id: str) -> list[tuple[str, int]]:
    """The cases of a step that the entry fails, as (check, number)."""
    seen: list = []
    original = judges.conclude

    def conclude(step, table, found, diagnosis):
        seen.extend((check, i) for check, group in found.items() for i, one in enumerate(group) if one)
        return original(step, table, found, lambda first, failed: ())

    judges.conclude = conclude
    try:
        judge(name, seed, step_id)
    finally:
        judges.conclude = original
    return seen


def matrix(seed: str) -> str:
    """One row per wrong class: the checks that fail, in points lost."""
    lines = []
    for name in WRONG:
        cells = []
        for step_id in STEP_IDS:
            failed = {check for check, _ in failing_places(name, seed, step_id)}
            cells.append("".join("x" if check in failed else "." for check in TABLES[step_id]))
        points = sum(verdict(name, seed, step_id).points for step_id in STEP_IDS)
        lines.append(f"{name:48} {'  '.join(cells)}  {points:4g}")
    head = "  ".join(step_id.removeprefix("rmsnorm-")[:4].ljust(len(TABLES[step_id])) for step_id in STEP_IDS)
    letters = "  ".join("".join(check[0] for check in TABLES[step_id]) for step_id in STEP_IDS)
    return "\n".join([f"{'':48} {head}  points", f"{'':48} {letters}", *lines])


Place = tuple[str, int]
"""A case of a step: (check, number)."""

PROBES: dict[str, Callable[[dict, torch.Tensor], bool]] = {
    "the sentence": lambda case, x: x.shape == (1, 3, 4) and x.dtype == torch.float32,
    "rank 1": lambda case, x: x.ndim == 1,
    "rank 4": lambda case, x: x.ndim == 4,
    "a square": lambda case, x: x.ndim == 2 and x.shape[0] == x.shape[1],
    "other strides": lambda case, x: "layout" in case,
    "other epsilon": lambda case, x: case["eps"] != 1e-6,
    "FP32 near 1e-3": lambda case, x: x.dtype == torch.float32 and 0 < x.abs().max() < 0.01,
    "the zero vector": lambda case, x: not x.any(),
    "half precision": lambda case, x: x.itemsize == 2,
    "FP16": lambda case, x: x.dtype == torch.float16,
    "BF16": lambda case, x: x.dtype == torch.bfloat16,
    "large halves": lambda case, x: x.itemsize == 2 and x.abs().max() > 100,
    "tiny halves": lambda case, x: x.itemsize == 2 and x.abs().max() < 0.01,
    "FP32 weight": lambda case, x: x.itemsize == 2 and "weight_dtype" not in case,
    "gradients": lambda case, x: case["kind"] == "gradient" and bool(x.any()),
    "repeated calls": lambda case, x: case["kind"] == "repeat",
    "meta device": lambda case, x: case["kind"] == "meta",
}
"""The lesson's probes: which cases, whatever check they serve, would go with one of them."""


@cache
def units(step_id: str, seed: str) -> dict[str, frozenset[Place]]:
    """What could be left out of a step: a check, or a probe. The weight step has checks only."""
    group = step_id.removeprefix("rmsnorm-")
    inputs = inputs_of(step_id, seed)[group]
    found = {}
    for check in TABLES[step_id]:
        found[f"{group}.{check}"] = frozenset((check, i) for i in range(len(inputs.get(check, [0, 0]))))
    for label, belongs in PROBES.items() if group != "weight" else ():
        places = {
            (check, i)
            for check, cases in inputs.items()
            for i, case in enumerate(cases)
            if belongs(case, evidence.decode(case["x"]))
        }
        found[f"{group}: {label}"] = frozenset(places)
    return {label: places for label, places in found.items() if places}


def kills(seed: str) -> tuple[Counter, Counter]:
    """Per unit: wrong classes that it catches in its step, and those that nothing else does."""
    caught, alone = Counter(), Counter()
    for name in WRONG:
        for step_id in STEP_IDS:
            failed = set(failing_places(name, seed, step_id))
            for label, places in units(step_id, seed).items() if failed else ():
                caught[label] += bool(failed & places)
                alone[label] += failed <= places
    return caught, alone


def mistaken_without(name: str, seed: str) -> set[str]:
    """Units without which an exact diagnosis would be another: an earlier mistake fits all other cases.

    What each mistake shows is recorded once; leaving cases out runs nothing again.
    """
    step_id = next(step_id for step_id in STEP_IDS if step_id in NAMES[name].loses)
    compared: list[judges.Comparison] = []
    original = judges.diagnose

    def diagnose(inputs, seen, probe, cases, target, examine_all, found):
        compared.append(judges.Comparison(inputs, seen, probe, cases, target, found))
        return original(inputs, seen, probe, cases, target, examine_all, found)

    judges.diagnose = diagnose
    try:
        ids = judge(name, seed, step_id).diagnosis
    finally:
        judges.diagnose = original
    if ids != NAMES[name].misconception or not compared:
        return set()
    mode = (implementation_mistakes.AllInForward,) if judges.without_norm(compared[0].observed) else ()
    needed: set[str] = set()
    for one in implementation_mistakes.MISTAKES:
        if (one.id,) == ids:
            break
        needed |= telling_apart(compared[0], (*mode, one.part), units(step_id, seed))
    return needed


def telling_apart(compared: judges.Comparison, parts: tuple[type, ...], known: dict) -> set[str]:
    """Units that hold every case in which the mistake and the answer differ, if there is one."""
    left, differ = dict(known), False
    for place in (*compared.places, *compared.passed):
        same = compared.passes if place in compared.passed else compared.fits
        if not same(place, parts):
            left, differ = {label: places for label, places in left.items() if place in places}, True
        if not left:
            break
    return set(left) if differ else set()


def worth(seed: str) -> str:
    """What every check and every probe is worth; those without which nothing would be lost are marked."""
    caught, alone = kills(seed)
    needed = Counter(label for name in DIAGNOSED for label in mistaken_without(name, seed))
    lines = [f"{'without':36} kills  only it  diagnoses"]
    for label in chain.from_iterable(units(step_id, seed) for step_id in STEP_IDS):
        lost = "" if alone[label] or needed[label] else "  loses neither"
        lines.append(f"{label:36} {caught[label]:5} {alone[label]:8} {needed[label]:10}{lost}")
    return "\n".join(lines)


DOCS = Path(__file__).resolve().parents[1] / "docs" / "what-costs-what.md"
FAMILIES = {
    "statistic": "统计量", "axis": "轴与形状", "root": "开方与取倒", "epsilon": "ε", "parameter": "参数",
    "scaling": "缩放", "dtype": "dtype 与精度", "precision": "精度", "graph": "计算图",
    "side-effect": "副作用", "shape": "形状", "pair": "两个错同时出现", "hard-coded": "写死例题的答案",
    "device": "设备", "interface": "接口", "sign": "正负号", "rounding": "过早取整", "slip": "算错、抄错",
    "form": "形式不对", "blank": "没写完", "reading": "读结果", "width": "写死宽度", "error": "报错",
    "chain": "逐层测量", "edge": "边界情形",    "projection": "投影", "sphere": "球面", "composition": "两步合成",
}  # fmt: skip


def table(entries: list) -> str:
    """Markdown: per family, which steps its wrong entries lose, and how many entries each way."""
    rows: dict[str, Counter] = {}
    for entry in entries:
        if not entry.right:
            rows.setdefault(entry.family, Counter())["、".join(f"`{step}`" for step in steps(entry))] += 1
    lines = ["| 家族 | 丢分的步骤 | 份数 |", "| --- | --- | --- |"]
    for family in sorted(rows):
        for lost, count in sorted(rows[family].items(), key=lambda item: (-item[1], item[0])):
            lines.append(f"| {FAMILIES[family]} | {lost} | {count} |")
    return "\n".join(lines) + "\n"


def steps(entry) -> list[str]:
    return [step_id for step_id in STEPS if step_id in entry.loses]


def families() -> str:
    """The document: one table for every lesson with a corpus."""
    parts = [
        "# 错在哪里，丢哪几步\n",
        "由 `python -m tests.matrix --families` 生成。语料里的正确答案每一步都得满分；错误的恰好丢下表里步骤的分，"
        "其余步骤满分。\n",
    ]
    for lesson, entries in {**CORPORA, "04-implementation": ENTRIES}.items():
        wrong = sum(not entry.right for entry in entries)
        parts.append(f"## {lesson}\n")
        parts.append(f"{wrong} 份错误的，{len(entries) - wrong} 份正确的。\n")
        parts.append(table(entries))
    return "\n".join(parts)


def exact(names: list[str], seed: str) -> int:
    return sum(diagnosis(name, seed) == NAMES[name].misconception for name in names)


def main() -> None:
    if "--families" in sys.argv[1:]:
        DOCS.parent.mkdir(exist_ok=True)
        DOCS.write_text(families(), encoding="utf-8")
        return
    seed = VISIBLE_SEED
    print(matrix(seed), "\n")
    print(f"exact diagnoses: {exact(DIAGNOSED, seed)} of {len(DIAGNOSED)}")
    if WITHOUT in sys.argv[1:]:
        print(f"\n{worth(seed)}\n")
    print(f"misconceptions: {len({m.id for m in implementation_mistakes.MISTAKES})}")


if __name__ == "__main__":
    main()
