"""What leaves the course folder: a lesson's opening cell, the buttons in the README, the students' bundle.

All three follow one setting, the public address of the repository in pyproject.toml::

    [tool.rmsnorm-course]
    repository = "https://github.com/OWNER/NAME"    # empty: not published yet
    mirrors = []                                    # the same repository elsewhere, tried in turn

While it is empty the opening cell only looks around, and the README has no buttons but a note to maintainers.
"""

import io
import re
import tomllib
import zipfile
from pathlib import Path
from urllib.parse import quote

from autograder.course import Course
from autograder.problem import Problem
from autograder.results import write_atomically

BUNDLE = "rmsnorm-course.zip"
FOLDER = "rmsnorm-course"
BRANCH = "main"

# --- where the course is published ------------------------------------------------------------------------


def addresses(course: Course) -> list[str]:
    """Public addresses of the repository, first choice first; empty while it has none.

    Raises:
        Problem: a setting that is no address.
    """
    path = course.root / "pyproject.toml"
    settings = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    settings = settings.get("tool", {}).get("rmsnorm-course", {})
    found = [settings.get("repository", ""), *settings.get("mirrors", [])]
    for address in found:
        if not isinstance(address, str) or not re.fullmatch(r"|https?://[\w.:-]+/[\w./~-]+[\w~-]", address):
            raise Problem(
                f"pyproject.toml 里的 repository 或 mirrors 不是网址：{address!r}。"
                "应写成 https://github.com/所有者/仓库名 的样子，末尾不带斜杠；还没有公开就留空。"
            )
    if not found[0] and found[1:]:
        raise Problem("pyproject.toml 里写了 mirrors，却没有写 repository。请先填 repository。")
    return list(filter(None, found))


# --- a lesson's opening cell ------------------------------------------------------------------------------

OPENING = '''\
# 等右上角变成空心圆，从这一格开始运行。它找到课程工具包 rmslab：旁边、上面的文件夹或旁边的压缩包里@ELSEWHERE@。
import importlib.util
import sys
import warnings
import zipfile
from pathlib import Path


def find_rmslab():
    """含有 rmslab 的文件夹；没有则是 None。"""
    for folder in (Path.cwd(), *Path.cwd().parents@PLACES@):
        for place in (folder, folder / "rmsnorm-course"):
            if (place / "rmslab" / "engine.py").is_file():
                return place

@FETCH@
if importlib.util.find_spec("rmslab") is None:
    archives = sorted(Path.cwd().glob("rmsnorm-course*.zip"))
    for archive in archives:
        if find_rmslab() is None and zipfile.is_zipfile(archive):
            zipfile.ZipFile(archive).extractall()
@ASK@    if find_rmslab() is None:
        warnings.filterwarnings("ignore", "To exit")
        raise SystemExit(
            f"旁边的 {archives[0].name} 不完整，请删掉它，重新上传，再运行这一格。" if archives else
            "没有找到课程工具包 rmslab@FAILED@。请@WHERE@ rmsnorm-course.zip，"
            "用 JupyterLab 左上方的上传按钮放到这个 notebook 旁边（不用解压），再运行这一格。"
        )
    sys.path.insert(0, str(find_rmslab()))

import rmslab

rmslab.banner()'''

FETCH = '''
ADDRESSES = [@ADDRESSES@]
PERSISTENT = Path("/mnt/workspace")  # 魔搭只保留这里的文件


def fetch_rmslab(folder):
    """下载课程压缩包，不行就克隆仓库；整份到齐才放进 folder，中途断网不留半份。"""
    import contextlib
    import io
    import os
    import subprocess
    import tempfile
    import urllib.request

    def unpack(address, part):
        with urllib.request.urlopen(f"{address}/releases/latest/download/rmsnorm-course.zip", timeout=20) as reply:
            zipfile.ZipFile(io.BytesIO(reply.read())).extractall(part)

    def clone(address, part):
        line = ["git", "clone", "--quiet", "--depth=1", address, f"{part}/rmsnorm-course"]
        quiet = {"env": os.environ | {"GIT_TERMINAL_PROMPT": "0"}, "capture_output": True}
        subprocess.run(line, check=True, timeout=120, **quiet)

    print("第一次运行：正在下载课程工具包……")
    for get in (unpack, clone):
        for address in ADDRESSES:
            with contextlib.suppress(Exception), tempfile.TemporaryDirectory(dir=folder) as part:
                get(address, part)
                Path(part, "rmsnorm-course").rename(folder / "rmsnorm-course")
                return
'''  # noqa: E501


def opening_cell(course: Course) -> str:
    """The first code cell of every lesson: it finds ``rmslab``, or fetches it, or says what to upload.

    Silent where there is nothing to do. Grading has ``rmslab`` installed, so nothing is ever fetched there.
    """
    known = addresses(course)
    fetch = FETCH.replace("@ADDRESSES@", ", ".join(f'"{address}"' for address in known))
    ask = (
        "    if find_rmslab() is None:\n"
        "        fetch_rmslab(PERSISTENT if PERSISTENT.is_dir() else Path.cwd())\n"
    )
    parts = {
        "ELSEWHERE": "，都没有就下载" if known else "",
        "PLACES": ", PERSISTENT" if known else "",
        "FETCH": fetch if known else "",
        "ASK": ask if known else "",
        "FAILED": "，也没能下载" if known else "",
        "WHERE": f"在能上网的电脑上打开 {known[0]}/releases 下载" if known else "向老师要",
    }
    return re.sub("@([A-Z]+)@", lambda mark: parts[mark[1]], OPENING)


# --- buttons in the README --------------------------------------------------------------------------------

PLATFORMS = {
    "魔搭": "https://modelscope.cn/notebook/share/github/{project}/blob/{branch}/{path}",
    "Colab": "https://colab.research.google.com/github/{project}/blob/{branch}/{path}",
    "Kaggle": "https://kaggle.com/kernels/welcome?src=https://github.com/{project}/blob/{branch}/{path}",
    "Binder": "https://mybinder.org/v2/gh/{project}/{branch}?urlpath=lab/tree/{path}",
}
"""Where a link opens one notebook of a GitHub repository."""

COLOURS = {"魔搭": "624aff", "Colab": "f9ab00", "Kaggle": "20beff", "Binder": "579aca"}

BUTTONS = re.compile(r"(<!-- buttons: .*? -->\n).*?(<!-- /buttons -->)", re.S)
NOT_YET = "<!-- 公开地址还没有填：写进 pyproject.toml，再运行 autograder build，这里就有打开各课的按钮 -->\n"


def buttons(course: Course) -> str:
    """A table of lessons and platforms in Markdown; a note to maintainers while there is no address."""
    known = addresses(course)
    if not known:
        return NOT_YET
    project = re.fullmatch(r"https?://github\.com/([^/]+/[^/]+?)(?:\.git)?", known[0])
    if project is None:
        return f"课程的仓库：<{known[0]}>\n"
    rows = [f"| 打开 | {' | '.join(PLATFORMS)} |", "|" + " --- |" * (len(PLATFORMS) + 1)]
    for lesson in course.lessons():
        path = quote(course.release(lesson).relative_to(course.root).as_posix())
        links = []
        for platform, form in PLATFORMS.items():
            link = form.format(project=project[1], branch=BRANCH, path=path)
            picture = f"https://img.shields.io/badge/{quote(platform)}-{lesson[:2]}-{COLOURS[platform]}"
            links.append(f"[![在 {platform} 打开 {lesson}]({picture})]({link})")
        rows.append(f"| {lesson} | {' | '.join(links)} |")
    return "\n".join(rows) + "\n"


def readme(course: Course) -> tuple[Path, str] | None:
    """The README and what it should say; None where the course has none with a place for buttons."""
    path = course.root / "README.md"
    text = path.read_text("utf-8") if path.is_file() else ""
    wanted = BUTTONS.sub(lambda marks: marks[1] + buttons(course) + marks[2], text)
    return (path, wanted) if BUTTONS.search(text) else None


# --- the students' bundle ---------------------------------------------------------------------------------


def bundle(course: Course, path: Path) -> None:
    """Write everything a student needs as one zip: lessons, ``rmslab``, licences, a page on how to start.

    The same course gives the same bytes.

    Raises:
        Problem: a lesson has not been built.
    """
    kit = Path(__file__).resolve().parent.parent / "rmslab"
    files = {f"{lesson}.ipynb": course.release(lesson) for lesson in course.lessons()}
    files |= {
        f"rmslab/{file.relative_to(kit).as_posix()}": file
        for file in sorted(kit.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }
    files |= {"README.md": course.root / "docs" / "start.md"}
    files |= {name: course.root / name for name in ("LICENSE", "LICENSE-text.md")}
    if missing := [str(file) for file in files.values() if not file.is_file()]:
        raise Problem(f"缺少文件，没有打包：{'、'.join(missing)}。课还没有构建的话，先运行 autograder build。")
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, file in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{FOLDER}/{name}", date_time=(2020, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
    write_atomically(path, whole.getvalue())
