"""Linux namespaces for one child: what the kernel offers and Python 3.11 does not wrap.

A child in the same user namespace as its worker could write the worker's memory through /proc (tried). In a
user namespace of its own it lacks the right to; in a PID namespace of its own it cannot even name it.
"""

import contextlib
import ctypes
import os
import platform
import signal
from pathlib import Path

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x08000000, 0x10000000, 0x20000000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 0x4000, 0x40000
CLONE_CHILD_CLEARTID, CLONE_CHILD_SETTID = 0x200000, 0x1000000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 36, 38
PR_GET_TID_ADDRESS = 40
CLONE_CALL = {"x86_64": 56, "aarch64": 220}
NOBODY = 65534

try:
    _libc: ctypes.CDLL | None = ctypes.CDLL(None, use_errno=True)
    _libc_holding_the_gil: ctypes.PyDLL | None = ctypes.PyDLL(None, use_errno=True)
except (OSError, TypeError):
    _libc = _libc_holding_the_gil = None


def _call(name: str, *arguments: object) -> None:
    result = getattr(_libc, name)(*arguments)
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def prctl(option: int, value: int) -> None:
    """``prctl(2)``; silently nothing where the system has none."""
    with contextlib.suppress(OSError, AttributeError):
        _call("prctl", option, ctypes.c_ulong(value), 0, 0, 0)


def die_with(parent: int) -> None:
    """Be killed when ``parent`` ends; at once if it has ended already."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def drop_root() -> None:
    """Give up root for good: files that only root may read are then out of reach."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def fork_apart() -> int:
    """``os.fork()`` into user, PID, IPC and mount namespaces of its own. For a process with one thread.

    One copy of this process instead of the two that unshare and fork would take. The C library is told as its
    own fork tells it: the kernel writes the child's id where the library keeps it. The child is PID 1 of its
    namespace and should call :func:`settle`.

    Raises:
        OSError: the kernel refuses.
    """
    number = CLONE_CALL.get(platform.machine())
    if number is None or _libc_holding_the_gil is None:
        raise OSError("no clone call known for this machine")
    flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS | signal.SIGCHLD
    place = ctypes.c_void_p()
    if _libc.prctl(PR_GET_TID_ADDRESS, ctypes.byref(place), 0, 0, 0) == 0:
        flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID
    # x86_64 takes the child's address before the thread pointer, aarch64 after it.
    last = (place, None) if platform.machine() == "x86_64" else (None, place)
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = _libc_holding_the_gil.syscall(ctypes.c_long(number), ctypes.c_ulong(flags), None, None, *last)
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return 0
    error = ctypes.get_errno()
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(error, f"clone: {os.strerror(error)}")
    return pid


def settle(scratch: str, megabytes: int, more: dict[str, int], uid: int, gid: int) -> None:
    """After :func:`fork_apart`: be ``uid`` and ``gid`` as before, with an empty ``scratch`` of that size.

    ``more``: other folders to be covered likewise, unless something lies there (Python itself, perhaps).

    Raises:
        OSError: the kernel refuses.
    """
    prctl(PR_SET_DUMPABLE, 1)  # after setuid a process may not map its own ids without it
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _call("mount", b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
    free = {place: size for place, size in more.items() if os.path.isdir(place) and not os.listdir(place)}
    for place, size in {scratch: megabytes, **free}.items():
        options = f"size={size}m,mode=0700,nr_inodes=20000".encode()
        _call("mount", b"tmpfs", place.encode(), b"tmpfs", ctypes.c_ulong(MS_NOSUID | MS_NODEV), options)
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Give up every capability in this user namespace."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    with contextlib.suppress(OSError, AttributeError):
        _call("capset", header, (ctypes.c_uint32 * 6)())


def exist() -> bool:
    """Whether a child can be put into namespaces here: tried, not guessed."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        pid = fork_apart()
    except OSError:
        return False
    if pid == 0:
        try:
            settle("/tmp", 1, {}, uid, gid)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0
