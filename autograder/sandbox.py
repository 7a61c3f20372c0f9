"""Bubblewrap around a worker: no network, a read-only system, nothing of the course and of the class."""

import os
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/fonts",
          "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/passwd",
          "/etc/group", "/etc/nsswitch.conf", "/sys/devices/system/cpu")  # fmt: skip
PACKAGES = Path(__file__).resolve().parent.parent
HOME = "/scratch"


def python_folders() -> list[str]:
    """Where the interpreter and its libraries lie, outermost. Not a whole prefix: a class may lie there."""
    paths = {Path(sys.executable).resolve().parent}
    for prefix in (Path(sys.prefix), Path(sys.base_prefix)):
        paths |= {prefix / part for part in ("bin", "lib", "lib64", "share", "ssl", "pyvenv.cfg")}
    paths |= {Path(path) for name, path in sysconfig.get_paths().items() if name != "data"}
    paths |= {Path(path) for path in sys.path if path.endswith(("site-packages", "dist-packages"))}
    there = {path for path in paths if path.exists()}
    real = sorted(there | {path.resolve() for path in there})
    return [str(p) for p in real if not any(p != q and p.is_relative_to(q) for q in real)]


def wrap(command: list[str]) -> list[str]:
    """``command`` inside bubblewrap.

    Only the system, Python, ``rmslab`` and this package are visible, read-only; /tmp and the home are empty.
    Started as root it keeps root for setting up, and the worker gives it up at once.
    """
    line = ["bwrap", "--die-with-parent", "--new-session"]
    line += ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if os.geteuid() != 0:
        line += ["--unshare-user"]
    line += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", HOME]
    binds = [("--ro-bind-try", path, path) for path in SYSTEM]
    binds += [("--ro-bind", path, path) for path in python_folders()]
    binds += [("--ro-bind", str(PACKAGES / name), f"/course/{name}") for name in ("rmslab", "autograder")]
    # Folders on the way that bubblewrap makes itself would be closed to all but root.
    parents = dict.fromkeys(str(p) for _, _, to in binds for p in reversed(Path(to).parents[:-1]))
    for parent in parents:
        line += ["--perms", "0755", "--dir", parent]
    for bind in binds:
        line += bind
    # A course inside one of the folders above would be visible again: cover what must stay hidden.
    for hidden in (PACKAGES / "solutions", PACKAGES / "classroom"):
        if hidden.is_dir() and any(hidden.is_relative_to(f) for f in (*SYSTEM, *python_folders())):
            line += ["--tmpfs", str(hidden)]
    # What bubblewrap made itself belongs to whoever started it: nobody shall leave anything there.
    line += ["--remount-ro", "/", "--remount-ro", "/dev", "--remount-ro", "/tmp"]
    return [*line, "--chdir", HOME, "--", *command]


@cache
def works() -> bool:
    """Whether bubblewrap runs Python here: tried, not guessed."""
    if shutil.which("bwrap") is None:
        return False
    try:
        trial = subprocess.run(
            wrap([sys.executable, "-S", "-c", "import ctypes"]), capture_output=True, timeout=60,
            env=environment("/course"),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return trial.returncode == 0


def environment(packages: str = str(PACKAGES), scratch: str = HOME) -> dict[str, str]:
    """Only what running needs: nothing of the grader's own environment reaches student code."""
    kept = {
        key: os.environ[key]
        for key in ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "TZ", "RMSNORM_SPAWN")
        if key in os.environ
    }
    return kept | {
        "PATH": os.defpath,
        "HOME": scratch,
        "TMPDIR": scratch,
        "IPYTHONDIR": f"{scratch}/.ipython",
        "MPLCONFIGDIR": f"{scratch}/.matplotlib",
        "MPLBACKEND": "agg",
        "PYTHONPATH": packages,
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "NBGRADER_EXECUTION": "autograde",
    }
