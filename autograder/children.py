"""The process that runs one notebook: forked from a zygote, or started anew where the system cannot fork.

Both speak the same way: :meth:`receive` what the child says, :meth:`send` what it asks for, :meth:`end` it
together with everything it started. Nothing here waits for a child that does not want to talk.
"""

import contextlib
import gc
import os
import queue
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograder import namespaces, seccomp

PLACES = {"/tmp": 64, "/dev/shm": 128}
"""MB of the folders, besides its scratch, in which an isolated child may write."""
SCRATCH_MB = 256
SPAWN = "RMSNORM_SPAWN"
"""Environment variable: start a new process for every notebook although the system could fork."""


class Zygote:
    """A process that has imported everything and only forks: no student's data ever passes through it.

    A child is its one live child; it is in namespaces of its own where ``isolated``, and PID 1 there: when it
    is killed, the kernel kills whatever it started.
    """

    def __init__(self, preload: Callable[[], None], isolated: bool, scratch: str):
        self.isolated, self.scratch = isolated, scratch
        self.line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        worker = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            with contextlib.suppress(BaseException):
                self._serve(theirs, worker, preload)
            os._exit(70)
        theirs.close()
        self.base = int(self._answer())
        """Bytes that it holds, and a fresh child shares with it."""

    def _answer(self) -> bytes:
        """Raises EOFError: it is no longer there, and so is every child."""
        answer = self.line.recv(64)
        if not answer:
            raise EOFError("zygote")
        return answer

    def start(self, read: int, write: int) -> None:
        """Fork a child that reads tasks and writes results there."""
        socket.send_fds(self.line, [b"start"], [read, write])
        self._answer()

    def end(self, patience: float) -> int:
        """End the child after ``patience`` seconds at most, and everything it started; its exit code."""
        self.line.send(str(patience).encode())
        return int(self._answer())

    def _serve(self, line: socket.socket, worker: int, preload: Callable[[], None]) -> None:
        close_all_but(line.fileno())
        namespaces.die_with(worker)
        namespaces.prctl(namespaces.PR_SET_CHILD_SUBREAPER, 1)
        preload()
        gc.collect()
        gc.freeze()  # a child that collects garbage would otherwise copy every page of the imports
        line.send(str(own_memory()).encode())
        pid = 0
        while True:
            said, descriptors, _, _ = socket.recv_fds(line, 64, 2)
            if not said:
                os._exit(0)
            if said == b"start":
                pid = self._fork(*descriptors)
                for descriptor in descriptors:
                    os.close(descriptor)
                line.send(b"started")
            else:
                line.send(str(self._finish(pid, float(said))).encode())

    def _fork(self, read: int, write: int) -> int:
        zygote, uid, gid = os.getpid(), os.geteuid(), os.getegid()
        pid = namespaces.fork_apart() if self.isolated else os.fork()
        if pid:
            return pid
        try:
            if self.isolated:  # where nobody can see its parent's id
                namespaces.prctl(namespaces.PR_SET_PDEATHSIG, signal.SIGKILL)
            else:
                namespaces.die_with(zygote)
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            close_all_but(read, write)
            os.umask(0o077)
            if self.isolated:
                namespaces.settle(self.scratch, SCRATCH_MB, PLACES, uid, gid)
                seccomp.filter_calls()
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

    def _finish(self, pid: int, patience: float) -> int:
        deadline = time.monotonic() + patience
        ended, status = os.waitpid(pid, os.WNOHANG)
        while not ended and time.monotonic() < deadline:
            time.sleep(0.005)
            ended, status = os.waitpid(pid, os.WNOHANG)
        if not ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
        if not self.isolated:
            reap_strays()
            empty(self.scratch)
        return os.waitstatus_to_exitcode(status)


class Fork:
    """One child of the zygote."""

    def __init__(self, zygote: Zygote):
        self.zygote = zygote
        os.makedirs(zygote.scratch, exist_ok=True)
        self.results, write = os.pipe()
        read, self.tasks = os.pipe()
        zygote.start(read, write)
        for descriptor in (read, write):
            os.close(descriptor)
        os.set_blocking(self.tasks, False)
        self.waiting = b""

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
        """The child and whatever it started."""
        return [pid for pid in descendants(self.zygote.pid) if pid != self.zygote.pid]

    def end(self, patience: float = 0.0) -> int:
        """End the child and everything it started, after it had ``patience`` seconds to end by itself.

        Returns:
            Its exit code; negative: the signal that ended it.
        """
        code = self.zygote.end(patience)
        os.close(self.results)
        os.close(self.tasks)
        return code


class Spawn:
    """The same as a new Python process: slower by its imports, and without namespaces."""

    def __init__(self, scratch: str):
        self.scratch = scratch
        os.makedirs(scratch, exist_ok=True)
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


def spawning() -> bool:
    return not hasattr(os, "fork") or os.environ.get(SPAWN) == "1"


def close_all_but(*kept: int) -> None:
    """Close every descriptor but the first three and these."""
    last = 2
    for descriptor in sorted(kept):
        os.closerange(last + 1, descriptor)
        last = descriptor
    os.closerange(last + 1, 4096)


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
