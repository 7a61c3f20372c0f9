"""What runs inside a child: one student's cells, then the master's test cells as collectors of evidence.

A job is ``{"cells": [{"id", "source", "step"?}], "inputs": {step: …}, "memory": MB}``; what comes out are
events, one JSON document a line. It knows no seed, no reference result and no other student.
"""

import json
import os
import resource
import sys
from collections.abc import Callable
from typing import Any

from rmslab import evidence
from rmslab.checks import STEPS
from rmslab.engine import observe
from rmslab.shell import Shell

MAX_FILE = 64 * 2**20
"""Bytes of one file: printing without end must not fill the disk."""
MAX_PROCESSES = 256
MAX_OPEN = 256

Emit = Callable[[dict[str, Any]], None]


def limit(megabytes: int) -> None:
    """Let the address space grow by ``megabytes`` beyond what the imports took; bound files and processes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
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


def run_step(cell: dict[str, Any], namespace: dict[str, Any], inputs: dict[str, Any], emit: Emit) -> None:
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


def run(job: dict[str, Any], descriptor: int) -> None:
    """Run the job's cells in this process; events go to ``descriptor``."""
    channel = os.fdopen(descriptor, "w", encoding="utf-8", errors="replace")
    me = os.getpid()

    def emit(event: dict[str, Any]) -> None:
        if os.getpid() != me:  # student code forked; one notebook has one voice
            os._exit(0)
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
            emit({"event": "outputs", "id": cell["id"], "outputs": shell.run(cell["source"])})
    emit({"event": "done"})
