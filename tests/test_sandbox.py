"""Over a hundred damaged and hostile submissions: each ends as it must, and nobody else notices.

Real processes throughout. Nothing here measures time.
"""

import copy
import csv
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from attacks import ATTACKS, FULL, NOTHING, POINTS, Attack
from conftest import LESSON, ROOT, answered, as_bytes, command, hand_in, need, running_with, source

from autograder import children, report, results, run, sandbox
from autograder.course import Classroom, Course
from rmslab import evidence
from rmslab.checks import steps_of

HONEST = [f"{letter}-honest" for letter in "aegimuz"]
MARKER, SLEEP = f"marker-{os.getpid()}", f"4{os.getpid()}"
LIMITS = ("--timeout", 2, "--memory", 900)


@pytest.fixture(scope="session", autouse=True)
def sandboxed() -> None:
    need(sandbox.works(), "bubblewrap does not run here")


class Listener:
    """Servers on this machine that nobody inside a sandbox may reach."""

    def __init__(self) -> None:
        self.sockets = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)]
        self.port = self.sockets[0].getsockname()[1]
        self.name = f"rmsnorm-{os.getpid()}-{self.port}"
        self.sockets[1].bind(f"\0{self.name}")
        self.sockets[1].listen()
        self.reached: list[str] = []
        for one in self.sockets:
            threading.Thread(target=self.accept, args=(one,), daemon=True).start()

    def accept(self, one: socket.socket) -> None:
        try:
            one.accept()
        except OSError:
            return
        self.reached.append(str(one))


def fill_in(notebook: object, folder: Path, listener: Listener) -> object:
    """The attack with what it needs to know about this machine."""
    if isinstance(notebook, bytes):
        return notebook
    secrets = [
        folder,
        folder / "classroom",
        folder / "classroom" / "seed",
        ROOT / "solutions",
        ROOT / "tests",
    ]
    given = {
        "PATHS": repr([str(path) for path in secrets]), "PORT": str(listener.port), "ABSTRACT": listener.name,
        "MARKER": MARKER, "SLEEP": SLEEP,
    }  # fmt: skip
    for cell in notebook.get("cells", ()):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            text = source(cell)
            for word, value in given.items():
                text = text.replace(word, value)
            cell["source"] = text
    return notebook


def points_of(rows: list[report.Row] | list[dict], student: str) -> tuple[list[float], set[str]]:
    mine = [row for row in rows if row["student"] == student and row["lesson"] == LESSON]
    return [float(row["points"]) for row in mine], {r["status"] for r in mine if float(r["points"]) == 0}


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


class Class:
    """One graded class: where it is, what the command said, the CSV."""

    def __init__(self, folder: Path, attacks: dict[str, Attack], course: Course, honest: list[str]):
        self.folder, self.listener = folder, Listener()
        self.classroom = Classroom(folder / "classroom")
        for name in honest:
            hand_in(self.classroom.root / "submitted", name, answered())
        for name, each in attacks.items():
            # Written as it is: damage must stay.
            path = self.classroom.submission(name, LESSON)
            path.parent.mkdir(parents=True)
            notebook = fill_in(each.make(), folder, self.listener)
            path.write_bytes(notebook if isinstance(notebook, bytes) else json.dumps(notebook).encode())
        self.classroom.seed()
        self.before = snapshot(self.classroom.root / "submitted")
        (folder / "scratch").mkdir()
        os.chmod(folder / "scratch", 0o777)
        env = os.environ | {"TMPDIR": str(folder / "scratch")}
        self.done = command("grade", "--classroom", self.classroom.root, *LIMITS, cwd=course.root, env=env)
        self.still_running = running_with(f"sleep\0{SLEEP}") + running_with(str(folder / "scratch"))
        report.report(self.classroom, folder / "a.csv")
        self.rows = table(folder / "a.csv")


def as_wanted(name: str, points: list[float]) -> bool:
    """Exactly those points; a race that a forger starts against himself may cost him some, too."""
    want = ATTACKS[name].points
    return points == want or ("by-a" in name and all(p in (0.0, w) for p, w in zip(points, want, strict=True)))


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="session")
def hostile(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Class:
    return Class(tmp_path_factory.mktemp("hostile"), ATTACKS, course, HONEST)


def test_there_are_enough_and_every_one_has_a_row(hostile):
    assert len(ATTACKS) >= 60
    assert hostile.done.returncode == 0 and hostile.done.stderr == "", hostile.done.stderr
    wanted = {(student, step.id) for student in (*ATTACKS, *HONEST) for step in steps_of(LESSON)}
    assert {(row["student"], row["step"]) for row in hostile.rows if row["lesson"] == LESSON} == wanted


@pytest.mark.parametrize("name", ATTACKS)
def test_each_ends_with_its_points_and_status(name, hostile):
    want = ATTACKS[name]
    points, statuses = points_of(hostile.rows, name)
    kept = results.read(hostile.classroom, name, LESSON)
    said = [output for c in (kept.notebook or {"cells": []})["cells"] for output in c.get("outputs", ())]
    assert as_wanted(name, points), (statuses, kept.notes, str(said)[:3000])
    if want.status:
        assert statuses == {want.status}


@pytest.mark.parametrize("name", HONEST)
def test_the_neighbours_have_full_marks(name, hostile):
    assert points_of(hostile.rows, name) == (FULL, set())


def said_holes(classroom: Classroom) -> list[str]:
    """What attacks printed when they got through."""
    found = []
    for path in sorted((classroom.root / "autograded").rglob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", ()):
                data = {mime: data for mime, data in output.get("data", {}).items() if "image" not in mime}
                lines = str(output.get("text") or data).splitlines()
                found += [f"{path.parent.parent.name}: {line}" for line in lines if "HOLE" in line]
    return found


def test_nothing_got_through(hostile):
    assert said_holes(hostile.classroom) == []
    assert hostile.listener.reached == []


def test_nothing_was_written_outside(hostile):
    assert snapshot(hostile.classroom.root / "submitted") == hostile.before
    assert not list(hostile.folder.rglob(f"*{MARKER}*"))
    places = [
        Path("/"),
        Path("/tmp"),
        Path("/dev/shm"),
        Path(os.__file__).parent,
        ROOT,
        ROOT / "rmslab",
        Path.home(),
    ]
    assert not [place for place in places if (place / MARKER).exists()]


def test_nothing_outlived_its_run(hostile):
    assert hostile.still_running == []
    assert running_with(f"sleep\0{SLEEP}") == []
    assert list((hostile.folder / "scratch").iterdir()) == []


def test_the_protections_are_named(hostile):
    for said in (hostile.done.stdout, next(results.read_all(hostile.classroom)).protections):
        assert "bubblewrap" in said and "命名空间" in said and run.NO_SANDBOX not in said


def test_results_stay_bounded(hostile):
    sizes = {path: path.stat().st_size for path in hostile.classroom.root.rglob("*.*") if path.is_file()}
    assert max(sizes.values()) < 40_000_000
    assert max(size for path, size in sizes.items() if path.suffix == ".html") < 400_000


def test_no_page_shows_what_an_exception_told_of_the_input(hostile):
    """``raise ValueError(str(x.tolist()))``: the sentence stays, the numbers do not."""
    text = hostile.classroom.feedback("inside-tells-the-input", LESSON).read_text("utf-8")
    seed = hostile.classroom.seed()
    groups = [group for step in steps_of(LESSON)[1:] for group in step.inputs(seed).values()]
    inputs = [case["x"] for group in groups for cases in group.values() for case in cases]
    rows = [row for x in inputs for row in evidence.decode(x).double().reshape(-1, x["shape"][-1])]
    rows = [row for row in rows if row.frac().count_nonzero() > 2]
    assert len(rows) > 20 and "ValueError" in text
    assert not [row for row in rows if str(row.tolist())[1:20] in text]


# --- between two submissions of one worker ----------------------------------------------------------------


@pytest.fixture(scope="module")
def pool() -> Iterator[run.Pool]:
    with run.Pool(1) as workers:
        yield workers


def notebook_of(*cells: str) -> nbformat.NotebookNode:
    test = nbformat.v4.new_code_cell('check("rmsnorm-weight", RMSNorm)', id="rmsnorm-weight")
    test.metadata.nbgrader = {"grade": True, "solution": False, "grade_id": "rmsnorm-weight"}
    answer = "import torch\nfrom torch import nn\n" + source(next(
        c for c in answered()["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == "rmsnorm-class"
    ))  # fmt: skip
    code = [nbformat.v4.new_code_cell(text, id=f"c{i}") for i, text in enumerate((answer, *cells))]
    return nbformat.v4.new_notebook(cells=[*code, test])


INPUTS = {"rmsnorm-weight": steps_of(LESSON)[0].inputs("hidden")}


def text_of(transcript: run.Transcript, cell: str = "c1") -> str:
    return "".join(str(o.get("text") or o.get("evalue") or o.get("data")) for o in transcript.outputs[cell])


def test_one_leaves_nothing_for_the_next(pool):
    code = ATTACKS["escape-writes-everywhere"].make()["cells"]
    code = (
        next(source(c) for c in code if "MARKER" in source(c)).replace("MARKER", MARKER).replace("*PATHS", "")
    )
    left = pool.run(notebook_of(code), INPUTS, 10, 900)
    assert "HOLE" not in text_of(left)
    look = ATTACKS["escape-looks-for-what-others-left"].make()["cells"]
    look = next(source(c) for c in look if "MARKER" in source(c)).replace("MARKER", MARKER)
    assert text_of(pool.run(notebook_of(look + "\nprint('looked')"), INPUTS, 10, 900)) == "looked\n"


def test_one_finds_nothing_of_the_one_before_in_its_memory(pool):
    """A child is a fork: of a process that never saw a submission or an input."""
    secret = "".join(reversed("tekcirc-elpurp"))
    for _ in range(3):
        pool.run(notebook_of(f"x = '{secret}' * 3; print(x)"), INPUTS, 10, 900)
    search = """
import re
needle, found = "".join(reversed("tekcirc-elpurp")).encode(), 0
own = b"".join(reversed([bytes([c]) for c in b"tekcirc-elpurp"]))
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps:
        low, high, kind = re.match(r"(\\w+)-(\\w+) (....)", line).groups()
        if kind[0] == "r" and "w" in kind and "[v" not in line:
            memory.seek(int(low, 16))
            try: found += len(re.findall(b"(?:%s){3}" % needle, memory.read(int(high, 16) - int(low, 16))))
            except (OSError, OverflowError, ValueError): pass
print(found)
"""
    assert text_of(pool.run(notebook_of(search), INPUTS, 20, 2000)) == "0\n"


def test_a_worker_outlives_what_its_children_do(pool):
    before = id(pool.free.queue[-1])
    kill = "import os\nfor p in range(1, 300):\n    try: os.kill(p, 9)\n    except OSError: pass"
    for cell in (kill, "import ctypes; ctypes.string_at(0)", "while True: pass"):
        pool.run(notebook_of(cell), INPUTS, 1, 900)
    assert id(pool.free.queue[-1]) == before


def test_a_fatal_cell_loses_only_what_depends_on_it(pool):
    found = pool.run(
        notebook_of("import os; os._exit(3)", "print('after')", "while True: pass"), INPUTS, 1, 900
    )
    assert found.fatal == {"c1": "crashed", "c3": "timeout"}
    assert text_of(found, "c2") == "after\n" and "rmsnorm-weight" in found.evidence


def test_a_notebook_has_a_cap_of_its_own(pool, monkeypatch):
    monkeypatch.setattr(run, "NOTEBOOK_CAP", 2.0)
    found = pool.run(notebook_of(*["import time; time.sleep(0.7)"] * 9), INPUTS, 30, 900)
    assert "timeout" in found.fatal.values() and found.fatal["rmsnorm-weight"] == "timeout"


def test_a_worker_that_is_lost_is_replaced(pool):
    pool.run(notebook_of(), INPUTS, 10, 900)
    pool.free.queue[-1].process.kill()
    found = pool.run(notebook_of(), INPUTS, 10, 900)
    assert not found.fatal and "rmsnorm-weight" in found.evidence


# --- without bubblewrap, without fork, as another user ----------------------------------------------------

FEW = (
    "escape-leaves-processes", "greedy-loop", "greedy-_exit", "greedy-segfault", "greedy-list", "inside-loop",
    "forged-written-before", "damaged-test-edited", "unreadable-empty",
)  # fmt: skip


@pytest.mark.parametrize("how", ["no-bubblewrap", "no-fork"])
def test_less_protection_is_said_and_the_grades_are_the_same(how, course, tmp_path):
    few = {name: ATTACKS[name] for name in FEW}
    if how == "no-fork":
        few = {name: few[name] for name in FEW[:3]}
    env = {children.SPAWN: "1"} if how == "no-fork" else {"PATH": str(tmp_path / "bin")}
    (tmp_path / "bin").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for key, value in env.items():
            patch.setenv(key, value)
        found = Class(tmp_path, few, course, HONEST[:2])
        strict = command(
            "grade", "--classroom", found.classroom.root, "--force", "--require-sandbox", cwd=course.root
        )
    assert found.done.returncode == 0 and run.NO_SANDBOX in found.done.stdout
    assert strict.returncode == 1 and "沙箱" in strict.stderr
    for name in few:
        assert points_of(found.rows, name)[0] == ATTACKS[name].points, name
    assert all(points_of(found.rows, name)[0] == FULL for name in HONEST[:2])
    test_nothing_outlived_its_run(found)


def readable_python(folder: Path) -> list[str] | None:
    """An interpreter that any user can start, with the same packages: this one, or a copy; or None."""
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]

    def works(line: list[str]) -> bool:
        again = (
            "import subprocess, sys, torch, nbgrader\nsubprocess.run([sys.executable, '-c', ''], check=True)"
        )
        trial = subprocess.run([*line, "-c", again], capture_output=True, cwd="/")
        return trial.returncode == 0

    if works([*as_nobody, sys.executable]):
        return [*as_nobody, sys.executable]
    base, library = Path(sys.base_prefix), f"lib/python{sys.version_info.major}.{sys.version_info.minor}"
    skip = shutil.ignore_patterns("site-packages", "test", "__pycache__", "*.a", "idlelib", "ensurepip")
    shutil.copytree(base / library, folder / library, ignore=skip, symlinks=True)
    (folder / "bin").mkdir()
    shutil.copy2(Path(sys.executable).resolve(), folder / "bin" / "python3")
    for path in (base / "lib").glob("libpython*.so*"):
        shutil.copy2(path, folder / "lib")
    alembic = folder / "bin" / "alembic"  # nbgrader starts it for a new gradebook
    alembic.write_text(f"#!{folder / 'bin' / 'python3'}\nfrom alembic.config import main\nmain()\n")
    alembic.chmod(0o755)
    packages = folder / library / "site-packages"
    packages.mkdir()
    line = [*as_nobody, "env", f"LD_LIBRARY_PATH={folder / 'lib'}", str(folder / "bin" / "python3")]
    where = [Path(path) for path in sys.path if path.endswith("site-packages")]
    (packages / "here.pth").write_text("\n".join(map(str, where)) + "\n")
    if not works(line):  # the packages lie where nobody else may look: link them, file by file
        copies = [folder / f"packages-{i}" / "site-packages" for i in range(len(where))]
        for path, copy in zip(where, copies, strict=True):
            copy.parent.mkdir()
            if subprocess.run(["cp", "-al", path, copy], capture_output=True).returncode:
                shutil.copytree(path, copy, symlinks=True, dirs_exist_ok=True)
        (packages / "here.pth").write_text("\n".join(map(str, copies)) + "\n")
    return line if works(line) else None


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter: those of pytest are its user's own."""
    with tempfile.TemporaryDirectory(prefix="rmsnorm-test-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def test_as_a_plain_user(open_folder):
    """A grader that is not root: the same marks, nothing gets through, nothing is left."""
    need(os.geteuid() == 0 and shutil.which("setpriv") is not None, "only root can become somebody else")
    folder, python = open_folder, readable_python(open_folder)
    need(python is not None, "no interpreter that another user may run")
    for part in ("rmslab", "autograder", "solutions", "notebooks", "nbgrader_config.py"):
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    names = [
        name for name in ATTACKS if name.startswith(("escape", "forged-written", "greedy-fork", "greedy-sh"))
    ]
    classroom, listener = Classroom(folder / "classroom"), Listener()
    for name in names:
        hand_in(classroom.root / "submitted", name, fill_in(ATTACKS[name].make(), classroom.root, listener))
    hand_in(classroom.root / "submitted", "honest", answered())
    subprocess.run(["chown", "-R", "65534:65534", classroom.root], check=True)
    line = [
        *python,
        "-m",
        "autograder.cli",
        "grade",
        LESSON,
        "--classroom",
        str(classroom.root),
        "--require-sandbox",
    ]
    env = {
        "PYTHONPATH": str(folder),
        "HOME": str(classroom.root),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
    }
    done = subprocess.run(
        [*line, *map(str, LIMITS)], cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report.report(classroom, folder / "a.csv")
    rows = table(folder / "a.csv")
    for name in names:
        assert as_wanted(name, points_of(rows, name)[0]), name
    assert points_of(rows, "honest")[0] == FULL
    assert said_holes(classroom) == [] and listener.reached == []
    assert running_with(f"sleep\0{SLEEP}") == []


# --- a grader that is killed; files that are damaged at random --------------------------------------------


def state(classroom: Classroom) -> dict[str, object]:
    """Everything that grading leaves, without times."""
    from nbgrader.api import Gradebook

    found: dict[str, object] = {}
    for one in results.read_all(classroom):
        found[f"result {one.student}"] = [
            (s.step, s.points, s.status, s.diagnosis, s.message) for s in one.steps
        ]
        found[f"page {one.student}"] = classroom.feedback(one.student, LESSON).is_file()
        found[f"notebook {one.student}"] = classroom.autograded(one.student, LESSON).is_file()
    with Gradebook(classroom.db_url, "rmsnorm") as book:
        for submission in book.assignment_submissions(LESSON):
            grades = sorted(
                (g.name, g.auto_score, g.manual_score) for n in submission.notebooks for g in n.grades
            )
            found[f"gradebook {submission.student.id}"] = grades
    return found


@pytest.fixture(scope="session")
def undisturbed(course: Course, tmp_path_factory) -> Classroom:
    classroom = Classroom(tmp_path_factory.mktemp("undisturbed") / "classroom")
    makes = {
        **{f"s{i}": answered for i in range(6)},
        "t": ATTACKS["greedy-_exit"].make,
        "u": ATTACKS["unreadable-empty"].make,
        "v": ATTACKS["blank-release"].make,
    }
    for name, make in makes.items():
        hand_in(classroom.root / "submitted", name, make())
    assert command("grade", "--classroom", classroom.root, cwd=course.root).returncode == 0
    return classroom


@pytest.mark.parametrize("number", range(int(os.environ.get("RMSNORM_KILLS", "3"))))
def test_killed_at_any_instant_it_ends_the_same(number, undisturbed, course, tmp_path):
    """Killed after so many lines of its own, so that it hits another moment on a fast machine, too."""
    classroom = Classroom(tmp_path / "classroom")
    shutil.copytree(undisturbed.root / "submitted", classroom.root / "submitted")
    shutil.copy(undisturbed.root / "seed", classroom.root)
    line = [sys.executable, "-m", "autograder.cli", "grade", "--classroom", str(classroom.root)]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with subprocess.Popen(
        line, cwd=course.root, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        env=os.environ | {"TMPDIR": str(scratch)},
    ) as process:  # fmt: skip
        stop = [1, 4, 11, 2, 3, 5, 6, 7, 8, 9, 10][
            number % 11
        ]  # the last lines are the writing of the gradebook
        for count, _ in enumerate(process.stdout, 1):
            if count == stop:
                time.sleep(0.13 * (number % 3))
                process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while running_with(str(scratch)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert running_with(str(scratch)) == []
    again = command("grade", "--classroom", classroom.root, cwd=course.root)
    assert again.returncode == 0, again.stderr
    assert state(classroom) == state(undisturbed)


def mutated(number: int) -> bytes:
    """A solved notebook with a few random changes: to its bytes, or to its JSON."""
    import random

    source_of = random.Random(number)
    if number % 2:
        data = bytearray(as_bytes(answered()))
        for _ in range(source_of.choice([1, 3, 30])):
            at, size = source_of.randrange(len(data)), source_of.choice([0, 1, 4, 200])
            data[at : at + size] = source_of.randbytes(source_of.choice([0, 1, 2, 50]))
        return bytes(data)
    notebook = json.loads(as_bytes(answered()))
    odd = [None, 7, -1.5, "", "x", [], {}, [[]], {"a": {"b": []}}, True, "\0", "\ud800", 10**30]

    def nodes(node, path=()):
        yield path
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            yield from nodes(value, (*path, key))

    for _ in range(source_of.choice([1, 2, 5, 20])):
        *above, last = source_of.choice([path for path in nodes(notebook) if path])
        parent = notebook
        for key in above:
            parent = parent[key]
        match source_of.randrange(3):
            case 0:
                parent[last] = copy.deepcopy(source_of.choice(odd))
            case 1:
                del parent[last]
            case _ if isinstance(parent, list):
                parent.insert(last, json.loads(json.dumps(parent[last])))
    return json.dumps(notebook).encode()


def test_files_damaged_at_random_all_have_a_row(course, tmp_path):
    count = int(os.environ.get("RMSNORM_MUTATIONS", "200"))
    classroom = Classroom(tmp_path / "classroom")
    for number in range(count):
        hand_in(classroom.root / "submitted", f"m{number:04}", mutated(number))
    done = command("grade", "--classroom", classroom.root, *LIMITS, cwd=course.root)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    report.report(classroom, tmp_path / "a.csv")
    rows = [row for row in table(tmp_path / "a.csv") if row["lesson"] == LESSON]
    assert len(rows) == count * len(POINTS)
    assert all(0 <= float(row["points"]) <= float(row["max_points"]) for row in rows)
    assert {row["status"] for row in rows} <= set(results.STATUSES)
    full = sum(points_of(rows, f"m{n:04}")[0] == FULL for n in range(count))
    assert 0 < full < count and NOTHING in [points_of(rows, f"m{n:04}")[0] for n in range(count)]
