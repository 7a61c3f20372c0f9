"""A process that has imported torch and IPython, and forks a child for every notebook.

Started as ``python -m autograder.worker PARENT``, usually inside bubblewrap. Frames (four bytes of length, then
JSON) come in on descriptor 0 and go out on descriptor 1: first what protections are on; then for each job its
events and how it ended. The worker itself runs no student code and no torch operation, and imports no pyplot:
a child forked after either may hang or lose its figures.
"""

import contextlib
import json
import os
import selectors
import shutil
import signal
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from autograder import namespaces

MAX_LINE = 32 * 2**20
MAX_TOTAL = 128 * 2**20
STARTUP = 30.0


def write_frame(stream: BinaryIO, document: Any) -> None:
    data = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
    stream.write(struct.pack(">I", len(data)) + data)
    stream.flush()


def read_frame(stream: BinaryIO) -> Any:
    """The next document, or None at the end of the stream."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    data = stream.read(struct.unpack(">I", head)[0])
    return json.loads(data)


def preload() -> None:
    """Import what notebooks use. Imports only: nothing here may start a thread or run an operation."""
    import importlib

    for name in ("torch", "matplotlib.figure", "matplotlib.backends.backend_agg", "ipywidgets", "rmslab"):
        importlib.import_module(name)
    from rmslab.shell import Shell

    Shell.instance()


class Fork:
    """One child, forked from this process, in namespaces of its own where the kernel allows.

    Two processes: a keeper, which makes the namespaces, and in them the one that runs the cells (their PID 1:
    when it is killed, the kernel kills whatever it started).
    """

    def __init__(self, job: dict[str, Any], isolated: bool, scratch: str):
        self.isolated, self.scratch = isolated, scratch
        self.results, write = os.pipe()
        told, tell = os.pipe()
        worker = os.getpid()
        self.keeper = os.fork()
        if self.keeper == 0:
            try:
                self._keep(job, write, tell, worker)
            finally:
                os._exit(70)
        os.close(write)
        os.close(tell)
        with os.fdopen(told, "rb") as answer:
            data = answer.read()
        self.runner = int(data) if data.isdigit() else None

    def _keep(self, job: dict[str, Any], write: int, tell: int, worker: int) -> None:
        namespaces.die_with(worker)
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        last = max(write, tell)
        for descriptor in range(3, last + 1):
            if descriptor not in (write, tell):
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        os.closerange(last + 1, 4096)
        os.umask(0o077)
        if self.isolated:
            namespaces.enter(self.scratch, megabytes=256)
        keeper = os.getpid()
        pid = os.fork()
        if pid == 0:
            os.close(tell)
            try:
                if not self.isolated:
                    namespaces.die_with(keeper)
                    os.setpgid(0, 0)
                namespaces.drop_capabilities()
                os.chdir(self.scratch)
                from autograder import child

                child.run(job, write)
                code = 0
            except MemoryError:
                code = 71
            except BaseException:
                code = 70
            os._exit(code)
        os.write(tell, str(pid).encode())
        os.close(tell)
        os.close(write)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            os.kill(os.getpid(), os.WTERMSIG(status))
            os._exit(128 + os.WTERMSIG(status))
        os._exit(os.WEXITSTATUS(status))

    def kill(self) -> int:
        """End the child and everything it started; the keeper's wait status."""
        for pid in (self.runner, self.keeper):
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(self.keeper, 0)
        os.close(self.results)
        if not self.isolated:
            reap_strays()
            shutil.rmtree(self.scratch, ignore_errors=True)
        return status

    def wait(self, seconds: float) -> int:
        """The keeper's wait status once it ends by itself, else after killing it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.keeper, os.WNOHANG)
            if pid:
                os.close(self.results)
                if not self.isolated:
                    reap_strays()
                    shutil.rmtree(self.scratch, ignore_errors=True)
                return status
            time.sleep(0.005)
        return self.kill()


def reap_strays() -> None:
    """Kill what children without a PID namespace left behind: as subreaper, this process inherits it."""
    for _ in range(50):
        found = False
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                parent = int((folder / "stat").read_text().rsplit(") ", 1)[1].split()[1])
                if parent == os.getpid():
                    os.kill(int(folder.name), signal.SIGKILL)
                    found = True
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not found:
            return


def lines(descriptor: int, deadline: Any) -> Iterator[bytes | None]:
    """Lines from a pipe until it closes; None once when the deadline passes. Too much is the end."""
    buffer, total = bytearray(), 0
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            left = deadline() - time.monotonic()
            if left <= 0 or not selector.select(left):
                yield None
                return
            chunk = os.read(descriptor, 1 << 20)
            total += len(chunk)
            if not chunk or total > MAX_TOTAL or len(buffer) > MAX_LINE:
                return
            buffer += chunk
            if b"\n" in chunk:
                *whole, rest = bytes(buffer).split(b"\n")
                buffer = bytearray(rest)
                yield from whole


def serve(job: dict[str, Any], isolated: bool, home: str, out: BinaryIO) -> dict[str, Any]:
    """Run one job in a fork and pass its events on.

    Returns:
        ``{"event": "ended", "how": "done" | "timeout" | "memory" | "crashed", "at": id of the last cell begun}``
    """
    scratch = home if isolated else str(Path(home) / f"job-{time.monotonic_ns()}")
    os.makedirs(scratch, exist_ok=True)
    end = time.monotonic() + job.pop("cap")
    timeout, at = job.pop("timeout"), None
    limit = [time.monotonic() + STARTUP]
    fork = Fork(job, isolated, scratch)
    how = None
    for line in lines(fork.results, lambda: min(limit[0], end)):
        if line is None:
            how = "timeout"
            break
        try:
            event = json.loads(line)
            kind = event["event"]
        except (ValueError, KeyError, TypeError, RecursionError):
            how = "crashed"
            break
        if kind == "start":
            at, limit[0] = event.get("id"), time.monotonic() + timeout
        elif kind == "done":
            how = "done"
            break
        if kind in ("outputs", "evidence"):
            write_frame(out, event)
    if how:
        fork.kill()
        return {"event": "ended", "how": how, "at": at}
    status = fork.wait(2)
    out_of_memory = (os.WIFEXITED(status) and os.WEXITSTATUS(status) == 71) or (
        os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    )
    return {"event": "ended", "how": "memory" if out_of_memory else "crashed", "at": at}


def main() -> None:
    sandboxed = os.environ.pop("RMSNORM_SANDBOX", "") == "1"
    home = os.environ["HOME"]
    if sandboxed:
        os.chmod(home, 0o777)
    if not sandboxed:  # bubblewrap kills us with the grader; without it, we ask for that ourselves
        namespaces.die_with(int(sys.argv[1]))
    if sandboxed:
        namespaces.drop_root()
    namespaces.prctl(namespaces.PR_SET_CHILD_SUBREAPER, 1)
    # The frames' descriptors move out of reach of anything that prints.
    source, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(null, descriptor)
    isolated = sandboxed and namespaces.exist()
    preload()
    write_frame(out, {"event": "hello", "sandbox": sandboxed, "namespaces": isolated, "uid": os.getuid()})
    while (job := read_frame(source)) is not None:
        write_frame(out, serve(job, isolated, home, out))


if __name__ == "__main__":
    main()
