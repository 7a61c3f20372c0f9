"""The process that runs one student's notebook: inputs in, evidence and outputs out, JSON only.

Started as ``python -m autograder.child FD``: reads a job (one JSON document) from standard input and writes
events, one JSON document a line, to descriptor FD. It knows no seed, no reference result and no other student.
"""

import json
import os
import resource
import sys
from typing import Any

from rmslab import evidence
from rmslab.checks import STEPS
from rmslab.engine import observe
from rmslab.shell import Shell


def limit_memory(megabytes: int) -> None:
    """Let the address space grow by ``megabytes`` beyond what the imports took."""
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_step(cell: dict[str, Any], namespace: dict[str, Any], inputs: dict[str, Any], emit: Any) -> None:
    """Execute the master's test cell with ``check`` bound to a collector of evidence."""

    def collect(step_id: str, *answers: Any) -> None:
        observed, output = observe(STEPS[step_id], inputs[step_id], *answers)
        emit({"event": "evidence", "step": step_id, "evidence": observed, "output": output})

    try:
        code = compile(cell["source"], f"<cell {cell['id']}>", "exec")
        exec(code, {**namespace, "check": collect})
    except (Exception, SystemExit) as error:
        failed = evidence.encode_error(error)
        emit({"event": "evidence", "step": cell["step"], "evidence": failed, "output": ""})


def main() -> None:
    job = json.loads(sys.stdin.buffer.read())
    channel = os.fdopen(int(sys.argv[1]), "w", encoding="utf-8")

    def emit(event: dict[str, Any]) -> None:
        channel.write(json.dumps(event, ensure_ascii=False) + "\n")
        channel.flush()

    sys.stdin = open(os.devnull, encoding="ascii")
    shell = Shell.instance()
    limit_memory(job["memory"])
    emit({"event": "ready"})
    for cell in job["cells"]:
        emit({"event": "start", "id": cell["id"]})
        if cell.get("step"):
            run_step(cell, shell.user_ns, job["inputs"], emit)
        else:
            emit({"event": "outputs", "id": cell["id"], "outputs": shell.run(cell["source"])})
    emit({"event": "done"})


if __name__ == "__main__":
    main()
