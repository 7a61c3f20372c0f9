"""The process that runs one student's notebook: inputs in, evidence and outputs out, JSON only.

Started as ``python -m autograder.child FD PARENT``: reads a job (one JSON document) from standard input and
writes events, one JSON document a line, to descriptor FD. It knows no seed and no other student.
"""

import contextlib
import ctypes
import json
import mmap
import os
import resource
import signal
import sys
from typing import Any

from rmslab import evidence
from rmslab.checks import STEPS
from rmslab.engine import observe
from rmslab.shell import Shell

MAX_FILE = 256 * 2**20
"""Bytes of one file: printing without end must not fill the disk."""

ROOM = 256 * 2**20
"""Bytes that must be free after a MemoryError: with less, what still runs would fail for nothing."""

PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """A grader that is killed leaves nothing running (Linux only)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the lines above
        os._exit(1)


def limit(megabytes: int) -> None:
    """Let the address space grow by ``megabytes`` beyond what the imports took; bound files, no cores."""
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, MAX_FILE))


def is_spent(outputs: list[dict[str, Any]]) -> bool:
    """Whether a cell ran out of memory and still holds it."""
    if not any("MemoryError" in output.get("ename", "") for output in outputs):
        return False
    try:
        mmap.mmap(-1, ROOM).close()
    except (OSError, MemoryError):
        return True
    return False


def run_step(cell: dict[str, Any], namespace: dict[str, Any], inputs: dict[str, Any], emit: Any) -> None:
    """Execute the master's test cell with ``check`` bound to a collector of evidence."""

    def collect(step_id: str, *answers: Any) -> None:
        observed, output = observe(STEPS[step_id], inputs[step_id], *answers)
        emit({"event": "evidence", "step": step_id, "evidence": observed, "output": output})

    try:
        code = compile(cell["source"], f"<cell {cell['id']}>", "exec")
        exec(code, {**namespace, "check": collect})
    except BaseException as error:
        failed = evidence.encode_error(error)
        emit({"event": "evidence", "step": cell["step"], "evidence": failed, "output": ""})


def main() -> None:
    die_with(int(sys.argv[2]))
    job = json.loads(sys.stdin.buffer.read())
    channel = os.fdopen(int(sys.argv[1]), "w", encoding="utf-8", errors="replace")

    def emit(event: dict[str, Any]) -> None:
        channel.write(json.dumps(event, ensure_ascii=False) + "\n")
        channel.flush()

    sys.stdin = open(os.devnull, encoding="ascii")  # noqa: SIM115
    shell = Shell.instance()
    limit(job["memory"])
    emit({"event": "ready"})
    for cell in job["cells"]:
        emit({"event": "start", "id": cell["id"]})
        if cell.get("step"):
            run_step(cell, shell.user_ns, job["inputs"], emit)
        else:
            outputs = shell.run(cell["source"])
            emit({"event": "outputs", "id": cell["id"], "outputs": outputs})
            if is_spent(outputs):
                os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does when memory runs out
    emit({"event": "done"})


if __name__ == "__main__":
    main()
