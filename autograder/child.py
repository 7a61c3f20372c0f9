"""What runs inside a child: one student's cells, then the master's test cells as collectors of evidence.

A job is ``{"cells": [{"id", "source", "stub"?, "keeps"?}], "memory": MB}``, the stub being the cell as
released, and the keeps the steps that ask for what it defines; what comes out are events, one JSON document a
line.
After the student's cells the child asks for the steps: ``{"cells": [{"id", "source", "step"}],
"inputs": {step: …}}`` in one line. It knows no seed, no reference result and no other student.
"""

import contextlib
import json
import mmap
import os
import sys
from typing import Any

from rmslab import evidence
from rmslab.checks import STEPS
from rmslab.engine import answers, differ, observe
from rmslab.shell import Shell

MAX_FILE = 64 * 2**20
"""Bytes of one file: printing without end must not fill the disk."""
MAX_SHOWN = 32 * 2**20
"""Bytes of the outputs of all cells: beyond, only how a cell failed is told. Less than a worker listens to."""
ROOM = 256 * 2**20
"""Bytes that must be free after a MemoryError: with less, what still runs would fail for nothing."""
MAX_PROCESSES = 128
MAX_OPEN = 256

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


def limit(megabytes: int) -> None:
    """Let the address space grow by ``megabytes`` beyond what the imports took; bound files and processes."""
    if resource is None or not os.path.exists("/proc/self/statm"):
        return
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    os.nice(5)  # whoever must end this process comes first
    bounds = {
        resource.RLIMIT_AS: used + megabytes * 2**20,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: MAX_FILE,
        resource.RLIMIT_NPROC: MAX_PROCESSES,
        resource.RLIMIT_NOFILE: MAX_OPEN,
    }
    for what, bound in bounds.items():
        hard = resource.getrlimit(what)[1]
        bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(what, (bound, bound))


def is_spent(outputs: list[dict[str, Any]]) -> bool:
    """Whether a cell ran out of memory and still holds it."""
    if not any("MemoryError" in output.get("ename", "") for output in outputs):
        return False
    try:
        mmap.mmap(-1, ROOM).close()
    except (OSError, MemoryError):
        return True
    return False


def within(room: int, outputs: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The outputs if they fit into ``room`` bytes, else the last error's name; and the room that is left."""
    size = len(json.dumps(outputs).encode())
    if size <= room:
        return outputs, room - size
    errors = [output for output in outputs if output.get("output_type") == "error"][-1:]
    short = [error | {"evalue": error["evalue"][:300], "traceback": []} for error in errors]
    note = {"output_type": "stream", "name": "stdout", "text": "（输出过多，已省略）\n"}
    return [note, *short], room


def lend(stub: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """Put into ``namespace`` what the cell as released defines and the student's failed to: what was put."""
    made = dict(namespace)
    with contextlib.suppress(BaseException):
        exec(compile(stub, "<stub>", "exec"), made)
    lent = {name: value for name, value in made.items() if name not in namespace}
    namespace.update(lent)
    return lent


def run_step(cell: dict[str, Any], namespace: dict[str, Any], inputs: dict[str, Any]) -> tuple[Any, str]:
    """Execute the master's test cell with ``check`` bound to a collector: (evidence, what was printed)."""
    collected = []

    def collect(step_id: str, *answers: Any) -> None:
        collected.append(observe(STEPS[step_id], inputs[step_id], *answers))

    try:
        code = compile(cell["source"], f"<cell {cell['id']}>", "exec")
        exec(code, {**namespace, "check": collect})
        return collected[0]
    except BaseException as error:
        return evidence.encode_error(error), ""


def run(tasks: int, results: int) -> None:
    """Run one job in this process: it comes from ``tasks``, the steps as well; events go to ``results``."""
    stream = os.fdopen(tasks, encoding="utf-8")
    job = json.loads(stream.readline() or os._exit(0))
    channel = os.fdopen(results, "w", encoding="utf-8", errors="replace")
    me = os.getpid()

    def emit(**event: Any) -> None:
        if os.getpid() != me:  # student code forked; one notebook has one voice
            os._exit(0)
        channel.write(json.dumps(event, ensure_ascii=False) + "\n")
        channel.flush()

    evidence.ATTENDED = False
    sys.stdin = open(os.devnull, encoding="ascii")  # noqa: SIM115
    shell = Shell.instance()
    sys.path.insert(0, "")  # as in a notebook: modules that a cell has written can be imported
    limit(job["memory"])
    room, lent, kept = MAX_SHOWN, {}, {}
    for cell in job["cells"]:
        emit(event="start", id=cell["id"])
        outputs, room = within(room, shell.run(cell["source"]))
        emit(event="outputs", id=cell["id"], outputs=outputs)
        if is_spent(outputs):
            os._exit(71)
        if "stub" in cell:  # later cells may mention what this one should have defined
            lent |= lend(cell["stub"], shell.user_ns)
        if "keeps" in cell:
            own = {name: it for name, it in shell.user_ns.items() if name not in lent or lent[name] is not it}
            kept |= {step: answers(step, own) for step in cell["keeps"]}
    for name, value in lent.items():  # a step must not take it for an answer
        if shell.user_ns.get(name) is value:
            del shell.user_ns[name]
    emit(event="ready")
    steps = json.loads(stream.readline())
    for cell in steps["cells"]:
        emit(event="start", id=cell["id"])
        own = kept.get(cell["step"], {})
        observed, printed = run_step(cell, shell.user_ns | own, steps["inputs"])
        later = {}
        if differ(own, shell.user_ns):
            later = {"later": run_step(cell, shell.user_ns, steps["inputs"])[0]}
        emit(event="evidence", id=cell["id"], evidence=observed, output=printed, **later)
    emit(event="done")


def main() -> None:
    """A child of its own, where the worker cannot fork: tasks on descriptor 0, events on 1."""
    tasks, results = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    try:
        run(tasks, results)
    except MemoryError:
        os._exit(71)
    os._exit(0)


if __name__ == "__main__":
    main()
