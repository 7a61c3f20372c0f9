"""``autograder grade``: every submission → a result; then the gradebook and the pages, by one writer.

Submissions run in children, a few at a time. Judging happens here, with the class's secret seed, from the
evidence the children sent. Whatever one submission does, the next is graded.
"""

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

import rmslab
from autograder import gradebook, pages, results
from autograder.build import fingerprint
from autograder.course import NO_ID, Classroom, Course
from autograder.harmless import shown
from autograder.outputs import output
from autograder.problem import Problem
from autograder.rebuild import Rebuilt, Unreadable, is_solution, rebuild, submitted
from autograder.results import Result, StepResult
from autograder.roster import read_people
from autograder.run import NO_SANDBOX, Cluster, Pool, Transcript, cores
from rmslab import card, engine, evidence
from rmslab.catalogue import text
from rmslab.checks import LESSONS, steps_of
from rmslab.shell import misread
from rmslab.step import BLANK, Step, Verdict, status_of

REMEMBERED = 1000
"""Verdicts that a lesson keeps."""


@dataclass(frozen=True)
class Lesson:
    """What grading one lesson needs, made once."""

    name: str
    master: NotebookNode
    steps: tuple[Step, ...]
    inputs: dict[str, Any]
    key: str
    judged: dict[str, Verdict] = field(default_factory=dict)
    """Verdicts by step and evidence: a judge is a pure function, and many answers compute the same."""

    @classmethod
    def prepare(cls, course: Course, classroom: Classroom, name: str) -> "Lesson":
        if name not in LESSONS:
            raise Problem(f"没有叫 {name} 的带检查的课。现有的课：{'、'.join(LESSONS)}")
        master, seed = gradebook.master(course, name), classroom.seed()
        steps = tuple(steps_of(name))
        inputs = {step.id: step.inputs(seed) for step in steps}
        return cls(name, master, steps, inputs, results.key(fingerprint(master), code_version(), seed))


@cache
def code_version() -> str:
    """A hash of everything that can change a result."""
    kit, grader = Path(rmslab.__file__).parent, Path(__file__).parent
    files = [*kit.rglob("*.py"), *kit.rglob("*.toml")]
    names = ("child", "children", "grade", "outputs", "prose", "rebuild", "run", "worker")
    files += [grader / f"{name}.py" for name in names]
    return results.key(*(path.read_bytes() for path in sorted(files)))


# --- one submission ---------------------------------------------------------------------------------------


def grade_one(
    pool: Pool | Cluster, lesson: Lesson, student: str, path: Path, key: str, timeout: float, memory: int
) -> Result:
    """Rebuild, run, judge. Every way of failing becomes a status."""
    try:
        rebuilt = rebuild(lesson.master, submitted(path))
    except Unreadable as reason:
        return result(student, lesson.name, key, unreadable(lesson, str(reason)))
    stubs = {c.id: c.source for c in lesson.master.cells if c.cell_type == "code" and is_solution(c)}
    transcript = pool.run(rebuilt.notebook, lesson.inputs, timeout, memory, stubs)
    steps = [judge(step, lesson, rebuilt, transcript) for step in lesson.steps]
    notebook = fill(rebuilt.notebook, transcript, {step.step: step for step in steps})
    steps += [by_hand(cell, rebuilt) for cell in rebuilt.notebook.cells if is_manual(cell)]
    made = result(student, lesson.name, key, steps, list(rebuilt.notes), notebook)
    return replace(made, protections=transcript.protections)


def result(
    student: str,
    lesson: str,
    key: str,
    steps: list[StepResult],
    notes: Sequence[str] = (),
    notebook: Any = None,
) -> Result:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Result(student, lesson, key, now, "", steps, list(notes), notebook)


def whole(step: Step, status: str, **facts: str) -> StepResult:
    """A step that has a status and no verdict."""
    return StepResult(step.id, 0.0, step.points, status, message=text("remedy", status, **facts))


def unreadable(lesson: Lesson, reason: str) -> list[StepResult]:
    """Every step of the lesson, also those that a person grades: nothing can be read."""
    message = text("remedy", "unreadable", reason=reason)
    marks = [cell.metadata.nbgrader for cell in lesson.master.cells if is_manual(cell)]
    steps = [(step.id, step.points) for step in lesson.steps] + [(m.grade_id, m.points) for m in marks]
    return [StepResult(name, 0.0, points, "unreadable", message=message) for name, points in steps]


def is_manual(cell: NotebookNode) -> bool:
    marks = cell.metadata.get("nbgrader", {})
    return bool(marks.get("grade") and marks.get("solution")) or bool(marks.get("task"))


def by_hand(cell: NotebookNode, rebuilt: Rebuilt) -> StepResult:
    """A cell that a person grades: waiting, or worth nothing because it is as released."""
    marks = cell.metadata.nbgrader
    status = BLANK if marks.grade_id in rebuilt.blank else "needs_manual"
    return StepResult(marks.grade_id, 0.0, marks.points, status, message=text("remedy", status))


def judge(step: Step, lesson: Lesson, rebuilt: Rebuilt, transcript: Transcript) -> StepResult:
    """The step's result from the evidence; or from how its cells ended."""
    answer = answer_cell(step, lesson.master)
    if answer in rebuilt.blank:
        return whole(step, BLANK)
    for cell in (answer, step.id):
        if cell in transcript.fatal:
            return whole(step, transcript.fatal[cell])
    if step.id not in transcript.evidence:
        return whole(step, "crashed")
    seen = [transcript.evidence[step.id], *transcript.later.get(step.id, ())]
    judged = [judge_once(step, lesson, observed) for observed in seen]
    best = max(range(len(seen)), key=lambda i: judged[i].points)  # the first of equals
    observed, verdict = seen[best], judged[best]
    broken = next((o for o in transcript.outputs.get(answer, ()) if o.get("output_type") == "error"), None)
    if broken and evidence.is_error(observed):  # the answer's own error says more than the name it left unset
        verdict = unfinished(step, answer, rebuilt, broken)
    verdict = replace(verdict, facts=private(verdict.facts), case={})
    kept = asdict(verdict)
    message = card.message(verdict)
    return StepResult(
        step.id, verdict.points, verdict.max_points, verdict.status, "+".join(verdict.diagnosis), message,
        kept, transcript.printed.get(step.id, ""),
    )  # fmt: skip


def unfinished(step: Step, answer: str, rebuilt: Rebuilt, broken: dict[str, Any]) -> Verdict:
    """The verdict where the cell with the answer ended in an error."""
    error = {"ename": str(broken.get("ename")), "evalue": str(broken.get("evalue"))[:300]}
    cell = next(c for c in rebuilt.notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == answer)
    facts = {"error": error["ename"], "reason": error["evalue"]}
    kind, facts = misread(error, cell.source) or ("cell", facts)
    status = status_of({"type": error["ename"], "message": error["evalue"]})
    return Verdict(step.id, 0.0, step.points, status, failure=kind, facts=facts)


def judge_once(step: Step, lesson: Lesson, observed: Any) -> Verdict:
    """The verdict on this evidence, from memory if it has been judged before."""
    try:
        key = results.key(step.id, json.dumps(observed, sort_keys=True))
    except (TypeError, ValueError, RecursionError):  # nothing that a probe makes: the judge will say so
        return engine.judge(step, lesson.inputs[step.id], observed)
    if key not in lesson.judged:
        if len(lesson.judged) >= REMEMBERED:
            lesson.judged.clear()
        lesson.judged[key] = engine.judge(step, lesson.inputs[step.id], observed)
    return lesson.judged[key]


def private(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts, short and flat, without the numbers that an exception mentions: they may be the hidden input."""
    told = {
        key: fact if type(fact) in (int, float) else str("" if fact is None else fact)[: evidence.MAX_TEXT]
        for key, fact in facts.items()
    }
    return told | {"reason": re.sub(r"\d+\.\d+(e[-+]?\d+)?", "…", str(told.get("reason", "")))}


def answer_cell(step: Step, master: NotebookNode) -> str:
    """The solution cell that a step depends on: the last one above it."""
    last = ""
    for cell in master.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade_id") == step.id:
            break
        if marks.get("solution"):
            last = marks["grade_id"]
    return last


def fill(notebook: NotebookNode, transcript: Transcript, steps: dict[str, StepResult]) -> dict[str, Any]:
    """The autograded notebook: outputs in place, each test cell showing its score and its card."""
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        marks = cell.metadata.get("nbgrader", {})
        cell.execution_count = None
        cell.outputs = []
        graded = steps.get(marks.get("grade_id")) if marks.get("grade") else None
        if graded:
            data = {"text/plain": repr(float(graded.points)), "text/html": pages.step_card(graded)}
            cell.outputs = [output("execute_result", data=data, metadata={}, execution_count=None)]
        else:
            cell.outputs = transcript.outputs.get(cell.id, [])
    return notebook


# --- a class ----------------------------------------------------------------------------------------------


def grade(
    course: Course,
    classroom: Classroom,
    lessons: Iterable[str] = (),
    students: Iterable[str] = (),
    jobs: int | None = None,
    force: bool = False,
    timeout: float = 30.0,
    memory: int = 4096,
    db_url: str | None = None,
    require_sandbox: bool = False,
    dask: str | None = None,
    pool: Pool | None = None,
) -> list[Result]:
    """Grade what was collected and is not graded yet; then bring gradebook and notebooks in line.

    Args:
        pool: workers that have been started already; closed in the end.

    Returns:
        The results of all submissions asked for, old and new.

    Raises:
        Problem: an unknown lesson or student, nothing collected, no cluster; no sandbox though required.
    """
    wanted = _submissions(course, classroom, list(lessons), list(students))
    ready = {name: Lesson.prepare(course, classroom, name) for name in sorted({name for _, name in wanted})}
    done: list[Result] = []
    todo = []
    for student, name in wanted:
        key = results.key(ready[name].key, content(classroom.submission(student, name)))
        old = results.read(classroom, student, name)
        if old and old.key == key and not force:
            done.append(replace(old, notebook=None))
        else:
            todo.append((ready[name], student, key))
    print(f"共 {len(wanted)} 份，其中 {len(done)} 份没有变化，要评 {len(todo)} 份。", flush=True)
    with (
        pool or (Cluster(dask) if dask else Pool(min(jobs or cores(), max(len(todo), 1)))) as pool,
        ThreadPoolExecutor(pool.size + 1) as threads,
    ):
        if todo:
            protections = pool.protections()
            print(f"保护：{protections}。", flush=True)
            if require_sandbox and NO_SANDBOX in protections:
                raise Problem(
                    "这里用不了沙箱，按 --require-sandbox 的要求没有评分。Linux 上请安装 bubblewrap，"
                    "并允许普通用户建立命名空间（user namespaces）；或去掉这个选项。"
                )
        progress = Progress(len(todo))
        # A thread takes the next submission, one more of them than workers: while it judges, its worker works
        # for another. Writing happens here, one by one.
        running = [
            threads.submit(_safely, pool, classroom, lesson, student, key, timeout, memory)
            for lesson, student, key in todo
        ]
        try:
            for future in as_completed(running):
                graded = future.result()
                results.write(classroom, graded)
                done.append(replace(graded, notebook=None))
                progress.tick(graded)
                running.remove(future)
        except BaseException:  # interrupted, or the disk is full: what has not begun need not begin
            threads.shutdown(wait=False, cancel_futures=True)
            raise
    reconcile(course, classroom, ready, db_url or classroom.db_url)
    nameless = [name for name in classroom.folders() if NO_ID.search(name) and not name.startswith(".")]
    if nameless:
        told = "、".join(repr(name) for name in nameless)
        raise Problem(f"这些文件夹的名字当不了学号，没有评：{told}。请改名，或用 autograder collect 重新收。")
    return sorted(done, key=lambda r: (r.student, r.lesson))


def content(path: Path) -> bytes | str:
    """What decides whether a submission has changed."""
    try:
        return submitted(path)
    except Unreadable as reason:
        return str(reason)


def _safely(
    pool: Pool | Cluster,
    classroom: Classroom,
    lesson: Lesson,
    student: str,
    key: str,
    timeout: float,
    memory: int,
) -> Result:
    """Nothing that one submission triggers, not even our own mistake, stops the others."""
    try:
        path = classroom.submission(student, lesson.name)
        return grade_one(pool, lesson, student, path, key, timeout, memory)
    except Problem:  # no worker can be started: that is no submission's fault
        raise
    except Exception as error:
        print(
            shown(f"{student} {lesson.name}：评分程序出错（{type(error).__name__}: {error}），请人工查看。"),
            file=sys.stderr,
        )
        reason = f"评分程序出错：{type(error).__name__}"
        return result(student, lesson.name, "", unreadable(lesson, reason))


def _submissions(
    course: Course, classroom: Classroom, lessons: list[str], students: list[str]
) -> list[tuple[str, str]]:
    for name in lessons:
        if name not in LESSONS:
            raise Problem(f"没有叫 {name} 的带检查的课。现有的课：{'、'.join(LESSONS)}")
    handed_in = classroom.students()
    if not handed_in:
        raise Problem(f"{classroom.root / 'submitted'} 里没有提交。请先运行 autograder collect。")
    unknown = [student for student in students if student not in handed_in]
    if unknown:
        raise Problem(f"没有收到这些学生的提交：{'、'.join(unknown)}。")
    found = [
        (student, name)
        for student in dict.fromkeys(students or handed_in)
        for name in dict.fromkeys(lessons or LESSONS)
        if classroom.handed_in(student, name)
    ]
    if not found:
        asked = "、".join(lessons) or "任何一课"
        raise Problem(f"没有收到 {asked} 的提交。请先运行 autograder collect。")
    return found


class Progress:
    """One line a submission; on a terminal, one line that is rewritten. With rate, time left and statuses."""

    def __init__(self, total: int):
        self.total, self.number, self.started = total, 0, time.monotonic()
        self.statuses: Counter[str] = Counter()
        self.live = sys.stdout.isatty()

    def tick(self, graded: Result) -> None:
        self.number += 1
        self.statuses.update({step.status for step in graded.steps})
        spent = time.monotonic() - self.started
        left = spent / self.number * (self.total - self.number)
        counts = " ".join(f"{text('status', status)} {n}" for status, n in self.statuses.most_common())
        line = f"[{self.number}/{self.total}] {shown(graded.student)} {graded.lesson} "
        line += f"{graded.points:g}/{graded.max_points:g}　每份 {spent / self.number:.2f} 秒，"
        line += f"还需约 {left:.0f} 秒　{counts}"
        end = "\r" if self.live and self.number < self.total else "\n"
        print(f"\033[K{line}" if self.live else line, end=end, flush=True)


def reconcile(course: Course, classroom: Classroom, ready: dict[str, Lesson], db_url: str) -> None:
    """Gradebook, autograded notebooks and feedback pages from the results on disk, one result at a time."""
    course_id = course.nbgrader().CourseDirectory.course_id
    names = {student: row.get("name") or "" for student, row in read_people(classroom).items()}
    for name, lesson in ready.items():
        published = _published(classroom, name, gradebook.scores(db_url, name))
        gradebook.record(db_url, name, lesson.master, published, course_id, names)


def _published(
    classroom: Classroom, lesson: str, by_hand: dict[str, dict[str, gradebook.Mark]]
) -> Iterator[Result]:
    """The lesson's results; on the way, the files made of each that is newer than they are."""
    for one in results.read_all(classroom, lesson):
        made = classroom.result(one.student, lesson).stat().st_mtime_ns
        page, notebook = classroom.feedback(one.student, lesson), classroom.autograded(one.student, lesson)
        if one.student in by_hand or not page.is_file() or page.stat().st_mtime_ns < made:
            pages.publish(classroom, one, by_hand.get(one.student, {}))
        if one.notebook is None:
            notebook.unlink(missing_ok=True)
        elif not notebook.is_file() or notebook.stat().st_mtime_ns < made:
            results.write_atomically(notebook, json.dumps(one.notebook, ensure_ascii=False) + "\n")
        yield one
