"""Run rebuilt notebooks: workers in a sandbox, a child per notebook, a transcript of what came out.

A cell that hangs, exits or kills its process is left out and the rest run again, at most three times within
the notebook's cap; from the first step that does so on, each is probed without what other steps ask for.
Evidence already received stands. Where steps are still lost, they are tried without any cell that the student
added: what those do to their process costs nobody's answer.
"""

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from nbformat import NotebookNode

from autograder import outputs, sandbox
from autograder.problem import Problem
from autograder.rebuild import EXTRA
from autograder.worker import STARTUP, read_frame, write_bytes, write_frame

NO_SANDBOX = "没有完整的沙箱"
NOTEBOOK_CAP = 120.0
RETRIES = 3
HASTE = 10.0
"""Seconds for a step at most, once one has ended its process: the rest of the time is for the others."""
GRACE = 30.0
"""Seconds beyond its own caps after which a worker counts as lost."""
MAX_OUTPUTS = 24 * 2**20
"""Characters of all outputs of one notebook."""

_starter = ThreadPoolExecutor(1, "start workers")
"""The kernel ends a worker with the thread that started it: this one stays."""


@dataclass
class Transcript:
    """What one notebook's run gave.

    Attributes:
        outputs: nbformat outputs by cell id.
        evidence: by step id, as the child sent it (not to be trusted).
        later: evidence of the same on other terms, any of which the student may claim: what the names stand for
            at the notebook's end, where that is something else; where code failed, without any added cell.
        printed: what student code printed during each step's probe.
        fatal: cell id or step id → ``timeout``, ``memory`` or ``crashed``.
        protections: what stood between the student's code and this machine.
    """

    outputs: dict[str, list] = field(default_factory=dict)
    evidence: dict[str, Any] = field(default_factory=dict)
    later: dict[str, list[Any]] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)
    fatal: dict[str, str] = field(default_factory=dict)
    protections: str = ""


@dataclass(frozen=True)
class Limits:
    """What one notebook may use: seconds a cell, MB beyond the imports, and until when (monotonic clock)."""

    timeout: float
    memory: int
    deadline: float

    def over(self) -> bool:
        return time.monotonic() >= self.deadline


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerLost(Exception):
    """The worker ended or fell silent in the middle of a job."""


class Worker:
    """The grader's end of one worker process, which takes a second or two before it can be greeted."""

    def __init__(self) -> None:
        self.sandboxed = sandbox.works()
        command = [sys.executable, "-P", "-m", "autograder.worker", str(os.getpid())]
        if self.sandboxed:
            command, env = sandbox.wrap(command), sandbox.environment("/course") | {"RMSNORM_SANDBOX": "1"}
            self.scratch = None
        else:
            self.scratch = tempfile.TemporaryDirectory(prefix="rmsnorm-")
            env = sandbox.environment(scratch=self.scratch.name)
        self.process = _starter.submit(
            subprocess.Popen, command, env=env, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ).result()  # fmt: skip
        self.protections = ""

    def greet(self) -> None:
        """Wait until the worker is ready.

        Raises:
            Problem: it does not start.
        """
        if self.protections:
            return
        hello = None
        with self.watched(4 * STARTUP), contextlib.suppress(OSError, ValueError):
            hello = read_frame(self.process.stdout)
        if not hello or hello.get("event") != "hello":
            raise Problem("评分子进程启动不了。请先运行 make test，看环境是否完整。")
        self.protections = describe(hello)

    @contextlib.contextmanager
    def watched(self, seconds: float) -> Iterator[None]:
        """Kill the worker if the block takes longer: a read that waits for it then ends."""
        timer = threading.Timer(seconds, self.process.kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def run(self, job: dict[str, Any], steps: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The job's events, the last one ``ended``. The steps follow when the student's cells have run.

        Raises:
            WorkerLost: the worker is no longer there; make another.
        """
        caps = {key: job[key] for key in ("cap", "timeout", "memory")}
        with self.watched(job["cap"] + GRACE):
            try:
                write_frame(self.process.stdin, caps | {"cells": [cell["id"] for cell in job["cells"]]})
                write_bytes(self.process.stdin, json.dumps(job).encode())
                while True:
                    event = read_frame(self.process.stdout)
                    if event is None:
                        raise WorkerLost
                    if event["event"] == "ready":
                        head = {"timeout": steps["timeout"], "cells": [cell["id"] for cell in steps["cells"]]}
                        write_frame(self.process.stdin, head)
                        write_bytes(self.process.stdin, json.dumps(steps).encode())
                        continue
                    yield event
                    if event["event"] == "ended":
                        return
            except (OSError, ValueError, RecursionError) as error:
                raise WorkerLost from error

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()
        if not self.protections:  # still importing: nobody waits for that
            self.process.kill()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.scratch:
            self.scratch.cleanup()


def describe(hello: dict[str, Any]) -> str:
    """The protections that are on, for the run's header and every report."""
    on = ["时限", "内存上限"]
    if hello["sandbox"]:
        on = ["bubblewrap 沙箱：无网络、只读系统、看不到解答与班级", *on]
    if hello["namespaces"]:
        on = ["每份提交独立的用户、进程、IPC 命名空间", *on]
    if not (hello["sandbox"] and hello["namespaces"]):
        on.append(NO_SANDBOX)
    return "；".join(on)


class Pool:
    """A few workers on this machine, each started when first needed. Use as a context manager."""

    def __init__(self, size: int):
        self.size = size
        self.turns = threading.BoundedSemaphore(size)
        self.free: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(size):
            self.free.put(None)

    def warm(self) -> "Pool":
        """Let the workers start now, while there is something else to do."""
        for _ in range(self.size):
            self.free.get()
        for _ in range(self.size):
            self.free.put(Worker())
        return self

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        while not self.free.empty():
            worker = self.free.get()
            if worker:
                worker.close()

    @contextlib.contextmanager
    def worker(self) -> Iterator[Worker]:
        """A worker of one's own for a while; one that is lost is replaced the next time.

        So is one that was left in the middle of a job, for whatever reason: what it still says belongs to
        that job, and must not be taken for the next.
        """
        worker = self.free.get()
        try:
            if worker is None:
                worker = Worker()
            worker.greet()
            yield worker
        except BaseException:
            if worker is not None:
                worker.close()
            worker = None
            raise
        finally:
            self.free.put(worker)

    def protections(self) -> str:
        """What stands between student code and this machine."""
        with self.worker() as worker:
            return worker.protections

    def run(
        self, notebook: NotebookNode, inputs: dict[str, Any], timeout: float, memory: int,
        stubs: dict[str, str] | None = None,
    ) -> Transcript:  # fmt: skip
        """Run all cells of ``notebook`` with ``inputs`` (by step id).

        Args:
            timeout: seconds for one cell.
            memory: MB that the process may take beyond its imports.
            stubs: by cell id, the source as released: later cells find there what an answer fails to define.
        """
        with self.turns:  # whoever waits for a worker does not use up its time
            limits = Limits(timeout, memory, time.monotonic() + NOTEBOOK_CAP)
            return self._run(*jobs(notebook, stubs), inputs, limits)

    def _run(
        self, cells: list[dict], steps: list[dict], inputs: dict[str, Any], limits: Limits
    ) -> Transcript:
        own = [cell for cell in cells if not cell["id"].startswith(EXTRA)]
        transcript = Transcript()
        tries = RETRIES + (len(own) == len(cells))
        careful = self._try(cells, steps, inputs, limits, tries, False, transcript)
        if len(own) < len(cells) and not limits.over():
            self._without_extras(own, steps, inputs, limits, careful, transcript)
        return transcript

    def _try(
        self, cells: list[dict], steps: list[dict], inputs: dict[str, Any], limits: Limits, tries: int,
        careful: bool, into: Transcript,
    ) -> bool:  # fmt: skip
        """Run until every step has evidence or is fatal, each time without what was fatal before.

        ``careful``: each step is probed without what other steps ask for. Returns whether it came to that.
        """
        from rmslab.checks import STEPS  # torch; the workers start before it is needed here

        alone = {name: given | STEPS[name].alone for name, given in inputs.items() if name in STEPS}
        lost = 0
        for left in reversed(range(tries)):
            # Of an answer that was fatal, what it should have defined stays.
            whole = [
                cell | {"source": ""} if cell["id"] in into.fatal else cell
                for cell in cells
                if cell["id"] not in into.fatal or "stub" in cell
            ]
            missing = [s for s in steps if s["id"] not in into.fatal and s["step"] not in into.evidence]
            if not missing:
                break
            try:
                at, how = self._once(whole, missing, alone if careful else inputs, limits, careful, into)
            except WorkerLost:
                at, how, lost = None, "crashed", lost + 1
                if lost == 1:
                    continue  # it may have been somebody else's doing
            if how == "done":
                break
            step = next((s["step"] for s in missing if s["id"] == at), "")
            again = step in STEPS and STEPS[step].alone and not careful
            if at is not None and not again:
                into.fatal[at] = how
            careful = careful or bool(step)
            if at is None or not left or limits.over():
                ended = [s["id"] for s in missing if s["step"] not in into.evidence]
                into.fatal.update((name, how) for name in ended if name not in into.fatal)
                break
        return careful

    def _without_extras(
        self, own: list[dict], steps: list[dict], inputs: dict[str, Any], limits: Limits, careful: bool,
        into: Transcript,
    ) -> None:  # fmt: skip
        """Take steps without evidence, or whose code fails, from runs without the cells that were added."""
        from rmslab import evidence

        def unsound(seen: Any) -> bool:
            """Lost, or short of a name: one that only an added cell defines, or that one has taken away."""
            return evidence.is_error(seen) or '"NameError"' in json.dumps(seen)

        before = {s["step"]: into.evidence.get(s["step"], {"error": {}}) for s in steps}
        steps = [s for s in steps if '"error"' in json.dumps(before[s["step"]])]
        if not steps:
            return
        found = Transcript()
        self._try(own, steps, inputs, limits, RETRIES, careful, found)
        sound = {step: seen for step, seen in found.evidence.items() if not unsound(seen)}
        for step in [step for step in sound if not unsound(before[step])]:
            into.later.setdefault(step, []).append(sound.pop(step))
        if not sound:
            return
        for name in [cell["id"] for cell in own] + [s["id"] for s in steps if s["step"] in sound]:
            into.fatal.pop(name, None)
        into.evidence |= sound
        into.printed |= {step: found.printed[step] for step in sound}
        into.outputs |= found.outputs

    def _once(
        self, cells: list[dict], steps: list[dict], inputs: dict[str, Any], limits: Limits, careful: bool,
        into: Transcript,
    ) -> tuple[str | None, str]:  # fmt: skip
        """One child: (cell it ended in, how it ended)."""
        cap = max(limits.deadline - time.monotonic(), 1.0)
        job = {"cells": cells, "memory": limits.memory, "timeout": limits.timeout, "cap": cap}
        tasks = {
            "timeout": min(limits.timeout, HASTE) if careful else limits.timeout,
            "cells": steps,
            "inputs": {s["step"]: inputs[s["step"]] for s in steps if s["step"] in inputs},
        }
        step_of = {s["id"]: s["step"] for s in steps}
        room = MAX_OUTPUTS
        with self.worker() as worker:
            into.protections = worker.protections
            for event in worker.run(job, tasks):
                # What an event holds comes from the child as it is: its form is not to be trusted.
                if event["event"] == "ended":
                    return event["at"], event["how"]
                if event["event"] == "outputs":
                    if event["id"] in into.fatal:  # nothing of it was run
                        continue
                    kept = outputs.clean(event["outputs"], room)
                    room -= outputs.size(kept)
                    into.outputs[event["id"]] = kept
                else:
                    step = step_of[event["id"]]
                    into.evidence[step] = event["evidence"]
                    into.printed[step] = str(event["output"])[:4000]
                    if event["later"] is not None:
                        into.later.setdefault(step, []).append(event["later"])
        return None, "crashed"


class Cluster:
    """The same on a Dask cluster whose workers have this package installed. Use as a context manager."""

    def __init__(self, address: str):
        try:
            from distributed import Client
        except ImportError:
            raise Problem('没有安装 Dask。请运行 pip install "rmsnorm-course[scale]"，再用 --dask。') from None
        try:
            self.client = Client(address, timeout=20)
            self.size = sum(self.client.nthreads().values())
        except (OSError, TimeoutError, ValueError) as error:
            raise Problem(f"连不上 Dask 集群 {address}：{error}。请检查地址，并确认调度器在运行。") from None
        if not self.size:
            self.client.close()
            raise Problem(f"Dask 集群 {address} 还没有工作进程。请先启动 dask worker。")

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            self.client.run(_close_there)
        self.client.close()

    def protections(self) -> str:
        return self.client.submit(_protections_there, pure=False).result()

    def run(self, *job: Any) -> Transcript:
        """See :meth:`Pool.run`; only the notebook and the inputs travel, never the seed."""
        try:
            return self.client.submit(_run_there, *job, pure=False).result()
        except (OSError, CancelledError) as error:
            raise Problem(f"和 Dask 集群的连接断了：{error}。已评完的都在，再次运行会接着做。") from error


@cache
def _pool_there() -> Pool:
    return Pool(cores())


def _run_there(*job: Any) -> Transcript:
    return _pool_there().run(*job)


def _protections_there() -> str:
    return _pool_there().protections()


def _close_there() -> None:
    _pool_there().__exit__()
    _pool_there.cache_clear()


def jobs(
    notebook: NotebookNode, stubs: dict[str, str] | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The student's cells in order, then the master's test cells. Experiments are left out.

    The last answer above a test cell keeps what it defines for that step.
    """
    code, steps = [], []
    answer: dict[str, Any] = {}
    for cell in notebook.cells:
        if cell.cell_type != "code" or "experiment" in cell.metadata.get("tags", []):
            continue
        marks = cell.metadata.get("nbgrader", {})
        job = {"id": cell.id, "source": cell.source}
        if marks.get("grade") and not marks.get("solution"):
            steps.append(job | {"step": marks["grade_id"]})
            answer.setdefault("keeps", []).append(marks["grade_id"])
        else:
            code.append(job | ({"stub": stubs[cell.id]} if stubs and cell.id in stubs else {}))
            answer = code[-1] if marks.get("solution") else answer
    return code, steps
