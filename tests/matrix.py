"""``python -m tests.matrix``: which check catches which wrong class, and what each check and case is worth.

Per case: how many wrong classes only that case catches, and how many exact diagnoses are lost without it.
``--families`` writes docs/what-costs-what.md instead.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from rmslab import engine
from rmslab.checks import STEPS, implementation_mistakes
from rmslab.checks import implementation_judge as judges
from rmslab.step import VISIBLE_SEED

sys.path.insert(0, str(Path(__file__).parent))  # as pytest does
from corpus_implementation import ENTRIES
from test_corpus import (
    DIAGNOSED,
    NAMES,
    STEP_IDS,
    WRONG,
    diagnosis,
    inputs_of,
    judge,
    observed,
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


def worth(seed: str) -> str:
    """Kills of every check and every case, and those where nothing else in the same step fails."""
    kills, sole = Counter(), Counter()
    for name in WRONG:
        for step_id in STEP_IDS:
            cases = {(step_id, *place) for place in failing_places(name, seed, step_id)}
            checks = {case[:2] for case in cases}
            kills.update(cases | checks)
            sole.update(checks if len(checks) == 1 else ())
            sole.update(cases if len(cases) == 1 else ())
    lines = [f"{'check or case':36} kills  only it"]
    for place in sorted(kills, key=str):
        step_id, check, *number = place
        label = f"{step_id}.{check}" + (f"[{number[0]}]" if number else "")
        lines.append(f"{label:36} {kills[place]:5} {sole[place]:8}")
    return "\n".join(lines)


DOCS = Path(__file__).resolve().parents[1] / "docs" / "what-costs-what.md"
FAMILIES = {
    "statistic": "统计量", "axis": "轴与形状", "root": "开方与取倒", "epsilon": "ε", "parameter": "参数",
    "scaling": "缩放", "dtype": "dtype 与精度", "precision": "精度", "graph": "计算图",
    "side-effect": "副作用", "shape": "形状", "pair": "两个错同时出现", "hard-coded": "写死例题的答案",
    "device": "设备", "interface": "接口", "sign": "正负号", "rounding": "过早取整", "slip": "算错、抄错",
    "form": "形式不对", "blank": "没写完", "reading": "读结果", "width": "写死宽度", "error": "报错", "chain": "逐层测量", "edge": "边界情形",
    "projection": "投影", "sphere": "球面", "composition": "两步合成",
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


def without(seed: str) -> str:
    """Exact diagnoses lost when a check, or one case of it, is left out of the comparison."""
    names = [n for n in DIAGNOSED if diagnosis(n, seed) == NAMES[n].misconception]
    lines = [f"exact diagnoses: {len(names)} of {len(DIAGNOSED)}", f"{'without':36} lost"]
    for step_id in STEP_IDS[1:]:
        group = step_id.removeprefix("rmsnorm-")
        inputs = inputs_of(step_id, seed)[group]
        own = [n for n in names if first_failing(n, seed) == step_id]
        for check in list(inputs):
            places = [None, *range(len(inputs[check]))] if len(inputs[check]) > 1 else [None]
            for k in places:
                lost = sum(rejudged(n, seed, step_id, check, k) != NAMES[n].misconception for n in own)
                label = f"{step_id}.{check}" + ("" if k is None else f"[{k}]")
                lines.append(f"{label:36} {lost:4}")
    return "\n".join(lines)


def first_failing(name: str, seed: str) -> str:
    return next(step_id for step_id in STEP_IDS if not verdict(name, seed, step_id).passed)


def rejudged(name: str, seed: str, step_id: str, check: str, k: int | None) -> tuple[str, ...]:
    """The diagnosis on inputs and evidence from which a check, or one case of it, was taken out."""
    group = step_id.removeprefix("rmsnorm-")
    inputs = json.loads(json.dumps(inputs_of(step_id, seed)))
    seen = json.loads(observed(name, seed)[step_id])
    targets = (seen[name] for name in (group, "own", "graft") if check in seen.get(name, {}))
    for document in (inputs[group], *targets):
        document[check] = [] if k is None else [one for i, one in enumerate(document[check]) if i != k]
    return engine.judge(STEPS[step_id], inputs, seen).diagnosis


def main() -> None:
    if "--families" in sys.argv[1:]:
        DOCS.parent.mkdir(exist_ok=True)
        DOCS.write_text(families(), encoding="utf-8")
        return
    seed = VISIBLE_SEED
    print(matrix(seed), "\n")
    print(worth(seed), "\n")
    if WITHOUT in sys.argv[1:]:
        print(without(seed))
    else:
        print(f"exact diagnoses: {exact(DIAGNOSED, seed)} of {len(DIAGNOSED)}")
        print(f"({WITHOUT}: exact diagnoses lost without each check and case; minutes)")
    print(f"misconceptions: {len({m.id for m in implementation_mistakes.MISTAKES})}")


if __name__ == "__main__":
    main()
