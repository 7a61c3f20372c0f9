"""How fast, how large: our grader against stock ``nbgrader autograde``, and from a hundred to a thousand.

    python benchmarks/grading.py                    # 40 for the comparison; 100 and 1,000 for the rate
    python benchmarks/grading.py --small            # the same with 4, 10 and 30, in a few minutes

Everything runs as its real command in a process of its own, on honest submissions of 04-implementation:
right, wrong in several ways, half done. Prints the figures with their targets; exits 1 if one is missed.
"""

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from conftest import COURSE, LESSON, answered, as_bytes, copy_course, find, released  # noqa: E402
from corpus_implementation import ENTRIES, PRELUDE  # noqa: E402

from autograder import gradebook, run  # noqa: E402
from autograder.course import Classroom, Course  # noqa: E402
from autograder.rebuild import rebuild  # noqa: E402
from rmslab.checks import steps_of  # noqa: E402


def kinds() -> list[bytes]:
    """The classes of the corpus, two right for one wrong as far as they reach, in an order of chance; and one
    notebook as released."""
    chance = random.Random(0)
    right = [entry for entry in ENTRIES if entry.right]
    wrong = chance.sample([entry for entry in ENTRIES if not entry.right], len(right) // 2)
    chosen = chance.sample(right + wrong, len(right) + len(wrong))
    made = [as_bytes(released())]
    for entry in chosen:
        notebook = answered()
        find(notebook, "rmsnorm-class")["source"] = PRELUDE + entry.source
        made.append(as_bytes(notebook))
    return made


def submissions(classroom: Classroom, count: int) -> None:
    """A class of ``count``; no two files alike."""
    different = kinds()
    for number in range(count):
        path = classroom.submission(f"s{number:05}", LESSON)
        path.parent.mkdir(parents=True)
        path.write_bytes(different[number % len(different)] + b"\n" * (1 + number // len(different)))


class Measured:
    """One command: wall-clock seconds, and the largest resident size of its main process in MB."""

    def __init__(self, *line: object, cwd: Path):
        self.peak, started = 0.0, time.perf_counter()
        process = subprocess.Popen(
            list(map(str, line)), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        watcher = threading.Thread(target=self._watch, args=(process,), daemon=True)
        watcher.start()
        self.said = process.communicate()[0]
        self.seconds = time.perf_counter() - started
        if process.returncode:
            raise SystemExit(f"{line}\n{self.said}")

    def _watch(self, process: subprocess.Popen) -> None:
        while process.poll() is None:
            try:
                for text in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                    if text.startswith("VmHWM"):
                        self.peak = max(self.peak, int(text.split()[1]) / 1024)
            except OSError:
                return
            time.sleep(0.2)


def ours(course: Course, classroom: Classroom) -> Measured:
    ask = ("-m", "autograder.cli", "grade", LESSON, "--classroom", classroom.root)
    return Measured(sys.executable, *ask, cwd=course.root)


def cpu_of_cells() -> float:
    """Mean CPU seconds of a submission's cells and probes, each run in a fork as a worker does."""
    master = gradebook.master(COURSE, LESSON)
    cells = [run.jobs(rebuild(master, notebook).notebook)[0] for notebook in kinds()]
    steps = run.jobs(master)[1]
    tasks = {"cells": steps, "inputs": {s.id: s.inputs("benchmark") for s in steps_of(LESSON)}}
    code = (
        "import json, os, resource, sys\n"
        "from autograder import child, worker\n"
        "submissions, tasks = json.load(sys.stdin)\n"
        "worker.preload()\n"
        "from rmslab.shell import Shell\n"
        "times = []\n"
        "for cells in submissions:\n"
        "    read, write = os.pipe()\n"
        "    if os.fork() == 0:\n"
        "        before = resource.getrusage(resource.RUSAGE_SELF)\n"
        "        shell = Shell.instance()\n"
        "        for cell in cells: shell.run(cell['source'])\n"
        "        for cell in tasks['cells']: child.run_step(cell, shell.user_ns, tasks['inputs'])\n"
        "        after = resource.getrusage(resource.RUSAGE_SELF)\n"
        "        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime\n"
        "        os.write(write, json.dumps(spent).encode()); os._exit(0)\n"
        "    os.wait(); times.append(json.loads(os.read(read, 100)))\n"
        "print(sum(times) / len(times))\n"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT), "NBGRADER_EXECUTION": "autograde", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([cells, tasks]),
        capture_output=True,
        text=True,
        env=env,
    )
    return float(done.stdout.split()[-1])


class Figures:
    """Lines with a target each."""

    def __init__(self) -> None:
        self.missed = 0

    def tell(self, what: str, value: str, target: str, good: bool) -> None:
        self.missed += not good
        print(f"{'ok  ' if good else 'MISS'}  {what:<58} {value:>22}   target {target}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="4, 10 and 30 instead of 40, 100 and 1,000")
    for name, count in (("stock", 40), ("low", 100), ("high", 1000)):
        parser.add_argument(f"--{name}", type=int, default=count, metavar="N")
    options = parser.parse_args()
    if options.small:
        options.stock, options.low, options.high = 4, 10, 30
    cores = len(os.sched_getaffinity(0))
    print(
        f"{cores} cores, load {os.getloadavg()[0]:.1f}, torch and Python as {sys.executable} has them",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="rmsnorm-benchmark-") as folder:
        figure(Path(folder), options, cores, figures := Figures())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"spent {used.ru_utime + used.ru_stime:.0f} s of CPU in commands that were waited for")
    return 1 if figures.missed else 0


def figure(folder: Path, options: argparse.Namespace, cores: int, figures: Figures) -> None:
    course = copy_course(folder / "course")
    compared = Classroom(course.root / "classroom")
    submissions(compared, options.stock)
    cold = ours(course, compared)
    shutil.rmtree(compared.root / "autograded")
    stock = Measured(sys.executable, "-m", "nbgrader", "autograde", LESSON, cwd=course.root)
    each = stock.seconds / options.stock
    print(f"stock: {stock.seconds:.1f} s for {options.stock}, {each:.2f} s each; ours {cold.seconds:.1f} s")
    factor = stock.seconds / cold.seconds
    figures.tell(
        f"against stock, {options.stock} from a cold start", f"{factor:.1f} ×", "≥ 15 ×", factor >= 15
    )

    low, high = Classroom(folder / "low"), Classroom(folder / "high")
    submissions(low, options.low), submissions(high, options.high)
    few, many = ours(course, low), ours(course, high)
    further = (many.seconds - few.seconds) / (options.high - options.low)
    print(f"{options.low}: {few.seconds:.1f} s; {options.high}: {many.seconds:.1f} s")
    factor = each / further
    what = f"a further submission, {options.low} → {options.high}: {1000 * further:.0f} ms"
    figures.tell(what, f"{factor:.1f} ×", "≥ 30 × stock", factor >= 30)
    spent = cpu_of_cells()
    ratio = further / (spent / cores)
    what = f"wall against CPU of cells and probes ({1000 * spent:.0f} ms) ÷ cores"
    figures.tell(what, f"{ratio:.2f} ×", "≤ 2 ×", ratio <= 2)
    growth = many.peak / few.peak - 1
    what = f"memory of the grader, {few.peak:.0f} → {many.peak:.0f} MB"
    figures.tell(what, f"{100 * growth:+.0f} %", "within 20 %", abs(growth) <= 0.2)
    again = ours(course, high)
    limit = max(5.0, 0.05 * many.seconds)
    figures.tell(
        "a second run, nothing changed", f"{again.seconds:.1f} s", f"≤ {limit:.1f} s", again.seconds <= limit
    )


if __name__ == "__main__":
    sys.exit(main())
