"""The process that runs one notebook: forked from the worker, or started anew where the system cannot fork.

Both speak the same way: :meth:`receive` what the child says, :meth:`send` what it asks for, :meth:`end` it
together with everything it started. Nothing here waits for a child that does not want to talk.
"""

import contextlib
import os
import queue
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from autograder import namespaces, seccomp

PLACES = {"/tmp": 64, "/dev/shm": 128}
"""MB of the folders, besides its scratch, in which an isolated child may write."""
SCRATCH_MB = 256
SPAWN = "RMSNORM_SPAWN"
"""Environment variable: start a new process for every notebook although the system could fork."""


class Fork:
    """One child, forked from this process, in namespaces of its own where the kernel allows.

    Two processes: a keeper, which makes the namespaces, and in them the one that runs the cells (their PID 1:
    when it is killed, the kernel kills whatever it started).
    """

    def __init__(self, isolated: bool, scratch: str):
        self.isolated, self.scratch = isolated, scratch
        self.results, write = os.pipe()
        read, self.tasks = os.pipe()
        told, tell = os.pipe()
        worker = os.getpid()
        self.keeper = os.fork()
        if self.keeper == 0:
            try:
                self._keep(read, write, tell, worker)
            finally:
                os._exit(70)
        for descriptor in (read, write, tell):
            os.close(descriptor)
        os.set_blocking(self.tasks, False)
        self.waiting = b""
        with os.fdopen(told, "rb") as answer:
            data = answer.read()
        self.runner = int(data) if data.isdigit() else None

    def _keep(self, read: int, write: int, tell: int, worker: int) -> None:
        namespaces.die_with(worker)
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        last = 2
        for descriptor in sorted((read, write, tell)):
            os.closerange(last + 1, descriptor)
            last = descriptor
        os.closerange(last + 1, 4096)
        os.umask(0o077)
        if self.isolated:
            namespaces.enter(self.scratch, SCRATCH_MB, PLACES)
        keeper = os.getpid()
        pid = os.fork()
        if pid == 0:
            os.close(tell)
            self._run(read, write, keeper)
        os.write(tell, str(pid).encode())
        for descriptor in (read, write, tell):
            os.close(descriptor)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
            os.kill(os.getpid(), os.WTERMSIG(status))
            os._exit(128 + os.WTERMSIG(status))
        os._exit(os.WEXITSTATUS(status))

    def _run(self, read: int, write: int, keeper: int) -> None:
        try:
            if self.isolated:
                namespaces.prctl(namespaces.PR_SET_DUMPABLE, 1)
                seccomp.filter_calls()
            else:
                namespaces.die_with(keeper)
            namespaces.drop_capabilities()
            os.chdir(self.scratch)
            from autograder import child

            child.run(read, write)
            code = 0
        except MemoryError:
            code = 71
        except BaseException:
            code = 70
        os._exit(code)

    def receive(self, seconds: float) -> bytes | None:
        """What the child says next; empty once it is silent for good; None if that takes longer."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.results, selectors.EVENT_READ)
            if self.waiting:
                selector.register(self.tasks, selectors.EVENT_WRITE)
            for key, _ in selector.select(max(seconds, 0)):
                if key.fd == self.results:
                    return os.read(self.results, 1 << 20)
                self._send_on()
        return None

    def send(self, data: bytes) -> None:
        """Pass ``data`` on as the child takes it, in :meth:`receive`."""
        self.waiting += data
        self._send_on()

    def _send_on(self) -> None:
        try:
            self.waiting = self.waiting[os.write(self.tasks, self.waiting) :]
        except BlockingIOError:
            pass
        except OSError:
            self.waiting = b""

    def processes(self) -> list[int]:
        """The runner and whatever it started."""
        return [pid for pid in descendants(self.keeper) if pid != self.keeper]

    def end(self, patience: float = 0.0) -> int:
        """End the child and everything it started, after it had ``patience`` seconds to end by itself.

        Returns:
            Its exit code; negative: the signal that ended it.
        """
        deadline = time.monotonic() + patience
        pid, status = os.waitpid(self.keeper, os.WNOHANG)
        while not pid and time.monotonic() < deadline:
            time.sleep(0.005)
            pid, status = os.waitpid(self.keeper, os.WNOHANG)
        if not pid:
            for doomed in (self.runner, self.keeper):
                if doomed:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(doomed, signal.SIGKILL)
            _, status = os.waitpid(self.keeper, 0)
        os.close(self.results)
        os.close(self.tasks)
        if not self.isolated:
            reap_strays()
            empty(self.scratch)
        return os.waitstatus_to_exitcode(status)


class Spawn:
    """The same as a new Python process: slower by its imports, and without namespaces."""

    isolated = False

    def __init__(self, isolated: bool, scratch: str):
        self.scratch = scratch
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "autograder.child"], cwd=scratch, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.said: queue.Queue[bytes] = queue.Queue(maxsize=16)
        self.ended = False
        self.asked: queue.Queue[bytes] = queue.Queue()
        self.threads = [threading.Thread(target=act, daemon=True) for act in (self._listen, self._talk)]
        for thread in self.threads:
            thread.start()

    def _listen(self) -> None:
        data = b"first"
        while data and not self.ended:
            data = self.process.stdout.read1(1 << 20)
            while not self.ended:
                with contextlib.suppress(queue.Full):
                    self.said.put(data, timeout=0.5)
                    break

    def _talk(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while data := self.asked.get():
                self.process.stdin.write(data)
                self.process.stdin.flush()

    def receive(self, seconds: float) -> bytes | None:
        """See :meth:`Fork.receive`."""
        with contextlib.suppress(queue.Empty):
            return self.said.get(timeout=max(seconds, 0.001))
        return None

    def send(self, data: bytes) -> None:
        self.asked.put(data)

    def processes(self) -> list[int]:
        return descendants(self.process.pid)

    def end(self, patience: float = 0.0) -> int:
        """See :meth:`Fork.end`."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(max(patience, 0.001))
        self.process.kill()
        code = self.process.wait()
        reap_strays()
        self.ended = True
        self.asked.put(b"")
        for thread in self.threads:
            thread.join(2)
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()
        empty(self.scratch)
        return code


def start(isolated: bool, scratch: str) -> Fork | Spawn:
    """A child that waits for its job."""
    os.makedirs(scratch, exist_ok=True)
    return (Spawn if spawning() else Fork)(isolated, scratch)


def spawning() -> bool:
    return not hasattr(os, "fork") or os.environ.get(SPAWN) == "1"


# --- what the system knows of processes -------------------------------------------------------------------


def parents() -> dict[int, int]:
    """Parent by process id, of every process to be seen."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            found[int(folder.name)] = int((folder / "stat").read_text().rsplit(") ", 1)[1].split()[1])
    return found


def descendants(root: int) -> list[int]:
    """``root`` and every process below it."""
    known = parents()
    family = {root} & known.keys()
    while True:
        more = {pid for pid, parent in known.items() if parent in family} - family
        if not more:
            return sorted(family)
        family |= more


def memory(pids: list[int], base: int) -> int:
    """Bytes that these processes hold, files aside; pages that they share count once where the kernel tells.

    ``base``: bytes that a fresh child shares with this process, for a kernel that does not.
    """
    rough = {pid: _field(pid, "status", ("RssAnon", "RssShmem")) for pid in pids}
    if sum(rough.values()) <= base + 256 * 2**20:
        return 0  # far from any limit: not worth looking closer, which takes milliseconds a process
    exact = {pid: _field(pid, "smaps_rollup", ("Pss_Anon", "Pss_Shmem")) for pid in pids}
    return sum(exact[pid] or max(rough[pid] - base, 0) for pid in pids)


def _field(pid: int | str, file: str, names: tuple[str, ...]) -> int:
    total = 0
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in names:
                total += int(rest.split()[0]) * 1024
    return total


def own_memory() -> int:
    return _field("self", "status", ("RssAnon", "RssShmem"))


def reap_strays() -> None:
    """Kill what children without a PID namespace left behind: as subreaper, this process inherits it."""
    for _ in range(200):
        left = [pid for pid in descendants(os.getpid()) if pid != os.getpid()]
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError, AttributeError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not left:
            return
        time.sleep(0.005)


def empty(folder: str) -> None:
    """Remove a scratch folder, whatever permissions were left on it."""

    def open_up(act: Any, path: str, _: Any) -> None:
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(path), 0o700)
            os.chmod(path, 0o700)
            act(path)

    shutil.rmtree(folder, onerror=open_up)
    shutil.rmtree(folder, ignore_errors=True)
