"""The README's pictures, taken from the real thing: ``python -m tests.pictures`` writes ``docs/pictures/``."""

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from browser import OPTIONS, Lab, Notebook, new_page, opened, served, started  # noqa: E402
from conftest import COURSE, LESSON, answered, as_bytes, find, solved, source  # noqa: E402

from autograder import demo  # noqa: E402
from autograder.collect import collect  # noqa: E402
from autograder.course import Classroom  # noqa: E402
from autograder.grade import grade  # noqa: E402
from autograder.report import report  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"


def first_cell(notebook: Notebook, text: str) -> int:
    """The position of the first code cell that has ``text``."""
    return notebook.page.evaluate(
        "text => [...window.jupyterapp.shell.currentWidget.content.model.cells]"
        ".findIndex(c => c.type === 'code' && c.sharedModel.source.includes(text))",
        text,
    )


def sphere(notebook: Notebook) -> None:
    """The whole window: a lesson in Chinese JupyterLab, its sphere in view."""
    notebook.run_all()
    notebook.cell(first_cell(notebook, "figures.sphere(")).locator("figure").first.evaluate(
        "figure => figure.scrollIntoView({block: 'center'})"
    )
    notebook.page.wait_for_timeout(500)
    notebook.page.screenshot(path=PICTURES / "sphere.png")


def card(notebook: Notebook) -> None:
    """The feedback on a class that forgot keepdim, its first hint opened."""
    answer = source(find(solved(LESSON), "rmsnorm-class"))
    notebook.write("rmsnorm-class", answer.replace("mean(-1, keepdim=True)", "mean(-1)"))
    notebook.run_all()
    shown = notebook.card("rmsnorm-norm")
    shown.locator("summary").first.click()
    shown.screenshot(path=PICTURES / "card.png")


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, started() as browser:
        root = Path(folder)
        (root / "work").mkdir()
        (root / "home").mkdir()
        for lesson in COURSE.lessons():
            shutil.copy(COURSE.release(lesson), root / "work")
        (root / "work" / "03-geometry.ipynb").write_bytes(as_bytes(answered("03-geometry")))
        command = [
            sys.executable, "-m", "jupyterlab", *OPTIONS, f"--ServerApp.root_dir={root / 'work'}",
            f"--LabApp.app_settings_dir={ROOT / 'lab'}",
        ]  # fmt: skip
        with served(command, root / "work", root / "home") as address:
            lab = Lab(address, COURSE)
            for name, take in (("03-geometry", sphere), (LESSON, card)):
                with opened(browser, lab, f"{name}.ipynb") as notebook:
                    take(notebook)
        classroom = Classroom(root / "classroom")
        collect(classroom, [demo.write_class(COURSE, root / "class")], root / "class" / "class.csv")
        grade(COURSE, classroom)
        report(classroom, html_file=root / "class.html")
        with new_page(browser, 1000) as watched:
            watched.page.goto((root / "class.html").as_uri())
            watched.page.screenshot(path=PICTURES / "class.png", full_page=True)
    print("\n".join(f"{path.relative_to(ROOT)}　{path.stat().st_size // 1000} kB" for path in PICTURES.iterdir()))


if __name__ == "__main__":
    main()
