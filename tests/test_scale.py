"""One class on a Dask cluster, one gradebook on a PostgreSQL server: real ones, with the same grades."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from conftest import LESSON, ROOT, answered, command, hand_in, need, released, with_class
from nbgrader.api import Gradebook

from autograder.course import Classroom, Course
from autograder.results import read_all
from rmslab.checks import steps_of

CLASS = {
    "solved": answered,
    "untouched": released,
    "no-root": lambda: with_class(("torch.rsqrt(mean_square + self.eps)", "1 / (mean_square + self.eps)")),
    "exits": lambda: with_class(append="\n\nimport os\nos._exit(1)"),
    "cut": lambda: b'{"cells": [',
}


def handed_in(folder: Path) -> Classroom:
    classroom = Classroom(folder / "classroom")
    for student, make in CLASS.items():
        hand_in(classroom.root / "submitted", student, make())
    return classroom


def fates(classroom: Classroom) -> dict[str, list]:
    return {
        r.student: [(s.step, s.points, s.status, s.diagnosis) for s in r.steps] for r in read_all(classroom)
    }


@pytest.fixture(scope="module")
def alone(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """Graded on this machine, gradebook in a file."""
    classroom = handed_in(tmp_path_factory.mktemp("alone"))
    done = command("grade", "--classroom", classroom.root, cwd=course.root)
    assert done.returncode == 0, done.stderr
    return classroom


def again_with(alone: Classroom, folder: Path) -> Classroom:
    """The same class before grading, with the same seed."""
    classroom = handed_in(folder)
    shutil.copy(alone.root / "seed", classroom.root)
    return classroom


# --- Dask -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def processes(*lines: list[str], **how: object) -> Iterator[list[subprocess.Popen]]:
    started = []
    try:
        for line in lines:
            started.append(subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **how))
        yield started
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler and two workers, each a process of its own."""
    pytest.importorskip("distributed")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    run = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    scheduler = [*run, "--host", "127.0.0.1", "--port", address.rpartition(":")[2], "--no-dashboard"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"]
    worker += ["--no-dashboard", "--local-directory", str(tmp_path_factory.mktemp("dask"))]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with processes(scheduler, worker, worker, env=env, cwd=tmp_path_factory.mktemp("elsewhere")):
        from distributed import Client

        with Client(address, timeout=60) as client:
            client.wait_for_workers(2, timeout=120)
        yield address


def test_a_cluster_gives_the_same_grades(cluster, alone, course, tmp_path):
    classroom = again_with(alone, tmp_path)
    done = command("grade", "--classroom", classroom.root, "--dask", cluster, cwd=course.root)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert fates(classroom) == fates(alone)
    protections = {r.protections for r in read_all(alone)}
    assert {r.protections for r in read_all(classroom)} == protections


def test_a_second_run_on_the_same_cluster(cluster, alone, course, tmp_path):
    classroom = again_with(alone, tmp_path)
    ask = ("grade", "--classroom", classroom.root, "--dask", cluster, "--student", "solved")
    assert command(*ask, cwd=course.root).returncode == 0
    again = command(*ask, "--force", cwd=course.root)
    assert again.returncode == 0 and fates(classroom) == {"solved": fates(alone)["solved"]}


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x", "127.0.0.1"])
def test_no_cluster_there(address, alone, course):
    pytest.importorskip("distributed")
    done = command("grade", "--classroom", alone.root, "--force", "--dask", address, cwd=course.root)
    assert (
        done.returncode == 1 and re.search(r"[\u4e00-\u9fff]", done.stderr) and "Traceback" not in done.stderr
    )


# --- PostgreSQL -------------------------------------------------------------------------------------------


def server_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """A server of our own, run by its own user where we are root; it refuses to run as root."""
    programs = server_programs()
    need(programs is not None, "no PostgreSQL server here")
    pytest.importorskip("psycopg")
    folder = Path(tempfile.mkdtemp(prefix="rmsnorm-test-"))  # those of pytest are closed to other users
    become: list[str] = []
    if os.geteuid() == 0:
        need(shutil.which("setpriv") is not None, "setpriv is missing")
        become = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        shutil.chown(folder, "postgres")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    data = folder / "data"
    made = subprocess.run(
        [*become, programs / "initdb", "-D", data, "-U", "teacher", "--auth=trust", "-E", "UTF8", "--no-sync",
         "--locale=C"], capture_output=True, text=True, cwd="/",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    line = [*become, programs / "postgres", "-D", data, "-p", str(port), "-k", str(folder), "-F",
            "-c", "listen_addresses=127.0.0.1"]  # fmt: skip
    with processes(list(map(str, line)), cwd="/"):
        ready = [str(programs / "pg_isready"), "-h", "127.0.0.1", "-p", str(port)]
        while subprocess.run(ready, capture_output=True).returncode:
            pass
        create = [programs / "createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "teacher", "grades"]
        assert subprocess.run(create, capture_output=True).returncode == 0
        yield f"postgresql://teacher@127.0.0.1:{port}/grades"
    shutil.rmtree(folder)


def test_a_gradebook_on_a_server(database, alone, course, tmp_path):
    """Same scores as in a file; manual scores survive a regrade; the report reads them."""
    classroom = again_with(alone, tmp_path)
    ask = ("grade", "--classroom", classroom.root, "--db", database)
    done = command(*ask, cwd=course.root)
    assert done.returncode == 0, done.stderr
    assert not (classroom.root / "gradebook.db").exists()
    url = database.replace("postgresql:", "postgresql+psycopg:")
    with closing(Gradebook(url, "rmsnorm")) as here, closing(Gradebook(alone.db_url, "rmsnorm")) as there:
        scores = [
            {s.student.id: s.score for s in book.assignment_submissions(LESSON)} for book in (here, there)
        ]
        assert scores[0] == scores[1] and scores[0]["solved"] == sum(step.points for step in steps_of(LESSON))
        mark = here.find_grade("rmsnorm-norm", LESSON, LESSON, "no-root")
        mark.manual_score = 7.5
        here.db.commit()
    assert command(*ask, "--force", cwd=course.root).returncode == 0
    with closing(Gradebook(url, "rmsnorm")) as book:
        assert book.find_grade("rmsnorm-norm", LESSON, LESSON, "no-root").score == 7.5
    told = command("report", "--classroom", classroom.root, "--db", database, "--csv", tmp_path / "a.csv")
    assert told.returncode == 0, told.stderr
    rows = (tmp_path / "a.csv").read_text("utf-8-sig").splitlines()
    assert any(row.startswith("no-root,04-implementation,rmsnorm-norm,7.5,") for row in rows)
