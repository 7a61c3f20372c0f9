"""What leaves the course folder: one notebook opened alone on a cloud machine, the README's buttons, the bundle."""

import json
import re
import shutil
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from cloud import FONTS, Cloud, errors, published, shown
from conftest import COURSE, LESSON, ROOT, copy_course, source

from autograder import build, cli, publish
from autograder.course import Course
from autograder.problem import Problem
from rmslab.checks import steps_of

lessons = pytest.mark.parametrize("lesson", COURSE.lessons())


def set_address(course: Course, repository: str, mirrors: tuple[str, ...] = ()) -> Course:
    settings = (
        f"[tool.rmsnorm-course]\nrepository = {json.dumps(repository)}\nmirrors = {json.dumps(mirrors)}\n"
    )
    (course.root / "pyproject.toml").write_text(settings, "utf-8")
    return course


def lone(course: Course, lesson: str, folder: Path) -> Path:
    """The lesson's released notebook, as one file in an otherwise empty folder."""
    path = folder / f"{lesson}.ipynb"
    nbformat.write(build.release(course, lesson, build.read_source(course, lesson)), path)
    return path


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    return Cloud(tmp_path_factory.mktemp("cloud"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The published repository with a bundle: (course that knows its address, folder of releases)."""
    folder = tmp_path_factory.mktemp("site")
    with published(folder) as address:
        course = set_address(copy_course(folder / "working copy"), address)
        (course.root / "docs").mkdir()
        for name in ("docs/start.md", "LICENSE", "LICENSE-text.md"):
            shutil.copy(ROOT / name, course.root / name)
        place = folder / "course" / "releases" / "latest" / "download" / publish.BUNDLE
        publish.bundle(course, place)
        yield course, place


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """One student's folder on the cloud machine, for all lessons."""
    return tmp_path_factory.mktemp("desk")


# --- one notebook alone on a cloud machine ----------------------------------------------------------------


def test_the_cloud_machine_has_little(cloud, tmp_path):
    modules = [
        "jupyterlab",
        "notebook",
        "nbgrader",
        "nbclient",
        "jupytext",
        "rmslab",
        "autograder",
        "pytest",
        "distributed",
    ]
    code = (
        f"import importlib.util, os; print([m for m in {modules} if importlib.util.find_spec(m)], "
        f"os.path.isdir({FONTS!r}) and os.listdir({FONTS!r})); import torch, ipywidgets, matplotlib, ipykernel"
    )
    done = cloud.say(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "[]"
    assert not shutil.which("bwrap") or done.stdout.split()[1] in ("[]", "False")


@lessons
def test_every_lesson_runs_from_a_lone_file(lesson, cloud, site, desk):
    """The first of them fetches the kit; nothing fails, nothing warns, and every step is honestly not solved."""
    first = not list(desk.iterdir())
    cells = cloud.run(lone(site[0], lesson, desk))
    assert errors(cells) == []
    said = "".join(output.get("text", "") for output in cells[0].outputs)
    assert ("正在下载" in said) == first and len(said.splitlines()) == 1 + first  # and the banner
    assert (desk / "rmsnorm-course" / "rmslab" / "engine.py").is_file()
    assert [p.name for p in desk.iterdir() if p.suffix != ".ipynb"] == ["rmsnorm-course"]
    by_id = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in cells}
    for step in steps_of(lesson):
        assert shown(by_id[step.id]) == "0.0"
        assert "还没有作答" in shown(by_id[step.id], "text/html"), step.id


def test_without_a_bundle_the_repository_is_cloned(cloud, site, tmp_path):
    course, bundle = site
    away = bundle.rename(bundle.with_suffix(".away"))
    try:
        done = cloud.say(publish.opening_cell(course), tmp_path)
    finally:
        away.rename(bundle)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "rmsnorm-course" / ".git").is_dir()


@pytest.mark.parametrize("damage", [b"<html>404</html>", None], ids=["a page", "cut off"])
def test_a_damaged_download_is_no_kit(damage, cloud, site, tmp_path):
    course, bundle = site
    whole = bundle.read_bytes()
    bundle.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    try:
        done = cloud.say(publish.opening_cell(course), tmp_path)
    finally:
        bundle.write_bytes(whole)
    assert done.returncode == 0 and (tmp_path / "rmsnorm-course" / ".git").is_dir()


def dead_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/course"


def test_a_mirror_is_tried_when_the_first_address_does_not_answer(cloud, site, tmp_path):
    course = set_address(copy_course(tmp_path / "course"), dead_address(), publish.addresses(site[0]))
    (tmp_path / "desk").mkdir()
    done = cloud.say(publish.opening_cell(course), tmp_path / "desk")
    assert done.returncode == 0 and "正在下载" in done.stdout and done.stderr == ""


def test_without_a_network_it_says_what_to_upload_and_takes_it(cloud, site, tmp_path):
    course = set_address(copy_course(tmp_path / "course"), dead_address())
    (desk := tmp_path / "desk").mkdir()
    done = cloud.say(publish.opening_cell(course), desk)
    assert done.returncode == 1 and "Traceback" not in done.stderr and list(desk.iterdir()) == []
    assert {"rmsnorm-course.zip", "上传", publish.addresses(course)[0]} <= words(done.stderr, course)
    (desk / "rmsnorm-course.zip").write_bytes(site[1].read_bytes()[:100_000])
    done = cloud.say(publish.opening_cell(course), desk)
    assert done.returncode == 1 and "rmsnorm-course.zip 不完整" in done.stderr
    (desk / "rmsnorm-course.zip").unlink()
    shutil.copy(site[1], desk / "rmsnorm-course (1).zip")  # as a browser names the second download
    done = cloud.say(publish.opening_cell(course), desk)
    assert done.returncode == 0 and done.stderr == "" and len(done.stdout.splitlines()) == 1


def words(text: str, course: Course) -> set[str]:
    wanted = ("rmsnorm-course.zip", "上传", "没有找到课程工具包", "http", *publish.addresses(course))
    return {word for word in wanted if word in text}


def test_unpublished_lessons_say_what_to_upload(cloud, tmp_path):
    course = copy_course(tmp_path / "course")
    set_address(course, "")
    (tmp_path / "desk").mkdir()
    done = cloud.say(publish.opening_cell(course), tmp_path / "desk")
    assert words(done.stderr, course) == {"rmsnorm-course.zip", "上传", "没有找到课程工具包"}


def test_the_opening_cell_says_nothing_where_the_kit_is(cloud, site, tmp_path):
    (below := tmp_path / "my lessons" / "04").mkdir(parents=True)
    shutil.copytree(ROOT / "rmslab", tmp_path / "rmslab", ignore=shutil.ignore_patterns("__pycache__"))
    done = cloud.say(publish.opening_cell(site[0]), below)
    assert done.returncode == 0 and done.stderr == "" and list(below.iterdir()) == []
    assert len(done.stdout.splitlines()) == 1 and done.stdout.startswith("Python ")


def test_grading_fetches_nothing(site, tmp_path, monkeypatch):
    """The kit is installed where grading runs: the cell asks for nothing and writes nothing."""
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    monkeypatch.setattr(subprocess, "run", None)
    monkeypatch.setattr("urllib.request.urlopen", None)
    exec(publish.opening_cell(site[0]), {"__name__": "__main__"})
    assert sys.path == path and not list(tmp_path.iterdir())


# --- the setting and the buttons --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    ["github.com/a/b", "https://github.com/a/b/", "git@github.com:a/b.git", 'https://x/"); import os', 7],
)
def test_an_address_that_is_none_is_refused(wrong, tmp_path, monkeypatch, capsys):
    course = set_address(copy_course(tmp_path), wrong)
    monkeypatch.chdir(course.root)
    assert cli.main(["build", "--check"]) == 1
    assert "repository" in capsys.readouterr().err


def test_mirrors_without_an_address(tmp_path):
    with pytest.raises(Problem, match="repository"):
        publish.addresses(set_address(copy_course(tmp_path), "", ("https://example.org/a/b",)))


def test_buttons_open_every_lesson_and_follow_the_setting(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "execute", lambda notebook, folder: notebook)
    course = copy_course(tmp_path)
    shutil.copy(ROOT / "README.md", tmp_path)
    before = (tmp_path / "README.md").read_text("utf-8")
    assert build.stale_readme(course) == [] and "(https://" not in publish.buttons(course)
    set_address(course, "https://github.com/someone/rmsnorm")
    with pytest.raises(Problem, match=r"README\.md"):
        build.check(course, [LESSON])
    build.build(course, [LESSON])
    build.check(course, [LESSON])
    text = (tmp_path / "README.md").read_text("utf-8")
    for lesson in course.lessons():
        path = f"notebooks/{lesson}/{lesson}.ipynb"
        for link in (
            f"https://modelscope.cn/notebook/share/github/someone/rmsnorm/blob/main/{path}",
            f"https://colab.research.google.com/github/someone/rmsnorm/blob/main/{path}",
            f"https://kaggle.com/kernels/welcome?src=https://github.com/someone/rmsnorm/blob/main/{path}",
            f"https://mybinder.org/v2/gh/someone/rmsnorm/main?urlpath=lab/tree/{path}",
        ):
            assert f"({link})" in text
    first = next(c for c in build.read_notebook(course.release(LESSON)).cells if c.cell_type == "code")
    assert '"https://github.com/someone/rmsnorm"' in first.source
    set_address(course, "")
    build.build(course, [LESSON])
    assert (tmp_path / "README.md").read_text("utf-8") == before


def test_committed_readme_has_a_place_for_the_buttons():
    assert publish.readme(COURSE) is not None


# --- the bundle -------------------------------------------------------------------------------------------


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def regions(lesson: str) -> list[str]:
    text = COURSE.source(lesson).read_text("utf-8")
    return re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", text, re.S)


def squeezed(text: str) -> str:
    """Code without comments and blanks."""
    return re.sub(r"\s+", "", "\n".join(line.split("#")[0] for line in text.splitlines()))


def held(name: str, data: bytes) -> str:
    """The code in a file, wherever it stands: a notebook's cells, or the file itself."""
    text = data.decode("utf-8", "ignore")
    if name.endswith(".ipynb"):
        text = "\n".join(source(cell) for cell in json.loads(text)["cells"])
    return squeezed(text)


@pytest.fixture(scope="module")
def bundled(site):
    return contents(site[1])


def test_the_bundle_is_small_and_whole(site, bundled):
    assert site[1].stat().st_size < 5e6
    names = {name.removeprefix("rmsnorm-course/") for name in bundled}
    assert {f"{lesson}.ipynb" for lesson in COURSE.lessons()} | {
        "README.md",
        "LICENSE",
        "LICENSE-text.md",
    } <= names
    assert {"rmslab/engine.py", "rmslab/fonts/OFL.txt", "rmslab/messages/zh.toml"} <= names
    assert all(name.startswith("rmsnorm-course/") and "__pycache__" not in name for name in bundled)
    assert not [name for name in names if name.startswith(("solutions", "autograder", "tests"))]


@lessons
def test_no_solution_in_the_bundle(lesson, bundled):
    """Judges are in it, and the student's notebooks: none of them may hold a solution region."""
    texts = {name: held(name, data) for name, data in bundled.items()}
    assert regions(lesson) or not steps_of(lesson)
    for region in map(squeezed, regions(lesson)):
        assert region and [name for name, text in texts.items() if region in text] == []


def test_the_search_for_solutions_finds_one():
    solved = held("solved.ipynb", COURSE.solution(LESSON).read_bytes())
    assert regions(LESSON) and all(squeezed(region) in solved for region in regions(LESSON))


def test_the_same_course_gives_the_same_bundle(site, tmp_path):
    publish.bundle(site[0], tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == site[1].read_bytes()


def test_no_bundle_without_a_built_lesson(tmp_path):
    course = copy_course(tmp_path / "course")
    course.release(LESSON).unlink()
    with pytest.raises(Problem, match="autograder build"):
        publish.bundle(course, tmp_path / "b.zip")
    assert not (tmp_path / "b.zip").exists()


def test_bundle_by_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(build, "check", lambda *_: None)  # tested elsewhere, and slow
    assert cli.main(["build", "--check", "--bundle", str(tmp_path / "b.zip")]) == 0
    assert "MB" in capsys.readouterr().out and zipfile.is_zipfile(tmp_path / "b.zip")


def test_the_start_page_fits_a_page():
    text = (ROOT / "docs" / "start.md").read_text("utf-8")
    assert len(text.splitlines()) <= 50 and "python -m rmslab check" in text and "/mnt/workspace" in text
