"""A system call filter for one child: what no lesson needs and what escapes are made of is refused.

Namespaces and limits already bound a child. This takes away the ways around them: new namespaces (and in them
mounts of any size), memory that no limit counts, other processes' memory, and odd corners of the kernel.
"""

import ctypes
import platform
import struct

from autograder import namespaces

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
ALLOW, REFUSE, ENOSYS, EPERM = 0x7FFF0000, 0x00050000, 38, 1
NEW_NAMESPACES = 0x7E020080  # every CLONE_NEW… flag that clone(2) takes
LOAD, EQUAL, BITS, RETURN = 0x20, 0x15, 0x45, 0x06  # BPF: ld abs, jeq, jset, ret

# (audit architecture, clone, refused calls): numbers from the kernel's system call tables.
_COMMON_LATE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442)
"""io_uring (3), open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, pidfd_getfd, mount_setattr."""
MACHINES = {
    "x86_64": (
        0xC000003E, 56,
        (29, 64, 68, 101, 155, 161, 165, 166, 167, 168, 169, 175, 176, 246, 248, 249, 250, 272, 298, 304, 308,
         310, 311, 313, 320, 321, 323, *_COMMON_LATE),
    ),
    "aarch64": (
        0xC00000B7, 220,
        (39, 40, 41, 51, 97, 104, 105, 106, 117, 142, 186, 190, 194, 217, 218, 219, 224, 225, 241, 265, 268,
         270, 271, 273, 280, 282, 294, *_COMMON_LATE),
    ),
}  # fmt: skip
"""shmget, semget, msgget (System V memory lives on, uncounted, without a process), ptrace, pivot_root, chroot,
mount, umount2, swapon, swapoff, reboot, init_module, delete_module, kexec_load, add_key, request_key, keyctl,
unshare, perf_event_open, open_by_handle_at, setns, process_vm_readv, process_vm_writev, finit_module,
kexec_file_load, bpf, userfaultfd."""
MEMFD_CREATE = {"x86_64": 319, "aarch64": 279}
CLONE3 = 435


def program(machine: str) -> list[tuple[int, int, int, int]]:
    """The filter as (code, jump if true, jump if false, value)."""
    architecture, clone, refused = MACHINES[machine]
    lines = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, REFUSE | EPERM), (LOAD, 0, 0, 0)]
    if machine == "x86_64":  # the x32 table has other numbers
        lines += [(BITS, 0, 1, 0x40000000), (RETURN, 0, 0, REFUSE | ENOSYS)]
    for number in (CLONE3, MEMFD_CREATE[machine]):  # libraries then fall back to clone(2), to a file
        lines += [(EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE | ENOSYS)]
    for number in refused:
        lines += [(EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE | EPERM)]
    lines += [
        (EQUAL, 0, 3, clone), (LOAD, 0, 0, 16), (BITS, 0, 1, NEW_NAMESPACES), (RETURN, 0, 0, REFUSE | EPERM),
        (RETURN, 0, 0, ALLOW),
    ]  # fmt: skip
    return lines


def filter_calls() -> bool:
    """Put the filter on this process and all it will start. Whether that worked. Needs no_new_privs."""
    machine = platform.machine()
    if machine not in MACHINES:
        return False
    lines = program(machine)
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    # struct sock_fprog: the number of instructions, padding, a pointer to them
    header = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(code)))
    try:
        namespaces._call("prctl", PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), header, 0, 0)
    except (OSError, AttributeError):
        return False
    return True
