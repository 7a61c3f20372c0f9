"""Between the grader and the children: starts a child for every notebook and passes on what it says.

Started as ``python -m autograder.worker PARENT``, usually inside bubblewrap. Frames (four bytes of length,
then JSON) come in on descriptor 0 and go out on descriptor 1: first what protections are on; then for each
job its events and how it ended. The inputs of the steps come only after the cells of the student have run.

Children come from a zygote, which has imported torch and IPython but has run no torch operation and not
imported pyplot: a child forked after either may hang or lose its figures.
"""

import contextlib
import json
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from autograder import children, namespaces

MAX_LINE = 16 * 2**20
MAX_TOTAL = 64 * 2**20
MAX_FRAME = 256 * 2**20
MAX_DEPTH = 200
"""Lists and dictionaries in each other: what is nested much deeper, some later reader could not read."""
STARTUP = 30.0
PRELOADED = (
    "torch", "rmslab", "autograder.child", "matplotlib.figure", "matplotlib.backends.backend_agg",
    "matplotlib.font_manager", "ipywidgets", "IPython.core.logger", "IPython.core.ultratb", "stack_data",
    "pygments.formatters.terminal256", "pygments.lexers.python", "bdb", "inspect", "tempfile",
)  # fmt: skip
Child = children.Fork | children.Spawn
LOOK = 0.25
"""Seconds between two looks at a child's memory."""


def write_frame(stream: BinaryIO, document: Any) -> None:
    write_bytes(stream, json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))


def write_bytes(stream: BinaryIO, data: bytes) -> None:
    stream.write(struct.pack(">I", len(data)) + data)
    stream.flush()


def read_exactly(stream: BinaryIO, size: int) -> bytes:
    """Shorter only at the end of the stream, which may be unbuffered."""
    data = b""
    while len(data) < size and (more := stream.read(size - len(data))):
        data += more
    return data


def read_frame(stream: BinaryIO) -> Any:
    """The next document, or None at the end of the stream."""
    head = read_exactly(stream, 4)
    if len(head) < 4:
        return None
    size = struct.unpack(">I", head)[0]
    if size > MAX_FRAME:
        raise ValueError("frame too large")
    return json.loads(read_exactly(stream, size))


def read_raw(stream: BinaryIO) -> bytes:
    """The next frame as it is."""
    return read_exactly(stream, struct.unpack(">I", read_exactly(stream, 4))[0])


def preload() -> None:
    """Import what notebooks use. Imports only: nothing here may start a thread or run an operation."""
    import importlib

    for name in PRELOADED:
        with contextlib.suppress(ImportError):  # some come and go with IPython's versions
            importlib.import_module(name)
    from rmslab.shell import Shell

    Shell.instance()


def is_shallow(document: Any) -> bool:
    level = [document]
    for _ in range(MAX_DEPTH):
        inside = [node.values() if isinstance(node, dict) else node for node in level]
        level = [one for node in inside for one in node if isinstance(one, dict | list)]
        if not level:
            return True
    return False


def lines(child: Child, look: Any) -> Iterator[bytes | None]:
    """What the child says, by the line, until it is silent; None where ``look`` says so. Too much ends it."""
    buffer, total = bytearray(), 0
    while True:
        chunk = child.receive(LOOK)
        if look():
            yield None
            return
        if chunk is None:
            continue
        total += len(chunk)
        if not chunk or total > MAX_TOTAL or len(buffer) > MAX_LINE:
            return
        buffer += chunk
        if b"\n" in chunk:
            *whole, rest = bytes(buffer).split(b"\n")
            buffer = bytearray(rest)
            yield from whole


class Job:
    """One notebook in one child: what it says, in the only order that is believed.

    Each student cell begins and ends; then the child asks for the steps; then each step begins and gives its
    evidence. Whoever speaks out of turn has crashed: so nobody claims evidence before the inputs are known.
    """

    def __init__(self, child: Child, job: dict[str, Any], base: int):
        self.child, self.base = child, base
        self.end = time.monotonic() + job["cap"]
        self.timeout, self.memory = job["timeout"], job["memory"] * 2**20
        self.limit, self.looked = time.monotonic() + STARTUP, time.monotonic()
        self.at: str | None = None
        self.how = ""
        self.order = [turn for name in job["cells"] for turn in (("start", name), ("outputs", name))]
        self.order.append(("ready", None))

    def over(self) -> bool:
        """Whether time or memory has run out."""
        now = time.monotonic()
        if now >= min(self.limit, self.end):
            self.how = "timeout"
        elif now - self.looked > LOOK:
            self.looked = now
            if children.memory(self.child.processes(), self.base) > self.memory:
                self.how = "memory"
        return bool(self.how)

    def follow(self, source: BinaryIO, out: BinaryIO) -> dict[str, Any]:
        """Pass events on until the child is done or must end.

        Returns:
            ``{"event": "ended", "how": "done" | "timeout" | "memory" | "crashed", "at": last cell begun}``
        """
        for line in lines(self.child, self.over):
            if line is None:
                break
            if not self._believe(line, source, out):
                self.how = "crashed"
                break
            if not self.order:
                self.how = "done"
                break
        code = self.child.end(0.0 if self.how else 2.0)
        if not self.how:
            self.how = "memory" if code in (71, -signal.SIGKILL) else "crashed"
        return {"event": "ended", "how": self.how, "at": self.at}

    def _believe(self, line: bytes, source: BinaryIO, out: BinaryIO) -> bool:
        """Whether it was the child's turn to say this."""
        try:
            event = json.loads(line)
            kind, name = event["event"], event.get("id")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return False
        if (kind, name) != self.order.pop(0) or not is_shallow(event):
            return False
        if kind == "start":
            self.at, self.limit = name, time.monotonic() + self.timeout
        elif kind == "outputs":
            write_frame(out, {"event": kind, "id": name, "outputs": event.get("outputs")})
        elif kind == "evidence":
            observed = {key: event.get(key) for key in ("evidence", "output", "later")}
            write_frame(out, {"event": kind, "id": name, **observed})
        elif kind == "ready":
            write_frame(out, {"event": kind})
            steps = read_frame(source)
            self.timeout = steps["timeout"]
            self.order = [turn for step in steps["cells"] for turn in (("start", step), ("evidence", step))]
            self.order.append(("done", None))
            self.child.send(read_raw(source) + b"\n")
            self.limit = time.monotonic() + self.timeout
        return True


def attend(source: BinaryIO, out: BinaryIO, start: Callable[[], Child], base: int) -> bool:
    """Take one job: the child is there before the job is read, so it has nothing but its own.

    Returns:
        False at the end of the stream of jobs.
    """
    child = start()
    job = read_frame(source)
    if job is None:
        child.end()
        return False
    child.send(read_raw(source) + b"\n")
    write_frame(out, Job(child, job, base).follow(source, out))
    return True


def main() -> None:
    sandboxed = os.environ.pop("RMSNORM_SANDBOX", "") == "1"
    home = os.environ["HOME"]
    if sandboxed:
        os.chmod(home, 0o777)
        namespaces.drop_root()
    else:  # bubblewrap kills us with the grader; without it, we ask for that ourselves
        namespaces.die_with(int(sys.argv[1]))
    namespaces.prctl(namespaces.PR_SET_DUMPABLE, 0)
    namespaces.prctl(namespaces.PR_SET_CHILD_SUBREAPER, 1)
    # The frames' descriptors move out of reach of anything that prints.
    source, out = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(null, descriptor)
    isolated = sandboxed and not children.spawning() and namespaces.exist()
    scratch = home if isolated else str(Path(home) / "scratch")
    if children.spawning():
        start, base = partial(children.Spawn, scratch), children.own_memory()
    else:
        zygote = children.Zygote(preload, isolated, scratch)
        start, base = partial(children.Fork, zygote), zygote.base
    write_frame(out, {"event": "hello", "sandbox": sandboxed, "namespaces": isolated, "uid": os.getuid()})
    while attend(source, out, start, base):
        pass


if __name__ == "__main__":
    main()
