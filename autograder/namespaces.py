"""Linux namespaces for one child: what the kernel offers and Python 3.11 does not wrap.

A child in the same user namespace as its worker could write the worker's memory through /proc (tried). In a
user namespace of its own it lacks the right to; in a PID namespace of its own it cannot even name it.
"""

import contextlib
import ctypes
import os
import signal
from pathlib import Path

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x08000000, 0x10000000, 0x20000000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 0x4000, 0x40000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 36, 38
NOBODY = 65534

try:
    _libc: ctypes.CDLL | None = ctypes.CDLL(None, use_errno=True)
except (OSError, TypeError):
    _libc = None


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


def enter(scratch: str, megabytes: int, more: dict[str, int]) -> None:
    """Move this single-threaded process into namespaces of its own, with an empty ``scratch`` of that size.

    ``more``: other folders to be covered likewise, unless something lies there (Python itself, perhaps).

    The PID namespace takes effect for the next fork, the first process of which should then call
    :func:`drop_capabilities`.

    Raises:
        OSError: the kernel refuses.
    """
    uid, gid = os.geteuid(), os.getegid()
    prctl(PR_SET_DUMPABLE, 1)  # after setuid a process may not map its own ids without it
    _call("unshare", CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _call("mount", b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
    free = {place: size for place, size in more.items() if os.path.isdir(place) and not os.listdir(place)}
    for place, size in {scratch: megabytes, **free}.items():
        options = f"size={size}m,mode=0700,nr_inodes=20000".encode()
        _call("mount", b"tmpfs", place.encode(), b"tmpfs", ctypes.c_ulong(MS_NOSUID | MS_NODEV), options)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_SET_DUMPABLE, 0)


def drop_capabilities() -> None:
    """Give up every capability in this user namespace."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    with contextlib.suppress(OSError, AttributeError):
        _call("capset", header, (ctypes.c_uint32 * 6)())


def exist() -> bool:
    """Whether a child can be put into namespaces here: tried in a fork, not guessed."""
    if _libc is None or not hasattr(os, "fork"):
        return False
    pid = os.fork()
    if pid == 0:
        try:
            enter("/tmp", 1, {})
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0
