"""``python -m rmslab check``: a student's restart-and-run in a fresh process, with an exit code to trust.

Runs every code cell in order except experiments, then checks each step of the lesson itself, whatever the
notebook's own test cells say.
"""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CAP = 120
"""Seconds for one notebook."""
CHECKED = re.compile(r"""check\(\s*["']([\w-]+)["']""")


class Unreadable(Exception):
    """The file is no notebook, or no lesson of this course; the message says what to do."""


def load(path: Path) -> dict[str, Any]:
    """The notebook as JSON.

    Raises:
        Unreadable: missing, empty or damaged file.
    """
    if not path.is_file():
        raise Unreadable(f"找不到文件 {path}。请检查路径；文件改过名，就写改过的名字。")
    try:
        notebook = json.loads(path.read_bytes().decode("utf-8-sig"))
        cells = notebook["cells"]
        if not isinstance(cells, list) or not all(isinstance(cell["cell_type"], str) for cell in cells):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        message = f"{path} 不是完整的 notebook（可能没有下载完）。请在 JupyterLab 里打开并保存，再试一次。"
        raise Unreadable(message) from None
    return notebook


def source(cell: dict[str, Any]) -> str:
    text = cell.get("source", "")
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


def child(node: dict[str, Any], key: str) -> dict[str, Any]:
    """``node[key]`` where it is a dictionary, as it should be, else an empty one."""
    value = node.get(key)
    return value if isinstance(value, dict) else {}


def lesson_of(notebook: dict[str, Any], path: Path) -> str:
    """Which lesson this is: by its metadata, else by the steps that its cells check, else by its name.

    Raises:
        Unreadable: none of them tells.
    """
    from rmslab.checks import LESSONS, STEPS

    named = child(child(notebook, "metadata"), "rmsnorm_course").get("lesson")
    if isinstance(named, str) and named in LESSONS:
        return named
    asked = CHECKED.findall("\n".join(map(source, notebook["cells"])))
    lessons = {STEPS[step].lesson for step in asked if step in STEPS}
    by_name = next((lesson for lesson in LESSONS if lesson in path.stem), None)
    if len(lessons) == 1:
        return lessons.pop()
    if by_name:
        return by_name
    raise Unreadable(f"{path} 不像本课程带检查的 lesson。带检查的有：{'、'.join(LESSONS)}。")


def is_experiment(cell: dict[str, Any]) -> bool:
    tags = child(cell, "metadata").get("tags")
    return isinstance(tags, list) and "experiment" in tags


def inside(path: Path, report: Path) -> None:
    """The fresh process: run the notebook, write one JSON line per step to ``report``."""
    from rmslab import card, evidence
    from rmslab.catalogue import text
    from rmslab.checks import steps_of
    from rmslab.engine import answers, check, differ
    from rmslab.shell import Shell, misread

    evidence.ATTENDED = False
    notebook = load(path)
    shell = Shell.instance()
    kept: dict[str, dict[str, Any]] = {}
    with report.open("a", encoding="utf-8") as lines:
        for number, cell in enumerate(notebook["cells"], 1):
            if cell["cell_type"] != "code" or is_experiment(cell):
                continue
            for output in shell.run(source(cell)):
                if output["output_type"] == "error":
                    told = f"第 {number} 个单元格报错：{output['ename']}: {one_line(output['evalue'])}"
                    if found := misread(output, source(cell)):
                        told = f"第 {number} 个单元格：{text('seen', found[0], **found[1])}"
                    lines.write(json.dumps({"error": told}) + "\n")
                    lines.flush()
            kept |= {step: answers(step, shell.user_ns) for step in CHECKED.findall(source(cell))}
        for step in steps_of(lesson_of(notebook, path)):
            in_place, now = kept.get(step.id, {}), shell.user_ns
            found = [now | in_place, now] if differ(in_place, now) else [now]
            scores = [check(step.id, *(names.get(name, ...) for name in step.arguments)) for names in found]
            score = max(scores, key=float)
            verdict = score.verdict
            row = {"step": step.id, "points": float(score), "max": verdict.max_points}
            row |= {"passed": verdict.passed, "message": one_line(card.message(verdict))}
            lines.write(json.dumps(row) + "\n")
            lines.flush()


def one_line(text: str) -> str:
    """The text without line breaks, cut to what a table row can show."""
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:300] + "…"


def read_report(path: Path) -> list[dict[str, Any]]:
    """The rows that the fresh process wrote; the last may have been cut off when it was stopped."""
    rows = []
    for line in path.read_text("utf-8", "replace").splitlines():
        with contextlib.suppress(ValueError):
            rows.append(json.loads(line))
    return rows


def check_one(path: Path, cap: float = CAP) -> bool:
    """Check one notebook and print its table. True if every step passes."""
    from rmslab.checks import steps_of

    print(f"\n{path}")
    try:
        lesson = lesson_of(load(path), path)
    except Unreadable as problem:
        print(f"  {problem}")
        return False
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.jsonl"
        report.touch()
        command = [sys.executable, "-m", "rmslab", "--inside", str(path.resolve()), str(report)]
        root = Path(__file__).resolve().parent.parent
        paths = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
        env = os.environ | {"PYTHONPATH": paths, "NBGRADER_EXECUTION": "check", "MPLBACKEND": "agg"}
        process = subprocess.Popen(
            command, cwd=path.resolve().parent, env=env, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            code = process.wait(cap)
            ending = "" if code == 0 else f"进程中途退出（代码 {code}）。"
        except subprocess.TimeoutExpired:
            ending = f"超过 {cap:g} 秒，已停止。检查是否有死循环。"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and whatever the notebook left running
            process.wait()
        rows = read_report(report)
    for row in rows:
        if "error" in row:
            print(f"  ! {row['error']}")
    done = {row["step"]: row for row in rows if "step" in row}
    all_passed = True
    for step in steps_of(lesson):
        row = done.get(
            step.id, {"points": 0.0, "max": step.points, "passed": False, "message": "没有运行到这一步。"}
        )
        all_passed &= row["passed"]
        sign = "✓" if row["passed"] else "✗"
        print(f"  {sign} {step.id:<22}{row['points']:>5g} / {row['max']:g}  {row['message']}")
    if ending:
        print(f"  {ending}")
    return all_passed and not ending


def recheck(name: str) -> None:
    """Inside a lesson: check the saved file and print its table. Does nothing while the lesson is graded.

    Args:
        name: the lesson, ``"04-implementation"``, or its file if that was renamed.
    """
    if not os.environ.get("NBGRADER_EXECUTION"):
        check_one(Path(name if name.endswith(".ipynb") else f"{name}.ipynb"))


def main(paths: list[str]) -> int:
    """Check every notebook named; 0 only if all steps of all of them pass."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks ✓ or Chinese is no reason to stop
    return 0 if all([check_one(Path(path)) for path in paths]) else 1
