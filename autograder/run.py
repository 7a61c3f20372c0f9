"""Run a rebuilt notebook in a child process: caps on time and memory, a transcript of what came out.

A cell that hangs, exits or kills its process is left out and the rest run again, at most three times within
the notebook's cap. Evidence already received stands.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

PROTECTIONS = "独立子进程、时限、内存上限；没有沙箱"
NOTEBOOK_CAP = 120.0
STARTUP_CAP = 60.0
RETRIES = 3
MAX_LINE = 32 * 2**20
MAX_TOTAL = 128 * 2**20


@dataclass
class Transcript:
    """What one notebook's run gave.

    Attributes:
        outputs: nbformat outputs by cell id.
        evidence: by step id, as the child sent it (not to be trusted).
        printed: what student code printed during each step's probe.
        fatal: cell id or step id → ``timeout``, ``memory`` or ``crashed``.
    """

    outputs: dict[str, list] = field(default_factory=dict)
    evidence: dict[str, Any] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)
    fatal: dict[str, str] = field(default_factory=dict)


def jobs(notebook: NotebookNode) -> list[dict[str, Any]]:
    """Cells to run: the student's in order, then the master's test cells. Experiments are left out."""
    code, steps = [], []
    for cell in notebook.cells:
        if cell.cell_type != "code" or "experiment" in cell.metadata.get("tags", []):
            continue
        marks = cell.metadata.get("nbgrader", {})
        job = {"id": cell.id, "source": cell.source}
        if marks.get("grade") and not marks.get("solution"):
            steps.append(job | {"step": marks["grade_id"]})
        else:
            code.append(job)
    return code + steps


def run(notebook: NotebookNode, inputs: dict[str, Any], timeout: float, memory: int) -> Transcript:
    """Run all cells of ``notebook`` with ``inputs`` (by step id).

    Args:
        timeout: seconds for one cell.
        memory: MB that the process may take beyond its imports.
    """
    transcript = Transcript()
    deadline = time.monotonic() + NOTEBOOK_CAP
    for tried in range(1 + RETRIES):
        cells = [
            c for c in jobs(notebook)
            if c["id"] not in transcript.fatal and c.get("step") not in transcript.evidence
        ]  # fmt: skip
        if not any(c.get("step") for c in cells):
            break
        ended = _once(cells, inputs, timeout, memory, deadline, transcript)
        if ended is None:
            break
        cell_id, how = ended
        if cell_id is not None:
            transcript.fatal[cell_id] = how
        if cell_id is None or tried == RETRIES or time.monotonic() >= deadline:
            left = [c["id"] for c in cells if c.get("step") and c["step"] not in transcript.evidence]
            transcript.fatal.update((name, how) for name in left if name not in transcript.fatal)
            break
    return transcript


def _once(
    cells: list[dict], inputs: dict, timeout: float, memory: int, deadline: float, transcript: Transcript
) -> tuple[str | None, str] | None:
    """One child. None if it came to its end, else (cell it died in, status)."""
    steps = {c["step"] for c in cells if c.get("step")}
    job = {"cells": cells, "inputs": {s: inputs[s] for s in steps if s in inputs}, "memory": memory}
    current: str | None = None
    limit = [time.monotonic() + STARTUP_CAP]
    with child(json.dumps(job).encode()) as (process, results):
        for line in lines(results, lambda: min(limit[0], deadline)):
            if line is None:
                return current, "timeout"
            try:
                event = json.loads(line)
                kind = event["event"]
                if kind == "start":
                    current, limit[0] = str(event["id"]), time.monotonic() + timeout
                elif kind == "outputs":
                    outputs = [output for output in event["outputs"] if isinstance(output, dict)]
                    transcript.outputs[str(event["id"])] = outputs
                elif kind == "evidence" and event["step"] in steps:
                    # The first word counts: nothing that runs later may take it back.
                    transcript.evidence.setdefault(event["step"], event["evidence"])
                    transcript.printed.setdefault(event["step"], str(event["output"])[:4000])
                elif kind == "done":
                    return None
            except (ValueError, KeyError, TypeError, RecursionError):
                return current, "crashed"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        return current, "memory" if process.returncode == -signal.SIGKILL else "crashed"


@contextlib.contextmanager
def child(job: bytes) -> Iterator[tuple[subprocess.Popen, int]]:
    """A child process with ``job`` as its input; when the block ends, it and all that it started are dead."""
    read, write = os.pipe()
    with tempfile.TemporaryDirectory(prefix="rmsnorm-") as scratch, tempfile.TemporaryFile() as stdin:
        stdin.write(job)
        stdin.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "autograder.child", str(write), str(os.getpid())],
            stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=scratch, env=environment(scratch), pass_fds=(write,), start_new_session=True,
        )  # fmt: skip
        os.close(write)
        try:
            yield process, read
        finally:
            os.close(read)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kill_strays(scratch)


def kill_strays(scratch: str) -> None:
    """Kill what left the process group: it still carries the scratch folder in its environment."""
    mark = f"TMPDIR={scratch}\0".encode()
    for _ in range(10):
        found = False
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (folder / "environ").read_bytes():
                    os.kill(int(folder.name), signal.SIGKILL)
                    found = True
        if not found:
            return


def environment(scratch: str) -> dict[str, str]:
    """Only what running needs: nothing of the grader's own environment reaches student code."""
    root = str(Path(__file__).resolve().parent.parent)
    kept = {key: os.environ[key] for key in ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "TZ") if key in os.environ}
    return kept | {
        "PATH": os.defpath,
        "HOME": scratch,
        "TMPDIR": scratch,
        "IPYTHONDIR": f"{scratch}/.ipython",
        "MPLCONFIGDIR": f"{scratch}/.matplotlib",
        "MPLBACKEND": "agg",
        "PYTHONPATH": root,
        "PYTHONUTF8": "1",
        "OMP_NUM_THREADS": "1",
        "NBGRADER_EXECUTION": "autograde",
    }


def lines(descriptor: int, deadline: Any) -> Iterator[bytes | None]:
    """Lines from a pipe until it closes; None once when the deadline passes. Too much is the end."""
    buffer, total = b"", 0
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            wait = deadline() - time.monotonic()
            if wait <= 0 or not selector.select(wait):
                yield None
                return
            chunk = os.read(descriptor, 1 << 20)
            total += len(chunk)
            if not chunk or total > MAX_TOTAL:
                return
            *whole, buffer = (buffer + chunk).split(b"\n")
            if len(buffer) > MAX_LINE:
                return
            yield from whole
