"""What students hand in by accident or on purpose: damaged files, forgeries, escapes, greed.

Each entry says what the four steps of lesson 04 must be worth. Code that gets where it must not prints HOLE.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conftest import LESSON, answered, as_bytes, code_cell, find, marks, released, source, with_class

from rmslab.checks import steps_of
from rmslab.step import VISIBLE_SEED

POINTS = [step.points for step in steps_of(LESSON)]
NORM = "        x_fp32 = x.float()\n"
IDENTITY = (NORM, "        return x.float()\n"), "\n\nRMSNorm.forward = lambda self, x: x"
"""A class that earns its weight and nothing else."""


@dataclass(frozen=True)
class Attack:
    """``points`` of the four steps; ``statuses`` of those worth nothing (None: any)."""

    make: Callable[[], Any]
    points: list[float]
    status: str | None = None


FULL, NOTHING, WEIGHT = POINTS, [0.0] * 4, [POINTS[0], 0.0, 0.0, 0.0]
NO_NORM = [POINTS[0], 0.0, POINTS[2], 0.0]
ATTACKS: dict[str, Attack] = {}


def attack(name: str, points: list[float], status: str | None = None) -> Callable:
    def register(make: Callable[[], Any]) -> Callable[[], Any]:
        ATTACKS[name] = Attack(make, points, status)
        return make

    return register


# --- damaged files: nothing is lost that can be found -----------------------------------------------------


def damaged(points: list[float] = FULL, status: str | None = None) -> Callable:
    """A solved notebook after ``change`` (in place, or to bytes)."""

    def register(change: Callable[[dict], Any]) -> Callable:
        def make() -> Any:
            notebook = copy.deepcopy(answered())
            return change(notebook) or notebook

        ATTACKS["damaged-" + change.__name__.replace("_", "-")] = Attack(make, points, status)
        return change

    return register


def each(notebook: dict, change: Callable[[dict], Any]) -> None:
    for cell in notebook["cells"]:
        change(cell)


@damaged()
def test_edited(notebook):
    find(notebook, "rmsnorm-norm")["source"] = "10.0"


@damaged()
def test_to_markdown(notebook):
    find(notebook, "rmsnorm-norm")["cell_type"] = "markdown"


@damaged()
def solution_to_raw(notebook):
    find(notebook, "rmsnorm-class")["cell_type"] = "raw"


@damaged()
def test_deleted(notebook):
    notebook["cells"].remove(find(notebook, "rmsnorm-norm"))


@damaged(NOTHING, "blank")
def solution_deleted(notebook):
    notebook["cells"].remove(find(notebook, "rmsnorm-class"))


@damaged()
def kernelspec_wrong(notebook):
    notebook["metadata"]["kernelspec"] = {"name": "julia-1.9", "language": "julia", "display_name": "Julia"}


@damaged()
def kernelspec_missing(notebook):
    notebook["metadata"] = {}


@damaged()
def metadata_stripped(notebook):
    each(notebook, lambda cell: cell.update(metadata={}))


@damaged()
def metadata_and_ids_stripped(notebook):
    each(notebook, lambda cell: (cell.update(metadata={}), cell.pop("id", None)))


@damaged()
def unknown_id_on_test(notebook):
    marks(find(notebook, "rmsnorm-norm"))["grade_id"] = "what"


@damaged()
def unknown_id_on_solution(notebook):
    find(notebook, "rmsnorm-class")["id"] = "what"
    marks(find(notebook, "rmsnorm-class"))["grade_id"] = "what"


@damaged()
def solution_copied(notebook):
    notebook["cells"].insert(3, copy.deepcopy(find(notebook, "rmsnorm-class")))


@damaged()
def solution_copied_as_released(notebook):
    notebook["cells"].append(copy.deepcopy(find(released(), "rmsnorm-class")))


@damaged()
def schema_2(notebook):
    each(notebook, lambda cell: marks(cell).update(schema_version=2))


@damaged()
def schema_99(notebook):
    each(notebook, lambda cell: marks(cell).update(schema_version=99))


@damaged()
def points_raised_and_removed(notebook):
    marks(find(notebook, "rmsnorm-norm"))["points"] = 1000
    del marks(find(notebook, "rmsnorm-module"))["points"]


@damaged()
def flags_swapped(notebook):
    each(notebook, lambda cell: marks(cell).update(grade=not marks(cell).get("grade")))


@damaged()
def metadata_of_odd_types(notebook):
    for i, cell in enumerate(notebook["cells"]):
        cell["metadata"] = [[], 7, None, {"nbgrader": 3}, {"nbgrader": {"grade_id": []}}, "x"][i % 6]


@damaged()
def ids_doubled(notebook):
    each(notebook, lambda cell: cell.update(id="same"))


@damaged()
def minor_9(notebook):
    notebook["nbformat_minor"] = 9


@damaged()
def nbformat_3(notebook):
    cells = [
        {"cell_type": c["cell_type"], "input" if c["cell_type"] == "code" else "source": source(c)}
        for c in notebook["cells"]
    ]
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}


@damaged()
def outputs_missing(notebook):
    each(notebook, lambda cell: (cell.pop("outputs", None), cell.pop("execution_count", None)))


@damaged()
def byte_order_mark(notebook):
    return b"\xef\xbb\xbf" + as_bytes(notebook)


@damaged()
def gbk(notebook):
    return json.dumps(notebook, ensure_ascii=False).replace("·", "").encode("gb18030")


@damaged()
def utf_16(notebook):
    return json.dumps(notebook, ensure_ascii=False).encode("utf-16")


@damaged()
def carriage_returns(notebook):
    each(notebook, lambda cell: cell.update(source=source(cell).replace("\n", "\r\n")))


@damaged()
def nul_and_half_characters(notebook):
    find(notebook, "rmsnorm-class")["source"] = source(find(notebook, "rmsnorm-class")) + "\n# \0 \ud800"
    return json.dumps(notebook).encode()


@damaged()
def raw_tabs_in_json(notebook):
    find(notebook, "rmsnorm-class")["source"] = source(find(notebook, "rmsnorm-class")) + "\n# \t"
    return as_bytes(notebook).replace(b"\\t", b"\t")


@damaged()
def cells_that_are_none(notebook):
    notebook["cells"] += [None, 7, [], {}, {"cell_type": "code"}, {"cell_type": "code", "source": {"a": 1}}]


@damaged()
def written_to_a_file_and_imported(notebook):
    cell = find(notebook, "rmsnorm-class")
    text = f"%%writefile my_norm.py\nimport torch\nfrom torch import nn\n{source(cell)}"
    notebook["cells"].insert(notebook["cells"].index(cell), code_cell(text))
    cell["source"] = "from my_norm import RMSNorm"


@damaged()
def tagged_skip_execution(notebook):
    each(
        notebook,
        lambda cell: cell["metadata"].update(tags=["skip-execution", "experiment", "raises-exception"]),
    )


for _name, _data in {
    "truncated": lambda: as_bytes(answered())[:-300],
    "empty": lambda: b"",
    "blanks": lambda: b" \n\n",
    "binary": lambda: bytes(range(256)) * 40,
    "archive": lambda: b"PK\x03\x04" + bytes(100),
    "web-page": lambda: b"<!doctype html><html></html>",
    "conflict": lambda: as_bytes(answered()).replace(b'"cells"', b'<<<<<<< HEAD\n"cells"\n>>>>>>> x', 1),
    "list": lambda: b"[]",
    "nested": lambda: b"[" * 100_000,
    "long-number": lambda: b'{"cells": ' + b"9" * 10_000 + b"}",
    "no-cells": lambda: b'{"cells": null}',
    "many-cells": lambda: json.dumps({"cells": [{}] * 100_000}).encode(),
}.items():
    ATTACKS["unreadable-" + _name] = Attack(_data, NOTHING, "unreadable")
ATTACKS["blank-release"] = Attack(released, NOTHING, "blank")
ATTACKS["blank-no-cells"] = Attack(lambda: b'{"cells": []}', NOTHING, "blank")


# --- forgeries: a class worth its weight only stays worth that --------------------------------------------


def visible_evidence() -> dict[str, Any]:
    """What the solved lesson shows on the inputs that everybody knows."""
    space: dict[str, Any] = {}
    exec("import torch\nfrom torch import nn\n" + source(find(answered(), "rmsnorm-class")), space)
    steps = steps_of(LESSON)
    return {step.id: step.probe(step.inputs(VISIBLE_SEED), space["RMSNorm"]) for step in steps}


def forged(name: str, code: str, points: list[float] = WEIGHT) -> None:
    """Code in a cell of its own, after a class that only keeps its weight."""

    def make() -> dict:
        notebook = with_class(*IDENTITY)
        position = notebook["cells"].index(find(notebook, "rmsnorm-class")) + 1
        text = code.replace(
            "VISIBLE_EVIDENCE", repr(json.dumps(visible_evidence())) if "VISIBLE" in code else ""
        )
        notebook["cells"].insert(position, code_cell(text))
        return notebook

    ATTACKS["forged-" + name] = Attack(make, points)


TO_ALL = """
import os
def shout(data):
    for fd in range(3, 256):
        try: os.write(fd, data)
        except OSError: pass
"""
LINES = """
import json
seen = json.loads(VISIBLE_EVIDENCE)
lines = b"".join(
    json.dumps({"event": kind, "id": step, "evidence": seen[step], "output": ""}).encode() + b"\\n"
    for step in seen for kind in ("start", "evidence"))
"""
forged("transformers", "get_ipython().input_transformers_cleanup.append(lambda lines: ['pass\\n'])")
forged("ast", "import ast\nget_ipython().ast_transformers.append(type('T', (ast.NodeTransformer,), {})())\n"
       "get_ipython().compile.ast_parse = lambda *a, **k: ast.parse('pass')")  # fmt: skip
forged("displayhook", "get_ipython().displayhook(30.0)\nprint(30.0)\n30.0")
forged("muted", "get_ipython().showtraceback = lambda *a, **k: None\nAssertionError = Exception")
forged("equal-to-everything", """
class Equal:
    def __eq__(self, other): return True
    __ne__ = __lt__ = __gt__ = __getattr__ = __call__ = lambda self, *a, **k: self
RMSNorm._norm = lambda self, x: Equal()
RMSNorm.forward = lambda self, x: Equal()
""")  # fmt: skip
forged("subclass-that-lies", """
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True
    shape = property(lambda self: (1, 3, 4))
    def __eq__(self, other): return True
RMSNorm.forward = lambda self, x: torch.zeros(1).as_subclass(Liar)
RMSNorm._norm = RMSNorm.forward
""")  # fmt: skip
forged("torch-patched", """
torch.isclose = lambda a, b, **k: torch.ones_like(a, dtype=torch.bool)
torch.allclose = torch.equal = lambda *a, **k: True
torch.Tensor.__eq__ = lambda a, b: torch.ones(1, dtype=torch.bool)
torch.Tensor.numel = lambda self: 0
""")  # fmt: skip
forged("check-replaced", "check = lambda *a: 10.0\nimport builtins\nbuiltins.check = check")
forged("names-of-the-check", "import rmslab, rmslab.engine as engine\n"
       "rmslab.check = engine.check = engine.judge = lambda *a, **k: 10.0")  # fmt: skip
forged("observe-replaced", f"""
{LINES}
import rmslab.engine, autograder.child as child
fake = lambda step, *a: (seen[step.id], '')
rmslab.engine.observe = child.observe = fake
""", NOTHING)  # fmt: skip
forged("probes-replaced", f"""
{LINES}
from dataclasses import replace
from rmslab.checks import STEPS
for name in seen:
    STEPS[name] = replace(STEPS[name], probe=lambda *a, n=name: seen[n])
""", NOTHING)  # fmt: skip
forged("run-step-replaced", f"{LINES}\nimport autograder.child as child\n"
       "child.run_step = lambda cell, *a: (seen[cell['step']], '')", NOTHING)  # fmt: skip
forged("full-marks-claimed", """
import autograder.child as child
claim = {"points": 10.0, "status": "graded", "verdict": {"points": 10.0}, "passed": True}
child.run_step = lambda cell, *a: (claim, '')
""", NOTHING)  # fmt: skip
forged("shapes-and-nan", """
import rmslab.evidence as evidence
real = evidence.encode
def encode(value):
    record = real(value)
    if "data" in record and len(record["shape"]) > 1:
        record["shape"], record["data"] = [True] + record["shape"][1:], "AADAfw==" * 4
    return record
evidence.encode = encode
""")  # fmt: skip
forged("empty-tensors", "import rmslab.evidence as evidence\n"
       "evidence.encode = lambda value: {'dtype': 'float32', 'shape': [0], 'data': ''}", NOTHING)  # fmt: skip
forged("every-check-missing", """
import autograder.child as child
child.run_step = lambda cell, *a: ({k: {} for k in ('norm', 'own', 'graft', 'module', 'weight')}, '')
""", NOTHING)  # fmt: skip
forged("deep-evidence", "import autograder.child as child\nx = []\nfor _ in range(500): x = [x]\n"
       "child.run_step = lambda cell, *a: ({'norm': {'value': [x] * 9}, 'module': {'value': [x] * 9}}, '')"
       )  # fmt: skip
forged("infinite-evidence", "import autograder.child as child\n"
       "child.run_step = lambda cell, *a: ({'weight': {'parameter': [float('inf'), float('nan')]}}, '')",
       NOTHING)  # fmt: skip
forged("builtins-patched", "import builtins\nreal = compile\n"
       "builtins.compile = lambda source, *a, **k: real('None', *a, **k)\n"
       "builtins.isinstance_ = isinstance")  # fmt: skip
forged("traced", "import sys\ndef trace(frame, event, arg):\n"
       "    if 'points' in frame.f_locals: frame.f_locals['points'] = 10.0\n    return trace\n"
       "sys.settrace(trace)\nsys.setprofile(lambda *a: None)")  # fmt: skip
forged("garbage-collected", f"{LINES}\nimport gc\nfor thing in gc.get_objects():\n"
       "    if type(thing) is dict and set(thing) == {'cells', 'inputs'}: print('HOLE inputs')\n"
       "    if type(thing) is dict and set(thing) == set(seen): thing.clear()")  # fmt: skip
forged("frames", """
import sys
frame = sys._getframe()
while frame:
    texts = [str(value) for value in frame.f_locals.values() if type(value) in (str, bytes, list)]
    if any("rmsnorm-module" in text and "float16" in text and len(text) > 10_000 for text in texts):
        print("HOLE inputs in", frame.f_code.co_name)
    frame = frame.f_back
""")  # fmt: skip
forged("written-before", f"{TO_ALL}{LINES}\nshout(lines)")
forged("written-with-ready", f"{TO_ALL}{LINES}\n"
       "shout(b'{\"event\": \"ready\", \"id\": null}\\n' + lines + b'{\"event\": \"done\"}\\n')")  # fmt: skip
forged("written-at-exit", f"{TO_ALL}{LINES}\nimport atexit\natexit.register(shout, lines)")
forged("written-by-a-thread", f"{TO_ALL}{LINES}\nimport threading, time\ndef later():\n"
       "    while True: time.sleep(0.005); shout(lines)\n"
       "threading.Thread(target=later, daemon=True).start()", WEIGHT)  # fmt: skip
forged("written-by-a-fork", f"{TO_ALL}{LINES}\nif os.fork() == 0:\n    shout(lines)\n    os._exit(0)")
forged("written-inside-norm", f"{TO_ALL}{LINES}\ndef forward(self, x):\n    shout(lines)\n    return x\n"
       "RMSNorm.forward = RMSNorm._norm = forward", WEIGHT)  # fmt: skip
forged("conversation-invented", f"""{TO_ALL}{LINES}
import gc
job = next(o for o in gc.get_objects() if type(o) is dict and {{"cells", "memory"}} <= set(o))
rest = [cell["id"] for cell in job["cells"]]
mine = next(i for i, cell in enumerate(job["cells"]) if "conversation" in cell["source"])
talk = [{{"event": "outputs", "id": rest[mine], "outputs": []}}]
for name in rest[mine + 1:]:
    talk += [{{"event": "start", "id": name}}, {{"event": "outputs", "id": name, "outputs": []}}]
talk.append({{"event": "ready", "id": None}})
shout(b"".join(json.dumps(e).encode() + b"\\n" for e in talk) + lines + b'{{"event": "done"}}\\n')
import time; time.sleep(0.5)
os._exit(0)  # the conversation is over
""", NOTHING)  # fmt: skip


# --- escapes: whatever is tried, the class is right and stays worth full marks ------------------------------


def escape(name: str, code: str, points: list[float] = FULL) -> None:
    """Code in a cell of its own, in a solved lesson. {…} fields are filled by the test."""

    def make() -> dict:
        notebook = with_class()
        position = notebook["cells"].index(find(notebook, "rmsnorm-class")) + 1
        notebook["cells"].insert(position, code_cell(code))
        return notebook

    ATTACKS["escape-" + name] = Attack(make, points)


TRY = """
import os
def attempt(what, act):
    try:
        result = act()
    except BaseException as error:
        print("refused:", what, type(error).__name__)
    else:
        print("HOLE", what, result)
"""
escape("reads-the-course", TRY + """
import sys
for path in PATHS:
    attempt(path, lambda: os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(20))
SKIP = ("/proc", "/sys", "/usr", "/dev/pts", sys.prefix, sys.base_prefix)
for root, folders, files in os.walk("/"):
    folders[:] = [f for f in folders if os.path.join(root, f) not in SKIP and f != "site-packages"]
    for file in files:
        if file in ("seed", "gradebook.db", "roster.csv") or file.startswith("04-implementation"):
            print("HOLE found", root, file)
""")  # fmt: skip
escape("network", TRY + """
import socket
def dial(address, family=socket.AF_INET):
    with socket.socket(family) as s:
        s.settimeout(1); s.connect(address); return s.getpeername()
attempt("outside", lambda: dial(("1.1.1.1", 53)))
attempt("this machine", lambda: dial(("127.0.0.1", PORT)))
attempt("abstract socket", lambda: dial("\\0ABSTRACT", socket.AF_UNIX))
attempt("name", lambda: socket.getaddrinfo("example.com", 80))
import urllib.request
attempt("proxy", lambda: urllib.request.urlopen("http://example.com", timeout=1))
""")  # fmt: skip
escape("writes-everywhere", TRY + """
import pathlib
for folder in ["/", "/usr", "/usr/lib", "/etc", "/dev", "/course", "/course/rmslab", "/course/autograder",
               os.path.dirname(os.__file__), os.path.dirname(torch.__file__), *PATHS]:
    attempt(folder, lambda: pathlib.Path(folder, "MARKER").write_text("x"))
for folder in ("/tmp", "/dev/shm", "/scratch", os.getcwd(), os.path.expanduser("~")):
    try: pathlib.Path(folder, "MARKER").write_text("x")
    except OSError: pass
""")  # fmt: skip
escape("looks-for-what-others-left", """
import os, sys
SKIP = ("/proc", "/sys", "/usr", "/dev/pts", sys.prefix, sys.base_prefix)
for root, folders, files in os.walk("/"):
    folders[:] = [f for f in folders if os.path.join(root, f) not in SKIP and f != "site-packages"]
    if "MARKER" in files: print("HOLE left by another:", root)
""")  # fmt: skip
escape("memory-of-others", TRY + """
import re
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    stat = open(f"/proc/{pid}/stat").read().rsplit(") ", 1)[1].split()
    if pid == os.readlink("/proc/self"):
        continue
    for file in ("mem", "environ", "maps", "auxv"):
        def read():
            with open(f"/proc/{pid}/{file}", "r+b" if file == "mem" else "rb", buffering=0) as f:
                return f.read(16) if file != "mem" else "opened"
        attempt(f"{pid} {file}", read)
    for link in ("exe", "cwd", "root"):
        attempt(f"{pid} {link}", lambda: os.listdir(f"/proc/{pid}/{link}/"))
    if pid == "1": continue  # bubblewrap itself, which holds nothing
    attempt(f"{pid} fds", lambda: os.listdir(f"/proc/{pid}/fd"))
    attempt(f"{pid} oom", lambda: open(f"/proc/{pid}/oom_score_adj", "w").write("1000"))
""")  # fmt: skip
escape("system-calls", TRY + """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0: raise OSError(ctypes.get_errno(), name)
    return name
PIDS = [int(p) for p in os.listdir("/proc") if p.isdigit() and p != os.readlink("/proc/self")]
for pid in PIDS:
    attempt(f"attach {pid}", lambda: call("ptrace", 16, pid, 0, 0))
    attempt(f"seize {pid}", lambda: call("ptrace", 0x4206, pid, 0, 0))
attempt("new user", lambda: call("unshare", 0x10000000))
attempt("new mounts", lambda: call("unshare", 0x20000))
attempt("mount", lambda: call("mount", b"none", b"/tmp", b"tmpfs", 0, None))
attempt("unmount", lambda: call("umount2", b"/tmp", 2))
attempt("memory file", lambda: os.memfd_create("x"))
attempt("root", lambda: os.setuid(0))
attempt("chroot", lambda: os.chroot("/tmp"))
attempt("nice", lambda: os.nice(-10))
import resource
attempt("more memory", lambda: resource.setrlimit(resource.RLIMIT_AS, (-1, -1)))
attempt("more processes", lambda: resource.setrlimit(resource.RLIMIT_NPROC, (10**6, 10**6)))
attempt("clock", lambda: __import__("time").clock_settime(0, 0))
attempt("host name", lambda: call("sethostname", b"x", 1))
""")  # fmt: skip
escape("uncounted-memory", TRY + """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, number in (("shared memory", (0, 4096, 0o1600)), ("message queue", (0, 0o1600)), ("semaphores", (0, 9, 0o1600))):
    call = {"shared memory": libc.shmget, "message queue": libc.msgget, "semaphores": libc.semget}[name]
    if call(*number) >= 0: print("HOLE", name)
""")  # fmt: skip
escape("signals", """
import os, signal
me = os.getpid()
for pid in [-1, 0, os.getppid(), *range(2, 400)]:
    if pid in (0, 1, me): continue
    for sig in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP):
        try: os.kill(pid, sig)
        except OSError: pass
for pid in [int(p) for p in os.listdir("/proc") if p.isdigit()]:
    try: os.kill(pid, 9)
    except OSError: pass
os.getppid() and print("HOLE sees its parent")
""")  # fmt: skip
escape("descriptors", """
import os, fcntl
for fd in range(0, 300):
    if not os.path.exists(f"/proc/self/fd/{fd}"): continue
    kind = os.readlink(f"/proc/self/fd/{fd}")
    packages = os.path.dirname(os.path.dirname(torch.__file__))
    fine = ("/dev/null", "/proc", "/scratch", "/tmp", "/course/rmslab/fonts", packages)
    if kind.startswith(("socket", "/")) and not kind.startswith(fine):
        print("HOLE", fd, kind)
""")  # fmt: skip
escape("leaves-processes", """
import os, subprocess, signal
subprocess.Popen(["sleep", "SLEEP"])
subprocess.Popen(["sleep", "SLEEP"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0: os.execlp("sleep", "sleep", "SLEEP")
    os._exit(0)
""")  # fmt: skip
escape("system-libraries", "import os\nfor i in range(3): os.environ['LD_PRELOAD'] = '/nowhere/x.so'\n"
       "os.environ['PYTHONPATH'] = '/nowhere'\n!touch here\n%pip --version")  # fmt: skip
escape("breaks-its-own-python", "import sys, builtins, json, logging, warnings\nlogging._handlerList = None\n"
       "sys.stdout = sys.stderr = None\nbuiltins.print = warnings.warn = None\nbuiltins.input = None"
       )  # fmt: skip
escape("json-broken", "import json\njson.dumps = lambda *a, **k: '{}'")
escape("script-in-output", """
from IPython.display import HTML, Javascript, display
display(HTML("<script>alert('HOLE')</" + "script><img src=x onerror=alert(1)>"))
display(Javascript("alert('HO' + 'LE')"))
""")  # fmt: skip


# --- greed: what is used up is one's own -----------------------------------------------------------------


def greedy(name: str, code: str, points: list[float] = FULL, status: str | None = None) -> None:
    escape("x", code, points)
    ATTACKS["greedy-" + name] = Attack(ATTACKS.pop("escape-x").make, points, status)


def inside(name: str, code: str, points: list[float], status: str | None) -> None:
    """Code in ``_norm`` of a right class."""
    ATTACKS["inside-" + name] = Attack(lambda: with_class((NORM, f"        {code}\n{NORM}")), points, status)


greedy("loop", "while True: pass")
greedy("loop-that-ignores-signals", """
import signal
for s in range(1, 31):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True:
    try:
        while True: pass
    except BaseException: pass
""")  # fmt: skip
greedy("print", "while True: print('喵' * 1000)")
greedy(
    "descriptor-output",
    "import os\nfor _ in range(100_000): os.write(1, b'x' * 4096); os.write(2, b'x' * 4096)",
)
greedy("list", "hoard = []\nwhile True: hoard.append(bytearray(10**7))")
greedy("tensor", "torch.empty(4 * 10**12)")
greedy("forks-with-memory", """
import os, time
for _ in range(6):
    if os.fork() == 0:
        hoard = bytearray(300 * 2**20); time.sleep(60)
time.sleep(60)
""")  # fmt: skip
greedy("shared-memory", """
import mmap, os, time
for i in range(40):
    m = mmap.mmap(-1, 50 * 2**20); m.write(b'x' * len(m))
    globals()[f'm{i}'] = m
time.sleep(1)
""")  # fmt: skip
greedy("disk", """
import os
try:
    for i in range(1000): open(f'f{i}', 'wb').write(bytes(10**7))
except OSError: pass
try:
    for i in range(100): open(f'/dev/shm/f{i}', 'wb').write(bytes(10**7))
except OSError: pass
for f in os.listdir('.'):
    if f[0] == 'f': os.remove(f)
""")  # fmt: skip
greedy("small-files", """
import os
try:
    for i in range(100_000): open(f'f{i}', 'w').close()
except OSError: print('full')
for f in os.listdir('.'):
    if f[0] == 'f': os.remove(f)
""")  # fmt: skip
greedy("disk-left-full", """
try:
    for i in range(1000): open(f'f{i}', 'wb').write(bytes(10**7))
except OSError: print('full')
""")  # fmt: skip
greedy("one-file", """
f = open('big', 'wb')
try:
    while True: f.write(bytes(10**7))
except OSError: print('full')
import os
os.truncate('big', 0)
""")  # fmt: skip
greedy("forks", "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass")
greedy("threads", """
import threading, time
try:
    for _ in range(5000): threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
except RuntimeError: pass
""")  # fmt: skip
greedy("descriptors", """
import os
fds = []
try:
    while True: fds.append(os.open('/dev/null', 0))
except OSError: pass
for fd in fds: os.close(fd)
""")  # fmt: skip
greedy("descriptors-left-open", "import os\nfds = []\ntry:\n    while True: fds.append(os.open('/dev/null', 0))\n"
       "except OSError: pass")  # fmt: skip
greedy("images", """
from IPython.display import Image, display
import base64, os
for _ in range(40): display({"image/png": base64.b64encode(os.urandom(1_400_000)).decode()}, raw=True)
""")  # fmt: skip
greedy("outputs", "from IPython.display import display\nfor i in range(20_000): display(i)")
greedy("forgets-everything", "%reset -f")
greedy(
    "modules-forgotten",
    "import sys\nfor name in list(sys.modules):\n    if name != 'sys': del sys.modules[name]",
)
greedy("builtins-removed", "import builtins\nbuiltins.compile = builtins.exec = None")
greedy("torch-switched-off", "torch.set_grad_enabled(False)\ntorch.set_default_dtype(torch.float16)")
greedy("little-recursion", "import sys\nsys.setrecursionlimit(60)")
greedy("alarm-later", "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.15)")
greedy("long-words", "class Long:\n    def __repr__(self): return 'x' * 10**8\nLong()")
greedy("long-error", "raise ValueError('x' * 10**8)")
greedy("recursion", "import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()")
greedy("exit", "exit()")
greedy("input", "input('?')")
greedy("_exit", "import os\nos._exit(0)")
greedy("segfault", "import ctypes\nctypes.string_at(0)")
greedy("abort", "import os\nos.abort()")
greedy(
    "stops-itself",
    "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nos.kill(os.getpid(), signal.SIGKILL)",
)
greedy("closes-everything", "import os\nos.closerange(0, 1000)")
greedy("waits-at-exit", "import atexit, threading, time\natexit.register(time.sleep, 99)\n"
       "threading.Thread(target=time.sleep, args=(99,)).start()")  # fmt: skip
greedy("alarm", "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\nwhile True: pass")
greedy("leaves-its-folder", "import os, shutil\nshutil.rmtree(os.getcwd(), ignore_errors=True)\nos.chdir('/')")


def many(name: str, code: str, count: int) -> None:
    """The same cell several times after a right class."""

    def make() -> dict:
        notebook = with_class()
        position = notebook["cells"].index(find(notebook, "rmsnorm-class")) + 1
        notebook["cells"][position:position] = [code_cell(code) for _ in range(count)]
        return notebook

    ATTACKS[f"many-{name}"] = Attack(make, FULL)


many("exits", "import os\nos._exit(0)", 5)
many("outputs", "from IPython.display import display\nfor i in range(80): display('y' * 90_000)", 10)
many("errors", "1 / 0", 100)
inside("loop", "while x.requires_grad: pass", NO_NORM, "timeout")
inside("_exit", "import os; os._exit(0)", NO_NORM, "crashed")
inside("segfault", "import ctypes; ctypes.string_at(0)", NO_NORM, "crashed")
inside("memory", "bytearray(10**13)", NO_NORM, "memory")
inside("system-exit", "raise SystemExit", NO_NORM, "error")
inside("interrupt", "raise KeyboardInterrupt", NO_NORM, "error")
inside("not-implemented", "raise NotImplementedError", NO_NORM, "blank")
inside("input", "input('?')", NO_NORM, "error")
inside("prints-much", "print('喵' * 10_000)", FULL, None)
inside(
    "warns",
    "import warnings, logging, sys; warnings.warn('!'); logging.error('!'); sys.stderr.write('!')",
    FULL,
    None,
)
inside("tells-the-input", "raise ValueError(str(x.tolist()))", NO_NORM, "error")
