"""``make lab``, the real command: JupyterLab in Chinese, without news, with the student's own lessons in front."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from browser import OPTIONS, new_page, served
from conftest import COURSE, ROOT


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """What make needs of the course, with a lesson that a student has worked on already."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    for name in ("notebooks", "lab"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "work").mkdir()
    (folder / "work" / f"{COURSE.lessons()[0]}.ipynb").write_text("mine")
    return folder


@pytest.fixture(scope="module")
def page(checkout, chrome, tmp_path_factory):
    stamp = checkout / "stamp"  # this interpreter has everything already
    stamp.write_text(f"{checkout}\n")
    home = tmp_path_factory.mktemp("home")
    command = ["make", "lab", f"PYTHON={sys.executable}", f"LAB_STAMP={stamp}", f"LAB={' '.join(OPTIONS)}"]
    with served(command, checkout, home) as address, new_page(chrome) as watched:
        watched.page.goto(f"{address}/lab?token=t")
        watched.page.locator(".jp-DirListing-item").first.wait_for()
        yield watched


def test_it_speaks_chinese(page):
    assert page.page.locator("html").get_attribute("lang") == "zh-CN"
    assert page.page.get_by_role("menuitem", name="文件", exact=True).is_visible()


def test_the_lessons_are_in_front(page):
    listed = page.page.locator(".jp-DirListing-item").all_inner_texts()
    names = [re.search(r"\S+\.ipynb", text)[0] for text in listed]
    assert names == [f"{lesson}.ipynb" for lesson in COURSE.lessons()]


def test_no_news_and_no_request_to_strangers(page):
    page.page.wait_for_timeout(3000)  # news would come late
    assert page.page.locator(".jp-Dialog, .Toastify__toast").count() == 0
    assert page.strangers == []


def test_what_a_student_has_is_kept_and_the_rest_is_there(checkout, page):
    first, *others = (checkout / "work" / f"{lesson}.ipynb" for lesson in COURSE.lessons())
    assert first.read_text() == "mine"
    assert [Path(p).read_bytes() for p in others] == [COURSE.release(p.stem).read_bytes() for p in others]
